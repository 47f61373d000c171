"""Cached reads: what was read is given again without reading, until anybody commits, in whatever process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.making import append, execute, new_file, opened, together
from empty_ledgers import new_sqlite_url
from lakeledger import Conflict, Ledger, NumberPosition
from lakeledger.db.cache import Cache
from lakeledger.sync import DocumentPosition, SchemaDefinition

MOVER = """
import sys, lakeledger
from lakeledger import NumberPosition
from lakeledger.config import Settings
ledger = lakeledger.open(Settings(url=sys.argv[1], warehouse="/warehouse"))
for line in sys.stdin:
    ledger.positions.advance("shop.orders", NumberPosition(int(line)))
    print("moved", flush=True)
"""


def number(ledger: Ledger) -> int | None:
    marker = ledger.positions.find("shop.orders")
    return marker.position_data["value"] if marker else None


def test_a_move_of_another_process_is_seen_by_the_next_read(ledger: Ledger, url: str) -> None:
    with subprocess.Popen([sys.executable, "-c", MOVER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mover:
        assert mover.stdin is not None
        assert mover.stdout is not None
        assert number(ledger) is None
        for to in range(1, 30):
            print(to, file=mover.stdin, flush=True)
            assert mover.stdout.readline() == "moved\n"
            assert number(ledger) == to
            assert number(ledger) == to
        mover.stdin.close()


def test_a_move_by_another_handle_by_a_commit_and_by_hand_is_seen(ledger: Ledger, url: str) -> None:
    with opened(url) as other:
        other.positions.advance("shop.orders", NumberPosition(1))
        assert number(ledger) == 1
        ledger.positions.advance("shop.orders", NumberPosition(2))
        assert (number(ledger), number(other)) == (2, 2)
    execute(ledger, "update sync_markers set position_data = :data", data={"value": 7})
    assert number(ledger) == 7
    execute(ledger, "delete from sync_markers")
    assert number(ledger) is None


@pytest.fixture(params=["sqlite", "postgres"])
def quiet_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger on a server of its own: a commit of anybody's on the server counts."""
    url = new_sqlite_url(tmp_path) if request.param == "sqlite" else request.getfixturevalue("server_url")
    with opened(url) as ledger:
        yield ledger


def test_nothing_is_read_again_while_nobody_commits(quiet_ledger: Ledger) -> None:
    cache, reads, ledger = Cache(quiet_ledger.database), [], quiet_ledger

    def read() -> int:
        reads.append(1)
        return len(reads)

    assert [cache.get("a", read) for _ in range(5)] == [1] * 5
    append(ledger, new_file("a"))
    assert [cache.get("a", read) for _ in range(5)] == [2] * 5
    assert cache.get("b", read) == 3


def test_a_value_read_while_somebody_commits_is_not_kept_too_long(ledger: Ledger) -> None:
    cache = Cache(ledger.database)

    def read_then_commit() -> int | None:
        value = number(ledger)
        ledger.positions.advance("shop.orders", NumberPosition(5))
        return value

    assert cache.get("a", read_then_commit) is None
    assert cache.get("a", lambda: number(ledger)) == 5


def test_readers_and_writers_at_once_never_see_a_position_go_back(ledger: Ledger) -> None:
    def work(index: int) -> list[int]:
        if index == 0:
            for to in range(50):
                ledger.positions.advance("shop.orders", NumberPosition(to))
            return []
        return [number(ledger) or 0 for _ in range(100)]

    for seen in together(work, 4):
        assert seen == sorted(seen)


def test_of_two_writers_at_one_place_one_wins_and_the_other_hears_both_values(ledger: Ledger) -> None:
    ledger.positions.advance("shop.orders", NumberPosition(1))

    def move(index: int) -> str:
        try:
            return str(ledger.positions.advance("shop.orders", NumberPosition(10 + index), expected_version=1).version)
        except Conflict as conflict:
            return f"{conflict}; retryable: {conflict.retryable}"

    won, refused = sorted(together(move, 2), key=len)
    winner = number(ledger)
    assert won == "2"
    assert winner in (10, 11)
    assert refused == (
        f"the position of shop.orders is version 2, {{'value': {winner}}}; "
        f"it cannot go from version 1 to {{'value': {21 - winner}}}; retryable: True"
    )


def test_what_a_reader_does_to_its_copy_is_seen_by_nobody(ledger: Ledger) -> None:
    ledger.positions.advance("shop", DocumentPosition({"token": {"data": "x"}}))
    ledger.positions.get("shop").position_data["token"]["data"] = "y"
    assert ledger.positions.get("shop").position_data == {"token": {"data": "x"}}
    ledger.schemas.register("shop.orders", SchemaDefinition([{"name": "id", "type": "int"}]))
    for _ in range(2):
        found = ledger.schemas.find("shop.orders")
        assert found is not None
        assert len(found.schema_definition["columns"]) == 1
        found.schema_definition["columns"].clear()
