"""A commit of several tables, positions and effects: all of it or nothing, and only real conflicts are conflicts."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import lakeledger
from contract.making import AT, SCHEMA, append, change, dump, execute, new_file, put, rows
from empty_ledgers import new_sqlite_url
from examples import tried
from lakeledger import Advance, Conflict, Fenced, Ledger, NumberPosition
from lakeledger.commit import Commit, Effect, commit
from lakeledger.db import Transaction
from lakeledger.db.queries import statement
from lakeledger.pipelines.effects import IngestionFacts, Stopwatch
from lakeledger.runs import ActiveRun, Counters
from lakeledger.sync import parse_source
from lakeledger.tables import Change, Files, Keys, Layout, NewFile, Partitions, parse_name

ROWS, QUARANTINE, TOMBSTONES = "silver.orders", "silver.orders__quarantine", "silver.orders__tombstones"


def appended(table: str, *files: NewFile, **more: Any) -> Change:
    name = parse_name(table)
    return Change(name, f"/warehouse/{name.folder}", "append", SCHEMA, Layout(), list(files), **more)


def moved(source: str, to: int) -> Advance:
    return Advance(parse_source(source), NumberPosition(to))


def three(batch: str | None = None) -> list[Change]:
    """Good rows, bad rows and deleted keys of one load."""
    names = (batch or "x", batch or "x", batch or "x")
    good = appended(ROWS, new_file(f"good {names[0]}", 7), batch_id=batch, counters=Counters(processed=10, inserted=7))
    bad = appended(QUARANTINE, new_file(f"bad {names[1]}", 2), batch_id=batch, counters=Counters(failed=2))
    gone = appended(TOMBSTONES, new_file(f"gone {names[2]}", 1), batch_id=batch, counters=Counters(deleted=1))
    return [good, bad, gone]


def made(
    ledger: Ledger, run: ActiveRun, changes: Sequence[Change], moves: Sequence[Advance] = (), effects: Sequence[Effect] = ()
) -> Commit:
    with ledger.store.write() as tx:
        return commit(tx, run.fence, changes, moves, effects)


@dataclass
class Fails:
    """An effect that fails after it has written."""

    seen: list[Commit] = field(default_factory=list)

    def write(self, tx: Transaction, committed: Commit) -> None:
        self.seen.append(committed)
        tx.execute(statement("update tables set location = 'nowhere'"))
        raise ZeroDivisionError


def test_tables_positions_counters_and_facts_become_visible_together(ledger: Ledger) -> None:
    with ledger.run("load") as run, run.step("orders") as step, ledger.store.write() as tx:
        facts = IngestionFacts(parse_name(ROWS), Stopwatch(), "shop.orders")
        done = commit(tx, step.fence, three(), [moved("shop.orders", 10), moved("shop.deletes", 3)], [facts])
    assert [str(each.table.name) for each in done.tables] == [ROWS, QUARANTINE, TOMBSTONES]
    assert [each.version for each in done.tables] == [1, 1, 1]
    assert [ledger.tables.get(name).row_count for name in (ROWS, QUARANTINE, TOMBSTONES)] == [7, 2, 1]
    assert [marker.position_data for marker in done.markers] == [{"value": 10}, {"value": 3}]
    ended = ledger.runs.get(run.id)
    assert (ended.records_processed, ended.records_inserted, ended.records_failed, ended.records_deleted) == (10, 7, 2, 1)
    assert ended.commit_count == 1
    (step_row,) = ledger.runs.steps(run.id)
    assert (step_row.rows_processed, step_row.target_table) == (10, ROWS)
    assert [record.payload["rows"] for record in ledger.records.history(kind="ingestion_volume")] == [7]


def test_an_effect_that_fails_leaves_nothing_behind(ledger: Ledger) -> None:
    with ledger.run("load") as run:
        made(ledger, run, three("first"), [moved("shop.orders", 1)])
        before = dump(ledger)
        fails = Fails()
        with pytest.raises(ZeroDivisionError):
            made(ledger, run, three("second"), [moved("shop.orders", 2)], [IngestionFacts(parse_name(ROWS), Stopwatch()), fails])
        assert dump(ledger) == before
    assert [each.version for each in fails.seen[0].tables] == [2, 2, 2], "an effect sees what becomes visible with it"


def test_a_position_that_may_not_move_holds_back_every_table(ledger: Ledger) -> None:
    with ledger.run("load") as run:
        made(ledger, run, [], [moved("shop.deletes", 9)])
        before = dump(ledger)
        with pytest.raises(Conflict, match="would go back"):
            made(ledger, run, three(), [moved("shop.orders", 10), moved("shop.deletes", 3)])
        assert dump(ledger) == before


def test_a_fenced_run_commits_no_table(ledger: Ledger) -> None:
    with pytest.raises(Conflict), ledger.run("load") as run:  # noqa: PT012 - what raises is the block of the run
        ledger.runs.cancel(run.id, "wrong day", by="ann")
        with pytest.raises(Fenced):
            made(ledger, run, three())
    assert ledger.tables.list() == []


def test_a_commit_that_is_there_is_found_whole(ledger: Ledger) -> None:
    with ledger.run("load") as run:
        first = made(ledger, run, three("monday"), [moved("shop.orders", 1)])
        before = dump(ledger)
        again = made(ledger, run, three("monday"), [moved("shop.orders", 1)], [IngestionFacts(parse_name(ROWS), Stopwatch())])
        assert dump(ledger) == before
    assert (first.applied, again.applied) == (True, False)
    assert [each.snapshot for each in again.tables] == [each.snapshot for each in first.tables]


def test_what_one_table_has_already_is_not_applied_to_it_again(ledger: Ledger) -> None:
    with ledger.run("load") as run:
        good, bad, gone = three("monday")
        made(ledger, run, [bad])
        done = made(ledger, run, [good, bad, gone])
    assert [each.applied for each in done.tables] == [True, False, True]
    assert ledger.runs.get(run.id).records_failed == 2


def test_a_commit_of_positions_alone_counts_no_commit(ledger: Ledger) -> None:
    with ledger.run("load") as run:
        done = made(ledger, run, [], [moved("shop.orders", 1)])
    assert (done.applied, done.tables, ledger.runs.get(run.id).commit_count) == (False, (), 0)


CHILD = """
import sys, lakeledger
from contract.test_commit_many import moved, three
from lakeledger import testing
from lakeledger.commit import commit
from lakeledger.names import parse_name
from lakeledger.pipelines.effects import IngestionFacts, Stopwatch
ledger = lakeledger.open(sys.argv[1], warehouse="/warehouse")
testing.kill_at(sys.argv[2])
with ledger.run("load") as run:
    with ledger.store.write() as tx:
        facts = IngestionFacts(parse_name("silver.orders"), Stopwatch())
        commit(tx, run.fence, three("monday"), [moved("shop.orders", 10), moved("shop.deletes", 3)], [facts])
    from lakeledger import failpoints
    failpoints.reach(failpoints.AFTER_COMMIT)
