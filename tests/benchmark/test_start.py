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


def test_help_and_listing_answer_at_once(ledger: Ledger, url: str) -> None:
    python = [seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)) for _ in range(7)]
    commands = [["--help"], ["version"], ["runs", "list", "--url", url], ["tables", "list", "--url", url]]
    for words in commands:
        times = [seconds(lambda: subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)) for _ in range(7)]
        shown = " ".join(words[:2] if words[0] != "--help" else words)
        print(f"lakeledger {shown} on {ledger.database.dialect}: {median_ms(times):.0f} ms (bare Python {median_ms(python):.0f} ms)")
