"""Jobs that the ledger keeps: made, changed in place, paused and asked for, and what is noted of the jobs of every backend."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.making import execute, opened
from lakeledger import Conflict, Invalid, Ledger, NotFound
from lakeledger.jobs import MODULE_TAG, OWNER_TAG, JobBackend, JobSpec, tracking
from lakeledger.jobs.local import LocalBackend

DAILY = {"quartz_cron_expression": "0 0 6 * * ?", "timezone_id": "UTC", "pause_status": "UNPAUSED"}


def spec(name: str = "shop", **settings: Any) -> JobSpec:
    tags = {OWNER_TAG: "etl_control", MODULE_TAG: name}
    return JobSpec(name, {"name": name, "tags": tags, "max_concurrent_runs": 1, **settings}, {"module_name": name}, "/project")


@pytest.fixture
def backend(ledger: Ledger) -> LocalBackend:
    return LocalBackend(ledger.store, "ann")


def test_a_job_is_kept_as_it_was_given(backend: LocalBackend) -> None:
    port: JobBackend = backend
    made = port.create(spec(schedule=DAILY))
    assert port.find(made.job_id) == made
    assert port.list() == [made]
    assert (made.module_name, made.name, made.is_paused, port.name) == ("shop", "shop", False, "local")
    kept = backend.get(made.job_id)
    assert (kept.module, kept.base, kept.version) == ({"module_name": "shop"}, "/project", 1)
    assert kept.next_run_at is not None
    assert kept.next_run_at - datetime.now(UTC) <= timedelta(days=1)


def test_a_module_gets_no_second_job(backend: LocalBackend) -> None:
    made = backend.create(spec())
    with pytest.raises(Conflict, match=f"module shop has job {made.job_id} by now: no second one was made; plan again"):
        backend.create(spec(schedule=DAILY))
    backend.create(spec("stock"))
    backend.create(JobSpec("shop", {"name": "shop"}))  # of somebody else: it has none of our tags
    assert [job.module_name for job in backend.list()] == ["shop", "stock"]


def test_only_jobs_with_our_tag_are_listed(backend: LocalBackend) -> None:
    backend.create(JobSpec("other", {"name": "other"}))
    made = backend.create(spec())
    assert [job.job_id for job in backend.list()] == [made.job_id]


def test_an_update_keeps_the_id_and_what_people_set_beside_it(backend: LocalBackend) -> None:
    made = backend.create(spec(schedule=DAILY, tasks=[{"task_key": "a", "timeout_seconds": 5}, {"task_key": "b"}]))
    by_hand = backend.update(made.job_id, JobSpec("shop", {"description": "mine", "tags": {"team": "data"}}))
    changed = backend.update(made.job_id, spec(max_concurrent_runs=2, tasks=[{"task_key": "a"}]), remove=["schedule", "tasks/b"])
    assert by_hand.job_id == changed.job_id == made.job_id
    assert (changed.settings["description"], changed.tags["team"], changed.tags[MODULE_TAG]) == ("mine", "data", "shop")
    assert changed.settings["max_concurrent_runs"] == 2
    assert changed.settings["tasks"] == [{"task_key": "a", "timeout_seconds": 5}]
    assert "schedule" not in changed.settings
    kept = backend.get(made.job_id)
    assert (kept.next_run_at, kept.version, kept.module) == (None, 3, {"module_name": "shop"})


def test_a_job_says_where_its_paths_begin_and_an_update_moves_it(backend: LocalBackend) -> None:
    made = backend.create(spec())
    assert (made.base, made.is_elsewhere("/project"), made.is_elsewhere("/moved"), made.is_elsewhere("")) == (
        "/project",
        False,
        True,
        False,
    )
    backend.update(made.job_id, JobSpec("shop", {"description": "by hand"}))
    assert [job.base for job in backend.list()] == ["/project"]
    moved = backend.update(made.job_id, JobSpec("shop", {}, {"module_name": "shop"}, "/moved"))
    assert backend.find(made.job_id) == moved
    assert (moved.base, backend.get(made.job_id).base, [job.base for job in backend.list()]) == ("/moved", "/moved", ["/moved"])


def test_what_is_not_there_is_named(backend: LocalBackend) -> None:
    assert backend.find("nowhere") is None
    with pytest.raises(NotFound, match="no local job 'nowhere'"):
        backend.update("nowhere", spec())
    with pytest.raises(NotFound, match="no local job 'nowhere'"):
        backend.run_now("nowhere")
    with pytest.raises(NotFound, match="no run 'nowhere'"):
        backend.cancel("nowhere")
    backend.delete("nowhere")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"schedule": {"quartz_cron_expression": "0 0 25 * * ?"}}, "cannot read its hour"),
        ({"schedule": {"quartz_cron_expression": "0 0 6 * * ?", "timezone_id": "Europe/Berln"}}, "did you mean 'Europe/Berlin'"),
        ({"max_concurrent_runs": "many"}, "max_concurrent_runs of job shop must be a number from 0, not 'many'"),
        ({"timeout_seconds": -1}, "timeout_seconds of job shop must be a number"),
        ({"trigger": {"file_arrival": {}}}, "either file_arrival or table_update"),
        ({"trigger": {"file_arrival": {"wait_after_last_change_seconds": 1}}}, "needs the url"),
        ({"trigger": {"table_update": {"condition": "ANY_UPDATED"}}}, "needs table_names"),
    ],
)
def test_a_job_that_could_never_start_is_refused_and_not_kept(backend: LocalBackend, settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        backend.create(spec(**settings))
    assert backend.list() == []
    made = backend.create(spec(schedule=DAILY))
    with pytest.raises(Invalid, match=reason):
        backend.update(made.job_id, spec(**settings))
    assert backend.find(made.job_id) == made


def test_a_pause_is_seen_in_the_settings(backend: LocalBackend) -> None:
    made = backend.create(spec(schedule=DAILY))
    paused = backend.pause(made.job_id)
    assert paused.is_paused
    assert paused.settings["schedule"] == {**DAILY, "pause_status": "PAUSED"}
    assert (backend.get(made.job_id).paused, backend.get(made.job_id).next_run_at) == (True, None)
    assert backend.resume(made.job_id) == made
    assert backend.get(made.job_id).next_run_at is not None


def test_a_job_that_nothing_starts_cannot_be_paused(backend: LocalBackend) -> None:
    made = backend.create(spec())
    with pytest.raises(Invalid, match="nothing starts job shop by itself"):
        backend.pause(made.job_id)


def test_a_change_of_something_else_does_not_lose_a_time_that_has_come(backend: LocalBackend, ledger: Ledger) -> None:
    made = backend.create(spec(schedule=DAILY))
    execute(ledger, "update local_jobs set next_run_at = :at", at=datetime(2026, 1, 1, 6, tzinfo=UTC))
    backend.update(made.job_id, spec(schedule=DAILY, timeout_seconds=60))
    assert backend.get(made.job_id).next_run_at == datetime(2026, 1, 1, 6, tzinfo=UTC)
    backend.update(made.job_id, spec(schedule={**DAILY, "timezone_id": "Asia/Tokyo"}))
    assert (backend.get(made.job_id).next_run_at or datetime.max.replace(tzinfo=UTC)) > datetime.now(UTC)


def test_a_run_that_is_asked_for_waits_in_the_queue(backend: LocalBackend) -> None:
    made = backend.create(spec(schedule=DAILY, parameters=[{"name": "day", "default": "today"}, {"name": "region", "default": "eu"}]))
    backend.pause(made.job_id)
    run = backend.run(backend.run_now(made.job_id, {"day": "2026-01-01"}))
    assert (run.status, run.cause, run.asked_by, run.attempt) == ("queued", "asked", "ann", 1)
    assert backend.get(made.job_id).parameters(run.parameters) == {"day": "2026-01-01", "region": "eu"}
    with pytest.raises(Invalid, match="has no parameter 'dya': it has day, region; did you mean 'day'"):
        backend.run_now(made.job_id, {"dya": "2026-01-01"})
    assert list(backend.runs(made.job_id)) == [run]


def test_a_run_that_waits_can_be_cancelled_once(backend: LocalBackend) -> None:
    made = backend.create(spec())
    run_id = backend.run_now(made.job_id)
    assert (backend.cancel(run_id).status, backend.run(run_id).reason) == ("cancelled", "cancelled by ann")
    with pytest.raises(Conflict, match="has already ended: cancelled"):
        backend.cancel(run_id)


def test_a_deleted_job_takes_its_queue_with_it_and_ends_its_run(backend: LocalBackend, ledger: Ledger) -> None:
    made = backend.create(spec())
    run = backend.run(backend.run_now(made.job_id))
    with pytest.raises(Conflict, match="CANCELLED"), ledger.run("shop", idempotency_key=run.key) as active:
        backend.delete(made.job_id)
    assert ledger.runs.get(active.id).error_message == "its job was deleted"
    assert (backend.find(made.job_id), list(backend.runs())) == (None, [])


def test_jobs_of_one_tenant_are_not_seen_by_another(backend: LocalBackend, url: str) -> None:
    made = backend.create(spec())
    backend.run_now(made.job_id)
    with opened(url, "other") as other:
        theirs = LocalBackend(other.store, "bob")
        assert (theirs.list(), theirs.find(made.job_id), list(theirs.runs())) == ([], None, [])


# What is noted of jobs


def test_what_was_applied_is_noted_and_replaced(ledger: Ledger) -> None:
    place = ("etl_control", "shop", "databricks")
    with ledger.store.write() as tx:
        first = tracking.put(tx, *place, job_id="7", settings={"name": "shop"}, control_version=3)
        second = tracking.put(tx, *place, job_id="8", settings={"name": "Shop"}, control_version=4, state="paused")
        other = tracking.put(tx, "etl_control", "shop", "local", job_id="x", settings={}, control_version=4)
    assert (second.id, second.job_id, second.job_name, second.state) == (first.id, "8", "Shop", "paused")
    assert second.settings_hash != first.settings_hash
    assert second.created_timestamp == first.created_timestamp <= second.updated_timestamp
    assert other.job_name == "shop"
    with ledger.store.read() as tx:
        assert tracking.find(tx, *place) == second
        assert tracking.find(tx, "other_control", "shop", "local") is None
        assert tracking.list_all(tx, "etl_control") == [second, other]
        assert tracking.list_all(tx, "etl_control", "local") == [other]
        assert tracking.list_all(tx, "other_control") == []


def test_what_is_noted_can_be_forgotten(ledger: Ledger) -> None:
    with ledger.store.write() as tx:
        tracking.put(tx, "c", "shop", "local", job_id="x", settings={}, control_version=1)
        assert tracking.remove(tx, "c", "shop", "local")
        assert not tracking.remove(tx, "c", "shop", "local")
        with pytest.raises(Invalid, match="one of active, paused, removed, not 'gone'"):
            tracking.put(tx, "c", "shop", "local", job_id="x", settings={}, control_version=1, state="gone")
