"""The registry against a model: whatever is committed in whatever order, statistics are the sum of the live files."""

# ruff: noqa: PT012 - what raises is the block of a run or a transaction
from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from contract.making import change, new_file, opened, put, rows
from empty_ledgers import new_sqlite_url
from examples import tried
from lakeledger import Conflict, Ledger
from lakeledger.tables import Layout, NewFile, Partitions

NUMBERS = itertools.count()
PARTITIONS = [f"day={day}" for day in ("mon", "tue", "wed", "__HIVE_DEFAULT_PARTITION__")]
FILES = st.lists(st.tuples(st.sampled_from(PARTITIONS), st.integers(1, 2**40), st.integers(0, 2**40)), max_size=4)
# What is done, with which files, how many versions ago it was planned, and whether it is tried again.
OPERATIONS = st.tuples(st.sampled_from(["append", "overwrite", "by_partition", "fail"]), FILES, st.integers(0, 2), st.booleans())


@pytest.fixture
def sqlite_ledger(tmp_path: Path) -> Iterator[Ledger]:
    with opened(new_sqlite_url(tmp_path)) as ledger:
        yield ledger


def sizes(files: list[NewFile]) -> tuple[int, int, int]:
    return len(files), sum(file.rows for file in files), sum(file.size for file in files)


class Model:
    """Every version's files, and the partitions that each version touched."""

    def __init__(self) -> None:
        self.versions: list[list[NewFile]] = [[]]
        self.touched: list[set[str]] = [set()]

    @property
    def current(self) -> int:
        return len(self.versions) - 1

    def conflicts(self, operation: str, files: list[NewFile], base: int) -> bool:
        if operation == "append" or base == self.current:
            return False
        if operation == "overwrite":
            return True
        return any({file.partition_path for file in files} & touched for touched in self.touched[base + 1 :])

    def apply(self, operation: str, files: list[NewFile]) -> None:
        now, wanted = self.versions[-1], {file.partition_path for file in files}
        kept = {
            "append": now,
            "overwrite": [],
            "by_partition": [file for file in now if file.partition_path not in wanted],
        }[operation]
        gone = {file.partition_path for file in now if file not in kept}
        self.versions.append([*kept, *files])
        self.touched.append(wanted | gone)


@tried(0.5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OPERATIONS, min_size=1, max_size=7))
def test_statistics_are_the_sum_of_the_live_files_after_any_sequence_of_commits(
    sqlite_ledger: Ledger, operations: list[tuple[str, list[tuple[str, int, int]], int, bool]]
) -> None:
    table, model = f"model.t{next(NUMBERS)}", Model()
    for operation, given_files, ago, again in operations:
        files = [new_file(f"f{next(NUMBERS)}", count, size, partition) for partition, count, size in given_files]
        _commit(sqlite_ledger, table, model, operation, files, max(0, model.current - ago), again=again)
        if model.current:
            _check(sqlite_ledger, table, model)


def _commit(ledger: Ledger, table: str, model: Model, operation: str, files: list[NewFile], base: int, *, again: bool) -> None:
    retires = {"overwrite": "all", "by_partition": Partitions(frozenset(file.partition_path for file in files))}.get(operation)
    batch = f"b{next(NUMBERS)}"
    with ledger.run("model") as run:
        made = change(
            run,
            *files,
            table=table,
            operation="append" if operation in ("append", "fail") else "overwrite",
            retires=retires,
            base_version=None if operation in ("append", "fail") else base,
            layout=Layout("parquet", ("day",)),
            batch_id=batch,
        )
        if operation == "fail":
            with pytest.raises(ZeroDivisionError), ledger.store.write() as tx:
                made.commit(tx)
                _ = 1 / 0
        elif model.conflicts(operation, files, base):
            with pytest.raises(Conflict):
                put(ledger, made)
        else:
            assert put(ledger, made).applied
            model.apply(operation, files)
            if again:
                assert not put(ledger, made).applied


def _check(ledger: Ledger, name: str, model: Model) -> None:
    table, stats = ledger.tables.get(name), ledger.tables.stats(name)
    live = rows(
        ledger,
        "select count(*) as files, coalesce(sum(row_count), 0) as row_count, coalesce(sum(file_size), 0) as size "
        "from table_files where table_id = :table_id and state = 'live'",
        table_id=table.table_id,
    )[0]
    expected = sizes(model.versions[-1])
    assert table.current_version == model.current
    assert (table.file_count, table.row_count, table.total_size) == expected
    assert (stats.file_count, stats.row_count, stats.total_size) == expected
    assert (live["files"], live["row_count"], live["size"]) == expected
    history = ledger.tables.history(name)
    assert [snapshot.version for snapshot in history] == list(range(model.current, 0, -1))
    totals = [(each.summary["total_files"], each.summary["total_rows"], each.summary["total_bytes"]) for each in reversed(history)]
    assert totals == [sizes(files) for files in model.versions[1:]]
    for version, files in enumerate(model.versions[1:], start=1):
        assert sorted(file.file_path for file in ledger.tables.files(name, version)) == sorted(file.path for file in files)
