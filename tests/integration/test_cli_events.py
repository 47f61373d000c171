"""`lakeledger astha` and `lakeledger events`: delivered in the foreground, looked at, replayed, forgotten."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from contract.delivering import Recorders, delivering, load
from contract.making import wait_until
from integration.commands import answer, columns, refused, shown
from lakeledger import Ledger
from lakeledger.events import Change
from lakeledger.events.operations import LaneLag

pytestmark = pytest.mark.usefixtures("quiet", "ledger")

CODE = """
import os
from pathlib import Path

class Mirror:
    def __init__(self, ledger):
        self.told = Path(f"told_{ledger.settings.tenant}")
    def on_event(self, event):
        if event.data.file_name == "bad" and not Path("repaired").exists():
            raise ValueError("password=hunter2 is wrong")
        with self.told.open("a") as told:
            told.write(event.data.file_name + chr(10))
    def on_health(self): pass
    def on_refresh(self): pass
    def subscribed_tables(self): return ["table_files"]
"""
ASTHA = "[astha]\nretries = 1\nfirst_pause_seconds = 0.01\nlongest_pause_seconds = 0.01\n"


@pytest.fixture
def project(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose settings name a subscriber that is in its folder."""
    (tmp_path / "mirror_of_files.py").write_text(CODE)
    settings = f'url = "{url}"\nwarehouse = "warehouse"\n[subscribers]\nmirror = "mirror_of_files:Mirror"\n{ASTHA}'
    (tmp_path / "lakeledger.toml").write_text(settings)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@contextmanager
def astha(*words: str) -> Iterator[subprocess.Popen[str]]:
    """`lakeledger astha` in a process of its own."""
    command = [sys.executable, "-c", "from lakeledger.cli import main; main()", "astha", *words]
    with Path("err.txt").open("w") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def told() -> list[str]:
    return Path("told_default").read_text().split() if Path("told_default").exists() else []


def mirror(*words: str) -> dict[str, Any]:
    """How far the mirror got; nothing if it has not begun."""
    return next((each for each in answer("events", "lag", *words)["subscribers"] if each["subscriber"] == "mirror"), {})


def is_closed() -> bool:
    return mirror().get("state") == "closed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_astha_delivers_until_it_is_told_to_end_and_ends_cleanly(project: Path, ledger: Ledger, number: signal.Signals) -> None:
    load(ledger, name="old")
    with astha() as process:
        wait_until(is_closed)
        load(ledger, name="a")
        wait_until(lambda: told() == ["a"])
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 0
    assert "mirror" in out
    assert "closed" in out
    said = Path("err.txt").read_text()
    assert re.search(r"delivering to .*\bmirror", said)
    assert "Traceback" not in said
    found = mirror()
    assert found["seq"] > 0
    assert not found["lanes"]


def test_astha_answers_scripts_with_one_object(project: Path, ledger: Ledger) -> None:
    load(ledger)
    with astha("--json") as process:
        wait_until(is_closed)
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    found = next(each for each in json.loads(out)["subscribers"] if each["subscriber"] == "mirror")
    assert (found["tenant_id"], found["subscriber"], found["state"]) == ("default", "mirror", "closed")
    assert Path("err.txt").read_text() == ""


def test_astha_says_what_is_wrong_with_a_subscriber(project: Path, url: str) -> None:
    Path("lakeledger.toml").write_text(f'url = "{url}"\n[subscribers]\nx = "nowhere:Nobody"\n')
    refused(["astha"], 2, "Invalid", "nowhere:Nobody cannot be loaded")
    Path("lakeledger.toml").write_text(f'url = "{url}"\n[subscribers]\nx = "nowhere"\n')
    refused(["astha"], 2, "Invalid", "with 'module:Class', not 'nowhere'")


