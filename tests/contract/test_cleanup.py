"""Cleanup: what is over and old goes, counted exactly; what is open, pending, running or current stays, however old it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from contract.making import dump, execute, lost, opened, rows, together, wait_until
from lakeledger import Conflict, Ledger, NumberPosition, Unavailable, records
from lakeledger.clock import new_id, now
from lakeledger.commit import commit
from lakeledger.config import RetentionSettings
from lakeledger.db.queries import statement
from lakeledger.jobs import JobSpec
from lakeledger.jobs.local import LocalBackend
from lakeledger.quality import Suite, SuiteResult
from lakeledger.quality.store import found
from lakeledger.quality.verdict import Seen, judge
from lakeledger.runs import NewRun, NewStep, cancelled
from lakeledger.runs import store as run_store
from lakeledger.sync import NewError, NewLetter, NewSync, SchemaDefinition, cleanup
from lakeledger.sync.background import BackgroundCleanup, pause_after
from lakeledger.sync.cleanup import FIRST_CHUNK, SMALLEST_CHUNK

OLD = datetime(2020, 1, 1, tzinfo=UTC)
NOTHING = {
    "dead_letter_queue": 0,
    "error_log": 0,
    "sync_marker_history": 0,
    "metadata_records": 0,
    "dq_results": 0,
    "recon_results": 0,
    "local_job_runs": 0,
    "pipeline_runs": 0,
    "change_log": 0,
    "schema_registry": 0,
}
TIMES = {
    "pipeline_runs": ("start_time", "end_time"),
    "metadata_records": ("produced_at",),
    "dq_results": ("executed_at",),
    "local_job_runs": ("created_at", "ended_at"),
    "error_log": ("occurred_at", "resolved_at"),
    "dead_letter_queue": ("created_at", "resolved_at"),
    "sync_marker_history": ("updated_at",),
}


def grow_old(ledger: Ledger) -> None:
    """Let everything in the ledger be of long ago, except events, which have a time of their own."""
    for table, columns in TIMES.items():
        for column in columns:
            execute(ledger, f"update {table} set {column} = :old where {column} is not null", old=OLD)


def an_error(ledger: Ledger, **more: Any) -> str:
    return ledger.errors.log(NewError("shop", "orders", "connection", "no answer", **more)).id


def a_letter(ledger: Ledger, number: int = 1, **more: Any) -> str:
    return ledger.dead_letters.add(NewLetter("shop", "orders", "insert", {"id": number}, **more)).id


def a_sync_run(ledger: Ledger) -> str:
    run = ledger.sync.runs.start(NewSync("shop", "batch"))
    ledger.sync.runs.complete(run.id, "completed")
    return run.id


def a_job_run(ledger: Ledger) -> None:
    """A run of a local job that was asked for and then cancelled."""
    backend = LocalBackend(ledger.store, "ann")
    backend.cancel(backend.run_now(backend.create(JobSpec("shop", {"name": "shop"})).job_id), "not needed")


def a_quality_result(ledger: Ledger) -> None:
    suite = Suite.of("orders", [{"not_null": "id"}, {"row_count": 1}])
    checks = tuple(judge(each, Seen(1, 0, 0, value=1), now()) for each in suite.expectations)
    with ledger.run("orders", kind="quality") as run, ledger.store.write() as tx:
        commit(tx, run.fence, [], [], [found(SuiteResult(suite, "main.orders", checks, new_id()))])


def of_each_table(ledger: Ledger) -> dict[str, int]:
    return {name: len(found) for name, found in dump(ledger).items()}


def fill_with_what_is_over(ledger: Ledger) -> dict[str, int]:
    """Something to clean up in every table; how much."""
    with ledger.run("orders") as run, run.step("load"):
        pass
    ledger.runs.cancel(lost(ledger).id, "not needed")
    a_sync_run(ledger)
    ledger.errors.resolve(an_error(ledger))
    ledger.errors.ignore(an_error(ledger))
    ledger.dead_letters.resolve(a_letter(ledger, 1))
    ledger.dead_letters.discard(a_letter(ledger, 2))
    for number in range(4):
        ledger.positions.advance("shop", NumberPosition(number))
    for number in range(13):
        ledger.schemas.register("shop.orders", SchemaDefinition([{"name": f"c{number}", "type": "int"}]))
    a_job_run(ledger)
    with ledger.store.write() as tx:
        records.add(
            tx, records.MetadataRecord(records.MetadataTarget("shop"), records.MetadataContext(), "ingestion_volume", {"rows": 1}, "me")
        )
    return {
        **NOTHING,
        "dead_letter_queue": 2,
        "error_log": 2,
        "sync_marker_history": 3,
        "metadata_records": 1,
        "local_job_runs": 1,
        "pipeline_runs": 3,
        "schema_registry": 3,
    }


def test_quality_results_outlive_their_runs_and_go_with_their_checks(ledger: Ledger) -> None:
    a_quality_result(ledger)
    grow_old(ledger)
    execute(ledger, "update dq_results set executed_at = :at", at=now() - timedelta(days=80))
    removed = ledger.sync.cleanup()
    assert (removed["pipeline_runs"], removed["dq_results"]) == (1, 0)
    assert len(ledger.quality.history("orders")) == 1
    grow_old(ledger)
    assert ledger.sync.cleanup() == {**NOTHING, "dq_results": 1}
    left = of_each_table(ledger)
    assert (left["dq_results"], left["dq_checks"]) == (0, 0)


def test_what_is_over_and_old_goes_and_the_counts_are_exact(ledger: Ledger) -> None:
    expected = fill_with_what_is_over(ledger)
    grow_old(ledger)
    before = of_each_table(ledger)
    assert ledger.sync.cleanup(dry_run=True) == expected
    assert of_each_table(ledger) == before
    assert ledger.sync.cleanup() == expected
    after = of_each_table(ledger)
    gone = {table: before[table] - after[table] for table in expected}
    assert gone == {**expected, "metadata_records": expected["metadata_records"] - expected["schema_registry"]}
    assert (after["step_logs"], after["state_transitions"]) == (0, 0)
    assert ledger.sync.cleanup() == NOTHING


def test_what_is_over_but_recent_stays(ledger: Ledger) -> None:
    fill_with_what_is_over(ledger)
    assert ledger.sync.cleanup() == {**NOTHING, "schema_registry": 3}


def test_ten_schema_versions_stay_at_hand_and_the_others_are_still_found(ledger: Ledger) -> None:
    fill_with_what_is_over(ledger)
    ledger.sync.cleanup()
    assert [row["version"] for row in rows(ledger, "select version from schema_registry order by version")] == list(range(4, 14))
    assert [version.version for version in ledger.schemas.history("shop.orders")] == list(range(1, 14))
    assert ledger.schemas.get("shop.orders", 1).schema_definition["columns"][0]["name"] == "c0"


def test_what_is_open_pending_running_or_current_stays_however_old_it_is(ledger: Ledger) -> None:
    running = lost(ledger)
    running.plan([NewStep("a")])
    an_error(ledger)
    a_letter(ledger, 1)
    a_letter(ledger, 2)
    ledger.dead_letters.claim(1)
    ledger.positions.advance("shop", NumberPosition(1))
    ledger.schemas.register("shop.orders", SchemaDefinition([{"name": "a", "type": "int"}]))
    grow_old(ledger)
    before = of_each_table(ledger)
    assert ledger.sync.cleanup(RetentionSettings(0, 0, 0, 0, 0, 0, 99, 1)) == NOTHING
    assert of_each_table(ledger) == before
    ledger.runs.finish(running.id, cancelled("the test is over"))


def test_what_something_open_came_from_stays_with_it(ledger: Ledger) -> None:
    run_of_error, run_of_letter = a_sync_run(ledger), a_sync_run(ledger)
    an_error(ledger, sync_run_id=run_of_error)
    resolved = an_error(ledger)
    letter = a_letter(ledger, sync_run_id=run_of_letter, error_log_id=resolved)
    execute(ledger, "update error_log set status = 'resolved', resolved_at = :now where id = :id", id=resolved)
    grow_old(ledger)
    assert ledger.sync.cleanup() == NOTHING
    ledger.dead_letters.discard(letter)
    grow_old(ledger)
    assert ledger.sync.cleanup() == {**NOTHING, "dead_letter_queue": 1, "error_log": 1, "pipeline_runs": 1}


def test_a_forced_move_is_remembered(ledger: Ledger) -> None:
    for number, force in ((9, False), (1, True), (2, False), (3, False)):
        ledger.positions.advance("shop", NumberPosition(number), force=force)
    grow_old(ledger)
    assert ledger.sync.cleanup()["sync_marker_history"] == 2
    assert [change.version for change in ledger.positions.history("shop")] == [4, 2]


def test_each_kind_has_its_own_retention(ledger: Ledger) -> None:
    expected = fill_with_what_is_over(ledger)
    grow_old(ledger)
    never = 365_000.0
    only_errors = replace(RetentionSettings().of_days(never), errors_days=1, records_days=never, schema_versions=99)
    assert ledger.sync.cleanup(only_errors) == {**NOTHING, "error_log": expected["error_log"]}


def test_a_number_of_days_is_for_what_capture_keeps_and_not_for_records_and_events(ledger: Ledger) -> None:
    fill_with_what_is_over(ledger)
    grow_old(ledger)
    execute(ledger, "update metadata_records set produced_at = :at", at=now() - timedelta(days=40))
    execute(ledger, "update change_log set at = :at", at=now() - timedelta(days=2))
    removed = ledger.sync.cleanup(ledger.sync.retention.of_days(1))
    assert (removed["metadata_records"], removed["change_log"], removed["pipeline_runs"], removed["error_log"]) == (0, 0, 3, 2)
    chosen = replace(RetentionSettings(), records_days=400, changes_days=20).of_days(5)
    assert chosen == RetentionSettings(5, 5, 5, 5, 90, 400, 20)


def test_a_tenant_cleans_up_only_its_own(url: str, ledger: Ledger) -> None:
    expected = fill_with_what_is_over(ledger)
    grow_old(ledger)
    with opened(url, "globex") as globex:
        assert globex.sync.cleanup() == NOTHING
    assert ledger.sync.cleanup() == expected


def test_more_than_a_chunk_is_deleted_chunk_by_chunk(ledger: Ledger) -> None:
    number = FIRST_CHUNK * 3 + 7
    a_sync_run(ledger)
    columns = "tenant_id, pipeline_id, status, trigger_type, trigger_by, start_time, end_time, parameters, run_kind, exclusive, lease_token"
    copy = f"insert into pipeline_runs (pipeline_logging_id, {columns}) select :id, {columns} from pipeline_runs limit 1"
    with ledger.store.write() as tx:
        tx.many(statement(copy), ({"id": f"copy-{index}"} for index in range(number - 1)))
    grow_old(ledger)
    seen: list[tuple[str, int]] = []
    assert ledger.sync.cleanup(progress=lambda table, count: seen.append((table, count)))["pipeline_runs"] == number
    steps = [count for table, count in seen if table == "pipeline_runs"]
    assert len(steps) >= 3
    assert steps == sorted(steps)
    assert steps[-1] == number


def test_a_run_under_a_key_is_kept_longer_so_that_its_work_is_not_done_again_and_then_goes_too(ledger: Ledger) -> None:
    with ledger.run("nightly", idempotency_key="2024-01-01") as run, run.step("load"):
        pass
    with pytest.raises(ValueError, match="no"), ledger.run("nightly", idempotency_key="2024-01-02"):
        raise ValueError("no")
    grow_old(ledger)
    assert ledger.sync.cleanup(replace(RetentionSettings(), keyed_runs_days=36_500)) == NOTHING
    assert ledger.sync.cleanup(replace(RetentionSettings(), keyed_runs_days=36_500).of_days(0))["pipeline_runs"] == 0
    with pytest.raises(Conflict, match="2024-01-01"), ledger.run("nightly", idempotency_key="2024-01-01"):
        pass
    assert ledger.sync.cleanup(dry_run=True) == {**NOTHING, "pipeline_runs": 2}
    assert ledger.sync.cleanup() == {**NOTHING, "pipeline_runs": 2}
    assert [of_each_table(ledger)[table] for table in ("pipeline_runs", "step_logs", "state_transitions")] == [0, 0, 0]


def test_retention_of_runs_does_not_enlarge_the_change_log(ledger: Ledger) -> None:
    fill_with_what_is_over(ledger)
    grow_old(ledger)
    before = ledger.changes.after(limit=10_000)
    assert ledger.sync.cleanup()["pipeline_runs"] == 3
    assert ledger.changes.after(limit=10_000) == before


def age_events(ledger: Ledger, up_to: int) -> None:
    execute(ledger, "update change_log set at = :old where seq <= :seq", old=OLD, seq=up_to)


def a_cursor(ledger: Ledger, subscriber: str, seq: int) -> None:
    execute(
        ledger,
        "insert into subscriber_cursor (tenant_id, subscriber, seq, updated_at) values (:tenant_id, :subscriber, :seq, :now)"
        " on conflict (tenant_id, subscriber) do update set seq = excluded.seq",
        subscriber=subscriber,
        seq=seq,
    )


def test_old_events_go_once_every_subscriber_has_read_them(ledger: Ledger, url: str) -> None:
    for _ in range(3):
        a_sync_run(ledger)
    numbers = [change.seq for change in ledger.changes.after()]
    age_events(ledger, numbers[-3])
    a_cursor(ledger, "slow", numbers[1])
    a_cursor(ledger, "fast", numbers[-1])
    with opened(url, "globex") as globex:
        a_sync_run(globex)
        a_cursor(globex, "slower", 0)
    for dry_run in (True, False):
        assert ledger.sync.cleanup(dry_run=dry_run) == {**NOTHING, "change_log": 2}
    a_cursor(ledger, "slow", numbers[-1])
    for dry_run in (True, False):
        assert ledger.sync.cleanup(dry_run=dry_run) == {**NOTHING, "change_log": len(numbers) - 4}
    assert [change.seq for change in ledger.changes.after()] == numbers[-2:]


def test_without_subscribers_old_events_go_by_their_age(ledger: Ledger) -> None:
    for _ in range(2):
        a_sync_run(ledger)
    numbers = [change.seq for change in ledger.changes.after()]
    age_events(ledger, numbers[3])
    assert ledger.sync.cleanup(replace(RetentionSettings(), changes_days=36_500)) == NOTHING
    assert ledger.sync.cleanup() == {**NOTHING, "change_log": 4}
    assert [change.seq for change in ledger.changes.after()] == numbers[4:]


def test_the_events_of_more_than_a_chunk_go_chunk_by_chunk(ledger: Ledger) -> None:
    while len(ledger.changes.after(limit=10_000)) <= FIRST_CHUNK * 3:
        with ledger.store.write() as tx:
            for _ in range(FIRST_CHUNK):
                run_store.add(tx, NewRun("many"), "me")
    number = len(ledger.changes.after(limit=10_000))
    age_events(ledger, 10_000)
    assert ledger.sync.cleanup() == {**NOTHING, "change_log": number}


def fill_change_log(ledger: Ledger, number: int) -> None:
    """So many old events."""
    columns = "tenant_id, table_name, operation, key, at"
    insert = f"insert into change_log ({columns}) values (:tenant_id, 'tables', 'INSERT', :key, :old)"
    with ledger.store.write() as tx:
        tx.many(statement(insert), ({"key": str(each), "old": OLD} for each in range(number)))


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a turn here, except where a test says so."""
    monkeypatch.setattr(cleanup, "PAUSE_SECONDS", 0.0)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every chunk takes longer than it may."""
    monkeypatch.setattr(cleanup, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(cleanup, "PAUSE_SECONDS", 0.0)


def test_an_event_that_is_ahead_of_its_time_holds_back_no_other(ledger: Ledger) -> None:
    fill_change_log(ledger, FIRST_CHUNK * 3)
    first = ledger.changes.after(limit=1)[0].seq
    execute(ledger, "update change_log set at = :at where seq = :seq", at=now() + timedelta(days=400), seq=first)
    for dry_run in (True, False):
        assert ledger.sync.cleanup(dry_run=dry_run) == {**NOTHING, "change_log": FIRST_CHUNK * 3 - 1}
    assert [change.seq for change in ledger.changes.after()] == [first]


@pytest.mark.usefixtures("slow")
def test_chunks_do_not_become_ever_smaller_where_a_part_of_their_time_is_always_the_same(ledger: Ledger) -> None:
    fill_change_log(ledger, SMALLEST_CHUNK * 4)
    steps: list[int] = []
    ledger.sync.cleanup(progress=lambda _table, count: steps.append(count))
    assert steps == [SMALLEST_CHUNK * each for each in (1, 2, 3, 4)]


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_events_are_read_once_although_an_old_transaction_keeps_postgresql_from_forgetting_them(ledger: Ledger, url: str) -> None:
    number = SMALLEST_CHUNK * 30
    fill_change_log(ledger, number)
    with psycopg.connect(url) as old, psycopg.connect(url, autocommit=True) as looking:
        before = entries_read(looking)
        old.execute("set transaction isolation level repeatable read")
        old.execute("select 1 from change_log")
        assert ledger.sync.cleanup() == {**NOTHING, "change_log": number}
        ledger.database.close()  # What its connections have read is counted at their end.
        wait_until(lambda: entries_read(looking) >= before + number)
        assert entries_read(looking) <= before + 3 * number


def entries_read(connection: psycopg.Connection[Any]) -> int:
    """How many entries of the change log's indexes PostgreSQL has gone through."""
    read = "select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes where relname = 'change_log' and schemaname = current_schema()"
    row = connection.execute(read).fetchone()
    assert row is not None
    return int(row[0])


