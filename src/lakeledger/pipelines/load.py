"""One source carried out: what is new is read, written and committed; if nothing is, Spark is not even started."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import sleep as pause
from typing import Any, cast

from lakeledger.commit import find_applied
from lakeledger.errors import Conflict
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Mode, Write
from lakeledger.pipelines.sources import Reading, Source, look
from lakeledger.pipelines.sources.declared import Declared, open_source
from lakeledger.pipelines.translating import translating
from lakeledger.pipelines.write import persist, write
from lakeledger.runs import Fence
from lakeledger.tables import Committed, Table

# How often a load is planned before it gives way to the others that write its table, and how long it waits before it is planned again:
# at random, so that it does not meet the same writer at the same moment, and longer each time. All pauses together are at most 22 s.
PLANS = 10
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0


@dataclass(frozen=True)
class Loaded:
    """What a load or another task did. `committed` is None if there was nothing new. `message` describes what is no version."""

    rows: int
    committed: Committed | None
    detail: dict[str, Any]
    message: str | None = None

    @property
    def summary(self) -> str:
        """The load in a few words."""
        return self.message or (f"version {self.committed.version}" if self.committed else "nothing new")


def load_declared(context: Context, module: str, declared: Declared) -> Loaded:
    """Carry out a source of a module as the context's step. Raises as `load`."""
    target = declared.target_config
    into = Write(target.name, cast("Mode", declared.write_mode), format=target.format, partition_by=target.partition_by)
    return load(context, open_source(context, module, declared), into, context.step.fence)


def load(context: Context, source: Source, into: Write, fence: Fence) -> Loaded:
    """Carry out one source. If somebody else was faster, it is planned again with back-off.

    Raises Invalid, Conflict, Fenced or Failed; then nothing of it is visible.
    """
    for number in range(1, PLANS + 1):
        try:
            with translating():
                return _load_once(context, source, into, fence)
        except Conflict as error:
            if not error.retryable or number == PLANS:
                raise
            longest = min(FIRST_PAUSE_SECONDS * 2 ** (number - 1), LONGEST_PAUSE_SECONDS)
            pause(longest * random.uniform(0.5, 1))  # noqa: S311 - jitter, no secret
    raise AssertionError("the last plan has returned or raised")


def _load_once(context: Context, source: Source, into: Write, fence: Fence) -> Loaded:
    seen = look(context.store, source.name, into.table)
    reading = source.plan(seen)
    if reading is None or (seen.table and _is_current(context, seen.table, reading)):
        return Loaded(0, None, {})
    if reading.frame is None:
        persist(context, [], fence, [], [reading.move] if reading.move else [], reading.effects)
        return Loaded(0, None, reading.detail, reading.message)
    with reading.frame(context.sessions.to_load(context.spark)) as frame:
        committed = write(context, frame, _write(source, reading, into), fence)
    rows = committed.counters.inserted + committed.counters.updated
    return Loaded(rows, committed if committed.applied else None, {**reading.detail, "version": committed.version})


def _is_current(context: Context, table: Table, reading: Reading) -> bool:
    """Whether the table's latest rows are this very batch, and its source stands there."""
    with context.store.read() as tx:
        return find_applied(tx, table, "overwrite", reading.batch_id, [reading.move] if reading.move else []) is not None


def _write(source: Source, reading: Reading, into: Write) -> Write:
    return replace(
        into,
        batch_id=reading.batch_id,
        base_version=reading.base_version,
        position=reading.move,
        source=source.name,
        effects=(*into.effects, *reading.effects),
        summary={**into.summary, **reading.summary},
        confirm=_both(into.confirm, reading.confirm),
    )


def _both(first: Callable[[], None] | None, second: Callable[[], None] | None) -> Callable[[], None]:
    def confirm() -> None:
        for each in (first, second):
            if each:
                each()

    return confirm
