"""Commits and metadata updates while storage and the database fail by chance: every update gets there, every rollback leaves nothing."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.delivering import Recorders
from contract.failing import Faults, in_storage, needed
from contract.keeping import SCHEMA, grow_old, write
from contract.making import execute, rows, wait_until
from iceberg_readers import catalog
from lakeledger import Ledger, clock, db
from lakeledger.commit import Commit, Effect, commit
from lakeledger.config import AsthaSettings
from lakeledger.db import Transaction
from lakeledger.errors import Conflict, Fenced, LakeledgerError
from lakeledger.events import Event, astha, subscription
from lakeledger.lake.iceberg import iceberg_id
from lakeledger.tables import Change, Files, Layout, parse_name

TABLES = [f"shop.t{number}" for number in range(4)]
WRITERS, EACH = 4, 50
STORAGE, DATABASE, SPOILT = 0.03, 0.01, 0.3
QUICK = AsthaSettings(first_pause_seconds=0.005, longest_pause_seconds=0.05, lease_seconds=2.0)


class Boom(Exception):
    """Raised in a transaction."""


@dataclass(frozen=True)
class Breaks:
    """An effect that fails when all else of its commit is written."""

    def write(self, tx: Transaction, committed: Commit) -> None:
        raise Boom(committed.run.id, tx.tenant_id)


@dataclass
class Attempt:
    """One try to commit a row. `how`: how it is made to fail, if it is. `answer_lost`: it failed for its writer, and was committed."""

    table: str
    number: int
    how: str
    snapshot_id: str = field(default_factory=clock.new_id)
    run_id: str = ""
    paths: list[str] = field(default_factory=list)
    was_staged: bool = False
    answer_lost: bool = False
    error: BaseException | None = None

    def commit(self, ledger: Ledger, faults: Faults, mode: str) -> None:
        try:
            with ledger.run("load") as run:
                self.run_id = run.id
                file = write(ledger, [self.number], self.table, run_id=run.id)
                self.paths.append(file.path)
                name = parse_name(self.table)
                given: dict[str, Any] = {"batch_id": f"row {self.number}", "snapshot_id": self.snapshot_id}
                change = Change(name, name.folder, "append", SCHEMA, Layout(), [file], **given)

                def work(changes: Sequence[Change], effects: Sequence[Effect]) -> Commit:
                    self.was_staged = True
                    if self.how == "fence":
                        execute(ledger, "update pipeline_runs set lease_token = lease_token + 1 where pipeline_logging_id = :id", id=run.id)
                    if self.how == "conflict":
                        changes = [replace(each, reads=Files(frozenset(["data/gone"]))) for each in changes]
                    last = [Breaks()] if self.how == "transaction" else []
                    try:
                        with ledger.store.write() as tx:
                            return commit(tx, run.fence, changes, effects=[*effects, *last])
                    finally:
                        self.answer_lost = faults.answer_lost

                ledger.publisher.commit(work, [change], [], run.id, mode)
        except (LakeledgerError, Boom) as error:
            self.error = error

    @property
    def was_rolled_back(self) -> bool:
        return self.error is not None and self.was_staged and not self.answer_lost


@pytest.fixture
def ledger(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    for module in (astha, db, subscription):
        for name in [name for name in vars(module) if name.endswith("PAUSE_SECONDS")]:
            monkeypatch.setattr(module, name, 0.005)
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse")) as opened:
        opened.settings = replace(opened.settings, astha=QUICK)
        opened.snapshots.set_policy("", grace=timedelta(0))
        yield opened


def test_metadata_updates_get_there_and_rollbacks_leave_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    faults, attempts, lock = Faults(7, STORAGE, DATABASE), list[Attempt](), threading.Lock()
    chance = random.Random(11)

    def flaky(_: Event[Any]) -> None:
        if chance.random() < 0.1:
            raise ValueError("by chance")

    def load(writer: int) -> None:
        mine = random.Random(writer)
        for number in range(writer * EACH, (writer + 1) * EACH):
            table, mode = mine.choice(TABLES), mine.choice(["sync", "async"])
            while True:
                how = mine.choice(["transaction", "conflict", "fence"]) if mine.random() < SPOILT else ""
                attempt = Attempt(table, number, how)
                attempt.commit(ledger, faults, "sync" if how else mode)
                with lock:
                    attempts.append(attempt)
                if attempt.error is None:
                    break

    with ledger.astha({"flaky": Recorders("table_files", "table_snapshots", handle=flaky)}):
        faults.install(ledger, monkeypatch)
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(load, range(WRITERS)))
        faults.stop()
        wait_until(lambda: all(is_published(ledger, table) for table in TABLES))
        wait_until(lambda: all((lag.behind, lag.lanes) == (0, ()) for lag in ledger.events.lag()))

    updates = rows(ledger, "select version, snapshot_id, table_id from table_snapshots")
    assert len(updates) == WRITERS * EACH, "every row is in once"
    succeeded = sum(count_seen(ledger, table) for table in TABLES)
    rolled_back = [attempt for attempt in attempts if attempt.was_rolled_back]
    seen = {table: snapshots_seen(ledger, table) for table in TABLES}
    clean = [attempt for attempt in rolled_back if leaves_nothing(ledger, attempt, seen[attempt.table])]
    grow_old(Path(ledger.warehouse))
    assert [care.problems for care in ledger.maintenance.maintain(apply=True).tables] == [[]] * len(TABLES)
    for table in TABLES:
        assert in_storage(ledger, parse_name(table).folder) == needed(ledger, table)
    swept = [attempt for attempt in clean if not files_of(ledger, attempt)]
    figures = (
        f"under injected failures on {ledger.database.dialect} ({told(faults.injected)}): "
        f"metadata updates: {succeeded:,} of {len(updates):,} ({succeeded / len(updates):.2%}); "
        f"rollbacks: {len(swept):,} of {len(rolled_back):,} ({told(Counter(type(each.error).__name__ for each in rolled_back))})"
    )
    print(f"\n{figures}")  # noqa: T201 - the shares that are promised
    assert succeeded >= 0.999 * len(updates)
    assert len(swept) == len(rolled_back) >= 40
    assert {"Boom", "Conflict", "Fenced", "Unavailable"} <= {type(attempt.error).__name__ for attempt in rolled_back}
    assert min(faults.injected.values()) > 0
    assert not ledger.events.parked(), "thirty retries are enough"


def is_published(ledger: Ledger, table: str) -> bool:
    seen = ledger.tables.publication(table)
    return seen is not None and seen.version == ledger.tables.get(table).current_version


def count_seen(ledger: Ledger, table: str) -> int:
    """The commits whose files are marked as published, and whose rows another engine finds, each once."""
    found = rows(
        ledger,
        "select f.column_bounds, f.iceberg_metadata_state from table_files f where f.table_id = :id",
        id=ledger.tables.get(table).table_id,
    )
    with catalog(ledger) as opened:
        seen = Counter(opened.load_table(table).scan().to_arrow()["id"].to_pylist())
    numbers = [row["column_bounds"]["id"]["min"] for row in found if row["iceberg_metadata_state"] == "completed"]
    assert seen.keys() <= {row["column_bounds"]["id"]["min"] for row in found}
    return sum(seen[number] == 1 for number in numbers)


def snapshots_seen(ledger: Ledger, table: str) -> set[int]:
    with catalog(ledger) as opened:
        return {snapshot.snapshot_id for snapshot in opened.load_table(table).metadata.snapshots}


def leaves_nothing(ledger: Ledger, attempt: Attempt, seen: set[int]) -> bool:
    """Whether neither the ledger nor other engines know anything of it, and what was staged is gone if it is known that it failed."""
    known = rows(ledger, "select 1 from table_snapshots where snapshot_id = :id", id=attempt.snapshot_id)
    known += rows(ledger, "select 1 from table_files where file_path = :path", path=attempt.paths[0])
    known += rows(ledger, "select 1 from pipeline_runs where pipeline_logging_id = :id and commit_count > 0", id=attempt.run_id)
    is_discarded = isinstance(attempt.error, Conflict | Fenced)
    return not known and iceberg_id(attempt.snapshot_id) not in seen and not (is_discarded and files_of(ledger, attempt, "metadata"))


def files_of(ledger: Ledger, attempt: Attempt, folder: str = "") -> list[Path]:
    root = Path(ledger.warehouse, parse_name(attempt.table).folder, folder)
    return [path for path in root.rglob("*") if path.is_file() and (attempt.snapshot_id in path.name or attempt.run_id in path.parts)]


def told(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