def test_what_was_parked_is_shown_and_replayed(project: Path, ledger: Ledger) -> None:
    load(ledger)
    with astha() as process:
        wait_until(is_closed)
        for name in ("bad", "good"):
            load(ledger, name=name)
        wait_until(lambda: bool(answer("events", "parked")["letters"]))
        wait_until(lambda: told() == ["good"])
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    (letter,) = answer("events", "parked", "mirror")["letters"]
    assert (letter["item_kind"], letter["table_name"], letter["record_data"]["after"]["file_name"]) == ("event", "mirror", "bad")
    assert "hunter2" not in shown("events", "parked")
    assert "events replay mirror --apply" in shown("events", "parked")
    assert answer("events", "replay", "mirror") == {"dry_run": True, "total": 1, "replayed": 0, "failed": 0, "skipped": 0}
    assert "1 event would be replayed" in shown("events", "replay", "mirror")
    assert answer("events", "replay", "mirror", "--apply", code=1)["failed"] == 1
    Path("repaired").touch()
    assert answer("events", "replay", "mirror", "--apply")["replayed"] == 1
    assert told() == ["good", "bad"]
    assert shown("events", "parked") == "no event is parked\n"
    refused(["events", "replay", "nobody", "--apply"], 2, "Invalid", "no subscriber 'nobody' is configured")


def test_lag_tells_how_far_everybody_is_and_why(ledger: Ledger, url: str) -> None:
    assert shown("events", "lag", "--url", url) == "nobody has subscribed yet\n"
    acme = ledger.for_tenant("acme")
    load(ledger)
    load(acme)

    def fail(_: object) -> None:
        raise ConnectionError("no answer")

    with delivering(ledger, {"mirror": Recorders(handle=fail)}, retries=1_000, breaker_failures=10_000):
        wait_until(lambda: mirror("--url", url).get("state") == "closed")
        load(ledger, name="b")
        wait_until(lambda: bool(mirror("--url", url)["lanes"]))
    found = mirror("--url", url)
    (lane,) = found["lanes"]
    assert {*lane} == columns(LaneLag)
    assert (lane["registry_table"], lane["name"], lane["error"]) == ("table_files", "silver.orders", "ConnectionError: no answer")
    assert "ConnectionError: no answer" in shown("events", "lag", "--url", url)
    both = answer("events", "lag", "--all-tenants", "--url", url)["subscribers"]
    assert [each["tenant_id"] for each in both if each["subscriber"] == "mirror"] == ["acme", "default"]


def test_tail_shows_the_newest_changes_and_follows(ledger: Ledger, url: str) -> None:
    assert shown("events", "tail", "--url", url) == "nothing changed\n"
    load(ledger)
    found = answer("events", "tail", "--table", "table_files", "--url", url)["events"]
    assert [{*each} for each in found] == [columns(Change)]
    assert len(answer("events", "tail", "--limit", "3", "--url", url)["events"]) == 3
    assert "INSERT  table_files" in shown("events", "tail", "--url", url)
    command = [sys.executable, "-c", "from lakeledger.cli import main; main()", "events", "tail", "--follow", "--json"]
    with subprocess.Popen([*command, "--table", "table_files", "--url", url], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["after"]["file_name"] == "a"
        load(ledger, name="b")
        assert json.loads(process.stdout.readline())["after"]["file_name"] == "b"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_a_subscriber_is_forgotten_only_when_told_and_when_it_is_not_configured(project: Path, ledger: Ledger) -> None:
    load(ledger)
    with delivering(ledger, {"mirror": Recorders()}):
        wait_until(is_closed)
    refused(["events", "forget", "mirror"], 2, "Invalid", "take it out of [subscribers] first")
    refused(["events", "forget", "nobody"], 2, "NotFound", "`lakeledger events lag` shows them")
    text = Path("lakeledger.toml").read_text()
    Path("lakeledger.toml").write_text(text.replace('[subscribers]\nmirror = "mirror_of_files:Mirror"\n', ""))
    assert answer("events", "forget", "mirror")["applied"] is False
    assert "--apply" in shown("events", "forget", "mirror")
    assert answer("events", "forget", "mirror", "--apply")["subscriber"]["subscriber"] == "mirror"
    assert answer("events", "lag") == {"subscribers": []}
