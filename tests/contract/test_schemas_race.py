"""Many processes register schemas of one table at the same moment: each gets a version of its own, and none is left out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lakeledger import Ledger
from lakeledger.sync.schemas import Schemas

SCRIPT = Path(__file__).parent / "registering.py"
TABLE = "shop.orders"
PROCESSES = 20


@contextmanager
def registering(url: str, column: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, str(SCRIPT), url, TABLE, column], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def release(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_versions_have_no_gap_and_no_double_however_many_register_at_once(ledger: Ledger, url: str) -> None:
    columns = [f"c{number}" for number in range(PROCESSES)]
    with ExitStack() as running:
        processes = {column: running.enter_context(registering(url, column)) for column in columns}
        assert [heard(process) for process in processes.values()] == ["ready"] * PROCESSES
        for process in processes.values():
            release(process)
        told = {column: int(heard(process)) for column, process in processes.items()}
    history = Schemas(ledger.store, "ann").history(TABLE)
    assert [version.version for version in history] == list(range(1, PROCESSES + 1))
    assert {version.definition.columns[0]["name"]: version.version for version in history} == told
    assert [version.previous_version for version in history] == [None, *range(1, PROCESSES)]
