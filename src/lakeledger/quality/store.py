"""What is kept of checks: one row for each suite that was checked, one for each of its expectations, and a record of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakeledger import codec, records
from lakeledger.codec import Id
from lakeledger.commit import Commit
from lakeledger.db import Row, Store, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import Invalid, NotFound
from lakeledger.names import parse_name, table_key
from lakeledger.quality.model import SuiteResult, Verdict
from lakeledger.redaction import SHAPES, scrub_value
from lakeledger.runs.store import FIRST_ID, LAST_ID

sql = load("lakeledger.quality")

KIND, PRODUCER = "dq_result", "quality.v1"
# The version of what is written: schemas/kinds has its JSON Schema.
SCHEMA_VERSION = "1"
# Ids may be abbreviated to so many characters.
SHORTEST_ID = 4

_NEWEST: pages.Key = {"executed_at": codec.to_time, "dq_result_id": str}
_NEWEST_CHECK: pages.Key = {"executed_at": codec.to_time, "dq_check_id": str}


@dataclass(frozen=True)
class DqResult:
    """A suite that was checked, as it is kept. What is not `is_visible` was refused: its rows never reached the table."""

    dq_result_id: str
    pipeline_logging_id: str
    step_logging_id: str | None
    target_table: str
    dq_config_id: str
    executed_at: datetime
    expectations_passed: int
    expectations_failed: int
    failed_expectations: list[dict[str, Any]]
    overall_status: Verdict
    ingestion_date: str
    fail_on_error: bool
    is_visible: bool
    table_version: int | None
    scope: dict[str, Any]

    @property
    def id(self) -> str:
        return self.dq_result_id


@dataclass(frozen=True)
class DqCheck:
    """One expectation that was checked, as it is kept."""

    dq_check_id: str
    dq_result_id: str
    check_index: int
    executed_at: datetime
    expectation: str
    check_name: str
    column_name: str | None
    severity: str
    action: str
    success: bool
    observed: dict[str, Any]
    element_count: int | None
    unexpected_count: int | None
    unexpected_percent: float | None
    sample: list[Any]
    error_message: str | None
    declared: dict[str, Any]


@dataclass(frozen=True)
class Found:
    """An effect: what came of a suite becomes visible with the commit, or, if that was refused, without it. Made by `found`.

    `source` names who the rows came from, `version` the version that was checked, if the commit does not make it.
    """

    result: SuiteResult
    is_visible: bool
    source: str | None
    version: int | None
    failed: list[dict[str, Any]]
    rows: list[dict[str, Any]]

    @property
    def summary(self) -> dict[str, Any]:
        """What the table's version tells of it."""
        return {"quality": {"status": self.result.status.value, "dq_result_id": self.result.id}}

    def write(self, tx: Transaction, committed: Commit) -> None:
        made = committed.of(parse_name(self.result.target_table)) if self.is_visible and self.version is None else None
        if made is None or made.applied:
            _add(tx, self, committed, made.version if made else self.version)


def found(result: SuiteResult, *, is_visible: bool = True, source: str | None = None, version: int | None = None) -> Found:
    """What is to be kept of a result. All of it is made here, before the transaction; what looks like a secret is taken out."""
    key = parse_name(result.target_table).key
    rows = [_check_row(result, index, key) for index in range(len(result.checks))]
    failed = [each.document for each in result.failed]
    return Found(result, is_visible, source, version, scrub_value(failed, rules=SHAPES), scrub_value(rows, rules=SHAPES))


def _add(tx: Transaction, kept: Found, committed: Commit, version: int | None) -> None:
    result, run, name = kept.result, committed.run, parse_name(kept.result.target_table)
    outcome = {
        "dq_config_id": result.suite.dq_config_id,
        "expectations_passed": result.passed,
        "expectations_failed": len(kept.failed),
        "overall_status": result.status.value,
        "is_visible": kept.is_visible,
        "table_version": version,
        "scope": dict(result.scope),
    }
    is_new = tx.execute(
        sql.add_result,
        dq_result_id=result.id,
        run_id=run.id,
        step_id=committed.fence.step_id,
        target_table=str(name),
        name_key=name.key,
        failed_expectations=kept.failed or None,
        ingestion_date=f"{tx.now:%Y-%m-%d}",
        fail_on_error=result.suite.fail_on_error,
        **outcome,
    )
    if not is_new:  # The answer to an earlier try was lost.
        return
    tx.many(sql.add_check, kept.rows)
    payload = {"dq_result_id": result.id, **outcome, "failed_expectations": kept.failed}
    target = records.MetadataTarget(kept.source or run.pipeline_id, name.schema, name.table)
    about = records.MetadataContext(job_id=run.pipeline_id, run_id=run.id, namespace=tx.tenant_id)
    verdict = {"status": {"PASS": "pass", "WARNING": "warn", "FAIL": "fail"}[result.status.value]}
    said = records.MetadataRecord(target, about, KIND, payload, PRODUCER, SCHEMA_VERSION, verdict, produced_at=tx.now, verbatim=True)
    records.add(tx, said)


