"""Writers that publish with their commit are killed, roll back and overtake each other: other engines and the ledger never disagree."""

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
from contract.making import rows as select
from contract.test_publishing import MONDAY, append, metadata_files, seen
from iceberg_readers import catalog
from lakeledger import Ledger, failpoints

COMMITS, KILLS = 200, 5
TESTS = Path(__file__).parent.parent

CHILD = """
import os, signal, sys
import lakeledger
from contract.test_publishing import MONDAY, append
from lakeledger import failpoints
url, warehouse, point, first, last = sys.argv[1:]
with lakeledger.open(url, warehouse=warehouse, metadata="sync") as ledger:
    if point in failpoints.ALL:
        failpoints.armed[point] = lambda _: os.kill(os.getpid(), signal.SIGKILL)
    for number in range(int(first), int(last)):
        fails = point == "some" and number % 4 == 3
        def stop():
            if fails:
                raise RuntimeError("a commit that is rolled back")
        try:
            append(ledger, (number, MONDAY, "x"), meanwhile=stop)
        except RuntimeError:
            pass
        print(number, flush=True)
"""


def start(ledger: Ledger, point: str, first: int, last: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, ledger.settings.url, str(Path(ledger.warehouse).parent), point, str(first), str(last)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        append(opened, (0, MONDAY, "a"))
        yield opened


@pytest.mark.parametrize("point", [failpoints.AFTER_STAGE, failpoints.IN_TRANSACTION])
def test_who_is_killed_has_published_nothing(ledger: Ledger, point: str) -> None:
    child = start(ledger, point, 1, 2)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL, errors
    assert seen(ledger) == [0]
    assert ledger.tables.get("shop.orders").row_count == 1
    append(ledger, (2, MONDAY, "b"))
    assert seen(ledger) == [0, 2]
    assert len(metadata_files(ledger)) == 3 * 3, "what was staged in vain waits for the sweeper"


def test_whoever_polls_never_sees_the_two_disagree(ledger: Ledger) -> None:
    wrong: list[str] = []
    looks: list[int] = []
    kills, last = 0, COMMITS * 4 // 3  # every fourth is rolled back
    with polling(ledger, wrong, looks):
        number = 1
        while number < last:
            child = start(ledger, "some", number, last)
            assert child.stdout is not None
            for line in child.stdout:
                number = int(line) + 1
                if number > last * (kills + 1) / (KILLS + 1) and kills < KILLS:
                    kills += 1
                    number += 1
                    child.kill()
                    break
            child.communicate(timeout=60)
    assert (wrong, kills) == ([], KILLS)
    assert len(set(looks)) > 20
    found = seen(ledger)
    assert len(found) == ledger.tables.get("shop.orders").row_count == ledger.tables.get("shop.orders").current_version
    assert {each for each in range(last) if each % 4 != 3} >= set(found) - {0}
    assert len(found) >= COMMITS - KILLS


@contextmanager
def polling(ledger: Ledger, wrong: list[str], looks: list[int]) -> Iterator[None]:
    """Look at the table through Iceberg and through the ledger as long as the block lasts."""
    stop = threading.Event()

    def look() -> None:
        with catalog(ledger) as opened:
            while not stop.is_set():
                before = ledger.tables.get("shop.orders")
                snapshot = opened.load_table("shop.orders").current_snapshot()
                after = ledger.tables.get("shop.orders")
                version, total = int(snapshot.summary["lakeledger.version"]), int(snapshot.summary["total-records"])
                if not before.current_version <= version <= after.current_version:
                    wrong.append(f"version {version} between {before.current_version} and {after.current_version}")
                if version != total:
                    wrong.append(f"{total} rows at version {version}")
                (row,) = select(
                    ledger,
                    "select t.current_version, p.version, s.metadata_location = p.metadata_location as same from tables t "
                    "join table_publications p on p.table_id = t.table_id "
                    "join table_snapshots s on s.table_id = t.table_id and s.version = t.current_version",
                )
                if row["current_version"] != row["version"] or not row["same"]:
                    wrong.append(f"{row}")
                looks.append(version)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
