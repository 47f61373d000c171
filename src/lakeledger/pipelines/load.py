"""One source carried out: what is new is read, written and committed; if nothing is, Spark is not even started."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import sleep as pause
from typing import Any, TypeVar

from lakeledger.commit import Effect, find_applied
from lakeledger.errors import Conflict, Invalid
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Refused, Saved, Write
from lakeledger.pipelines.breaking import SchemaChanged, block
from lakeledger.pipelines.sources import NEWS, Reading, Source, Wanted, look
from lakeledger.pipelines.translating import translating
from lakeledger.pipelines.volumes import silence
from lakeledger.pipelines.write import persist, write
from lakeledger.quality import SuiteResult
from lakeledger.quality.volume import VolumeVerdict
from lakeledger.runs import Fence
from lakeledger.tables import Committed, Table

# How often a load is planned before it gives way to the others that write its table, and how long it waits before it is planned again:
# at random, so that it does not meet the same writer at the same moment, and longer each time. All pauses together are at most 22 s.
PLANS = 10
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0

T = TypeVar("T")


@dataclass(frozen=True)
class Loaded:
    """What a load or another task did. `committed` is None if there was nothing new. `message` describes what is no version.

    `warnings` are what is worth a look although it went well; they are kept with the step, too.
    `quality` is what came of the expectations of its rows, if it has any.
    """

    rows: int
    committed: Committed | None
    detail: dict[str, Any]
    message: str | None = None
    warnings: tuple[str, ...] = ()
    quality: SuiteResult | None = None

    def warned(self, *warnings: str | None) -> Loaded:
        """The same with further warnings."""
        found = (*self.warnings, *(each for each in warnings if each))
        return replace(self, warnings=found, detail={**self.detail, "warnings": list(found)}) if found else self

    @property
    def summary(self) -> str:
        """The load in a few words."""
        told = self.message or (f"version {self.committed.version}" if self.committed else "nothing new")
        return f"{told}, quality {self.quality.status}" if self.quality else told

    def judged(self, result: SuiteResult) -> Loaded:
        """The same with what came of the expectations of its rows, also among what its step keeps."""
        told = {"dq_result_id": result.id, "status": result.status.value, "passed": result.passed, "failed": len(result.failed)}
        return replace(self, quality=result, detail={**self.detail, "quality": told})


def load(context: Context, source: Source, into: Write, fence: Fence, wanted: Wanted = NEWS) -> Loaded:
    """Carry out one source. If somebody else was faster, it is planned again with back-off. A full refresh replaces the table.

    Raises Invalid, Conflict, Fenced or Failed; then nothing of it is visible.
    """
    anew = _anew(into) if wanted.full_refresh else replace(into, load="backfill") if wanted.window else into

    def once() -> Loaded:
        with translating():
            return _load_once(context, source, anew, fence, wanted)

    return replanned(once)


def _anew(into: Write) -> Write:
    """The same write, of everything that the source has: it is all that the table has afterwards, still with one row per key.

    Where a sequence says which change counts, all are applied again instead: what is there already loses or is the same.
    """
    into = replace(into, load="full_refresh" if into.mode != "overwrite" else into.load)
    if into.changes is None:
        return replace(into, mode="overwrite")
    if into.changes.sequence_by is not None:
        return into
    return replace(into, mode="sync", judge=_without_bad_rows(into) if into.sets_bad_rows_aside else into.judge)


def _without_bad_rows(into: Write) -> Callable[[Saved], Sequence[Effect]]:
    """A judge that lets no bad row pass: what is set aside would be missing from the rows, and deleted."""

    def judge(saved: Saved) -> Sequence[Effect]:
        if any(aside.rows for aside in saved.asides):
            raise Refused(f"a full refresh of {into.table} would delete rows whose new values are bad: correct the source first")
        return into.judge(saved) if into.judge else ()

    return judge


def replanned(work: Callable[[], T]) -> T:
    """Do work that is planned anew, with back-off, as long as somebody else was faster. Raises what it raises at last."""
    for number in range(1, PLANS + 1):
        try:
            return work()
        except Conflict as error:
            if not error.retryable or number == PLANS:
                raise
            longest = min(FIRST_PAUSE_SECONDS * 2 ** (number - 1), LONGEST_PAUSE_SECONDS)
            pause(longest * random.uniform(0.5, 1))  # noqa: S311 - jitter, no secret
    raise AssertionError("the last plan has returned or raised")


def plan(context: Context, source: Source, into: Write, wanted: Wanted = NEWS) -> Reading | None:
    """What a load would read now; None if nothing is new. Raises as the source's own `plan`, or Invalid if it would lose or double rows."""
    seen = look(context.store, source.name, into.table, wanted)
    reading = source.plan(seen)
    if reading is None and wanted.full_refresh:
        raise Invalid(f"{source.name.name} gives nothing for a full refresh, which would leave {into.table} empty: check the source")
    if reading:
        _check(source, reading, into, wanted)
        if wanted.window and into.mode != "append":  # Rows that were corrected since are the same batch again, and wanted.
            reading = replace(reading, batch_id=None)
    return None if reading is None or (seen.table and _is_current(context, seen.table, reading)) else reading