def test_whoever_writes_is_not_disturbed_by_a_cleanup_that_has_nothing_to_delete(ledger: Ledger, url: str) -> None:
    fill_with_what_is_over(ledger)
    ledger.sync.cleanup()
    with opened(url) as other, other.store.write():
        assert ledger.sync.cleanup() == NOTHING


@pytest.mark.usefixtures("slow")
def test_the_schema_versions_of_several_chunks_are_archived_by_several_at_once_and_each_once(ledger: Ledger) -> None:
    for table in ("shop.orders", "shop.customers"):
        ledger.schemas.register(table, SchemaDefinition([{"name": "id", "type": "int"}]))
    columns = (
        "tenant_id, schema_name, table_name, name_key, schema_definition, schema_hash, ordinal_hash, evolution_type, compatibility_status,"
        " changes, policy, registered_at, registered_by"
    )
    first = f"select id || :version, :version, {columns} from schema_registry where version = 1"
    with ledger.store.write() as tx:
        tx.many(
            statement(f"insert into schema_registry (id, version, {columns}) {first}"),
            ({"version": version} for version in range(2, SMALLEST_CHUNK * 2)),
        )
    number = 2 * (SMALLEST_CHUNK * 2 - 1 - 10)
    assert ledger.sync.cleanup(dry_run=True) == {**NOTHING, "schema_registry": number}
    removed = together(lambda _: ledger.sync.cleanup(), 2)
    assert [sum(each[table] for each in removed) for table in NOTHING] == [*[0] * (len(NOTHING) - 1), number]
    for table in ("shop.orders", "shop.customers"):
        assert [version.version for version in ledger.schemas.history(table)] == list(range(1, SMALLEST_CHUNK * 2))


