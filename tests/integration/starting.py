"""Every command that needs no Spark, on a small project, and what each of them loads."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import lakeledger
from contract.making import append, new_file
from integration.commands import answer
from lakeledger import NumberPosition
from lakeledger.sync import NewError, NewLetter

# What takes longer to load than most commands take.
HEAVY = {"pyspark", "pyarrow", "numpy", "pandas", "deltalake", "pydantic", "ruamel", "sqlglot", "databricks", "psycopg", "watchfiles"}
DELTA, MODELS, YAML, SQL = {"deltalake"}, {"pydantic"}, {"ruamel"}, {"sqlglot"}

PIPELINE = {
    "module_name": "shop",
    "schedule": {"cron": "0 5 * * *"},
    "sources": [
        {
            "source_id": "orders",
            "source_type": "files",
            "source_config": {"path": "landing/*.csv", "schema": "id int"},
            "target_config": {"table": "orders"},
        }
    ],
}
BOOKMARKS = {"bookmarks": {"shop-items": {"replication_key": "id", "replication_key_value": 1200}}}
SCHEMA = {"columns": [{"name": "id", "type": "long"}]}
SUITE = {"dq_config_id": "orders", "expectations": [{"not_null": "id"}]}
FACT = {"target": {"source_id": "shop"}, "kind": "custom", "payload": {}, "producer_id": "me.v1"}
EXPECTATIONS = {"name": "orders", "expectations": [{"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "id"}}]}


@dataclass(frozen=True)
class Project:
    """What commands can be asked about."""

    folder: Path
    run_id: str
    error_id: str
    letter_id: str
    job_id: str

    def commands(self) -> dict[str, tuple[list[str], set[str]]]:
        """By its name, each command as somebody types it, and what of the heavy it may load."""
        return {
            "init": (["new"], set()),
            "control audit": ([], DELTA),
            "control create": (["--control", "control/other"], DELTA),
            "control deactivate": (["shop", "orders"], DELTA),
            "control activate": (["shop"], DELTA),
            "control diff": (["1"], DELTA),
            "control export": (["--output", "exported.yaml"], DELTA | MODELS | YAML),
            "control history": ([], DELTA),
            "control list": ([], DELTA | MODELS),
            "control load": (["shop.yaml"], DELTA | MODELS | YAML),
            "control restore": (["1"], DELTA),
            "control schema": ([], MODELS),
            "control set": (["shop", "description=x"], DELTA | MODELS),
            "control show": (["shop"], DELTA | MODELS),
            "control sql": (["UPDATE etl_control SET execution_order = 2"], DELTA | MODELS | SQL),
            "control validate": (["shop.yaml"], MODELS | YAML),
            "plan": ([], DELTA | MODELS),
            "apply": (["--yes"], DELTA | MODELS),
            "jobs cancel": (["00000000"], set()),
            "jobs list": ([], set()),
            "jobs pause": ([self.job_id], set()),
            "jobs resume": ([self.job_id], set()),
            "jobs run": ([self.job_id], set()),
            "jobs show": ([self.job_id], set()),
            "jobs delete": ([self.job_id, "--apply"], set()),
            "runs cancel": ([self.run_id, "--reason", "over"], set()),
            "runs explain": ([self.run_id], set()),
            "runs list": ([], set()),
            "runs logs": ([self.run_id], set()),
            "runs recover": ([], set()),
            "runs show": ([self.run_id], set()),
            "tables add-column": (["silver.orders", "price", "double"], SQL),
            "tables rename-column": (["silver.orders", "note", "remark"], set()),
            "tables drop-column": (["silver.orders", "remark", "--apply"], set()),
            "tables files": (["silver.orders"], set()),
            "tables history": (["silver.orders"], set()),
            "tables list": ([], set()),
            "tables show": (["silver.orders"], set()),
            "positions history": (["shop.orders"], set()),
            "positions import": (["positions.json"], set()),
            "positions export": (["shop.items", "--format", "singer"], set()),
            "positions list": ([], set()),
            "positions set": (["shop.orders", "7"], set()),
            "positions rewind": (["shop.orders", "--to-version", "1"], set()),
            "positions remove": (["shop.orders"], set()),
            "positions show": (["shop.orders"], set()),
            "schema accept": (["shop.orders"], set()),
            "schema check": (["shop.orders", "schema.json"], set()),
            "schema diff": (["shop.orders", "1"], set()),
            "schema list": ([], set()),
            "schema register": (["shop.items", "schema.json"], set()),
            "schema show": (["shop.orders"], set()),
            "errors groups": ([], set()),
            "errors list": ([], set()),
            "errors show": ([self.error_id], set()),
            "errors retry": ([self.error_id], set()),
            "errors resolve": ([self.error_id, "--note", "done"], set()),
            "errors ignore": ([self.error_id, "--note", "known"], set()),
            "dlq claim": ([], set()),
            "dlq discard": ([self.letter_id, "--note", "known"], set()),
            "dlq groups": ([], set()),
            "dlq list": ([], set()),
            "dlq release": ([self.letter_id], set()),
            "dlq replay": ([], MODELS),
            "dlq resolve": ([self.letter_id], set()),
            "dlq show": ([self.letter_id], set()),
            "sync cleanup": ([], set()),
            "sync recover": ([], set()),
            "sync runs": ([], set()),
            "sync stats": ([], set()),
            "compact": ([], set()),
            "snapshots list": (["silver.orders"], set()),
            "snapshots tag": (["silver.orders", "june"], set()),
            "snapshots untag": (["silver.orders", "june"], set()),
            "snapshots expire": ([], set()),
            "snapshots policy": (["silver", "keep_versions=3"], set()),
            "quality list": ([], set()),
            "quality show": (["00000000"], set()),
            "quality suggest": (["silver.orders"], YAML),
            "quality validate": (["suite.yaml"], MODELS | YAML),
            "quality import": (["expectations.json"], YAML),
            "mirror status": ([], set()),
            "mirror recreate": (["pipeline_runs"], set()),
            "bands list": ([], set()),
            "bands show": (["silver.orders"], set()),
            "bands exclude": (["silver.orders", "2026-01-31", "--reason", "odd"], set()),
            "bands accept": (["silver.orders", "2026-01-31", "--reason", "new level"], set()),
            "bands restore": (["silver.orders", "2026-01-31", "--reason", "a mistake"], set()),
            "freshness list": ([], set()),
            "freshness set": (["silver.orders", "26h", "--reason", "agreed"], set()),
            "freshness unset": (["silver.orders", "--reason", "over"], set()),
            "recon history": ([], set()),
            "recon explain": (["orders"], set()),
            "records list": (["ingestion_volume"], set()),
            "records latest": (["silver.orders", "ingestion_volume"], set()),
            "records history": (["silver.orders", "ingestion_volume"], set()),
            "records query": (["--where", "payload.rows>=1"], set()),
            "records tail": ([], set()),
            "records collect": ([], set()),
            "records backfill": (["--from", "inventory.yaml"], MODELS | YAML),
            "records emit": (["facts.jsonl"], set()),
            "records replay": ([], set()),
            "records compact": ([], set()),
            "records retention": ([], set()),
            "insights plan": (["silver.orders"], set()),
            "insights gate": (["shop.orders"], set()),
            "insights trends": ([], set()),
            "insights timeouts": ([], set()),
            "insights sla": ([], set()),
            "lineage up": (["silver.orders"], set()),
            "lineage down": (["silver.orders"], set()),
            "kinds list": ([], set()),
            "kinds show": (["custom"], set()),
            "kinds register": (["visits", "visits.json"], set()),
            "kinds check": (["visits", "visits.json"], set()),
            "kinds policy": (["open"], set()),
            "changes list": ([], set()),
            "events tail": ([], set()),
            "events lag": ([], set()),
            "events parked": ([], set()),
            "events replay": (["mirror"], set()),
            "events forget": (["mirror"], set()),
            "jars list": ([], set()),
            "doctor": ([], set()),
            "db migrate": ([], set()),
            "db status": ([], set()),
            "version": ([], set()),
        }


def project(folder: Path, url: str = "sqlite:///lakeledger.db") -> Project:
    """A project in that folder, which is the current one, with something of everything."""
    (folder / "lakeledger.toml").write_text(f'url = "{url}"\nwarehouse = "warehouse"\n')
    (folder / "shop.yaml").write_text(json.dumps({"modules": [PIPELINE]}))
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    (folder / "suite.yaml").write_text(json.dumps(SUITE))
    (folder / "expectations.json").write_text(json.dumps(EXPECTATIONS))
    (folder / "facts.jsonl").write_text(json.dumps(FACT))
    (folder / "inventory.yaml").write_text(json.dumps({"sources": [{"reader": "progress_log", "path": "progress.jsonl"}]}))
    (folder / "progress.jsonl").write_text(json.dumps({"ts": "2024-01-10T05:00:00Z", "run_id": "1", "table": "orders", "rows": 5}))
    (folder / "visits.json").write_text(json.dumps({"type": "object"}))
    with lakeledger.open() as ledger:
        made = append(ledger, new_file("a.parquet"))
        ledger.columns.add("silver.orders", "note", "string")
        ledger.positions.advance("shop.orders", NumberPosition(5))
        ledger.schemas.register("shop.orders", SCHEMA)
        error = ledger.errors.log(NewError("shop", "orders", "connection", "no answer"))
        letter = ledger.dead_letters.add(NewLetter("shop", "orders", "insert", {"id": 1}))
    answer("control", "load", "shop.yaml")
    answer("apply", "--yes")
    job = answer("jobs", "list")["jobs"][0]["job_id"]
    (folder / "positions.json").write_text(json.dumps(BOOKMARKS))
    return Project(folder, made.snapshot.run_id, error.id, letter.id, job)


# A fork for each command, of a process that has loaded what nearly all of them load, and of what is heavy only what they may.
_FORKING = """
import importlib, json, os, sys
import rich.table, sqlite3
from lakeledger.cli import program
for name in sys.argv[1:]:
    importlib.import_module(name)
for words in json.load(sys.stdin):
    read, write = os.pipe()
    if os.fork() == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        code = None
        try:
            program.main(words)
        except SystemExit as done:
            code = done.code
        os.write(write, json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        print(answer.read(), flush=True)
    os.wait()
"""


_LOADED_BY_MOST = (
    "lakeledger.cli.options",
    "lakeledger.ledger",
    "lakeledger.db.sqlite",
    "lakeledger.sync.capture",
    "lakeledger.sync.errors",
)
_LOADED_WITH = {"pydantic": "lakeledger.control.rows", "deltalake": "lakeledger.control.delta"}


def loaded_by(commands: Sequence[Sequence[str]], folder: Path, may_load: Iterable[str] = ()) -> list[tuple[int, set[str]]]:
    """How each command ended, and the packages that it had then loaded, beside those that it may."""
    before = [*_LOADED_BY_MOST, *(_LOADED_WITH.get(name, name) for name in may_load)]
    done = subprocess.run(
        [sys.executable, "-c", _FORKING, *before], input=json.dumps(commands), capture_output=True, text=True, check=True, cwd=folder
    )
    answers = (json.loads(line) for line in done.stdout.splitlines())
    return [(code, set(packages)) for code, packages in answers]
