"""The volume of a load, judged before its commit by what its table usually gets: reported, or where that is declared, refused."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from lakeledger.commit import Effect
from lakeledger.errors import Unavailable
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Outcome, Refused, Saved, Target, Write
from lakeledger.pipelines.effects import RefusedVolume
from lakeledger.quality import freshness, volume
from lakeledger.quality.bands.series import LOGICAL_DATE
from lakeledger.quality.store import Found
from lakeledger.quality.volume import Load, VolumeVerdict
from lakeledger.runs import Fence
from lakeledger.runs import store as run_store
from lakeledger.tables import TableName, store


def load_of(spec: Write, target: Target) -> Load:
    """How the load came to be: what makes a table is no measure for what comes later, unless each load replaces it."""
    is_first = spec.load == "ordinary" and target.table is None and spec.operation != "overwrite"
    return "initial" if is_first else spec.load


def judged_volume(
    context: Context, spec: Write, target: Target, outcome: Outcome, saved: Saved, fence: Fence, judged: Sequence[Effect] = ()
) -> VolumeVerdict | None:
    """What is said of what a load brings. History is read, nothing is locked.

    Raises Refused if a declared policy does not let it pass; what came of expectations of the rows (`judged`) is kept then, too.
    """
    if not spec.is_ingestion or spec.load != "ordinary":
        return None
    rows = outcome.counters.inserted + outcome.counters.updated
    verdict = None
    # Without the ledger the commit waits for it, and so would the verdict: the load is worth more.
    with suppress(Unavailable), context.store.read() as tx:
        named, run = spec.position.source if spec.position else spec.source, run_store.get(tx, fence.run_id)
        source = named.name if named else run.pipeline_id
        policy, day = spec.volume_policy, run.parameters.get(LOGICAL_DATE)
        if target.table is not None or policy.limit(rows):
            verdict = volume.judge(tx, context.ledger.settings.bands, str(spec.table), source, rows, policy, day)
    if verdict and verdict.status == "fail":
        written = sum(file.size for file in saved.files)
        refused = RefusedVolume(
            spec.table, source, rows, written, len(saved.files), spec.operation, verdict, context.ledger.records.environment
        )
        raise Refused(
            f"the load of {spec.table} is refused: {verdict.message}; look at `lakeledger bands show {spec.table}`, and if the data is "
            f"right, accept its point with `lakeledger bands accept {spec.table} POINT --reason …` and run it again",
            (refused, *(replace(each, is_visible=False) for each in judged if isinstance(each, Found))),
        )
    if verdict and spec.report:
        spec.report(verdict)
    return verdict


def silence(context: Context, table: TableName) -> str | None:
    """Why it is strange that there is nothing new for a table, in words; None if it is not."""
    with suppress(Unavailable), context.store.read() as tx:
        known = store.find(tx, table)
        found = freshness.find(tx, context.ledger.settings.bands, known) if known else None
        return f"nothing new: {found.message}" if found and found.is_overdue else None
    return None
