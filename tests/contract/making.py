"""Hand-made commits, SQL by hand and other small things that the contract tests share."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import lakeledger
from lakeledger import Ledger
from lakeledger.commit import Effect, commit
from lakeledger.config import Settings
from lakeledger.db import Row, Transaction
from lakeledger.db.queries import statement
from lakeledger.pipelines.effects import IngestionFacts, ReadFiles, Stopwatch
from lakeledger.runs import ActiveRun, ActiveStep, Counters, Fence
from lakeledger.sync import Advance, SourceFile
from lakeledger.tables import Change, Committed, NewFile, parse_name

T = TypeVar("T")

ORDERS = "silver.orders"
SCHEMA = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
AT = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


def new_file(name: str, rows: int = 10, size: int = 100, partition: str = "") -> NewFile:
    path = f"data/run/{partition}/{name}" if partition else f"data/run/{name}"
    return NewFile(path, size, rows, partition, "snappy", {"id": {"min": 1, "max": rows, "nulls": 0}}, AT)


@dataclass(frozen=True)
class Planned:
    """A commit of one table that is to be made."""

    fence: Fence
    change: Change
    moves: list[Advance] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)

    def commit(self, tx: Transaction) -> Committed:
        (made,) = commit(tx, self.fence, [self.change], self.moves, self.effects).tables
        return made


def lost(ledger: Ledger, pipeline: str = "orders", **more: Any) -> ActiveRun:
    """A run that is not ended and whose worker is silent: nobody renews its lease."""
    run = ledger.run(pipeline, **more)
    run.__enter__()
    run._ended.set()
    return run


def change(
    run: ActiveRun | ActiveStep,
    *files: NewFile,
    table: str = ORDERS,
    position: Advance | None = None,
    source_files: list[SourceFile] | None = None,
    watch: Stopwatch | None = None,
    **more: Any,
) -> Planned:
    """An append of these files as a load makes it, unless `more` says otherwise."""
    name = parse_name(table)
    location = f"/warehouse/{name.folder}"
    values = {"location": location, "operation": "append", "schema": SCHEMA, "layout": lakeledger.tables.Layout(), **more}
    effects: list[Effect] = [IngestionFacts(name, watch or Stopwatch(), position.source.name if position else None)]
    if position and source_files:
        values["summary"] = {"source_files": len(source_files)}
        effects.append(ReadFiles(position.source, source_files))
    written = sum(file.rows for file in files)
    values.setdefault("counters", Counters(processed=written, inserted=written))
    return Planned(run.fence, Change(table=name, files=list(files), **values), [position] if position else [], effects)


def put(ledger: Ledger, made: Planned) -> Committed:
    with ledger.store.write() as tx:
        return made.commit(tx)


def append(ledger: Ledger, *files: NewFile, **more: Any) -> Committed:
    """One append in a run of its own."""
    with ledger.run("load") as run:
        return put(ledger, change(run, *files, **more))


def overwrite(ledger: Ledger, *files: NewFile, **more: Any) -> Committed:
    """One overwrite in a run of its own."""
    return append(ledger, *files, **{"operation": "overwrite", "retires": "all", **more})


DQ_RESULT = (
    "insert into dq_results (dq_result_id, tenant_id, pipeline_logging_id, target_table, name_key, dq_config_id, executed_at,"
    " expectations_passed, expectations_failed, failed_expectations, overall_status, ingestion_date, fail_on_error, is_visible, scope)"
    " values (:id, :tenant_id, :run_id, 'silver.orders', 'silver.orders', 'orders', :at,"
    " 3, :failed, :failures, :status, :day, true, true, :scope)"
)
API_KEY = (
    "insert into api_keys (api_key_id, tenant_id, api_key_hash, created_at, created_by, is_active, description)"
    " values (:id, :tenant_id, :hash, :at, 'ann', true, 'nightly')"
)


def add_dq_result(ledger: Ledger, id: str, at: datetime, failures: list[dict[str, Any]] | None = None, run_id: str = "run") -> None:
    """What came of a suite of quality checks."""
    told: dict[str, Any] = {"failed": len(failures or []), "failures": failures, "status": "FAIL" if failures else "PASS", "scope": {}}
    execute(ledger, DQ_RESULT, id=id, run_id=run_id, at=at, day=f"{at:%Y-%m-%d}", **told)


def add_api_key(ledger: Ledger, id: str = "key", at: datetime = AT) -> None:
    """A key of a program, as the service keeps it."""
    execute(ledger, API_KEY, id=id, hash=f"sha256:{id}", at=at)


def something_of_everything(ledger: Ledger, table: str = ORDERS) -> None:
    """A row in each table whose changes are told."""
    append(ledger, new_file("b"), new_file("c"), table=table)
    with ledger.run("load") as run, run.step("extract"):
        pass
    add_dq_result(ledger, "result", AT, run_id=run.id)
    add_api_key(ledger)


def execute(ledger: Ledger, text: str, **parameters: Any) -> int:
    """SQL by hand, in a transaction of its own."""
    with ledger.store.write() as tx:
        return tx.execute(statement(text), **parameters)


def rows(ledger: Ledger, text: str, **parameters: Any) -> list[Row]:
    with ledger.store.read() as tx:
        return tx.all(statement(text), **parameters)


def table_names(ledger: Ledger) -> list[str]:
    """Every table of the database."""
    if ledger.database.dialect == "sqlite":
        found = rows(ledger, "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name")
    else:
        here = "table_schema = current_schema() and table_type = 'BASE TABLE'"
        found = rows(ledger, f"select table_name as name from information_schema.tables where {here} order by 1")
    return [row["name"] for row in found]


def dump(ledger: Ledger) -> dict[str, list[str]]:
    """Everything in the database, to be compared before and after."""
    return {
        name: sorted(json.dumps(row, default=str, sort_keys=True) for row in rows(ledger, f"select * from {name}"))
        for name in table_names(ledger)
    }


def expire_lease(ledger: Ledger, run_id: str) -> None:
    """Let a run's lease be over, as if its worker had stayed silent long after that was noticed."""
    past = datetime(2020, 1, 1, tzinfo=UTC)
    expire = "update pipeline_runs set lease_expires_at = :past, suspected_at = :past where pipeline_logging_id = :id"
    assert execute(ledger, expire, past=past, id=run_id) == 1


def together(work: Callable[[int], T], workers: int) -> list[T]:
    """The results of several threads that begin at the same moment."""
    gate = threading.Barrier(workers)

    def begin(index: int) -> T:
        gate.wait(30)
        return work(index)

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(begin, range(workers)))


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Look again and again until it holds."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError(f"still not so after {seconds} s")


@contextmanager
def opened(url: str, tenant: str = "default", lease_seconds: float = 60.0) -> Iterator[Ledger]:
    """Another handle on a database."""
    with lakeledger.open(Settings(url=url, warehouse="/warehouse", tenant=tenant, lease_seconds=lease_seconds)) as ledger:
        yield ledger
