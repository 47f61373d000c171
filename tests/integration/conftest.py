"""What the tests of the command line ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, without the settings of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("LAKELEDGER_")] + ["COLUMNS", "NO_COLOR", "FORCE_COLOR"]:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def at(url: str) -> list[str]:
    """The options that lead to the ledger, on SQLite and on PostgreSQL."""
    return ["--url", url]
