"""Tasks that are not loads: functions, notebooks, wheels, JARs, dbt, HTTP; one file each, and what each of them is given."""

from __future__ import annotations

from typing import Any

from lakeledger import codec
from lakeledger.control.documents import TaskSource
from lakeledger.control.tasks import OtherConfig
from lakeledger.errors import Failed, Invalid
from lakeledger.pipelines import Context
from lakeledger.pipelines.load import Loaded
from lakeledger.pipelines.translating import translating
from lakeledger.runs import store as run_log

DONE = "done"


def run_task(context: Context, source: TaskSource) -> Loaded:
    """Carry out one task. Raises Invalid, NotInstalled or Failed, or what its own code raises."""
    config = source.transformation_config
    if config.task_type == "data_quality":
        from lakeledger.pipelines.tasks import data_quality

        return data_quality.run(context, source.source_id, config.data_quality_task)
    try:
        with translating():
            facts = _run(context, source.source_id, config)
    except SystemExit as error:
        if error.code not in (None, 0):
            raise Failed(f"{source.source_id} ended with {error.code}") from error
        facts = {}
    rows = facts.get("rows")
    if isinstance(rows, int) and not isinstance(rows, bool) and (rows or not _has_committed(context)):
        context.step.rows_processed = rows
    return Loaded(0, None, _storable(source.source_id, facts), message=DONE)


def _run(context: Context, source_id: str, config: OtherConfig) -> dict[str, Any]:
    from lakeledger.pipelines.tasks import api_call, dbt, notebook, python, spark_jar, wheel

    match config.task_type:
        case "python":
            return python.run(context, config.python_task)
        case "notebook":
            return notebook.run(context, config.notebook_task)
        case "python_wheel":
            return wheel.run(context, config.python_wheel_task)
        case "dbt":
            return dbt.run(context, config.dbt_task)
        case "api_call":
            return api_call.run(context, config.api_call_task)
        case "spark_jar":
            return spark_jar.run(context, config.spark_jar_task)
        case "pipeline":
            raise Invalid(f"{source_id} updates a pipeline, which runs on Databricks only: deploy the module there")


def _has_committed(context: Context) -> bool:
    """Whether commits have counted rows: a task that says 0 then counted something else, unless it sets `step.rows_processed` itself."""
    with context.store.read() as tx:
        return run_log.get_step(tx, context.step.id).committed_at is not None


def _storable(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """The facts as the step keeps them. Raises Invalid for what is no JSON."""
    try:
        kept: dict[str, Any] = codec.to_plain(facts)
    except (TypeError, ValueError) as error:
        raise Invalid(f"{name} gave a fact that cannot be kept as JSON: {error}") from error
    return kept
