"""Many processes and threads register schemas of one table at the same moment: each gets a version of its own, and none is left out."""

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
PROCESSES = 5
THREADS = 4


@contextmanager
def registering(url: str, columns: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), url, TABLE, *columns], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
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
    shares = [[f"c{process}_{thread}" for thread in range(THREADS)] for process in range(PROCESSES)]
    with ExitStack() as running:
        processes = [running.enter_context(registering(url, columns)) for columns in shares]
        assert [heard(process) for process in processes] == ["ready"] * PROCESSES
        for process in processes:
            release(process)
        told = {
            column: int(version)
            for columns, process in zip(shares, processes, strict=True)
            for column, version in zip(columns, heard(process).split(), strict=True)
        }
    history = Schemas(ledger.store, "ann").history(TABLE)
    assert [version.version for version in history] == list(range(1, PROCESSES * THREADS + 1))
    assert {version.definition.columns[0]["name"]: version.version for version in history} == told
    assert [version.previous_version for version in history] == [None, *range(1, PROCESSES * THREADS)]
