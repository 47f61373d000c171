"""What the tests of the control plane begin with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acceptance.seeding import Control
from lakeledger import Ledger
from lakeledger.control import JobOrchestrator, MetadataManager


@pytest.fixture
def control(ledger: Ledger, tmp_path: Path) -> Control:
    location = str(tmp_path / "control/etl_control")
    manager = MetadataManager(location, ledger=ledger)
    manager.create()
    return Control(manager, JobOrchestrator(location, ledger=ledger), ledger, tmp_path)


@pytest.fixture
def at(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder of its own, without the settings of whoever runs the tests; the options that lead to its ledger."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("LAKELEDGER_")] + ["COLUMNS", "NO_COLOR", "FORCE_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAKELEDGER_MIRROR", "off")
    return ["--url", url, "--warehouse", str(tmp_path / "warehouse")]
