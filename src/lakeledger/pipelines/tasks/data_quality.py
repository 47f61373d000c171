"""A check of a ledger table as a task: what is found is kept as the work of its step."""

from __future__ import annotations

from lakeledger.control.tasks import DataQualityTask
from lakeledger.pipelines import Context
from lakeledger.pipelines.checks import standalone
from lakeledger.pipelines.load import Loaded
from lakeledger.pipelines.translating import translating


def run(context: Context, source_id: str, task: DataQualityTask) -> Loaded:
    """Check the table. Raises NotFound, Invalid, and QualityFailed if the suite says that it must not fail."""
    suite = task.read(context.base, source_id)
    view = context.ledger.tables.view(task.table, task.version)
    with translating():
        result = standalone.check_view(context, view, suite)
    kept = standalone.keep(context, result, context.step.fence, view.version)
    told = f"{len(result.checks)} expectations of version {view.version}"
    return Loaded(0, None, {"table": str(view.table.name), "version": view.version}, told).judged(kept)
