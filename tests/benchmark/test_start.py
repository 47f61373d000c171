"""How long it takes until the command line answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.conftest import median_ms, seconds
from lakeledger import Ledger

pytestmark = pytest.mark.bench

PROGRAM = str(Path(sys.executable).parent / "lakeledger")


def median_of(command: list[str]) -> float:
    return median_ms([seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)) for _ in range(9)])


@pytest.mark.parametrize(
    "words",
    ["--help", "version", "runs list", "tables list", "positions list", "tables verify --all --quick", "tables sweep", "doctor"],
)
def test_the_command_line_answers_at_once(ledger: Ledger, url: str, words: str) -> None:
    where = [] if words in ("--help", "version") else ["--url", url, "--warehouse", ledger.settings.warehouse_uri]
    took, bare = median_of([PROGRAM, *words.split(), *where]), median_of([sys.executable, "-c", "pass"])
    print(f"lakeledger {words} on {ledger.database.dialect}: {took:.0f} ms (bare Python {bare:.0f} ms)")
