"""What it costs that other engines see a table: at the first commit and at the thousandth, with few files and with many."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from contract.test_publishing import ORDERS, working
from lakeledger import Ledger, clock
from lakeledger.tables import Change, Files, Layout, NewFile

pytestmark = pytest.mark.bench

COLUMNS = 20
SCHEMA = {
    "type": "struct",
    "fields": [{"name": f"c{number}", "type": "long", "nullable": True, "metadata": {}} for number in range(COLUMNS)],
}
BOUNDS = {f"c{number}": {"min": 1, "max": 5, "nulls": 0} for number in range(COLUMNS)}
FILE = NewFile("data/run/x.parquet", 1_000, 10, "", "snappy", BOUNDS, clock.now())
MANY = 100_000


def files(word: str, count: int) -> list[NewFile]:
    return [replace(FILE, path=f"data/run/{word}-{number}.parquet") for number in range(count)]


def change(made: Sequence[NewFile], **more: object) -> Change:
    return Change(ORDERS, ORDERS.folder, files=list(made), **{"operation": "append", "schema": SCHEMA, "layout": Layout(), **more})  # type: ignore[arg-type]


def test_publishing_with_the_commit(ledger: Ledger) -> None:
    with ledger.run("bench") as run:
        work = working(ledger, run.fence, lambda: None)

        def ms(planned: Change, mode: str = "sync") -> float:
            began = time.perf_counter()
            ledger.publisher.commit(work, [planned], [], run.id, mode)
            return (time.perf_counter() - began) * 1000

        times = [ms(change(files(f"s{number}", 1))) for number in range(1_010)]
        around = {at: statistics.median(times[max(0, at - 5) : at + 5]) for at in (1, 100, 300, 1_000)}
        print(f"a commit of one file that is published with it, on {ledger.database.dialect}, {COLUMNS} columns:")
        print(
            "  " + ", ".join(f"about the {at}th {took:.1f} ms" for at, took in around.items()) + f", the slowest of all {max(times):.0f} ms"
        )
        alone = statistics.median(ms(change(files(f"a{number}", 1)), "async") for number in range(15))
        ledger.publisher.publish(str(ORDERS))
        print(f"  without publishing {alone:.1f} ms")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        many = files("m", MANY)
        print(f"  {MANY:,} files: in one commit {ms(change(many)) / 1000:.1f} s")
        print(f"  one more file then: {statistics.median(ms(change(files(f'z{number}', 1))) for number in range(5)):.1f} ms")
        retired = Files(frozenset(file.path for file in many[5_000:5_010]))
        print(f"  ten of them replaced: {ms(change(files('r', 10), operation='replace', retires=retired)):.0f} ms")
        ledger.publisher._bases.clear()
        print(f"  one more by somebody who has not published it before: {ms(change(files('c', 1))):.0f} ms")
        print(f"  {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:.0f} MB more at the peak")
