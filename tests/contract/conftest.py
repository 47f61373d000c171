"""Fixtures that several contract tests share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contract.making import wait_until
from contract.scheduling import World
from empty_ledgers import new_sqlite_url
from lakeledger import Ledger
from lakeledger.config import RecordSettings, load
from lakeledger.jobs.local import LocalBackend
from lakeledger.records import MaintainedRepository


@pytest.fixture
def world(ledger: Ledger) -> Iterator[World]:
    made = World(ledger, LocalBackend(ledger.store, "ann"))
    yield made
    made.gate.set()
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("job-")])


@pytest.fixture(params=["sqlite", "postgres", "file"])
def keeper(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger with each kind of repository: itself, on SQLite and on PostgreSQL, and a folder."""
    url, schema = new_sqlite_url(tmp_path), None
    if request.param == "postgres":
        schema = request.getfixturevalue("postgres_ledgers").take()
        url = request.getfixturevalue("postgres").url(schema=schema)
    records = RecordSettings(f"file://{tmp_path}/metadata" if request.param == "file" else "sql")
    with Ledger(replace(load(url=url, warehouse=str(tmp_path / "warehouse")), records=records)) as opened:
        yield opened
    if schema:
        request.getfixturevalue("postgres_ledgers").give_back(schema)


@pytest.fixture
def kept(keeper: Ledger) -> MaintainedRepository:
    """The empty repository of such a ledger."""
    return keeper.records.repository
