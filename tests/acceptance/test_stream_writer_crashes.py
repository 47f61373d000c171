"""Kill -9 at every point of a rotation: acknowledged rows are there once, the others are there or not, and nothing is left lying about."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import lakeledger
from contract.streaming import EVENTS, ids, quarantined
from integration import children
from lakeledger import Ledger, failpoints

# Up to where other engines' metadata is staged the database makes no difference.
LATE = (failpoints.AFTER_STAGE, failpoints.IN_TRANSACTION, failpoints.AFTER_COMMIT)
CRASHES = [*(("sqlite", point) for point in failpoints.ALL), *(("postgres", point) for point in LATE)]
SCRIPT = Path(children.__file__).parent / "streaming_child.py"


@pytest.fixture
def seen(url: str, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger whose commits other engines see at once, and whose maintenance waits for nothing."""
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        opened.snapshots.set_policy("", grace=timedelta(0))
        yield opened


@pytest.mark.parametrize(("url", "point"), CRASHES, indirect=["url"])
def test_rows_of_a_writer_that_is_killed_are_there_once_or_were_never_acknowledged(
    seen: Ledger, url: str, tmp_path: Path, point: str
) -> None:
    child = children.start(tmp_path / "child.log", "crash", url, str(tmp_path / "warehouse"), point, script=SCRIPT)
    assert child.process.stdout is not None
    said = child.process.stdout.read()
    assert (said, child.wait()) == ("acknowledged 1\n", -signal.SIGKILL), child.errors

    committed = point == failpoints.AFTER_COMMIT
    bad = [({"id": "x", "day": "tue"}, ["id is not long"]), ({"id": "y", "day": "wed"}, ["id is not long"])]
    expected = ([1, 2, 3, 4], bad) if committed else ([1, 2], bad[:1])
    assert (ids(seen), quarantined(seen)) == expected
    letters = [letter.record_data["rows"] for letter in seen.dead_letters.list()]
    assert letters == [1] * len(expected[1])

    with seen.stream_writer(EVENTS, every=3600) as writer:
        writer.write({"id": 5, "day": "mon"})
    (_, killed) = seen.runs.list()
    assert (killed.commit_count, killed.records_inserted, killed.records_failed) == ((2, 4, 2) if committed else (1, 2, 1))

    seen.settle()
    report = seen.maintenance.maintain(apply=True)
    assert [each.problems for each in report.tables] == [[], []]
    assert seen.runs.get(killed.id).status == "FAILED"
    assert (ids(seen), quarantined(seen)) == ([*expected[0], 5], expected[1])
    again = seen.maintenance.maintain(apply=True)
    assert [(each.orphans.files, each.metadata.files) for each in again.tables] == [(0, 0), (0, 0)]
    for table in (EVENTS, f"{EVENTS}__quarantine"):
        assert seen.repair.verify(table).defects == []
        folder = Path(seen.tables.get(table).location)
        known = {path for name in (EVENTS, f"{EVENTS}__quarantine") for path in seen.tables.view(name).file_paths}
        assert {str(path.relative_to(folder)) for path in (folder / "data").rglob("*.parquet")} == known


def test_writers_of_several_processes_share_a_table_and_what_one_that_is_killed_acknowledged_is_there(
    seen: Ledger, url: str, tmp_path: Path
) -> None:
    place = (url, str(tmp_path / "warehouse"))
    whole = children.start(tmp_path / "whole.log", "write", *place, "0", "500", script=SCRIPT)
    killed = children.start(tmp_path / "killed.log", "write", *place, "1000", "1000000", script=SCRIPT)
    assert killed.process.stdout is not None
    heard = [int(killed.process.stdout.readline().split()[0]) for _ in range(5)]
    killed.process.kill()
    killed.wait()
    assert whole.process.stdout is not None
    versions = [line.split()[1] for line in whole.process.stdout.read().splitlines()]
    assert whole.wait() == 0, whole.errors
    found = ids(seen)
    assert len(found) == len(set(found)), "nothing is there twice"
    assert len(versions) == 25
    assert set(range(500)) <= set(found)
    assert set(range(1000, heard[-1] + 5)) <= set(found), "what was acknowledged is there, and all that was written before it"
