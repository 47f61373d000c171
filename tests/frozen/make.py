"""Makes the frozen ledgers, one of each database, with data of every slice: what this release leaves behind, for every later one to open.

    python tests/frozen/make.py

It is run once per release that has new migrations; earlier ones stay as they are.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent
sys.path[:0] = [str(TESTS), str(TESTS.parent / "examples")]

import lakeledger  # noqa: E402 - the tests are no package
from contract.making import AT, append, change, execute, new_file, put  # noqa: E402
from lakeledger import Ledger, NumberPosition  # noqa: E402
from lakeledger.jobs.local import LocalBackend  # noqa: E402
from lakeledger.runs import output  # noqa: E402
from lakeledger.sync import Advance, LsnPosition, SourceFile, parse_source  # noqa: E402
from lakeledger.sync.dead_letters import NewLetter  # noqa: E402
from lakeledger.sync.schemas import SchemaDefinition  # noqa: E402
from lakeledger.sync.sync_runs import NewSync  # noqa: E402
from lakeledger.tables import Files, Layout  # noqa: E402
from postgres_server import find_programs, packaged_folders, start, system_folders  # noqa: E402

SCHEMA = "frozen"
DAYS = {"type": "struct", "fields": [{"name": "id", "type": "long"}, {"name": "day", "type": "string"}]}


def main() -> None:
    """Fill a ledger on each database, and write it down as SQL."""
    with tempfile.TemporaryDirectory(prefix="frozen-") as folder:
        sqlite = Path(folder, "sqlite")
        fill(f"sqlite:///{sqlite}/ledger.db", sqlite)
        with sqlite3.connect(sqlite / "ledger.db") as connection:
            keep("sqlite", "\n".join(connection.iterdump()), sqlite)
        postgres = Path(folder, "postgres")
        server = start(postgres / "server")
        try:
            server.create_schema(SCHEMA)
            fill(server.url(schema=SCHEMA), postgres)
            program = find_programs([*system_folders(), *packaged_folders()]) / "pg_dump"
            words = ["--inserts", "--no-owner", "--no-privileges", f"--schema={SCHEMA}", "--dbname", server.url()]
            text = subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout
        finally:
            server.stop()
        keep("postgres", "\n".join(line for line in text.splitlines() if not line.startswith("\\")), postgres)


def fill(url: str, folder: Path) -> None:
    """Something in every table: what the examples do, and tables with every kind of commit."""
    import control  # type: ignore[import-not-found]  # examples are no package

    folder.mkdir(exist_ok=True)
    here = Path.cwd()
    control.main(folder, url)
    os.chdir(here)
    with lakeledger.open(url, warehouse=str(folder / "warehouse")) as ledger:
        fill_tables(ledger)
        fill_runs(ledger)
        fill_capture(ledger)
        jobs = LocalBackend(ledger.store, ledger.worker.name)
        jobs.run_now(next(job.job_id for job in jobs.list() if not job.is_paused))
        execute(ledger, "insert into forgotten_runs (run_id, tenant_id, forgotten_at) values ('gone', :tenant_id, :now)")
        execute(ledger, "insert into subscriber_cursor (tenant_id, subscriber, seq, updated_at) values (:tenant_id, 'dashboard', 7, :now)")


def fill_tables(ledger: Ledger) -> None:
    """A table with each operation, and a load of files with its position."""
    ledger.context().find_warehouse()
    place = {"location": "silver/orders", "layout": Layout("parquet", ("day",)), "schema": DAYS}
    append(ledger, new_file("a", partition="day=mon"), new_file("b", partition="day=tue"), **place)
    ledger.columns.rename("silver.orders", "day", "weekday")
    ledger.columns.add("silver.orders", "note", "string")
    ledger.columns.drop("silver.orders", "note")
    ledger.columns.add("silver.orders", "note", "array<string>")
    planned = {**place, "schema": ledger.tables.view("silver.orders").schema, "layout": Layout("parquet", ("weekday",))}
    small = Files(frozenset(["data/run/day=mon/a"]))
    append(ledger, new_file("c", partition="day=mon"), operation="replace", retires=small, **planned)
    source = parse_source("shop.orders")
    read = [SourceFile("in/1.csv", 10, AT, "sha256:1")]
    with ledger.run("shop") as run, run.step("orders") as step:
        move = Advance(source, NumberPosition(7))
        put(ledger, change(step, new_file("d"), table="bronze.orders", location="bronze/orders", position=move, source_files=read))


def fill_runs(ledger: Ledger) -> None:
    """A run that failed, with what it printed."""
    with suppress(ValueError), ledger.run("broken", idempotency_key="once", parameters={"day": "mon"}) as run:
        with run.step("load") as step, ledger.store.write() as tx:
            output.put(tx, step.id, "printed", 0, "a trace")
        raise ValueError("no such day")


def fill_capture(ledger: Ledger) -> None:
    """Where capture stands: positions of two kinds, schema versions, a sync run, an error and a dead letter."""
    ledger.positions.advance("crm", LsnPosition("0/16B3748"))
    ledger.positions.advance("crm", LsnPosition("0/16B3800"))
    for columns in (["id"], ["id", "name"]):
        definition = SchemaDefinition(columns=[{"name": name, "type": "string"} for name in columns], primary_keys=["id"])
        ledger.schemas.register("crm.people", definition)
    run = ledger.sync.runs.start(NewSync("crm", "stream"))
    ledger.errors.log_exception("crm", "people", ValueError("no such person"), record_data={"id": 1})
    ledger.dead_letters.add(NewLetter(record_data={"id": 1}, schema_name="crm", table_name="people", operation_type="insert"))
    ledger.sync.runs.complete(run.id, "completed")


def keep(dialect: str, text: str, folder: Path) -> None:
    """Write it down, without anything of this machine."""
    text = text.replace(str(folder), "/frozen").replace(str(TESTS.parent), "/project").replace(socket.gethostname(), "host")
    text = re.sub(rf"\b{re.escape(getpass.getuser())}\b", "ann", text)
    (HERE / f"{dialect}.sql").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
