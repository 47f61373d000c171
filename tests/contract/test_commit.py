"""The commit: all of a change becomes visible at once, or nothing of it does."""

# ruff: noqa: PT012 - what raises is the block of a run
from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.making import (
    AT,
    ORDERS,
    SCHEMA,
    Planned,
    append,
    change,
    dump,
    execute,
    expire_lease,
    new_file,
    opened,
    overwrite,
    put,
    rows,
    together,
)
from lakeledger import Advance, Conflict, Fenced, FilesPosition, Invalid, Ledger, NotFound, NumberPosition, Source, testing
from lakeledger.runs import Counters
from lakeledger.sync import SourceFile, parse_source
from lakeledger.tables import Committed, Layout, Partitions

DAYS = {"layout": Layout(partition_by=("day",))}
MON, TUE, WED = "day=mon", "day=tue", "day=wed"


def schema(*columns: str) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in columns]}


def names(ledger: Ledger, version: int | None = None, table: str = ORDERS) -> list[str]:
    return sorted(file.file_name for file in ledger.tables.files(table, version))


def by_partition(ledger: Ledger, base: int, *partitions: str, file: str = "new") -> Committed:
    files = [new_file(f"{file}-{partition}", partition=partition) for partition in partitions]
    return overwrite(ledger, *files, retires=Partitions(frozenset(partitions)), base_version=base, **DAYS)


def test_an_append_makes_the_table_and_its_first_version(ledger: Ledger) -> None:
    with ledger.run("load", "scheduler") as run:
        committed = put(ledger, change(run, new_file("a", 10, 100), new_file("b", 5, 50)))
    table, snapshot = ledger.tables.get(ORDERS), committed.snapshot
    assert committed.applied
    assert (table.current_version, table.row_count, table.file_count, table.total_size) == (1, 15, 2, 150)
    assert (snapshot.version, snapshot.parent_version, snapshot.operation, snapshot.run_id) == (1, None, "append", run.id)
    assert (snapshot.trigger, snapshot.schema_version, snapshot.batch_id) == ("scheduler", 1, None)
    assert snapshot.summary == {
        "added_files": 2, "added_rows": 15, "added_bytes": 150, "removed_files": 0, "removed_rows": 0,
        "total_rows": 15, "total_files": 2, "total_bytes": 150,
    }  # fmt: skip
    assert names(ledger) == ["a", "b"]


def test_a_file_is_registered_with_all_that_is_known_of_it(ledger: Ledger) -> None:
    committed = append(ledger, new_file("a", 10, 100, MON), **DAYS)
    file = ledger.tables.files(ORDERS)[0]
    assert (file.file_path, file.file_name, file.partition_path) == ("data/run/day=mon/a", "a", MON)
    assert (file.file_size, file.row_count, file.file_type, file.is_compressed) == (100, 10, "parquet", True)
    assert file.column_bounds == {"id": {"min": 1, "max": 10, "nulls": 0}}
    assert (file.state, file.added_version, file.removed_version, file.iceberg_metadata_state) == ("live", 1, None, "pending")
    assert (file.run_id, file.modified_at, file.checksum) == (committed.snapshot.run_id, AT, None)


def test_versions_have_no_gaps_and_each_knows_its_parent(ledger: Ledger) -> None:
    for index in range(5):
        append(ledger, new_file(f"f{index}"))
    assert [(snapshot.version, snapshot.parent_version) for snapshot in ledger.tables.history(ORDERS)] == [
        (5, 4),
        (4, 3),
        (3, 2),
        (2, 1),
        (1, None),
    ]
    assert [snapshot.version for snapshot in ledger.tables.history(ORDERS, limit=2)] == [5, 4]


