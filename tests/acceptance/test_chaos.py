"""Writers, schedulers, cleanup and sweep in a storm: nothing is lost, nothing is there twice, and nobody healthy is fenced off."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import examples
from chaos.storm import BOUND_SECONDS, LEASE_SECONDS, Process, Storm, status
from empty_ledgers import new_sqlite_url
from lakeledger import Ledger
from lakeledger.jobs.local import LocalBackend
from postgres_server import Server

SEED = 20261117
SECONDS = examples.rounds(10, 30)
SOAK_SECONDS = int(os.environ.get("SOAK_SECONDS", "900"))

# What a worker may hear in a storm, and then try again.
EXPECTED = ("Unavailable", "Conflict", "Fenced")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Server | None]]:
    """The URL of an empty ledger, and the server that the storm may restart."""
    if request.param == "sqlite":
        yield new_sqlite_url(tmp_path), None
        return
    server: Server = request.getfixturevalue("fragile_postgres")
    schema = f"storm_{os.urandom(6).hex()}"
    server.create_schema(schema)
    yield server.url(schema=schema), server
    server.drop_schema(schema)


def test_a_storm_costs_nothing_that_was_acknowledged(place: tuple[str, Server | None], tmp_path: Path) -> None:
    weather(Storm(tmp_path / "storm", *place, SEED), SECONDS)


@pytest.mark.soak
@pytest.mark.timeout(SOAK_SECONDS + 600)
def test_a_long_storm_with_spark_costs_nothing_that_was_acknowledged(place: tuple[str, Server | None], tmp_path: Path) -> None:
    weather(Storm(tmp_path / "storm", *place, SEED, spark=True), SOAK_SECONDS)


def weather(storm: Storm, seconds: float) -> None:
    """Go through the storm, and look at everything afterwards."""
    storm.rage(seconds)
    with storm.open() as ledger:
        ledger.runs.recover()
        committed = {source: check_source(storm, ledger, source) for source in storm.sources}
        check_jobs(storm, ledger)
        check_files(ledger)
    check_workers(storm)
    events = [event for process in storm.processes for event in process.events()]
    longest = max(
        event["at"] - event["since"] - stopped_within(process, event) for process in storm.processes for event in process.events()
    )
    kinds = {kind: sum(event["event"] == kind for event in events) for kind in ("committed", "busy", "refused", "fenced")}
    figures = {**dict(storm.seen), "loads": committed, "jobs": len(storm.jobs), "events": kinds, "longest call (s)": round(longest, 1)}
    print(f"\nstorm of {seconds} s on {storm.url.partition(':')[0]}: {json.dumps(figures)}")  # noqa: T201 - what the storm saw
    assert longest <= BOUND_SECONDS
    assert all(committed.values()), figures


def check_source(storm: Storm, ledger: Ledger, source: str) -> int:
    """Each number is in the table once, up to where the position stands, and each that was acknowledged is among them."""
    table, position = f"chaos.{source}", ledger.positions.find(f"chaos.{source}")
    last = position.position.value if position else 0  # type: ignore[attr-defined]  # it is a number
    versions = ledger.tables.history(table, limit=100_000) if last else []
    assert sorted(snapshot.batch_id or "" for snapshot in versions) == sorted({snapshot.batch_id or "" for snapshot in versions})
    assert len(versions) == last
    assert ledger.tables.get(table).row_count == last
    if source != "s":
        found = [json.loads(Path(path).read_text(encoding="utf-8"))["number"] for path in ledger.tables.view(table).paths]
        assert sorted(found) == list(range(1, last + 1))
    acknowledged = [
        event["number"]
        for process in storm.writers
        if process.source == source
        for event in process.events()
        if event["event"] == "committed"
    ]
    assert len(acknowledged) == len(set(acknowledged)), "a number was acknowledged twice"
    assert set(acknowledged) <= set(range(1, last + 1)), "a number that was acknowledged is lost"
    return int(last)


def check_jobs(storm: Storm, ledger: Ledger) -> None:
    """Each run that was asked for was carried out."""
    backend = LocalBackend(ledger.store, "storm")
    assert storm.jobs
    assert {status(backend, id) for id in storm.jobs} <= {"done", "cleaned up"}
    missing = [number for number in range(1, len(storm.jobs) + 1) if ledger.positions.find(f"jobs.n{number}") is None]
    assert missing == []


def check_files(ledger: Ledger) -> None:
    """What the ledger knows is there, and after a sweep nothing else is."""
    assert list(ledger.runs.list(status="RUNNING")) == []
    ledger.tables.sweep(timedelta(0), delete=True)
    for table in ledger.tables.list():
        verified = ledger.tables.verify(str(table.name), deep=False)
        assert verified.ok, verified


def check_workers(storm: Storm) -> None:
    """Nobody healthy was fenced off, nobody heard anything that may not be tried again, nobody broke."""
    for process in storm.processes:
        errors = process.errors.read_text(encoding="utf-8") if process.errors.exists() else ""
        assert "Traceback" not in errors, errors[-3_000:]
        for event in process.events():
            if event["event"] == "fenced":
                assert stopped_within(process, event) >= LEASE_SECONDS, f"{process.name} was healthy: {event}"
            if event["event"] == "refused":
                assert (event["error"] in EXPECTED, event["retryable"]) == (True, True), event


def stopped_within(process: Process, event: dict[str, object]) -> float:
    """For how many seconds of that event its process was stopped."""
    since, at = float(str(event["since"])), float(str(event["at"]))
    return sum(max(0.0, min(end, at) - max(begin, since)) for pid, begin, end in process.stopped if pid == event["pid"])