def test_archived_schema_versions_stay_when_old_records_go(ledger: Ledger) -> None:
    fill_with_what_is_over(ledger)
    ledger.sync.cleanup()
    grow_old(ledger)
    assert ledger.sync.cleanup()["metadata_records"] == 1
    assert [version.version for version in ledger.schemas.history("shop.orders")] == list(range(1, 14))


def test_runs_of_one_kind_can_be_cleaned_up_alone(ledger: Ledger) -> None:
    with ledger.run("nightly"):
        pass
    a_sync_run(ledger)
    grow_old(ledger)
    assert ledger.sync.cleanup(run_kind="sync")["pipeline_runs"] == 1
    assert [run.pipeline_id for run in ledger.runs.list()] == ["nightly"]


def test_a_retention_for_ever_deletes_nothing(ledger: Ledger) -> None:
    fill_with_what_is_over(ledger)
    grow_old(ledger)
    for_ever = replace(RetentionSettings().of_days(1e12), records_days=1e12, schema_versions=99)
    assert ledger.sync.cleanup(for_ever) == NOTHING


def test_a_cleanup_that_is_told_to_stop_ends_after_its_chunk(ledger: Ledger) -> None:
    fill_with_what_is_over(ledger)
    grow_old(ledger)
    removed = ledger.sync.cleanup(stop=lambda: True)
    assert removed == {**NOTHING, "dead_letter_queue": 2}


