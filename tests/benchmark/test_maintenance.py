"""Maintenance of a table of many files: what a look costs, what it costs to remove them, and how long anybody waits for it meanwhile."""

from __future__ import annotations

import resource
import threading
from datetime import timedelta

import pytest

from benchmark.conftest import seconds
from benchmark.test_many_files import files
from contract.keeping import let_pass
from lakeledger import Ledger
from lakeledger.commit import commit
from lakeledger.db.queries import statement
from lakeledger.maintenance.model import Care
from lakeledger.tables import Change, Layout, parse_name

pytestmark = pytest.mark.bench

FILES = 100_000
SCHEMA = {"type": "struct", "fields": [{"name": name, "type": "long"} for name in ("id", "amount")]}
BIG = parse_name("bench.big")


def overwrite(ledger: Ledger, count: int) -> None:
    with ledger.run("bench") as run:
        change = Change(BIG, BIG.folder, "overwrite", SCHEMA, Layout(), files(count, run.id), retires="all")
        with ledger.store.write() as tx:
            commit(tx, run.fence, [change])


def test_a_hundred_thousand_files_are_retired_and_as_many_live(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("", keep_versions=1, keep_for=timedelta(days=1), grace=timedelta(0))
    for _ in range(2):
        overwrite(ledger, FILES)
    let_pass(ledger, 5)
    # There are no such files, of which checksums could be computed.
    with ledger.store.write() as tx:
        tx.execute(statement("update table_files set checksum = 'x'"))
    longest, over = 0.0, threading.Event()

    def others() -> None:
        nonlocal longest
        while not over.wait(0.02):
            longest = max(longest, seconds(lambda: ledger.snapshots.set_policy("other", keep_versions=3)))

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    look = seconds(ledger.maintenance.maintain)
    waiting = threading.Thread(target=others)
    waiting.start()
    done: list[Care] = []
    work = seconds(lambda: done.extend(ledger.maintenance.maintain(apply=True).tables))
    over.set()
    waiting.join()
    again = seconds(lambda: ledger.maintenance.maintain(apply=True))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
    assert (done[0].removed.files, done[0].problems) == (FILES, [])
    print(
        f"maintain with {FILES:,} retired and {FILES:,} live files on {ledger.database.dialect}: dry run {look:.1f} s, apply {work:.1f} s"
        f" (others waited {longest * 1000:.0f} ms at most), again {again:.1f} s, +{grown:.0f} MB"
    )