def test_an_overwrite_retires_every_file_and_keeps_them_for_readers_of_the_past(ledger: Ledger) -> None:
    append(ledger, new_file("a"), new_file("b"))
    committed = overwrite(ledger, new_file("c", 3, 30), base_version=1)
    assert names(ledger) == ["c"]
    assert names(ledger, 1) == ["a", "b"]
    assert (committed.table.row_count, committed.table.file_count, committed.table.total_size) == (3, 1, 30)
    assert (committed.snapshot.summary["removed_files"], committed.snapshot.summary["removed_rows"]) == (2, 20)
    retired = rows(ledger, "select file_name, removed_version from table_files where state = 'retired' order by 1")
    assert retired == [{"file_name": "a", "removed_version": 2}, {"file_name": "b", "removed_version": 2}]


def test_an_overwrite_with_nothing_empties_the_table(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    committed = overwrite(ledger, base_version=1)
    assert names(ledger) == []
    assert (committed.table.row_count, committed.table.file_count, committed.table.total_size) == (0, 0, 0)
    assert ledger.tables.stats(ORDERS).row_count == 0


def test_an_overwrite_by_partition_leaves_the_others_alone(ledger: Ledger) -> None:
    append(ledger, new_file("a", partition=MON), new_file("b", partition=TUE), **DAYS)
    by_partition(ledger, 1, TUE, WED)
    assert names(ledger) == ["a", "new-day=tue", "new-day=wed"]


def test_a_path_can_be_in_a_table_once(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    before = dump(ledger)
    with ledger.run("load") as run:
        inside = dump(ledger)
        with pytest.raises(Conflict):
            put(ledger, change(run, new_file("a")))
        assert dump(ledger) == inside
    assert dump(ledger)["tables"] == before["tables"]


def test_a_name_in_another_spelling_is_the_same_table_and_the_first_spelling_stays(ledger: Ledger) -> None:
    append(ledger, new_file("a"), table="Silver.Orders")
    append(ledger, new_file("b"), table="silver.ORDERS")
    assert [str(table.name) for table in ledger.tables.list()] == ["Silver.Orders"]
    assert ledger.tables.get("SILVER.orders").current_version == 2


def test_appends_do_not_conflict(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    with ledger.run("one") as one, ledger.run("two") as two:
        first, second = change(one, new_file("b")), change(two, new_file("c"))
        assert put(ledger, second).version == 2
        assert put(ledger, first).version == 3
    assert names(ledger) == ["a", "b", "c"]


def test_an_overwrite_planned_before_somebodys_append_is_refused(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    append(ledger, new_file("b"))
    before = dump(ledger)["table_files"]
    with pytest.raises(Conflict, match="moved from version 1 to 2 while it was being overwritten: read it again and retry") as caught:
        overwrite(ledger, new_file("c"), base_version=1)
    assert caught.value.retryable
    assert dump(ledger)["table_files"] == before


def test_an_append_computed_from_a_version_that_is_no_longer_current_is_refused(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    append(ledger, new_file("b"), reads="all", base_version=1)
    before = dump(ledger)["table_files"]
    with pytest.raises(Conflict, match="moved from version 1 to 2 since the rows were computed from it: read it again and retry") as caught:
        append(ledger, new_file("c"), reads="all", base_version=1)
    assert caught.value.retryable
    assert dump(ledger)["table_files"] == before


def test_an_append_after_somebodys_overwrite_goes_in(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    with ledger.run("load") as run:
        planned = change(run, new_file("b"))
        overwrite(ledger, new_file("c"), base_version=1)
        put(ledger, planned)
    assert names(ledger) == ["b", "c"]


def test_the_first_overwrite_of_a_new_table_conflicts_with_another_first(ledger: Ledger) -> None:
    overwrite(ledger, new_file("a"), base_version=0)
    with pytest.raises(Conflict, match="moved from version 0 to 1"):
        overwrite(ledger, new_file("b"), base_version=0)


def test_overwrites_of_different_partitions_do_not_conflict_and_of_the_same_do(ledger: Ledger) -> None:
    append(ledger, new_file("a", partition=MON), new_file("b", partition=TUE), **DAYS)
    by_partition(ledger, 1, MON, file="x")
    by_partition(ledger, 1, TUE, file="y")
    assert names(ledger) == ["x-day=mon", "y-day=tue"]
    with pytest.raises(Conflict, match="moved from version 1 to 3"):
        by_partition(ledger, 1, TUE, file="z")
    with pytest.raises(Conflict):
        by_partition(ledger, 2, MON, TUE, file="z")
    by_partition(ledger, 3, TUE, file="z")


def test_an_append_into_a_partition_conflicts_with_its_overwrite_and_no_other(ledger: Ledger) -> None:
    append(ledger, new_file("a", partition=MON), new_file("b", partition=TUE), **DAYS)
    append(ledger, new_file("c", partition=MON), **DAYS)
    with pytest.raises(Conflict):
        by_partition(ledger, 1, MON)
    by_partition(ledger, 1, TUE)
    assert names(ledger) == ["a", "c", "new-day=tue"]


def test_a_new_partition_that_two_overwrite_at_once_is_a_conflict(ledger: Ledger) -> None:
    append(ledger, new_file("a", partition=MON), **DAYS)
    by_partition(ledger, 1, WED, file="x")
    with pytest.raises(Conflict):
        by_partition(ledger, 1, WED, file="y")


def test_an_overwrite_of_all_conflicts_with_the_overwrite_of_a_partition(ledger: Ledger) -> None:
    append(ledger, new_file("a", partition=MON), **DAYS)
    overwrite(ledger, new_file("b", partition=TUE), base_version=1, **DAYS)
    with pytest.raises(Conflict):
        by_partition(ledger, 1, MON)


def test_of_many_that_commit_at_once_every_append_gets_a_version_of_its_own(ledger: Ledger, url: str) -> None:
    def load(index: int) -> list[int]:
        with opened(url) as other:
            return [append(other, new_file(f"{index}-{number}")).version for number in range(5)]

    versions = sorted(version for found in together(load, 4) for version in found)
    assert versions == list(range(1, 21))
    assert len(names(ledger)) == 20


def test_of_many_that_overwrite_at_once_one_gets_in(ledger: Ledger, url: str) -> None:
    append(ledger, new_file("a"))

    def load(index: int) -> bool | None:
        with opened(url) as other:
            try:
                overwrite(other, new_file(f"n{index}"), base_version=1)
            except Conflict as error:
                return error.retryable
            return None

    assert sorted(map(str, together(load, 5))) == ["None", "True", "True", "True", "True"]
    assert ledger.tables.get(ORDERS).current_version == 2


def test_an_appended_batch_is_applied_once_whatever_came_after(ledger: Ledger) -> None:
    first = append(ledger, new_file("a"), batch_id="b1")
    append(ledger, new_file("b"), batch_id="b2")
    overwrite(ledger, new_file("c"), base_version=2)
    again = append(ledger, new_file("d"), batch_id="b1")
    assert (again.applied, again.version, again.snapshot) == (False, 1, first.snapshot)
    assert names(ledger) == ["c"]


def test_a_batch_that_is_found_leaves_nothing_but_its_run(ledger: Ledger) -> None:
    move: dict[str, Any] = {"batch_id": "b1", "position": Advance(parse_source("shop"), NumberPosition(1))}
    append(ledger, new_file("a"), **move)
    with ledger.run("load") as run:
        before = dump(ledger)
        assert not put(ledger, change(run, new_file("a"), counters=Counters(processed=10), **move)).applied
        assert dump(ledger) == before
    assert ledger.runs.get(run.id).commit_count == 0


def test_a_batch_belongs_to_its_table(ledger: Ledger) -> None:
    append(ledger, new_file("a"), batch_id="b1")
    assert append(ledger, new_file("a"), batch_id="b1", table="silver.returns").applied


def test_an_overwriting_batch_is_found_only_while_it_is_the_latest(ledger: Ledger) -> None:
    assert overwrite(ledger, new_file("a1"), batch_id="A", base_version=0).applied
    assert not overwrite(ledger, new_file("a2"), batch_id="A", base_version=1).applied
    assert overwrite(ledger, new_file("b"), batch_id="B", base_version=1).applied
    assert overwrite(ledger, new_file("a3"), batch_id="A", base_version=2).applied
    assert names(ledger) == ["a3"]
    assert not overwrite(ledger, new_file("a4"), batch_id="A", base_version=3).applied


def test_of_many_that_try_the_same_batch_at_once_one_applies_it(ledger: Ledger, url: str) -> None:
    def load(index: int) -> bool:
        with opened(url) as other:
            return append(other, new_file(f"f{index}"), batch_id="b1").applied

    assert together(load, 5).count(True) == 1
    assert len(names(ledger)) == 1


def test_a_table_can_be_seen_as_it_was_at_a_version(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    append(ledger, new_file("b"))
    overwrite(ledger, new_file("c"), base_version=2)
    append(ledger, new_file("d"))
    assert [names(ledger, version) for version in (1, 2, 3, 4, None)] == [["a"], ["a", "b"], ["c"], ["c", "d"], ["c", "d"]]
    for version in (0, 5, -1):
        with pytest.raises(NotFound, match=f"has no version {version}: it has 1 to 4"):
            ledger.tables.view(ORDERS, version)


def test_a_table_can_be_seen_as_it_was_at_a_time(ledger: Ledger) -> None:
    for name in ("a", "b", "c"):
        append(ledger, new_file(name))
    for version in (1, 2, 3):
        at = datetime(2026, 1, version, tzinfo=UTC)
        execute(ledger, "update table_snapshots set committed_at = :at where version = :version", at=at, version=version)

    def version_at(at: datetime) -> int:
        return ledger.tables.view(ORDERS, at=at).version

    assert version_at(datetime(2026, 1, 1, tzinfo=UTC)) == 1
    assert version_at(datetime(2026, 1, 2, tzinfo=UTC) - timedelta(microseconds=1)) == 1
    assert version_at(datetime(2026, 1, 2, tzinfo=UTC)) == 2
    assert version_at(datetime(2030, 1, 1, tzinfo=UTC)) == 3
    with pytest.raises(NotFound, match="did not exist at 2025-12-31"):
        version_at(datetime(2025, 12, 31, tzinfo=UTC))


def test_a_time_without_a_zone_is_refused_because_nobody_knows_when_it_was(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    with pytest.raises(Invalid, match="time zone"):
        ledger.tables.view(ORDERS, at=datetime(2030, 1, 1))  # noqa: DTZ001 - the point of the test


def test_a_version_and_a_time_are_not_asked_for_together(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    append(ledger, new_file("b"))
    with pytest.raises(Invalid, match="at a version or at a time, not at both"):
        ledger.tables.view(ORDERS, version=1, at=datetime(2030, 1, 1, tzinfo=UTC))


def test_a_table_that_is_not_there_is_not_found(ledger: Ledger) -> None:
    assert ledger.tables.find("silver.nothing") is None
    for ask in (ledger.tables.get, ledger.tables.view, ledger.tables.history, ledger.tables.stats, ledger.tables.metadata):
        with pytest.raises(NotFound, match=r"no table silver\.nothing"):
            ask("silver.nothing")


def test_each_version_has_the_schema_that_it_was_written_with(ledger: Ledger) -> None:
    append(ledger, new_file("a"), schema=schema("id"))
    append(ledger, new_file("b"), schema=schema("id", "tax"), evolve=True)
    append(ledger, new_file("c"), schema=schema("tax", "ID"))
    overwrite(ledger, new_file("d"), schema=schema("id"), base_version=3)
    versions = [snapshot.schema_version for snapshot in reversed(ledger.tables.history(ORDERS))]
    columns = [[field["name"] for field in ledger.tables.view(ORDERS, version).schema["fields"]] for version in (1, 2, 3, 4)]
    assert versions == [1, 2, 2, 3]
    assert columns == [["id"], ["id", "tax"], ["id", "tax"], ["id"]]
    latest = ledger.tables.metadata(ORDERS)
    assert latest is not None
    assert latest.schema_version == 3


def test_a_schema_that_comes_back_is_a_new_version_and_the_latest(ledger: Ledger) -> None:
    for version, columns in enumerate((["a"], ["b"], ["a"])):
        overwrite(ledger, new_file(f"f{version}"), schema=schema(*columns), base_version=version)
    assert [snapshot.schema_version for snapshot in ledger.tables.history(ORDERS)] == [3, 2, 1]
    assert ledger.tables.view(ORDERS).schema["fields"][0]["name"] == "a"


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (Layout("jsonl", ("day",)), r"is parquet, partitioned by day: write it that way"),
        (Layout("parquet", ()), "partitioned by"),
        (Layout("parquet", ("day", "hour")), "partitioned by"),
    ],
)
def test_data_in_another_layout_is_refused_unless_all_is_overwritten(ledger: Ledger, layout: Layout, message: str) -> None:
    append(ledger, new_file("a", partition=MON), **DAYS)
    with pytest.raises(Invalid, match=message):
        append(ledger, new_file("b"), layout=layout)
    overwrite(ledger, new_file("c"), layout=layout, base_version=1)
    assert ledger.tables.view(ORDERS).layout == layout
    assert ledger.tables.view(ORDERS, 1).layout == DAYS["layout"]


def test_position_files_and_run_move_with_the_data(ledger: Ledger) -> None:
    read = SourceFile("/in/a.csv", 10, AT, "sha256:a")
    move = Advance(parse_source("shop.orders"), FilesPosition(1, "x"), expected_version=0)
    with ledger.run("load") as run:
        put(ledger, change(run, new_file("a", size=77), position=move, source_files=[read], counters=Counters(processed=10, inserted=9)))
        assert (ledger.runs.get(run.id).records_inserted, ledger.runs.get(run.id).commit_count) == (9, 1)
        assert ledger.runs.get(run.id).bytes_processed == 77
    assert ledger.positions.get("shop.orders").sync_run_id == run.id
    assert ledger.positions.files("shop.orders") == [read]


class Boom(Exception):
    """Raised inside the transaction."""


BACK = {"position": Advance(parse_source("shop"), NumberPosition(1))}
UNKNOWN = {"position": Advance(parse_source("shop"), NumberPosition(9), expected_version=7)}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"schema": schema("other")}, Invalid),
        ({"layout": Layout("jsonl")}, Invalid),
        ({"operation": "overwrite", "retires": "all", "base_version": 7}, Conflict),
        ({"files": [new_file("b"), new_file("a")]}, Conflict),
        (BACK, Conflict),
        (UNKNOWN, Conflict),
        ({"table": "silver.brand_new", **BACK}, Conflict),
        ({"summary": {"bad": object()}}, Invalid),
    ],
    ids=["schema", "layout", "base", "known path", "position goes back", "position elsewhere", "new table", "not JSON"],
)
def test_a_commit_that_is_refused_anywhere_leaves_nothing(ledger: Ledger, more: dict[str, Any], expected: type[Exception]) -> None:
    append(ledger, new_file("a"), position=Advance(parse_source("shop"), NumberPosition(5)))
    files = more.get("files", [new_file("b")])
    with ledger.run("load") as run:
        before = dump(ledger)
        with pytest.raises(expected):
            put(ledger, change(run, *files, **{key: value for key, value in more.items() if key != "files"}))
        assert dump(ledger) == before


@pytest.mark.parametrize("error", [Boom(), KeyboardInterrupt(), OSError("disk full")], ids=["error", "interrupt", "os error"])
@pytest.mark.parametrize("make", [append, overwrite])
def test_a_failure_inside_the_transaction_leaves_nothing(ledger: Ledger, make: Callable[..., Committed], error: BaseException) -> None:
    move = Advance(parse_source("shop"), NumberPosition(5))
    append(ledger, new_file("a"), position=move)
    before = {name: content for name, content in dump(ledger).items() if name not in ("pipeline_runs", "state_transitions", "change_log")}
    with pytest.raises(type(error)), testing.raise_at("in_transaction", error):
        make(ledger, new_file("b"), new_file("c"), position=move, source_files=[SourceFile("/a", 1, AT, "x")], schema=SCHEMA)
    after = dump(ledger)
    assert {name: after[name] for name in before} == before
    assert {each.table_name for each in ledger.changes.after(seq=_before_last_run(ledger))} == {"pipeline_runs"}


def _before_last_run(ledger: Ledger) -> int:
    last = ledger.runs.list(limit=1)[0].id
    return min(each.seq for each in ledger.changes.after() if each.key == last) - 1


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from contract.making import append, new_file, opened
from lakeledger import testing
with opened(sys.argv[1]) as ledger:
    testing.kill_at("in_transaction")
    append(ledger, new_file("b"))
"""


def test_a_process_that_is_killed_inside_the_transaction_leaves_nothing_and_the_next_one_goes_on(
    ledger: Ledger, url: str, request: pytest.FixtureRequest
) -> None:
    append(ledger, new_file("a"))
    before = dump(ledger)
    done = subprocess.run([sys.executable, "-c", KILLED, url, str(request.config.rootpath / "tests")], check=False, capture_output=True)
    assert done.returncode == -9, done.stderr
    after = dump(ledger)
    assert {name: after[name] for name in ("tables", "table_files", "table_stats", "table_snapshots", "metadata_records")} == {
        name: before[name] for name in ("tables", "table_files", "table_stats", "table_snapshots", "metadata_records")
    }
    assert [run.status for run in ledger.runs.recover()] == ["FAILED"]
    assert append(ledger, new_file("b")).version == 2


def test_who_is_fenced_off_leaves_nothing(ledger: Ledger) -> None:
    def made(run: Any) -> Planned:
        return change(run, new_file("b"), position=Advance(parse_source("shop"), NumberPosition(5)))

    with ledger.run("load") as run:
        planned = made(run)
    with pytest.raises(Conflict, match="already ended"), ledger.run("load") as expired:
        expire_lease(ledger, expired.id)
        assert [run.id for run in ledger.runs.recover()] == [expired.id]
        before = dump(ledger)
        with pytest.raises(Fenced):
            put(ledger, planned)
        with pytest.raises(Fenced):
            put(ledger, made(expired))
        assert dump(ledger) == before


def test_the_time_of_a_commit_is_that_of_its_transaction_and_grows_with_the_versions(ledger: Ledger) -> None:
    for index in range(3):
        append(ledger, new_file(f"f{index}"))
    times = [snapshot.committed_at for snapshot in ledger.tables.history(ORDERS)]
    assert times == sorted(times, reverse=True)
    assert ledger.tables.get(ORDERS).last_modified == times[0]


def test_a_position_that_was_set_back_lets_its_rows_in_again(ledger: Ledger) -> None:
    move = Advance(Source("shop", "orders"), NumberPosition(2))
    first = append(ledger, new_file("a"), position=move, batch_id="two")
    assert append(ledger, new_file("b"), position=move, batch_id="two").applied is False
    ledger.positions.advance("shop.orders", NumberPosition(0), force=True, reason="reload")
    again = append(ledger, new_file("c"), position=move, batch_id="two")
    assert (first.version, again.version, again.applied) == (1, 2, True)


def test_a_source_is_found_however_it_is_spelled(ledger: Ledger) -> None:
    ledger.positions.advance("Shop.Orders", NumberPosition(1))
    assert ledger.positions.get("shop.orders").source.name == "Shop.Orders"
    assert ledger.positions.find(Source("shop.orders")) is None


def test_what_an_overwrite_removed_is_counted(ledger: Ledger) -> None:
    append(ledger, new_file("a", rows=7))
    with ledger.run("again") as run:
        put(ledger, change(run, new_file("b"), operation="overwrite", retires="all"))
    assert ledger.runs.get(run.id).records_deleted == 7
