"""Hot statements find their rows by an index, whatever the ledger has grown to. A line per statement: the index, and what is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import lakeledger
from contract.making import rows
from empty_ledgers import new_sqlite_url
from lakeledger import Ledger, events
from lakeledger.clock import now
from lakeledger.db import Transaction
from lakeledger.db.queries import Query, statement
from lakeledger.jobs.queue import sql as jobs
from lakeledger.runs.store import sql as runs
from postgres_server import Server

PAGE: dict[str, Any] = {"page_size": 50}
NOW = now()
AFTER: dict[str, Any] = {"before_time": NOW, "before_id": "x"}
IDS: dict[str, Any] = {"prefix": "0199", "first": "0199", "last": "019a"}


@dataclass(frozen=True)
class Hot:
    """A statement, the indexes that it must use, and whether it may sort what it found: a few rows, never a page of many."""

    query: Query
    indexes: set[str]
    parameters: dict[str, Any]
    may_sort: bool = False

    @property
    def name(self) -> str:
        return "-".join([self.query.name, *(name for name in self.parameters if name in self.query.optional)])


def hot(query: Query, indexes: str, *, may_sort: bool = False, **parameters: Any) -> Hot:
    return Hot(query, set(indexes.split()), parameters, may_sort)


HOT = [
    hot(runs.find_by_idempotency_key, "pipeline_runs_by_key", pipeline_id="p", idempotency_key="k"),
    hot(runs.holder, "pipeline_runs_exclusive", pipeline_id="p"),
    hot(runs.begin_run, "pipeline_runs_by_token", run_id="r", worker_instance="w", instance_id="i", node_id="n", lease_expires_at=NOW),
    hot(runs.open_runs, "pipeline_runs_by_status"),
    hot(runs.find_run_by_prefix, "pipeline_runs_pkey", **IDS),
    hot(runs.list_runs, "pipeline_runs_by_time", **PAGE),
    hot(runs.list_runs, "pipeline_runs_by_time", **PAGE, **AFTER),
    hot(runs.list_runs, "pipeline_runs_by_pipeline", **PAGE, **AFTER, pipeline_id="p"),
    hot(runs.list_runs, "pipeline_runs_by_status", **PAGE, **AFTER, status="FAILED"),
    hot(runs.list_runs, "pipeline_runs_by_kind", **PAGE, **AFTER, run_kind="sync"),
    hot(runs.list_steps, "step_logs_by_run", run_id="r", may_sort=True),
    hot(runs.list_transitions, "state_transitions_by_entity", entity_id="r"),
    hot(events.sql.changes_after, "change_log_by_tenant", **PAGE, after=7),
    hot(events.sql.changes_after, "change_log_by_table", **PAGE, after=7, table_name="tables"),
    hot(jobs.list_runs, "local_job_runs_by_time", **PAGE),
    hot(jobs.list_runs_of, "local_job_runs_by_job", **PAGE, job_id="j"),
    hot(jobs.open_runs, "local_job_runs_queued local_job_runs_running"),
    hot(jobs.statuses, "local_job_runs_queued local_job_runs_running"),
    hot(jobs.running_runs, "local_job_runs_running"),
    hot(jobs.queued_runs, "local_job_runs_queued", at=NOW),
    hot(jobs.next_due_run, "local_job_runs_queued", at=NOW),
    hot(jobs.due_jobs, "local_jobs_due", at=NOW, may_sort=True),
    hot(jobs.forget_ended, "local_job_runs_ended", before=NOW),
    hot(jobs.ledger_run, "pipeline_runs_by_key", pipeline_id="p", key="k"),
]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def explained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A ledger whose plans are looked at; nothing is written to it."""
    if request.param == "sqlite":
        url = new_sqlite_url(tmp_path_factory.mktemp("plans"))
    else:
        server: Server = request.getfixturevalue("postgres")
        server.create_schema("plans")
        url = server.url(schema="plans")
    with lakeledger.open(url) as ledger:
        if request.param == "postgres":
            _make_reader(ledger)
        yield ledger


@pytest.mark.parametrize("each", HOT, ids=lambda each: each.name)
def test_a_hot_statement_uses_its_index(explained: Ledger, each: Hot) -> None:
    with explained.store.read() as tx:
        plan = Plan.of(tx, each)
    assert plan.indexes >= each.indexes, plan.text
    assert plan.scanned == set(), plan.text
    assert each.may_sort or not plan.sorts, plan.text


@dataclass(frozen=True)
class Plan:
    """What a database would do: which indexes it uses, which tables it goes through from end to end, and whether it sorts."""

    indexes: set[str]
    scanned: set[str]
    sorts: bool
    text: str

    @classmethod
    def of(cls, tx: Transaction, each: Hot) -> Plan:
        return _sqlite_plan(tx, each) if tx.dialect == "sqlite" else _postgres_plan(tx, each)


def _sqlite_plan(tx: Transaction, each: Hot) -> Plan:
    lines = [row["detail"] for row in tx.all(_prefixed("explain query plan ", each.query), **each.parameters)]
    text = "\n".join(lines)
    indexes = re.findall(r"USING (?:COVERING )?INDEX (\w+)", text)
    scanned = {line.split()[1] for line in lines if line.startswith("SCAN") and "INDEX" not in line and line.split()[1] not in _MADE_UP}
    return Plan({re.sub(r"^sqlite_autoindex_(\w+)_1$", r"\1_pkey", name) for name in indexes}, scanned, "TEMP B-TREE" in text, text)


# What SQLite calls rows that are no table's.
_MADE_UP = {"CONSTANT", "json_each"}


def _postgres_plan(tx: Transaction, each: Hot) -> Plan:
    # An empty table is scanned and sorted for nothing: what counts is what it does when that is dear, and as a role that policies confine.
    for setting in ("enable_seqscan", "enable_bitmapscan", "enable_sort"):
        tx.execute(statement(f"set local {setting} = off"))
    tx.execute(statement("set local role plan_reader"))
    found = tx.all(_prefixed("explain (format json) ", each.query), **each.parameters)[0]["QUERY PLAN"]
    nodes = list(_nodes(found[0]["Plan"]))
    return Plan(
        indexes={node["Index Name"] for node in nodes if "Index Name" in node},
        scanned={node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"},
        sorts=any("Sort" in node["Node Type"] for node in nodes),
        text=str(found),
    )


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)


def _prefixed(prefix: str, query: Query) -> Query:
    return Query(query.name, {dialect: prefix + text for dialect, text in query.texts.items()})


def _make_reader(ledger: Ledger) -> None:
    with ledger.store.write() as tx:
        ledger.database.run_script(
            tx,
            "create role plan_reader; grant usage on schema plans to plan_reader; grant all on all tables in schema plans to plan_reader;",
        )
    assert rows(ledger, "select 1 from pg_roles where rolname = 'plan_reader' and not rolsuper")
