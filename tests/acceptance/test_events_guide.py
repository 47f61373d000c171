"""The guide to events is true: its code and its commands run, its tables are those of the code."""

from __future__ import annotations

import importlib
import re
import sys
import threading
from dataclasses import fields
from pathlib import Path

import pytest

import lakeledger
from contract.making import rows, something_of_everything, wait_until
from integration.commands import invoke
from lakeledger import Ledger
from lakeledger.events.rows import ROWS

GUIDE = (Path(__file__).parents[2] / "docs/guides/events.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def table(heading: str) -> list[list[str]]:
    """The rows of the table below that first cell."""
    text = GUIDE[GUIDE.index(f"| {heading} |") :].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_its_code_and_its_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    subscriber, embedded = blocks("python")
    (tmp_path / "alerts.py").write_text(subscriber)
    (tmp_path / "lakeledger.toml").write_text(blocks("toml")[0])
    exec(compile(embedded, "events.md", "exec"), {"__name__": "page"})
    with lakeledger.open() as ledger, ledger.astha():
        wait_until(lambda: "alerts" in {lag.subscriber for lag in ledger.events.lag() if lag.state == "closed"})
        with pytest.raises(ValueError, match="no rows"), ledger.run("nightly"):
            raise ValueError("no rows")
        heard: list[str] = []

        def hears() -> bool:
            heard.append(capsys.readouterr().out)
            return "failed: ValueError: no rows" in "".join(heard)

        wait_until(hears)
    for line in blocks("console")[0].splitlines():
        done = invoke(*line.removeprefix("$ lakeledger ").split())
        assert done.exit_code == 0, done.output
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("astha")]


def test_it_says_what_an_event_does_not_have(ledger: Ledger) -> None:
    something_of_everything(ledger)
    for name, kind, left_out in table("table"):
        registry = name.strip("`")
        (row,) = rows(ledger, f"select * from {registry} limit 1")
        missing = {*row} - {field.name for field in fields(ROWS[registry])}
        assert {*re.findall(r"`(\w+)`", left_out)} == missing, registry
        assert getattr(importlib.import_module("lakeledger.events"), kind.strip("`")) is ROWS[registry]


def test_its_names_are_there() -> None:
    for _, place in table("name"):
        module, _, attribute = place.strip("`").rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), place


def test_the_guides_name_every_part_of_the_design() -> None:
    publishing = (Path(__file__).parents[2] / "docs/guides/publishing.md").read_text(encoding="utf-8")
    named = {name for line in (GUIDE + publishing).splitlines() if "`lakeledger." in line for name in re.findall(r"`(\w+)`", line)}
    assert named >= {
        "update_table_files",
        "update_table_statistics",
        "create_iceberg_snapshot",
        "update_iceberg_metadata",
        "insert_data",
        "FileInfo",
        "RegistryWatcher",
        "EventStore",
        "EventRouter",
        "HealthMonitor",
        "CircuitBreaker",
    }
