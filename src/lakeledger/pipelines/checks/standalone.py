"""Checks of what is there: a ledger table at a version, or any DataFrame. All that can be counted is one job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakeledger.commit import commit
from lakeledger.pipelines import Context, observe
from lakeledger.pipelines.checks import samples, whole
from lakeledger.pipelines.checks.conditions import Rows
from lakeledger.pipelines.checks.counting import Plan, plan, probed, settled
from lakeledger.pipelines.checks.watching import made
from lakeledger.pipelines.read import read
from lakeledger.quality import QualityFailed, Suite, SuiteResult
from lakeledger.quality.store import found
from lakeledger.runs import Fence
from lakeledger.tables import View
from lakeledger.tables.schema import normalise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["QualityFailed", "check_view", "evaluate", "keep"]


def evaluate(
    context: Context, frame: DataFrame, suite: Suite, table: str, scope: Mapping[str, Any] | None = None, now: datetime | None = None
) -> SuiteResult:
    """What a suite finds in a frame; nothing is kept. `table` is what the frame is called, `now` when it is looked at, if not now."""
    rows = Rows(normalise(frame.schema.jsonValue()))
    planned, measured = _measured(frame, settled(frame, plan(suite, rows)), suite)
    seen = planned.seen(measured)
    seen |= whole.look(context, suite, frame, rows, seen)
    failing = {place: suite.expectations[place] for place, each in seen.items() if each.unexpected and not each.sample}
    sampled = samples.taken(frame, failing, rows)
    return made(context, suite, table, seen, sampled, scope or {"rows": "frame"}, now)


def _measured(frame: DataFrame, planned: Plan, suite: Suite) -> tuple[Plan, Mapping[str, Any]]:
    """All aggregates, in one job; again without those by which Spark fails."""
    if not planned.counted:
        return planned, {}
    try:
        return planned, _aggregated(frame, planned)
    except Exception:
        left = probed(frame, planned, suite)
        if left is planned:
            raise
        return left, _aggregated(frame, left) if left.counted else {}


def _aggregated(frame: DataFrame, planned: Plan) -> Mapping[str, Any]:
    wanted = planned.measures()
    types = observe.types(frame, wanted)
    row = frame.agg(*observe.measures(wanted, types)).collect()[0].asDict()
    return observe.measured(row, types, row["rows"])


def check_view(context: Context, view: View, suite: Suite) -> SuiteResult:
    """What a suite finds in a table at a version; nothing is kept."""
    scope = {"rows": "table", "version": view.version}
    return evaluate(context, read(context.spark, view), suite, str(view.table.name), scope)


def keep(context: Context, result: SuiteResult, fence: Fence, version: int | None = None) -> SuiteResult:
    """Keep what was found, as the work of a run. Raises QualityFailed if the suite says that it must not fail, once it is kept."""
    kept = found(result, version=version)
    context.store.persist(lambda tx, _: commit(tx, fence, [], [], [kept]))
    done = replace(result, run_id=fence.run_id)
    if result.suite.fail_on_error and not result.success:
        raise QualityFailed(f"{result.target_table}: {result.message}", done)
    return done
