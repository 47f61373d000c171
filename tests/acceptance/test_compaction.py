"""500 small files in 10 partitions become few while one writer appends and another merges without pause: none of them notices."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from integration.compacting import eager
from integration.waiting import until
from lakeledger import Ledger, clock
from lakeledger.cli.compact import print_bars
from lakeledger.commit import commit
from lakeledger.lake import open_format
from lakeledger.lake.storage import Storage
from lakeledger.maintenance.compaction import Compacted
from lakeledger.tables import Change, Layout, NewFile, parse_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = parse_name("silver.readings")
PARTITIONS, FILES, ROWS = 10, 50, 4
IDS = PARTITIONS * FILES * ROWS
COLUMNS = {"id": "long", "day": "string", "value": "long"}
FIELDS = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in COLUMNS.items()]
SCHEMA = {"type": "struct", "fields": FIELDS}


def day_of(number: int) -> str:
    return f"d{number % PARTITIONS}"


def fill(ledger: Ledger) -> None:
    """The table as 50 loads a day would have left it, each of ten neighbours by key."""
    storage = Storage(f"{ledger.warehouse}/{TABLE.folder}", ledger.settings.s3)
    with ledger.run("load") as run:
        files = []
        for number in range(PARTITIONS * FILES):
            first, day = number // PARTITIONS * PARTITIONS * ROWS + number % PARTITIONS, day_of(number)
            ids = [first + PARTITIONS * each for each in range(ROWS)]
            sink = pa.BufferOutputStream()
            parquet.write_table(
                pa.table({"id": pa.array(ids, pa.int64()), "day": [day] * ROWS, "value": pa.array([0] * ROWS, pa.int64())}), sink
            )
            content, path = sink.getvalue().to_pybytes(), f"data/{run.id}/by_day={day}/{number:04d}.parquet"
            storage.write(path, content)
            facts = open_format("parquet").inspect(storage, path, {}, {"id", "day"})
            files.append(NewFile(path, len(content), ROWS, f"day={day}", facts.compression, facts.bounds, clock.now()))
        change = Change(TABLE, TABLE.folder, "append", SCHEMA, Layout("parquet", ("day",)), files, keys=("id",))
        with ledger.store.write() as tx:
            commit(tx, run.fence, [change])


@contextmanager
def without_pause(*work: Callable[[int], None]) -> Iterator[list[int]]:
    """Each of these again and again, with its number, until the block ends; then how often. What goes wrong in them goes wrong here."""
    stop, often = threading.Event(), [0] * len(work)

    def again(place: int) -> None:
        for number in count():
            if stop.is_set():
                return
            work[place](number)
            often[place] = number + 1

    with ThreadPoolExecutor(len(work)) as pool:
        writers: list[Future[None]] = [pool.submit(again, place) for place in range(len(work))]
        try:
            yield often
        finally:
            stop.set()
        for writer in writers:
            writer.result()


def test_many_small_files_become_few_while_writers_write(lake: Ledger, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    fill(lake)
    oracle, chance = dict.fromkeys(range(IDS), 0), random.Random(14)
    first = {file.file_path for file in lake.tables.files(str(TABLE))}
    assert len(first) == PARTITIONS * FILES

    def append(number: int) -> None:
        ids = [IDS + 2 * number, IDS + 2 * number + 1]
        lake.append(spark.createDataFrame([(each, day_of(each), 1) for each in ids], "id long, day string, value long"), str(TABLE))
        oracle.update(dict.fromkeys(ids, 1))

    def merge(number: int) -> None:
        rows = [(each, day_of(each), number + 2) for each in chance.sample(range(IDS), 3)]
        lake.merge(spark.createDataFrame(rows, "id long, day string, value long"), str(TABLE), keys=["id"])
        oracle.update({each: value for each, _, value in rows})

    # Rounds of two partitions, so that writers commit between them, and in the middle of them.
    compaction = eager(lake, min_files=5, target_bytes=100_000, round_bytes=120_000)
    rounds: list[Compacted] = []
    with without_pause(append, merge) as often:
        while len(rounds) < 20 and len(first & set(lake.tables.view(str(TABLE)).file_paths)) > FILES:
            (done,) = compaction.compact([str(TABLE)], apply=True)
            if done.plan.groups:
                rounds.append(done)
            else:  # A merge is rewriting: until it has committed there is nothing to do.
                lake.database.wait(1.0)
        until(lambda: min(often) >= 3, "writers go on")
    assert sum(each.groups_done for each in rounds) >= PARTITIONS - 1, [each.problem for each in rounds]  # and no writer failed
    while (done := compaction.compact([str(TABLE)], apply=True)[0]).plan.groups:
        rounds.append(done)
        assert done.problem is None
    assert compaction.compact([str(TABLE)])[0].plan.groups == ()
    assert not first & set(lake.tables.view(str(TABLE)).file_paths)
    assert {row["id"]: row["value"] for row in lake.read(str(TABLE)).collect()} == oracle
    assert lake.read(str(TABLE)).count() == len(oracle)
    assert lake.read(str(TABLE), 1).count() == IDS
    failed = [run for run in lake.runs.list(limit=500) if run.status == "FAILED" and run.run_kind != "maintenance"]
    assert failed == []
    with capsys.disabled():
        sys.stdout.write(f"\n{often[0]} appends and {often[1]} merges while {len(rounds)} rounds were made:\n")
        print_bars("before the first round", rounds[0].before)
        print_bars("after the last one", rounds[-1].after)
