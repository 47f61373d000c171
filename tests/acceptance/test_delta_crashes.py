"""Whoever publishes as Delta is killed at every point: nothing is lost, nothing is there twice, and readers see versions alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import lakeledger
from contract.delta_tables import put
from contract.keeping import let_pass
from delta_readers import actions, entries, location, log, seen, told
from lakeledger import Ledger, failpoints

TESTS = Path(__file__).parent.parent
APPENDS = 3

CHILD = """
import sys
import lakeledger
from lakeledger import delta_publishing
from lakeledger.testing import kill_at
url, warehouse, point = sys.argv[1:]
delta_publishing.ENTRIES = 2
kill_at(point)
with lakeledger.open(url, warehouse=warehouse) as ledger:
    ledger.publish("shop.orders", ["delta"])
"""


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse")) as opened:
        put(opened, (0, "a"))
        opened.publish("shop.orders", ["delta"])
        yield opened


def test_killed_at_every_point_in_turn_each_version_is_there_once(ledger: Ledger) -> None:
    rows, wrong, looks = 1, list[str](), set[int]()
    with polling(ledger, wrong, looks):
        for point in failpoints.DELTA:
            for _ in range(APPENDS):  # several wait: the killed one leaves the rest to the next
                put(ledger, (rows, "x"))
                rows += 1
            assert publish_until_killed(ledger, point) == -signal.SIGKILL, point
    ledger.publish("shop.orders", ["delta"])
    assert (wrong, len(looks) > 1) == ([], True)
    assert seen(ledger) == told(ledger)
    assert len(seen(ledger)[1]) == rows
    made = entries(ledger)
    assert [actions(entry, "txn")[0]["version"] for entry in made] == [*range(1, rows + 1)], "each version once, in order"
    assert {seen(ledger, version)[1] == told(ledger, version)[1] for version in range(1, rows + 1)} == {True}
    let_pass(ledger, 400)
    (care,) = ledger.maintenance.maintain(apply=True).tables
    assert (care.problems, care.orphans.files) == ([], 0)
    assert not list(log(ledger).glob(".*"))
    assert seen(ledger) == told(ledger)
    assert ledger.repair.verify("shop.orders").ok


def publish_until_killed(ledger: Ledger, point: str) -> int:
    command = [sys.executable, "-c", CHILD, ledger.settings.url, str(Path(ledger.warehouse).parent), point]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(command, check=False, env=environment, timeout=60).returncode


@contextmanager
def polling(ledger: Ledger, wrong: list[str], looks: set[int]) -> Iterator[None]:
    """Look at the table as a reader of Delta does as long as the block lasts: version n has n rows, and no version comes back."""
    from deltalake import DeltaTable

    stop, place = threading.Event(), location(ledger)

    def look() -> None:
        last = 0
        while not stop.is_set():
            table = DeltaTable(place)
            version, rows = table.version() + 1, sum(table.get_add_actions(flatten=True).column("num_records").to_pylist())
            if rows != version or version < last:
                wrong.append(f"{rows} rows at version {version} after {last}")
            last = version
            looks.add(version)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