def _check_row(result: SuiteResult, index: int, name_key: str) -> dict[str, Any]:
    check = result.checks[index]
    return {
        "dq_check_id": f"{result.id}-{index}",
        "dq_result_id": result.id,
        "check_index": index,
        "name_key": name_key,
        "expectation": check.expectation.kind,
        "check_name": check.expectation.label,
        "column_name": check.column,
        "severity": check.expectation.severity,
        "action": check.expectation.action,
        "success": check.success,
        "observed": dict(check.observed),
        "element_count": check.element_count,
        "unexpected_count": check.unexpected_count,
        "unexpected_percent": check.unexpected_percent,
        "sample": list(check.sample),
        "error_message": check.error,
        "declared": codec.to_plain(check.expectation.document),
    }


def history(
    tx: Transaction,
    table: str | None = None,
    limit: int | None = 100,
    after: str | None = None,
    *,
    suite: str | None = None,
    status: Verdict | str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Page[DqResult]:
    """Results, newest first: of one table or of all, of one suite, with one status, within a time."""
    chosen = {
        "name_key": None if table is None else table_key(table),
        "dq_config_id": suite,
        "status": None if status is None else Verdict(status).value,
        "since": since,
        "until": until,
    }
    return pages.read(tx, sql.history, _NEWEST, _result, limit, after, **chosen)


def check_history(
    tx: Transaction,
    table: str,
    check: str,
    limit: int | None = 100,
    after: str | None = None,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Page[DqCheck]:
    """How one expectation of a table, by its name, went over time, newest first."""
    chosen = {"name_key": table_key(table), "check_name": check, "since": since, "until": until}
    return pages.read(tx, sql.check_history, _NEWEST_CHECK, _check, limit, after, **chosen)


def of_run(tx: Transaction, run_id: str) -> list[DqResult]:
    """What a run checked, in order."""
    return [_result(row) for row in tx.all(sql.of_run, run_id=run_id)]


def get(tx: Transaction, result_id: Id) -> DqResult:
    """One result, by its id or the beginning of it. Raises NotFound, or Invalid if several begin so."""
    wanted = str(result_id)
    row = tx.one(sql.get_result, dq_result_id=wanted)
    if row is None and len(wanted) >= SHORTEST_ID:
        first, last = wanted + FIRST_ID[len(wanted) :], wanted + LAST_ID[len(wanted) :]
        found = tx.all(sql.find_result_by_prefix, prefix=wanted, first=first, last=last)
        if len(found) > 1:
            raise Invalid(f"several quality results begin with {wanted!r}: give more of the id")
        row = found[0] if found else None
    if row is None:
        raise NotFound(f"no quality result {wanted}: `lakeledger quality list` shows them")
    return _result(row)


def checks(tx: Transaction, result_id: str) -> list[DqCheck]:
    """The expectations of a result, in their order."""
    return [_check(row) for row in tx.all(sql.checks_of, dq_result_id=result_id)]


def _result(row: Row) -> DqResult:
    known = {name: row[name] for name in DqResult.__dataclass_fields__}
    return DqResult(**{**known, "overall_status": Verdict(row["overall_status"]), "failed_expectations": row["failed_expectations"] or []})


def _check(row: Row) -> DqCheck:
    return DqCheck(**{name: row[name] for name in DqCheck.__dataclass_fields__})


@dataclass(frozen=True)
class Quality:
    """What came of checks, of one tenant."""

    _store: Store

    def history(
        self,
        table: str | None = None,
        limit: int | None = 100,
        after: str | None = None,
        *,
        suite: str | None = None,
        status: Verdict | str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Page[DqResult]:
        """Results, newest first, a page at a time: of all, or of one table, suite, status (`PASS`, `WARNING`, `FAIL`) or time."""
        with self._store.read() as tx:
            return history(tx, table, limit, after, suite=suite, status=status, since=since, until=until)

    def latest(self, table: str | None = None, suite: str | None = None) -> DqResult | None:
        """The newest result, or None."""
        return next(iter(self.history(table, limit=1, suite=suite)), None)

    def get(self, result_id: Id) -> DqResult:
        """One result, by its id or the beginning of it. Raises NotFound or Invalid."""
        with self._store.read() as tx:
            return get(tx, result_id)

    def checks(self, result_id: Id) -> list[DqCheck]:
        """The expectations of a result, also those that passed. Raises NotFound or Invalid."""
        with self._store.read() as tx:
            return checks(tx, get(tx, result_id).id)

    def check_history(self, table: str, check: str, limit: int | None = 100, after: str | None = None) -> Page[DqCheck]:
        """How one expectation of a table, by its name, went over time, newest first."""
        with self._store.read() as tx:
            return check_history(tx, table, check, limit, after)

    def of_run(self, run_id: Id) -> list[DqResult]:
        """What a run checked."""
        with self._store.read() as tx:
            return of_run(tx, str(run_id))
