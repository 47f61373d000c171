"""What a run of a module would read and write now, found without Spark and without writing anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from lakeledger import clock
from lakeledger.control.documents import AnySource, CallableSource, Module, TaskSource
from lakeledger.control.graph import tasks
from lakeledger.errors import LakeledgerError
from lakeledger.pipelines import Context, references
from lakeledger.pipelines.declared import declared_write
from lakeledger.pipelines.load import plan
from lakeledger.pipelines.sources import NEWS
from lakeledger.pipelines.sources.opening import open_source

DRY_RUN = "dry-run"


@dataclass(frozen=True)
class Preview:
    """What one source would do.

    `would` is load, run (a task that is no load), note (no rows, only a position), nothing, fail, or ask: only a run can tell, because a
    function must be called or a database asked through Spark.
    """

    source_id: str
    target: str
    would: str
    write_mode: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    message: str | None = None


def preview(context: Context, module: Module, base: Path, parameters: Mapping[str, str]) -> list[Preview]:
    """What each active source would do if the module ran now, in the order in which they would run.

    A source that reads what an earlier one writes is shown as of now: that one has not run.
    """
    here = replace(context, base=base, parameters={**module.parameters, **parameters}, start_spark=_no_spark)
    occasion = references.Occasion(module.module_name, DRY_RUN, "manual", clock.now())
    return [_preview(here, module.module_name, task.source, occasion) for task in tasks(module)]


class _NeedsSparkError(Exception):
    """A source can only be planned with Spark."""


def _no_spark() -> NoReturn:
    raise _NeedsSparkError


def _preview(context: Context, module: str, declared: AnySource, occasion: references.Occasion) -> Preview:
    made = Preview(declared.source_id, declared.target, "run", declared.write_mode)
    try:
        source = references.resolved(declared, references.values(occasion, declared.source_id, context.parameters))
        if isinstance(source, TaskSource):
            return replace(made, message=f"runs a {source.transformation_config.task_type} task")
        if isinstance(source, CallableSource):
            return replace(made, would="ask", message=f"not known before a run calls {source.source_config.function}")
        reading = plan(context, open_source(context, module, source), declared_write(source), context.wanted or NEWS)
    except _NeedsSparkError:
        return replace(made, would="ask", message="not known before a run asks the database, through Spark")
    except LakeledgerError as error:
        return replace(made, would="fail", message=" ".join(str(error).split()))
    if reading is None:
        return replace(made, would="nothing", message="nothing new")
    return replace(made, would="load" if reading.frame else "note", detail=reading.detail, message=reading.message)