def _load_once(context: Context, source: Source, into: Write, fence: Fence, wanted: Wanted) -> Loaded:
    reading = plan(context, source, into, wanted)
    if reading is None:
        return Loaded(0, None, {}).warned(silence(context, into.table))
    if reading.frame is None:
        persist(context, [], fence, [], [reading.move] if reading.move else [], reading.effects)
        return Loaded(0, None, reading.detail, reading.message).warned(silence(context, into.table))
    verdicts: list[VolumeVerdict] = []
    try:
        with reading.frame(context.sessions.to_load(context.spark)) as frame:
            committed = write(context, frame, replace(_write(source, reading, into), report=verdicts.append), fence)
    except SchemaChanged as error:
        with context.store.write() as tx:
            blocked = block(tx, source.name, str(into.table), error, context.ledger.worker.name, fence.run_id)
        raise blocked from error
    rows = committed.counters.inserted + committed.counters.updated
    detail = {**reading.detail, "version": committed.version}
    loaded = Loaded(rows, committed if committed.applied else None, detail)
    return loaded.warned(*(f"volume: {each.message}" for each in verdicts if each.status == "warn"))


def _check(source: Source, reading: Reading, into: Write, wanted: Wanted) -> None:
    """Raise Invalid, before Spark is asked for anything, if the rows would be lost or come twice the way they are to be written."""
    name, table = source.name.name, into.table
    if wanted != reading.wanted:
        how = "by a window: it has no watermark" if wanted.window else "with a full refresh: it gives only what is new"
        raise Invalid(f"{name} cannot be loaded {how}")
    if reading.is_slice and into.mode in ("overwrite", "sync"):
        raise Invalid(
            f"{name} gives only a part of its rows, and {into.mode} would remove all others from {table}: use append or merge, "
            f"or load everything with load_type full"
        )
    if reading.is_slice and not wanted.window and into.mode == "overwrite_partitions":
        raise Invalid(
            f"{name} gives only what is new, and overwriting partitions of {table} would remove what they had before: use append or merge; "
            f"a window of whole partitions may replace them"
        )
    if reading.replaces and into.mode != "append":
        raise Invalid(f"{name} exchanges the rows of files that changed, which {into.mode} does not: use append, or load_type full")
    if reading.repeats and into.mode == "append":
        raise Invalid(f"{name} would come twice into {table} with append: {reading.repeats}; use merge with keys, or overwrite")


def _is_current(context: Context, table: Table, reading: Reading) -> bool:
    """Whether the table's latest rows are this very batch, and its source stands there."""
    with context.store.read() as tx:
        return find_applied(tx, table, "overwrite", reading.batch_id, [reading.move] if reading.move else []) is not None


def _write(source: Source, reading: Reading, into: Write) -> Write:
    return replace(
        into,
        mode="exchange" if reading.replaces else into.mode,
        replaces=reading.replaces,
        batch_id=reading.batch_id,
        base_version=reading.base_version,
        position=reading.move,
        source=source.name,
        effects=(*into.effects, *reading.effects),
        summary={**into.summary, **reading.summary},
        volume=reading.volume,
        confirm=_both(into.confirm, reading.confirm),
        naming=replace(into.naming, is_applied=reading.is_named),
    )


def _both(first: Callable[[], None] | None, second: Callable[[], None] | None) -> Callable[[], None]:
    def confirm() -> None:
        for each in (first, second):
            if each:
                each()

    return confirm
