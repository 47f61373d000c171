"""Jobs on Databricks: the real SDK over HTTP, against a workspace on this machine."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from databricks_server import TOKEN, DatabricksServer, serving
from lakeledger.errors import Conflict, Failed, Forbidden, Invalid, LakeledgerError, NotFound, NotInstalled, Unavailable
from lakeledger.jobs import MODULE_TAG, OWNER_TAG, JobBackend, JobSpec
from lakeledger.jobs.databricks import Backoff, DatabricksBackend
from lakeledger.jobs.settings import entries, normalise

if TYPE_CHECKING:
    from databricks.sdk import WorkspaceClient

SCHEDULE = {"quartz_cron_expression": "0 0 6 * * ?", "timezone_id": "Europe/Berlin", "pause_status": "UNPAUSED"}


def notebook(key: str, *after: str, **more: Any) -> dict[str, Any]:
    waits = {"depends_on": [{"task_key": name} for name in after]} if after else {}
    return {"task_key": key, "run_if": "ALL_SUCCESS", "notebook_task": {"notebook_path": f"/{key}"}, **waits, **more}


def spec(module: str = "orders", **more: Any) -> JobSpec:
    tags = {OWNER_TAG: "etl_control", MODULE_TAG: module, **more.pop("tags", {})}
    tasks = [notebook("load"), notebook("sum", "load")]
    return JobSpec(module, {"name": module, "tags": tags, "max_concurrent_runs": 1, "tasks": tasks, **more})


@pytest.fixture(autouse=True)
def _no_credentials_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOST", "TOKEN", "CONFIG_PROFILE", "CLIENT_ID", "CLIENT_SECRET", "AUTH_TYPE"):
        monkeypatch.delenv(f"DATABRICKS_{name}", raising=False)
    monkeypatch.setenv("DATABRICKS_CONFIG_FILE", str(tmp_path / "databrickscfg"))


@pytest.fixture
def server() -> Iterator[DatabricksServer]:
    with serving() as started:
        yield started


@pytest.fixture
def waits() -> list[float]:
    """The pauses that were asked for, none of which was made."""
    return []


@pytest.fixture
def backend(server: DatabricksServer, waits: list[float]) -> DatabricksBackend:
    return DatabricksBackend(server.url, TOKEN, backoff=Backoff(pause=waits.append))


@pytest.fixture
def hand(server: DatabricksServer) -> WorkspaceClient:
    """The workspace as a person has it before them."""
    from databricks.sdk import WorkspaceClient

    return WorkspaceClient(host=server.url, token=TOKEN)


def test_it_is_a_place_for_jobs(backend: DatabricksBackend, server: DatabricksServer) -> None:
    place: JobBackend = backend
    assert place.name == f"databricks:127.0.0.1:{server.server_port}"
    assert backend.host == server.url


def test_a_job_is_made_as_its_settings_say_and_nothing_is_lost(backend: DatabricksBackend) -> None:
    wanted = spec(schedule=SCHEDULE, a_field_of_tomorrow={"kept": [1, {"whole": True}]})
    made = backend.create(wanted)
    found = backend.find(made.job_id)
    assert found
    assert found.job_id == made.job_id
    assert found.module_name == "orders"
    assert found.settings["a_field_of_tomorrow"] == {"kept": [1, {"whole": True}]}
    assert normalise(found.settings) == normalise(made.settings) == normalise(wanted.settings)


def test_a_job_without_our_tags_is_not_made(backend: DatabricksBackend, server: DatabricksServer) -> None:
    with pytest.raises(Invalid, match="module 'orders' needs the tags lakeledger and lakeledger_module"):
        backend.create(JobSpec("orders", {"name": "orders"}))
    assert server.calls() == []


def test_a_job_is_updated_in_place_with_only_what_differs(backend: DatabricksBackend, server: DatabricksServer) -> None:
    job = backend.create(spec())
    changed = spec(max_concurrent_runs=3, tasks=[notebook("load", timeout_seconds=60), notebook("sum", "load")])
    updated = backend.update(job.job_id, changed)
    found = backend.find(job.job_id)
    assert found
    assert updated.job_id == job.job_id
    assert len(server.workspace.jobs) == 1
    assert normalise(found.settings) == normalise(updated.settings) == normalise(changed.settings)
    (sent,) = server.calls("update")
    assert set(sent.body["new_settings"]) == {"max_concurrent_runs", "tasks"}
    assert [task["task_key"] for task in sent.body["new_settings"]["tasks"]] == ["load"]


def test_an_update_that_changes_nothing_writes_nothing(backend: DatabricksBackend, server: DatabricksServer) -> None:
    job = backend.create(spec(schedule=SCHEDULE))
    backend.update(job.job_id, spec(schedule=SCHEDULE), remove=["trigger", "tasks/gone"])
    assert server.calls("update", "reset") == []


def test_what_a_person_set_by_hand_survives(backend: DatabricksBackend, server: DatabricksServer, hand: WorkspaceClient) -> None:
    from databricks.sdk.service import iam, jobs

    job = backend.create(spec(schedule=SCHEDULE))
    number = int(job.job_id)
    settings = jobs.JobSettings(
        email_notifications=jobs.JobEmailNotifications(on_failure=["ada@example.com"]),
        queue=jobs.QueueSettings(enabled=False),
        tags={**job.tags, "team": "shop"},
        tasks=[
            jobs.Task("load", notebook_task=jobs.NotebookTask("/load"), existing_cluster_id="big", max_retries=4),
            jobs.Task("by_hand", notebook_task=jobs.NotebookTask("/by_hand")),
        ],
    )
    hand.jobs.update(number, new_settings=settings)
    access = [jobs.JobAccessControlRequest(group_name="shop", permission_level=jobs.JobPermissionLevel.CAN_MANAGE)]
    hand.jobs.set_permissions(job.job_id, access_control_list=access)

    backend.update(job.job_id, spec(schedule={**SCHEDULE, "pause_status": "PAUSED"}, tasks=[notebook("load", timeout_seconds=60)]))

    found = backend.find(job.job_id)
    assert found
    tasks = entries(found.settings, "tasks")
    assert found.is_paused
    assert found.settings["email_notifications"] == {"on_failure": ["ada@example.com"]}
    assert found.settings["queue"] == {"enabled": False}
    assert found.tags["team"] == "shop"
    assert (tasks["load"]["existing_cluster_id"], tasks["load"]["max_retries"], tasks["load"]["timeout_seconds"]) == ("big", 4, 60)
    assert set(tasks) == {"load", "sum", "by_hand"}
    assert server.workspace.permissions[number] == [{"group_name": "shop", "permission_level": "CAN_MANAGE"}]
    assert isinstance(hand.jobs.get_permissions(job.job_id), jobs.JobPermissions)
    assert isinstance(hand.current_user.me(), iam.User)


@pytest.mark.parametrize(("merges_all_lists", "removes_last"), [(False, False), (True, False), (True, True)])
def test_what_was_ours_is_removed(backend: DatabricksBackend, server: DatabricksServer, merges_all_lists: bool, removes_last: bool) -> None:
    server.workspace.merges_all_lists, server.workspace.removes_last = merges_all_lists, removes_last
    before = spec(
        schedule=SCHEDULE,
        tags={"team/shop": "yes"},
        parameters=[{"name": "day", "default": "today"}, {"name": "kept", "default": "1"}],
        tasks=[notebook("load", timeout_seconds=60), notebook("sum", "load"), notebook("old", "load")],
    )
    job = backend.create(before)
    after = spec(parameters=[{"name": "kept", "default": "1"}])
    gone = ["schedule", "tags/team~1shop", "parameters/day", "tasks/load/timeout_seconds", "tasks/old"]
    updated = backend.update(job.job_id, after, remove=gone)
    found = backend.find(job.job_id)
    assert found
    assert normalise(found.settings) == normalise(updated.settings) == normalise(after.settings)
    assert server.calls("reset") == []  # it would overwrite what people set meanwhile


def test_what_people_set_during_an_update_is_not_reset(server: DatabricksServer) -> None:
    server.workspace.merges_all_lists = True

    def person(_: float) -> None:
        server.workspace.update({"job_id": job.job_id, "new_settings": {"description": "Ask Ada."}})

    backend = DatabricksBackend(server.url, TOKEN, backoff=Backoff(pause=person))
    job = backend.create(spec(parameters=[{"name": "day", "default": "today"}, {"name": "kept", "default": "1"}]))
    server.fail("update", status=503)  # the first try: somebody is quicker than the second
    backend.update(job.job_id, spec(parameters=[{"name": "kept", "default": "1"}]), remove=["parameters/day"])
    found = server.workspace.jobs[int(job.job_id)]["settings"]
    assert (found["description"], [each["name"] for each in found["parameters"]]) == ("Ask Ada.", ["kept"])


def test_what_people_changed_by_hand_is_seen(backend: DatabricksBackend, hand: WorkspaceClient) -> None:
    from databricks.sdk.service import jobs

    job = backend.create(spec(schedule=SCHEDULE))
    paused = jobs.CronSchedule("0 0 7 * * ?", "Europe/Berlin", jobs.PauseStatus.PAUSED)
    hand.jobs.update(int(job.job_id), new_settings=jobs.JobSettings(schedule=paused))
    found = backend.find(job.job_id)
    assert found
    assert found.is_paused
    assert found.settings["schedule"]["quartz_cron_expression"] == "0 0 7 * * ?"
    assert normalise({**found.settings, "schedule": SCHEDULE}) == normalise(job.settings)


@pytest.mark.parametrize("gone_status", [400, 404])
def test_a_job_deleted_outside_is_not_there(
    backend: DatabricksBackend, server: DatabricksServer, hand: WorkspaceClient, gone_status: int
) -> None:
    server.workspace.gone_status = gone_status
    job = backend.create(spec())
    hand.jobs.delete(int(job.job_id))
    assert backend.find(job.job_id) is None
    assert backend.list() == []
    with pytest.raises(NotFound, match=f"cannot read job {job.job_id} on http.*does not exist"):
        backend.update(job.job_id, spec())
    with pytest.raises(NotFound, match=f"cannot run job {job.job_id}"):
        backend.run_now(job.job_id)
    backend.delete(job.job_id)
    assert backend.create(spec()).job_id != job.job_id


def test_a_job_can_be_deleted_between_reading_and_writing(backend: DatabricksBackend, server: DatabricksServer) -> None:
    job = backend.create(spec())
    server.fail("update", status=404, body={"error_code": "RESOURCE_DOES_NOT_EXIST", "message": f"Job {job.job_id} does not exist."})
    with pytest.raises(NotFound):
        backend.update(job.job_id, spec(max_concurrent_runs=2))


def test_an_id_that_is_no_number_is_no_job_here(backend: DatabricksBackend) -> None:
    assert backend.find("0190a7c2-local") is None
    with pytest.raises(NotFound, match="no job '0190a7c2-local' on Databricks: its job ids are numbers"):
        backend.run_now("0190a7c2-local")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "Warehouse 0a1b of the job does not exist."}),
        (400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "Job cluster 'etl1' does not exist."}),
        (404, "<html><title>404 Not Found</title></html>"),
        (404, {"error_code": "ENDPOINT_NOT_FOUND", "message": "No API found for 'GET /jobs/get'"}),
    ],
)
def test_only_a_job_that_is_named_as_gone_is_gone(
    backend: DatabricksBackend, server: DatabricksServer, status: int, body: dict[str, str] | str
) -> None:
    job = backend.create(spec())
    server.fail("get", status=status, body=body)
    with pytest.raises(Invalid):
        backend.find(job.job_id)
    server.fail("update", status=status, body=body)
    with pytest.raises(Invalid):
        backend.update(job.job_id, spec(max_concurrent_runs=2))


def test_our_jobs_are_found_by_tag_among_others(backend: DatabricksBackend, server: DatabricksServer) -> None:
    for number in range(250):
        if number % 100 == 0:
            backend.create(spec(f"ours_{number}"))
        server.workspace.add({"name": f"theirs {number}", "tags": {"team": "shop"}, "tasks": [notebook("load")]})
    found = backend.list()
    assert sorted(job.module_name or "" for job in found) == ["ours_0", "ours_100", "ours_200"]
    assert all(normalise(job.settings) == normalise(spec(str(job.module_name)).settings) for job in found)


def test_a_thousand_jobs_are_listed_in_ten_requests(backend: DatabricksBackend, server: DatabricksServer) -> None:
    for number in range(1000):
        server.workspace.add(spec(f"module_{number}").settings)
    found = {job.module_name: job for job in backend.list()}
    assert len(found) == 1000
    assert len(server.calls()) == 10
    assert normalise(found["module_7"].settings) == normalise(spec("module_7").settings)


def test_a_job_with_a_thousand_tasks_is_whole(backend: DatabricksBackend, server: DatabricksServer) -> None:
    keys = [f"task_{number:04}" for number in range(1000)]
    parameters = [{"name": f"parameter_{number}", "default": ""} for number in range(150)]
    big = spec("big", tasks=[notebook(key) for key in keys], parameters=parameters)
    job = backend.create(big)
    backend.create(spec("small"))
    for found in (backend.find(job.job_id), next(one for one in backend.list() if one.module_name == "big")):
        assert found
        assert normalise(found.settings) == normalise(big.settings)
    backend.update(job.job_id, spec("big", tasks=[notebook("task_0999", timeout_seconds=5)], parameters=parameters), ["tasks/task_0500"])
    (sent,) = server.calls("update")
    assert [task["task_key"] for task in sent.body["new_settings"]["tasks"]] == ["task_0999"]
    assert sent.body["fields_to_remove"] == ["tasks/task_0500"]
    found = backend.find(job.job_id)
    assert found
    assert list(entries(found.settings, "tasks")) == [key for key in keys if key != "task_0500"]


def test_a_job_is_started_once_even_when_the_answer_is_lost(backend: DatabricksBackend, server: DatabricksServer) -> None:
    job = backend.create(spec(parameters=[{"name": "day", "default": "today"}]))
    server.fail("run-now", is_done=True)
    server.fail("run-now", status=None, is_done=True)
    run_id = backend.run_now(job.job_id, {"day": "2026-01-02"})
    backend.cancel(run_id)
    assert server.workspace.runs[int(run_id)]["state"]["result_state"] == "CANCELED"
    for unknown in ("17", "a-local-run"):
        with pytest.raises(NotFound, match=unknown):
            backend.cancel(unknown)
    (run,) = server.workspace.runs.values()
    assert run_id == str(run["run_id"])
    assert run["overriding"] == {"day": "2026-01-02"}
    with pytest.raises(Invalid, match="not defined on the job"):
        backend.run_now(job.job_id, {"month": "1"})


def carry_out(backend: DatabricksBackend, call: str, job_id: str) -> Any:
    """The verb that makes this call first."""
    match call:
        case "create":
            return backend.create(spec("another"))
        case "get":
            return backend.find(job_id)
        case "list":
            return backend.list()
        case "update":
            return backend.update(job_id, spec(max_concurrent_runs=2))
        case "run-now":
            return backend.run_now(job_id)
        case _:
            return backend.delete(job_id)


CALLS = ["create", "get", "list", "update", "delete", "run-now"]


@pytest.mark.parametrize("call", CALLS)
def test_a_busy_workspace_is_asked_again(backend: DatabricksBackend, server: DatabricksServer, waits: list[float], call: str) -> None:
    job = backend.create(spec())
    server.requests.clear()
    server.fail(call, status=429, headers={"Retry-After": "7"}, body={"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "too many"})
    server.fail(call, status=500)
    server.fail(call, status=502, body="<html><title>502 Bad Gateway</title></html>")
    server.fail(call, status=503, headers={"Retry-After": "20"})
    server.fail(call, status=None)
    carry_out(backend, call, job.job_id)
    assert waits == [7, 2, 4, 20, 16]
    assert len(server.calls(call)) == 6


@pytest.mark.parametrize("call", CALLS)
def test_a_workspace_that_stays_broken_is_unavailable(backend: DatabricksBackend, server: DatabricksServer, call: str) -> None:
    job = backend.create(spec())
    server.requests.clear()
    server.fail(call, times=1000)
    with pytest.raises(Unavailable, match=rf"on {server.url}: something broke \(tried 6 times; try again later\)") as raised:
        carry_out(backend, call, job.job_id)
    assert raised.value.retryable
    assert len(server.calls(call)) == 6


def test_a_pause_that_is_too_long_is_not_made(backend: DatabricksBackend, server: DatabricksServer, waits: list[float]) -> None:
    server.fail("list", status=429, headers={"Retry-After": "3600"}, body={"message": "come back in an hour"})
    with pytest.raises(Unavailable, match="come back in an hour"):
        backend.list()
    assert waits == []


def test_a_slow_answer_is_not_waited_for(server: DatabricksServer) -> None:
    backend = DatabricksBackend(server.url, TOKEN, backoff=Backoff(pause=lambda _: None), timeout_seconds=0.2)
    until = threading.Event()
    server.fail("list", until=until)
    assert backend.list() == []
    assert len(server.calls("list")) == 2
    until.set()


def test_a_workspace_out_of_reach_is_unavailable(server: DatabricksServer, backend: DatabricksBackend) -> None:
    server.shutdown()
    server.server_close()
    with pytest.raises(Unavailable, match="cannot list the jobs"):
        backend.list()


@pytest.mark.parametrize("status", [500, 503, None])
def test_a_lost_answer_makes_no_second_job(backend: DatabricksBackend, server: DatabricksServer, status: int | None) -> None:
    for number in range(3):
        server.workspace.add({"name": "orders", "tags": {OWNER_TAG: "another_table", MODULE_TAG: f"orders_{number}"}})
    server.fail("create", status=status, is_done=True)
    job = backend.create(spec())
    ours = [made for made in server.workspace.jobs.values() if made["settings"]["tags"].get(MODULE_TAG) == "orders"]
    assert [str(made["job_id"]) for made in ours] == [job.job_id]
    assert len(server.calls("create")) == 1


def test_a_lost_request_makes_a_job(backend: DatabricksBackend, server: DatabricksServer) -> None:
    server.fail("create", status=None)
    backend.create(spec())
    assert len(server.workspace.jobs) == 1
    assert len(server.calls("create")) == 2


def test_a_job_found_instead_of_made_gets_its_settings(backend: DatabricksBackend, server: DatabricksServer) -> None:
    earlier = server.workspace.add(spec().settings)
    server.fail("list", status=200, body={})  # it was not there before the first try
    server.fail("create")
    job = backend.create(spec(schedule=SCHEDULE))
    found = backend.find(str(earlier))
    assert found
    assert job.job_id == found.job_id
    assert found.settings["schedule"] == SCHEDULE


def test_a_module_gets_no_second_job(backend: DatabricksBackend, server: DatabricksServer) -> None:
    job = backend.create(spec())
    with pytest.raises(Conflict, match=f"has job {job.job_id} by now: no second one was made; plan again"):
        backend.create(spec(schedule=SCHEDULE))
    assert [str(job_id) for job_id in server.workspace.jobs] == [job.job_id]


def test_a_given_client_is_used_and_does_not_try_again_by_itself(server: DatabricksServer, hand: WorkspaceClient) -> None:
    backend = DatabricksBackend(client=hand, backoff=Backoff(pause=lambda _: None))
    server.fail("create", status=None, is_done=True)
    backend.create(spec())
    assert len(server.calls("create")) == 1
    assert len(server.workspace.jobs) == 1
    assert backend.host == server.url


def test_the_sdk_signs_in_as_it_always_does(server: DatabricksServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "databrickscfg").write_text(f"[shop]\nhost = {server.url}\ntoken = {TOKEN}\n")
    assert DatabricksBackend(profile="shop").list() == []
    monkeypatch.setenv("DATABRICKS_HOST", server.url)
    monkeypatch.setenv("DATABRICKS_TOKEN", TOKEN)
    assert DatabricksBackend().list() == []


def test_without_a_way_to_sign_in_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Invalid, match=r"cannot sign in to Databricks: .*; set DATABRICKS_HOST and DATABRICKS_TOKEN, or a profile"):
        DatabricksBackend()


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "databricks.sdk.core", None)
    with pytest.raises(NotInstalled, match=r"pip install 'lakeledger\[databricks\]'"):
        DatabricksBackend("http://127.0.0.1:1", TOKEN)


def test_settings_that_databricks_refuses_are_invalid_in_its_words(backend: DatabricksBackend, server: DatabricksServer) -> None:
    with pytest.raises(Invalid, match=r"cannot create the job of module 'orders' on http.*: Task sum depends on lost, which does not"):
        backend.create(spec(tasks=[notebook("sum", "lost")]))
    job = backend.create(spec())
    with pytest.raises(Invalid, match="more than 25 tags"):
        backend.update(job.job_id, spec(tags={f"tag_{number}": "" for number in range(30)}))
    with pytest.raises(Invalid, match="depends on load"):
        backend.update(job.job_id, JobSpec("orders", {}), remove=["tasks/load"])
    assert len(server.workspace.jobs) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, Forbidden), (403, Forbidden), (409, Conflict), (400, Invalid), (500, Unavailable), (501, Failed), (200, Failed)],
)
def test_no_error_holds_the_token(backend: DatabricksBackend, server: DatabricksServer, status: int, kind: type[LakeledgerError]) -> None:
    for body in ({"message": f"not with {TOKEN}"}, f"<pre>Authorization: Bearer {TOKEN}</pre>", f"{'x' * 490} {TOKEN}"):
        if status == 200 and isinstance(body, dict):
            continue
        server.fail("list", status=status, times=6, body=body)
        with pytest.raises(kind) as raised:
            backend.list()
        server.faults.clear()
        assert TOKEN[:12] not in "".join(traceback.format_exception(raised.value))
        assert len(str(raised.value).splitlines()) == 1
        assert len(str(raised.value)) < 700


def test_a_wrong_token_is_forbidden_and_not_shown(server: DatabricksServer) -> None:
    backend = DatabricksBackend(server.url, "dapi-another-canary")
    with pytest.raises(Forbidden, match="cannot list the jobs on http") as raised:
        backend.list()
    assert "another-canary" not in "".join(traceback.format_exception(raised.value))
    assert len(server.calls("list")) == 1
