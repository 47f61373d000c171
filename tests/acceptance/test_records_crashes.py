"""Kill -9 while records are stored or compacted: what was acknowledged is there, nothing is there twice, and the next one goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from contract.repositories import ORDERS, START, fact, numbers
from integration import children
from lakeledger import Ledger, Settings, failpoints
from lakeledger.config import RecordSettings

SCRIPT = Path(children.__file__).parent / "recording_child.py"
LEDGER = (failpoints.RECORD_CHUNK, failpoints.COMPACTED_FILE, failpoints.COMPACTED_KNOWN)
CRASHES = [
    *(("sqlite", "sql", point) for point in LEDGER),
    ("postgres", "sql", failpoints.RECORD_CHUNK),
    ("postgres", "sql", failpoints.COMPACTED_KNOWN),
    *(("sqlite", "file", point) for point in failpoints.RECORDS),
]
KILLED_ANYWHERE = [("sqlite", "sql"), ("postgres", "sql"), ("sqlite", "file")]


def place(url: str, repository: str, folder: Path) -> tuple[str, str, str]:
    return url, str(folder / "warehouse"), "sql" if repository == "sql" else f"file://{folder}/metadata"


def opened(where: tuple[str, str, str]) -> Ledger:
    return Ledger(Settings(where[0], where[1], records=RecordSettings(where[2])))


@pytest.mark.parametrize(("url", "repository", "point"), CRASHES, indirect=["url"])
def test_what_was_acknowledged_is_there_once_and_a_retry_adds_the_rest(url: str, repository: str, point: str, tmp_path: Path) -> None:
    where = place(url, repository, tmp_path)
    child = children.start(tmp_path / "child.log", "crash", *where, point, script=SCRIPT)
    assert child.process.stdout is not None
    said = child.process.stdout.read()
    assert (said, child.wait()) == ("50\n", -signal.SIGKILL), child.errors
    with opened(where) as ledger:
        found = numbers(ledger.records.history(ORDERS, "custom", limit=None))
        assert sorted(found) in (list(range(50)), list(range(100)))
        assert sorted(numbers(ledger.records.log(limit=None))) == sorted(found)
        ledger.records.bulk_store(fact(number) for number in range(100))
        ledger.records.repository.compact(START.replace(year=2027), dry_run=False)
        ledger.records.bulk_store(fact(number) for number in range(100))
        assert numbers(ledger.records.history(ORDERS, "custom", limit=None)) == list(range(99, -1, -1))
        assert sorted(numbers(ledger.records.log(limit=None))) == list(range(100))


@pytest.mark.parametrize(("url", "repository"), KILLED_ANYWHERE, indirect=["url"])
def test_a_writer_that_is_killed_anywhere_loses_nothing_that_it_was_told_is_kept(url: str, repository: str, tmp_path: Path) -> None:
    where = place(url, repository, tmp_path)
    acknowledged = 0
    for round_ in range(2):
        child = children.start(tmp_path / f"child{round_}.log", "store", *where, script=SCRIPT)
        assert child.process.stdout is not None
        for _ in range(4 + round_):
            acknowledged = max(acknowledged, int(child.process.stdout.readline()))
        child.process.kill()
        child.wait()
    with opened(where) as ledger:
        logged = ledger.records.log(limit=None)
        found = numbers(logged)
        assert found == list(range(len(found)))
        assert len(found) >= acknowledged
        places = [each.sequence or 0 for each in logged]
        assert places == sorted(set(places))
        assert numbers(ledger.records.history(ORDERS, "custom", limit=None)) == found[::-1]
