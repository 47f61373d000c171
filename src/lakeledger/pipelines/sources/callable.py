"""A Python function as a source: `package.module:function` gives a DataFrame or Arrow, and the position up to which that is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.pipelines import Context
from lakeledger.pipelines.effects import NO_VOLUME, Volume
from lakeledger.pipelines.sources import Reading, Seen, Wanted
from lakeledger.pipelines.tasks import python
from lakeledger.sync import Advance
from lakeledger.sync import Source as SourceName
from lakeledger.sync.kinds import as_position

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What a function may have parameters for, beside those that are declared: where the source stands, and the window that is wanted.
POSITION, WINDOW = "position", "window"


@dataclass(frozen=True)
class CallableSource:
    """What a function returns: `data`, `(data, position)`, or None if nothing is new.

    The data are a DataFrame, an Arrow table, or Arrow batches. The position is anything that `ledger.positions.advance` takes; without one
    the rows may only replace or be merged into a table. With one they are what came since, unless `is_whole` says that they are always
    everything. A function that has a parameter `position` is given the document of where the source stands, or None at first; `context`
    is given the `Context`, whose `spark` starts when it is asked for: a function that gives Arrow plans without Spark.
    """

    name: SourceName
    function: str | Callable[..., Any]
    context: Context
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_whole: bool = False

    def plan(self, seen: Seen) -> Reading | None:
        function = python.load(self.function, self.context.base) if isinstance(self.function, str) else self.function
        window, is_fresh = seen.wanted.window, seen.wanted.full_refresh
        taken = _taken(function)
        if window and WINDOW not in taken:
            raise Invalid(f"{self._called} takes no {WINDOW!r}, so it cannot be loaded by one: add that parameter, or use a full refresh")
        stands = seen.marker.position_data if seen.marker and not is_fresh else None
        offered = {name: value for name, value in ((POSITION, stands), (WINDOW, window)) if name in taken}
        given = {**self.parameters, **offered}
        data, position = self._unpacked(function(**python.arguments(self._called, function, self.context, given)))
        if data is None:
            return None
        if position is None or window:
            return self._without_position(data, seen.wanted)
        if not is_fresh:
            seen.check_first_run()
        to = as_position(position)
        if seen.marker and not is_fresh and (seen.marker.position_kind, seen.marker.position_data) == (to.kind, to.document()):
            return None
        version = seen.marker.version if seen.marker else 0
        return Reading(
            frame=lambda spark: _frame(spark, data, self._called),
            batch_id=None if is_fresh else codec.digest(["callable", self.name.name, to.kind, to.document(), version]),
            move=Advance(self.name, to, version, force=is_fresh and version > 0, reason="full refresh" if is_fresh else None),
            summary={"source": self.name.name},
            detail={"position": {"before": stands, "after": to.document()}},
            is_slice=not self.is_whole and not is_fresh,
            wanted=seen.wanted,
        )

    def _without_position(self, data: Any, wanted: Wanted) -> Reading:
        window = wanted.window
        ends = codec.to_plain({"from": window[0], "to": window[1]}) if window else None
        return Reading(
            frame=lambda spark: _frame(spark, data, self._called),
            summary={"source": self.name.name},
            detail={"window": ends} if ends else {},
            volume=Volume(ends["from"], ends["to"]) if ends else NO_VOLUME,
            is_slice=ends is not None,
            wanted=wanted,
            repeats=f"{self._called} gives no position, so nobody knows which rows are new",
        )

    @property
    def _called(self) -> str:
        return self.function if isinstance(self.function, str) else getattr(self.function, "__qualname__", str(self.function))

    def _unpacked(self, returned: Any) -> tuple[Any, Any]:
        if isinstance(returned, tuple) and len(returned) == 2:
            return returned
        if isinstance(returned, tuple) or inspect.isawaitable(returned):
            if inspect.iscoroutine(returned):
                returned.close()
            raise Invalid(f"{self._called} returned {type(returned).__name__}: give data, (data, position), or None if nothing is new")
        return returned, None


def _taken(function: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # Written in C: it does not say what it takes.
        return set()


@contextmanager
def _frame(spark: SparkSession, data: Any, called: str) -> Iterator[DataFrame]:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    match data:
        case _ if isinstance(data, DataFrame) or any(each.__module__.startswith("pyspark.sql.") for each in type(data).__mro__):
            yield data
            return
        case pa.Table():
            table = data
        case pa.RecordBatch():
            table = pa.Table.from_batches([data])
        case pa.RecordBatchReader():
            table = data.read_all()
        case Iterable() if not isinstance(data, str | bytes | Mapping):
            table = _joined(list(data), called)
        case _:
            raise Invalid(f"{called} gives {type(data).__name__}: give a Spark DataFrame, an Arrow table, or Arrow batches")
    yield spark.createDataFrame(table)


def _joined(batches: list[Any], called: str) -> Any:
    import pyarrow as pa

    if not batches or any(not isinstance(batch, pa.RecordBatch) for batch in batches):
        what = type(batches[0]).__name__ if batches else "no batch at all, so that its columns are unknown"
        raise Invalid(f"{called} gives a list of {what}: give Arrow batches, or None if nothing is new")
    return pa.Table.from_batches(batches)