@pytest.fixture
def background(ledger: Ledger) -> Iterator[BackgroundCleanup]:
    thread = BackgroundCleanup(ledger.sync.cleanup, first_pause=0.01, interval=0.01)
    yield thread
    thread.close()


def test_the_background_cleans_up_again_and_again(ledger: Ledger, background: BackgroundCleanup) -> None:
    expected = fill_with_what_is_over(ledger)
    grow_old(ledger)
    background.start()
    wait_until(lambda: sum(of_each_table(ledger)[table] for table in ("pipeline_runs", "error_log", "dead_letter_queue")) == 0)
    wait_until(lambda: background.rounds >= 3)
    background.close()
    assert (background.last, background.error) == (NOTHING, None)
    assert expected != NOTHING


def test_the_background_goes_on_after_a_failure() -> None:
    rounds: list[int] = []

    def clean() -> dict[str, int]:
        rounds.append(1)
        if len(rounds) < 4:
            raise (Unavailable, OverflowError, RuntimeError)[len(rounds) - 1]("no answer from postgresql://ann:hunter2@db")
        return {"pipeline_runs": 1}

    background = BackgroundCleanup(clean, first_pause=0.001, interval=0.002)
    background.start()
    wait_until(lambda: background.rounds == 3 or background.last is not None)
    wait_until(lambda: background.last == {"pipeline_runs": 1})
    background.close()
    assert (background.failures, background.error) == (0, None)


def test_pauses_grow_from_a_minute_to_an_hour() -> None:
    assert [pause_after(failures) for failures in range(1, 9)] == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert pause_after(0) == timedelta(hours=1).total_seconds()
    assert pause_after(10_000) == 3600