"""


@pytest.mark.parametrize(("point", "is_there"), [("in_transaction", False), ("after_commit", True)])
def test_whoever_is_killed_leaves_all_of_it_or_nothing(url: str, point: str, is_there: bool) -> None:
    child = subprocess.run([sys.executable, "-c", CHILD, url, point], capture_output=True, text=True, check=False, env=_environment())
    assert child.returncode == -9, child.stderr
    with lakeledger.open(url, warehouse="/warehouse") as ledger:
        found = {
            "tables": len(ledger.tables.list()),
            "files": len(rows(ledger, "select 1 from table_files")),
            "positions": len(ledger.positions.list()),
            "facts": len(ledger.records.history(kind="ingestion_volume")),
        }
        assert found == ({"tables": 3, "files": 3, "positions": 2, "facts": 1} if is_there else dict.fromkeys(found, 0))
        with ledger.run("load") as run:
            done = made(ledger, run, three("monday"), [moved("shop.orders", 10), moved("shop.deletes", 3)])
        assert done.applied is not is_there
        assert [ledger.tables.get(name).row_count for name in (ROWS, QUARANTINE, TOMBSTONES)] == [7, 2, 1]


def _environment() -> dict[str, str]:
    tests = str(Path(__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}


# What is retired, and what was read


def paths(ledger: Ledger) -> list[str]:
    return sorted(file.file_path for file in ledger.tables.files(ROWS))


def test_named_files_are_retired_and_no_others(ledger: Ledger) -> None:
    append(ledger, a := new_file("a"), b := new_file("b"), table=ROWS)
    append(ledger, c := new_file("c"), table=ROWS)
    rewritten = append(ledger, ab := new_file("ab", 20), table=ROWS, operation="replace", retires=Files(frozenset([a.path, b.path])))
    assert paths(ledger) == sorted([ab.path, c.path])
    assert (rewritten.snapshot.operation, rewritten.table.row_count) == ("replace", 30)
    assert ledger.runs.get(rewritten.snapshot.run_id).records_deleted == 0, "a compaction deletes no row"


def test_whoever_rewrites_other_files_is_not_in_the_way(ledger: Ledger) -> None:
    append(ledger, a := new_file("a"), b := new_file("b"), table=ROWS)
    for old, new in ((a, "a2"), (b, "b2")):
        append(ledger, new_file(new), table=ROWS, operation="replace", retires=Files(frozenset([old.path])), base_version=1)
    with pytest.raises(Conflict, match="moved from version 1 to 3 while it was being overwritten") as caught:
        append(ledger, new_file("a3"), table=ROWS, operation="replace", retires=Files(frozenset([a.path])), base_version=1)
    assert caught.value.retryable


def test_rows_that_depend_on_a_range_of_keys_depend_on_nothing_else(ledger: Ledger) -> None:
    append(ledger, keyed("low", 1, 10), keyed("high", 100, 200), table=ROWS)
    append(ledger, keyed("other", 50, 60), table=ROWS)
    append(ledger, keyed("mine", 1, 9), table=ROWS, reads=Keys("id", 1, 10), base_version=1)
    with pytest.raises(Conflict, match="since the rows were computed from it"):
        append(ledger, keyed("late", 1, 9), table=ROWS, reads=Keys("id", 1, 10), base_version=1)
    with pytest.raises(Conflict):
        append(ledger, keyed("unknown", 1, 9), table=ROWS, reads=Keys("name", 1, 10), base_version=1)


def keyed(name: str, low: int, high: int, partition: str = "") -> NewFile:
    path = f"data/run/{partition}/{name}" if partition else f"data/run/{name}"
    return NewFile(path, 100, 10, partition, "snappy", {"id": {"min": low, "max": high, "nulls": 0}}, AT)


@dataclass
class Oracle:
    """What a table would be if its writers had come one after the other, each having looked at the version it says."""

    versions: list[dict[str, NewFile]] = field(default_factory=lambda: [{}])

    def files(self, part: Any, now: dict[str, NewFile]) -> set[str]:
        """The files of a version that the part is in."""
        match part:
            case None:
                return set()
            case "all":
                return set(now)
            case Partitions(names):
                return {path for path, file in now.items() if file.partition_path in names}
            case Files(names):
                return set(names)
            case Keys(_, low, high):
                return {path for path, file in now.items() if file.bounds["id"]["min"] <= high and file.bounds["id"]["max"] >= low}
        raise AssertionError(part)

    def conflicts(self, retires: Any, reads: Any, base: int) -> bool:
        """Whether a version since then had other files in one of the parts, so that the writer would have seen something else."""
        then = self.versions[base]
        for part in (retires, reads):
            if isinstance(part, Files) and not part.paths <= self.versions[-1].keys():
                return True
            if part == "all" and len(self.versions) - 1 != base:
                return True
            if not isinstance(part, Files) and any(self.files(part, now) != self.files(part, then) for now in self.versions[base:]):
                return True
        return False

    def apply(self, retires: Any, added: list[NewFile]) -> None:
        now = self.versions[-1]
        gone = self.files(retires, now)
        self.versions.append({path: file for path, file in now.items() if path not in gone} | {file.path: file for file in added})


DAYS = st.sampled_from(["day=mon", "day=tue"])
RANGES = st.tuples(st.integers(0, 20), st.integers(0, 5)).map(lambda pair: (pair[0], pair[0] + pair[1]))
WRITES = st.tuples(
    st.sampled_from(["append", "read all", "read keys", "read partitions", "all", "partitions", "files"]),
    st.lists(st.tuples(DAYS, RANGES), min_size=1, max_size=2),
    st.integers(0, 3),
    RANGES,
    st.data(),
)
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def sqlite_ledger(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("many")
    with lakeledger.open(new_sqlite_url(folder), warehouse=str(folder)) as opened:
        yield opened


@tried(1, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WRITES, min_size=1, max_size=8))
def test_exactly_the_real_conflicts_conflict(sqlite_ledger: Ledger, writes: list[Any]) -> None:
    table, oracle = f"many.t{next(NUMBERS)}", Oracle()
    with sqlite_ledger.run("many") as run:
        for kind, given_files, ago, keys, data in writes:
            base = max(0, len(oracle.versions) - 1 - ago)
            files = [keyed(f"f{next(NUMBERS)}", low, high, partition) for partition, (low, high) in given_files]
            retires, reads = _parts(kind, files, keys, sorted(oracle.versions[base]), data)
            wanted = change(
                run,
                *files,
                table=table,
                operation="overwrite" if retires else "append",
                layout=Layout(partition_by=("day",)),
                retires=retires,
                reads=reads,
                base_version=base,
            )
            if oracle.conflicts(retires, reads, base):
                with pytest.raises(Conflict):
                    put(sqlite_ledger, wanted)
            else:
                put(sqlite_ledger, wanted)
                oracle.apply(retires, files)
    if len(oracle.versions) > 1:
        assert sorted(file.file_path for file in sqlite_ledger.tables.files(table)) == sorted(oracle.versions[-1])


def _parts(kind: str, files: list[NewFile], keys: tuple[int, int], there: list[str], data: Any) -> tuple[Any, Any]:
    """What a write of that kind retires and reads."""
    partitions = Partitions(frozenset(file.partition_path for file in files))
    known = {
        "append": (None, None),
        "read all": (None, "all"),
        "read keys": (None, Keys("id", *keys)),
        "read partitions": (None, partitions),
        "all": ("all", None),
        "partitions": (partitions, None),
    }
    if kind == "files":
        chosen = data.draw(st.sets(st.sampled_from(there), min_size=1, max_size=2)) if there else set()
        return (Files(frozenset(chosen)), None) if chosen else (None, None)
    return known[kind]


def test_a_hand_that_retires_a_file_meanwhile_is_noticed(ledger: Ledger) -> None:
    append(ledger, a := new_file("a"), table=ROWS)
    execute(ledger, "update table_files set state = 'retired', removed_version = 1")
    with pytest.raises(Conflict):
        append(ledger, new_file("b"), table=ROWS, operation="replace", retires=Files(frozenset([a.path])))
