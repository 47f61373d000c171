"""A process for the storm: `python worker.py ROLE SETTINGS_JSON`. It works until it gets SIGTERM, and writes one JSON line per event.

writer, spark   load the next number of a source, again and again, as one of several that share a pipeline
janitor         recover lost runs, clean up what is old, sweep what crashed writes left
holder          hold the store for some seconds each time it is asked to
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from acceptance import scheduling
from lakeledger import Advance, Ledger, NumberPosition, Settings, clock
from lakeledger.config import RetentionSettings, SparkSettings
from lakeledger.errors import Fenced, LakeledgerError
from lakeledger.lake import Storage
from lakeledger.pipelines.effects import IngestionFacts, Stopwatch
from lakeledger.pipelines.write import persist
from lakeledger.runs import ActiveRun, ActiveStep, Counters
from lakeledger.sync import parse_source
from lakeledger.tables import Change, Layout, NewFile, parse_name
from spark_conf import SPARK_CONF

SCHEMA = {"type": "struct", "fields": [{"name": "number", "type": "long", "nullable": True, "metadata": {}}]}
DAY = 86_400
SPARK = SparkSettings(master="local[1]", conf=SPARK_CONF)
BREATH_SECONDS = 0.02

stop = threading.Event()


@dataclass(frozen=True)
class Role:
    """Who a process is, and where it works."""

    name: str
    url: str
    warehouse: str
    source: str
    lease_seconds: float
    outage_seconds: float
    log: str
    keep_seconds: float

    def open(self) -> Ledger:
        retention = RetentionSettings(runs_days=self.keep_seconds / DAY)
        settings = Settings(self.url, self.warehouse, lease_seconds=self.lease_seconds, outage_seconds=self.outage_seconds, spark=SPARK)
        return scheduling.open_when_there(replace(settings, retention=retention), stop)


def load_for_ever(role: Role, log: Log, load: Any) -> None:
    """Load the next number until there is a signal to stop. Whatever is refused is written down, and tried again."""
    with role.open() as ledger:
        while not stop.wait(BREATH_SECONDS):
            started, run_id = time.time(), None
            try:
                with ledger.run(role.source, exclusive=True) as run, run.step("load") as step:
                    run_id = run.id
                    number = load(ledger, role, run, step)
                log.add("committed", number=number, run=run_id, since=started)
            except LakeledgerError as error:
                fenced = isinstance(error, Fenced) or "already ended" in str(error)
                kind = "fenced" if fenced else "busy" if "already running" in str(error) else "refused"
                log.add(kind, error=type(error).__name__, message=str(error), retryable=error.retryable, run=run_id, since=started)
                stop.wait(0.2)


def load_a_file(ledger: Ledger, role: Role, run: ActiveRun, step: ActiveStep) -> int:
    """One load as Spark does it, without Spark: a file that nobody sees, and one commit of file and position."""
    origin, table = parse_source(f"chaos.{role.source}"), parse_name(f"chaos.{role.source}")
    marker = ledger.positions.find(f"chaos.{role.source}")
    number = 1 + (marker.position.value if marker else 0)  # type: ignore[attr-defined]  # it is a number
    context = ledger.context()
    storage = Storage(f"{context.warehouse}/{table.folder}")
    folder = f"data/{run.id}/{clock.new_id()[-12:]}"
    storage.make(folder)
    content = json.dumps({"source": role.source, "number": number}).encode()
    path = f"{folder}/part-0.json"
    Path(storage.inner(path)).write_bytes(content)
    change = Change(
        table=table,
        location=table.folder,
        operation="append",
        schema=SCHEMA,
        layout=Layout("jsonl"),
        files=[NewFile(path, len(content), 1, "", "none", {}, datetime.now(UTC))],
        batch_id=f"{role.source} {number}",
        counters=Counters(processed=1, inserted=1),
    )
    move = Advance(origin, NumberPosition(number), expected_version=marker.version if marker else 0)
    attempted: list[Any] = []
    try:
        persist(context, attempted, step.fence, [change], [move], [IngestionFacts(table, Stopwatch(), origin.name)])
    except LakeledgerError:
        if not attempted:
            storage.remove_folder(folder)
        raise
    return number


def load_with_spark(ledger: Ledger, role: Role, run: ActiveRun, step: ActiveStep) -> int:
    """One load as people write it."""
    marker = ledger.positions.find(f"chaos.{role.source}")
    number = 1 + (marker.position.value if marker else 0)  # type: ignore[attr-defined]  # it is a number
    move = Advance(parse_source(f"chaos.{role.source}"), NumberPosition(number), expected_version=marker.version if marker else 0)
    frame = ledger.spark.sql(f"select '{role.source}' as source, {number} as number")
    ledger.append(frame, f"chaos.{role.source}", position=move, run=step)
    return number


def keep_house(role: Role, log: Log) -> None:
    with role.open() as ledger:
        while not stop.wait(0.5):
            started = time.time()
            try:
                recovered = ledger.runs.recover()
                ledger.sync.cleanup()
                swept = ledger.tables.sweep(timedelta(seconds=1), delete=True)
                log.add("kept", recovered=[run.id for run in recovered], swept=len(swept.leftovers), since=started)
            except LakeledgerError as error:
                log.add("refused", error=type(error).__name__, message=str(error), retryable=error.retryable, run=None, since=started)


def hold(role: Role, log: Log, asked: IO[str]) -> None:
    """For each line with a number, hold the store for so many seconds."""
    with role.open() as ledger:
        for line in asked:
            started = time.time()
            try:
                with ledger.store.write():
                    log.add("holding", since=started)
                    stop.wait(float(line))
                log.add("held", since=started)
            except LakeledgerError as error:
                log.add("refused", error=type(error).__name__, message=str(error), retryable=error.retryable, run=None, since=started)


class Log:
    """What happened, one JSON object per line. A line is on disk before anything else happens."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, event: str, **facts: Any) -> None:
        os.write(self._file, (json.dumps({"event": event, "pid": os.getpid(), "at": time.time(), **facts}) + "\n").encode())


def main(kind: str, role: Role) -> None:
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    log = Log(role.log)
    match kind:
        case "writer":
            load_for_ever(role, log, load_a_file)
        case "spark":
            load_for_ever(role, log, load_with_spark)
        case "janitor":
            keep_house(role, log)
        case "holder":
            hold(role, log, sys.stdin)


if __name__ == "__main__":
    main(sys.argv[1], Role(**json.loads(sys.argv[2])))
