"""A few rows of each source in a scratch table, to look at: no position moves, and the source's own table is left alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lakeledger.control import documents
from lakeledger.control.documents import AnySource, Module, TaskSource
from lakeledger.control.graph import tasks
from lakeledger.errors import LakeledgerError
from lakeledger.names import TableName
from lakeledger.pipelines import Context, references
from lakeledger.pipelines.apply import Write
from lakeledger.pipelines.attempt import Progress, StepResult
from lakeledger.pipelines.load import Loaded
from lakeledger.pipelines.runner import ModuleResult
from lakeledger.pipelines.sources import Reading, Samples, Seen
from lakeledger.pipelines.sources.declared import Declared
from lakeledger.pipelines.sources.opening import open_source
from lakeledger.pipelines.translating import translating
from lakeledger.pipelines.write import write
from lakeledger.runs import ActiveRun, ActiveStep, DoneBy, Status, describe

SCHEMA = "scratch"
# How many of its rows a result shows.
SHOWN_ROWS = 5


@dataclass(frozen=True)
class Sampled(Loaded):
    """A sample that was taken, with the first of its rows."""

    shown: tuple[dict[str, Any], ...] = ()


def scratch_table(module: str, source_id: str) -> TableName:
    """Where the sample of a source is."""
    safe = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in f"{module}__{source_id}")
    return TableName(SCHEMA, safe if not safe[0].isdigit() else f"_{safe}")


def sample_module(
    context: Context, run: ActiveRun, module: Module, base: Path, rows: int, progress: Progress, parameters: Mapping[str, Any]
) -> ModuleResult:
    """Take a sample of each active source, one after the other. One that fails does not stop the others, and fails the run."""
    values = {**module.parameters, **{name: str(value) for name, value in parameters.items()}}
    here = replace(context, active_run=run, base=base, parameters=values)
    results = [_result(here, module.module_name, task.source, rows, progress) for task in tasks(module)]
    result = ModuleResult(module.module_name, run.id, results)
    if result.error:
        run.fail(result.error)
    return result


def _result(context: Context, module: str, source: AnySource, rows: int, progress: Progress) -> StepResult:
    """Take the sample of one source as a step of the run."""
    table = scratch_table(module, source.source_id)
    made = StepResult(source.source_id, str(table), Status.RUNNING)
    step = context.run.step(source.source_id, "sample", str(table), done_by=DoneBy.COMMIT, module=module)
    progress(made)
    try:
        with step:
            if isinstance(source, TaskSource):
                made = replace(made, target="")
                step.skip(f"a {source.transformation_config.task_type} task has no rows of its own to sample")
            else:
                made = replace(made, loaded=_sample(context, module, source, table, rows, step))
        ended = step.ended
        status = Status(ended.status) if ended else Status.COMPLETED
        reason = ended.metadata.get("reason") if ended else None
        made = replace(made, status=status, error=reason, duration_ms=ended.duration_ms if ended else None)
    except Exception as error:  # noqa: BLE001 - the outermost loop of a step: one source must not stop the others
        text = " ".join(str(error).split()) if isinstance(error, LakeledgerError) else describe(error)
        made = replace(made, status=Status.FAILED, error=text)
    progress(made)
    return made


def _sample(context: Context, module: str, declared: Declared, table: TableName, rows: int, step: ActiveStep) -> Sampled:
    known = references.values(references.Occasion.of(context.run.run), declared.source_id, context.parameters)
    here = replace(context, active_step=step)
    with translating():
        reading = _reading(here, module, references.resolved(declared, known), rows)
        if reading is None or reading.frame is None:
            return Sampled(0, None, {}, "the source has no rows")
        into = Write(table, "overwrite", is_ingestion=False, summary={"sample_of": f"{module}.{declared.source_id}", "limit": rows})
        with reading.frame(here.sessions.to_load(here.spark)) as frame:
            committed = write(here, frame.limit(rows), into, step.fence)
        step.rows_processed = committed.counters.inserted
        return Sampled(committed.counters.inserted, committed, {}, shown=_first_rows(here, table))


def _reading(context: Context, module: str, declared: Declared, rows: int) -> Reading | None:
    """What a first load would read, or less of it where the source can tell before."""
    source = open_source(context, module, _narrowed(declared, rows))
    if isinstance(source, Samples):
        return source.sample(rows)
    return source.plan(Seen(source.name, None, None, None, context.store))


def _narrowed(declared: Declared, rows: int) -> Declared:
    """The source so that it is not asked for more than a few rows: in one part, without a watermark that must be found first."""
    match declared:
        case documents.JdbcSource():
            fetched = min(rows, declared.source_config.fetch_size)
            config = {"partition_column": None, "partitions": None, "fetch_size": fetched}
            work = declared.transformation_config.model_copy(update={"watermark_column": ()})
            changed = {"source_config": declared.source_config.model_copy(update=config), "transformation_config": work}
            return declared.model_copy(update=changed)
        case documents.KafkaSource():
            few = {"max_messages": min(rows, declared.source_config.max_messages), "start": "earliest"}
            return declared.model_copy(update={"source_config": declared.source_config.model_copy(update=few)})
    return declared


def _first_rows(context: Context, table: TableName) -> tuple[dict[str, Any], ...]:
    """The first rows as plain values."""
    import json

    from pyspark.sql import functions as F

    frame = context.ledger.read(str(table))
    row = F.to_json(F.struct(*(F.col(f"`{name.replace('`', '``')}`") for name in frame.columns)), {"ignoreNullFields": "false"})
    return tuple(json.loads(each[0]) for each in frame.select(row).limit(SHOWN_ROWS).collect())
