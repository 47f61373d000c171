"""Checks of what is there: a ledger table at a version, or any DataFrame. All that can be counted is one job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakeledger.commit import commit
from lakeledger.pipelines import Context
from lakeledger.pipelines.checks import samples, whole
from lakeledger.pipelines.checks.conditions import Rows
from lakeledger.pipelines.checks.counting import count, plan, settled
from lakeledger.pipelines.checks.proving import Facts
from lakeledger.pipelines.checks.watching import made
from lakeledger.pipelines.read import read
from lakeledger.quality import QualityFailed, Suite, SuiteResult
from lakeledger.quality.store import found
from lakeledger.runs import Fence
from lakeledger.tables import View, store
from lakeledger.tables.schema import normalise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["QualityFailed", "check_view", "evaluate", "keep"]


def evaluate(
    context: Context,
    frame: DataFrame,
    suite: Suite,
    table: str,
    scope: Mapping[str, Any] | None = None,
    now: datetime | None = None,
    facts: Facts | None = None,
) -> SuiteResult:
    """What a suite finds in a frame; nothing is kept. `table` is what the frame is called, `now` when it is looked at, if not now.

    `facts` are what the files say that hold all its rows.
    """
    rows = Rows(normalise(frame.schema.jsonValue()))
    planned = settled(frame, plan(suite, rows, rows.names if facts is not None else ()))
    told = planned.told(facts) if facts is not None else {}
    planned, measured = count(frame, planned, suite, told)
    seen = planned.seen({**told, **measured})
    seen |= whole.look(context, suite, frame, rows, seen)
    failing = {place: suite.expectations[place] for place, each in seen.items() if each.unexpected and not each.sample}
    sampled = samples.taken(frame, failing, rows)
    return made(context, suite, table, seen, sampled, scope or {"rows": "frame"}, now)


def check_view(context: Context, view: View, suite: Suite) -> SuiteResult:
    """What a suite finds in a table at a version; nothing is kept."""
    scope = {"rows": "table", "version": view.version}
    return evaluate(context, read(context.spark, view), suite, str(view.table.name), scope, facts=_facts(context, view))


def _facts(context: Context, view: View) -> Facts | None:
    """What the ledger knows of the view's files; None if it has changed since."""
    paths = set(view.file_paths)
    with context.store.read() as tx:
        files = [file for file in store.files_at(tx, view.table, view.version) if file.file_path in paths]
    return Facts.of(((file.row_count, file.column_bounds) for file in files), view.schema) if len(files) == len(paths) else None


def keep(context: Context, result: SuiteResult, fence: Fence, version: int | None = None) -> SuiteResult:
    """Keep what was found, as the work of a run. Raises QualityFailed if the suite says that it must not fail, once it is kept."""
    kept = found(result, version=version)
    context.store.persist(lambda tx, _: commit(tx, fence, [], [], [kept]))
    done = replace(result, run_id=fence.run_id)
    if result.suite.fail_on_error and not result.success:
        raise QualityFailed(f"{result.target_table}: {result.message}", done)
    return done
