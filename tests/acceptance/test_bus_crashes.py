"""Kill -9 on the way by a bus: what was acknowledged is stored, once, and a subscriber hears of all of it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from contract.repositories import ORDERS, fact, numbers
from integration import children
from lakeledger import Ledger, Settings, failpoints
from lakeledger.config import RecordSettings

SCRIPT = Path(children.__file__).parent / "bus_child.py"


def place(url: str, repository: str, folder: Path) -> tuple[str, str, str]:
    (folder / "warehouse").mkdir(exist_ok=True)
    return url, str(folder / "warehouse"), "sql" if repository == "sql" else f"file://{folder}/metadata"


def opened(where: tuple[str, str, str]) -> Ledger:
    return Ledger(Settings(where[0], where[1], records=RecordSettings(where[2], "queue")))


@pytest.mark.parametrize("point", [failpoints.BUS_TAKEN, failpoints.BUS_STORED])
@pytest.mark.parametrize(("url", "repository"), [("sqlite", "sql"), ("postgres", "sql"), ("sqlite", "file")], indirect=["url"])
def test_nothing_that_the_queue_acknowledged_is_lost(url: str, repository: str, point: str, tmp_path: Path) -> None:
    where = place(url, repository, tmp_path)
    child = children.start(tmp_path / "child.log", "emit", *where, point, script=SCRIPT)
    assert child.process.stdout is not None
    said = child.process.stdout.read().split()
    assert (said, child.wait()) == (["1", "2"], -signal.SIGKILL), child.errors
    with opened(where) as ledger:
        assert numbers(ledger.records.log()) == list(range(2 if point == failpoints.BUS_TAKEN else 3))
        ledger.records.emit_many(fact(number) for number in range(4))
        assert numbers(ledger.records.history(ORDERS, "custom")) == [3, 2, 1, 0]


def test_a_subscriber_that_is_killed_hears_of_all_records(tmp_path: Path) -> None:
    where = place(f"sqlite:///{tmp_path}/ledger.db", "sql", tmp_path)
    with opened(where) as ledger:
        ledger.records.emit_many(fact(number) for number in range(100))
    child = children.start(tmp_path / "child.log", "subscribe", *where, failpoints.BUS_HANDLED, script=SCRIPT)
    assert child.wait() == -signal.SIGKILL, child.errors
    heard = tmp_path / "warehouse" / "heard"
    assert [int(line) for line in heard.read_text().split()] == list(range(60))
    again = children.start(tmp_path / "again.log", "subscribe", *where, failpoints.BUS_TAKEN, script=SCRIPT)
    assert again.wait() == 0, again.errors
    assert [int(line) for line in heard.read_text().split()] == [*range(60), *range(40, 100)], "what was not noted comes again"
