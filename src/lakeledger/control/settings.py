"""From a module to the settings of its job, in the shape of the Databricks Jobs API 2.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakeledger.control.graph import Task, tasks
from lakeledger.errors import Invalid
from lakeledger.jobs import CONTENT_TAG, MODULE_TAG, OWNER_TAG, JobSpec, cron
from lakeledger.jobs.settings import normalise

if TYPE_CHECKING:
    from lakeledger.control.documents import Module
    from lakeledger.control.tasks import SqlTask

# To be raised when the same module comes to other settings: until then, jobs whose rows did not change are not compared anew.
GENERATION = 3
ENVIRONMENT = "lakeledger"
# What starts a job by itself: it has one of these.
STARTERS = ("schedule", "trigger", "continuous")


@dataclass(frozen=True)
class Program:
    """How tasks of other backends run lakeledger: what they install, and where they find its settings."""

    package: str = "lakeledger"
    settings: str | None = None


HERE = Program()


def job_spec(module: Module, control_table: str, base: str = "", program: Program = HERE, owner: str | None = None) -> JobSpec:
    """What the module's job should be. Raises Invalid if its tasks have no order."""
    return JobSpec(module.module_name, job_settings(module, control_table, program, owner), module.document, base)


def refuse_saved_queries(module: Module) -> None:
    """Raises Invalid for what only Databricks can run: a query that is saved there."""
    for task in tasks(module):
        config = task.source.transformation_config
        if config.task_type == "sql_query" and config.sql_task.query_id:
            raise Invalid(
                f"{module.module_name}.{task.source.source_id}: sql_task.query_id {config.sql_task.query_id!r} is a query saved on "
                "Databricks, which the local backend cannot run; write its text as sql_query, or deploy the module there"
            )


def job_settings(module: Module, control_table: str, program: Program = HERE, owner: str | None = None) -> dict[str, Any]:
    """The settings of the module's job: only what the module says, so that everything else stays as people set it.

    Its tasks find the module in the control table; the job is tagged with its owner, by default the same.
    """
    found = tasks(module)
    lists = {keys: [{"task_key": key} for key in keys] for keys in {task.waits_for for task in found}}
    made = [_task(module, task, lists[task.waits_for], control_table, program) for task in found]
    settings: dict[str, Any] = {
        "name": module.module_name,
        "tags": {**module.tags, OWNER_TAG: owner or control_table, MODULE_TAG: module.module_name, CONTENT_TAG: module.content_hash[:16]},
        "tasks": made,
        "max_concurrent_runs": module.max_concurrent_runs or 1,
        **_starters(module),
        **_said(module),
    }
    if any(task.get("environment_key") == ENVIRONMENT for task in made):
        spec = {"environment_version": "2", "dependencies": [program.package]}
        settings["environments"] = [{"environment_key": ENVIRONMENT, "spec": spec}]
    return settings


def paused(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings, with nothing that starts the job by itself."""
    parts = {name: {**settings[name], "pause_status": "PAUSED"} for name in STARTERS if settings.get(name)}
    return {**settings, **parts}


def comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without what a backend fills in by itself, but with what says whether anything starts the job."""
    plain = normalise(settings)
    starters = {part: {"pause_status": "UNPAUSED", **plain[part]} for part in STARTERS if plain.get(part)}
    return {**plain, **starters}


def _said(module: Module) -> dict[str, Any]:
    """What a module may say or leave open."""
    notifications = module.notifications.model_dump(mode="json", exclude_defaults=True) if module.notifications else None
    found = {
        "description": module.description,
        "timeout_seconds": module.timeout_seconds,
        "parameters": [{"name": name, "default": value} for name, value in module.parameters.items()] or None,
        "email_notifications": notifications or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _starters(module: Module) -> dict[str, Any]:
    """When the job starts by itself. Databricks reads only Quartz."""
    parts = {"schedule": module.schedule, "trigger": module.trigger}
    found = {name: part.model_dump(mode="json", exclude_none=True) for name, part in parts.items() if part is not None}
    if unix := found.get("schedule", {}).pop("cron", None):
        found["schedule"] = {"quartz_cron_expression": cron.to_quartz(unix), **found["schedule"]}
    return found


def _task(module: Module, task: Task, waits_for: list[dict[str, str]], control_table: str, program: Program) -> dict[str, Any]:
    source = task.source
    settings: dict[str, Any] = {"task_key": task.key, "run_if": task.run_if, **_work(module, task, control_table, program)}
    if waits_for:
        settings["depends_on"] = waits_for
    limits = {
        "timeout_seconds": source.timeout_seconds,
        "max_retries": source.max_retries or None,
        "min_retry_interval_millis": None if source.retry_seconds is None else int(source.retry_seconds * 1000),
    }
    return {**settings, **{name: value for name, value in limits.items() if value is not None}}


def _work(module: Module, task: Task, control_table: str, program: Program) -> dict[str, Any]:
    """What the task does. What only lakeledger can do is done by its own program, which reads the source from the control table."""
    config = task.source.transformation_config
    match config.task_type:
        case "notebook" | "python_wheel" | "pipeline" | "dbt":
            part = f"{config.task_type}_task"
            return {part: getattr(config, part).model_dump(mode="json", exclude_none=True)}
        case "spark_jar":
            said = config.spark_jar_task.model_dump(mode="json", exclude_none=True)
            jar = said.pop("jar_uri", None)
            return {"spark_jar_task": said, **({"libraries": [{"jar": jar}]} if jar else {})}
        case "sql_file" if config.sql_task.warehouse_id:
            return _sql_task(config.sql_task, {"file": {"path": config.sql_task.sql_file_path}})
        case "sql_query" if config.sql_task.query_id:
            return _sql_task(config.sql_task, {"query": {"query_id": config.sql_task.query_id}})
        case _:
            words = ["run", "--control", control_table, "--module", module.module_name, "--source", task.source.source_id]
            words += ["--settings", program.settings] if program.settings else []
            words += [word for name in module.parameters for word in ("--param", f"{name}={{{{job.parameters.{name}}}}}")]
            return {
                "python_wheel_task": {"package_name": "lakeledger", "entry_point": "lakeledger", "parameters": words},
                "environment_key": ENVIRONMENT,
            }


def _sql_task(task: SqlTask, work: dict[str, Any]) -> dict[str, Any]:
    """What a warehouse runs there: a file, or a saved query."""
    given = {name: str(value) for name, value in task.parameters.items()}
    return {"sql_task": {"warehouse_id": task.warehouse_id, **work, **({"parameters": given} if given else {})}}
