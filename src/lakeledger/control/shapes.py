"""The two shapes of a document, `modules:` with `sources:` and `jobs:` with `tasks:`, brought to the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lakeledger.control.tasks import SOURCE_TYPES
from lakeledger.control.yaml_text import Path

# How the second shape calls what the first one has.
NAMES = {"modules": "jobs", "module_name": "job_name", "sources": "tasks", "source_id": "task_key", "source_type": "task_type"}
TASKS = (
    "sql_task", "python_task", "notebook_task", "python_wheel_task", "spark_jar_task", "pipeline_task", "dbt_task", "api_call_task",
    "data_quality_task",
)  # fmt: skip


@dataclass(frozen=True)
class Shaped:
    """A document in the first shape. `moved` says where what stands at a path came from."""

    value: dict[str, Any]
    moved: Mapping[Path, Path] = field(default_factory=dict)
    problems: tuple[tuple[Path, str], ...] = ()

    @property
    def is_jobs(self) -> bool:
        return bool(self.moved)

    def origin(self, path: Path) -> Path:
        """Where the author wrote what is at a path now."""
        sizes = (size for size in range(len(path), 0, -1) if path[:size] in self.moved)
        return next(((*self.moved[path[:size]], *path[size:]) for size in sizes), path)


def as_modules(value: dict[str, Any]) -> Shaped:
    """The document in the first shape."""
    if "jobs" not in value:
        return Shaped(value)
    if "modules" in value:
        return Shaped(value, problems=((("jobs",), "a document has `modules:` or `jobs:`, not both"),))
    moved: dict[Path, Path] = {("modules",): ("jobs",)}
    jobs = value["jobs"]
    if isinstance(jobs, dict):
        named: list[tuple[Any, Path]] = [(_named(key, job), ("jobs", key)) for key, job in jobs.items()]
    elif isinstance(jobs, list):
        named = [(job, ("jobs", index)) for index, job in enumerate(jobs)]
    else:
        return Shaped({**_without(value, "jobs"), "modules": jobs}, moved)
    modules = [_module(job, ("modules", index), origin, moved) for index, (job, origin) in enumerate(named)]
    return Shaped({**_without(value, "jobs"), "modules": modules}, moved)


def _module(job: Any, here: Path, origin: Path, moved: dict[Path, Path]) -> Any:
    moved[here] = origin
    if not isinstance(job, dict):
        return job
    name = "job_name" if "job_name" in job else "name"
    moved[*here, "module_name"] = (*origin, name if name in job else "job_name")
    moved[*here, "sources"] = (*origin, "tasks")
    module = _renamed(job, {name: "module_name", "tasks": "sources"})
    if isinstance(tasks := module.get("sources"), list):
        module["sources"] = [_source(task, (*here, "sources", index), (*origin, "tasks", index), moved) for index, task in enumerate(tasks)]
    if isinstance(parameters := module.get("parameters"), list) and all(_is_parameter(each) for each in parameters):
        module["parameters"] = {each["name"]: each["default"] for each in parameters}
    return module


def _source(task: Any, here: Path, origin: Path, moved: dict[Path, Path]) -> Any:
    if not isinstance(task, dict):
        return task
    moved[*here, "source_id"] = (*origin, "task_key")
    source = _renamed(task, {"task_key": "source_id"})
    config = source.get("transformation_config", {})
    if isinstance(config, dict):
        lifted = {name: source.pop(name) for name in ("task_type", *TASKS) if name in source}
        for name in lifted:
            moved[*here, "transformation_config", name] = (*origin, name)
        config = {**config, **lifted}
        if "task_type" not in config and (implied := _task_type(config)):
            config["task_type"] = implied
        if config:
            source["transformation_config"] = config
        if "source_type" not in source and isinstance(type_ := config.get("task_type"), str):
            moved[*here, "source_type"] = (*origin, "task_type")
            source["source_type"] = SOURCE_TYPES.get(type_, type_)
    return source


def _task_type(config: Mapping[str, Any]) -> str | None:
    """The type that a task's own part implies, as `notebook_task:` does."""
    found = [name for name in TASKS if name in config]
    if len(found) != 1:
        return None
    if found[0] != "sql_task":
        return found[0].removesuffix("_task")
    return "sql_file" if isinstance(config["sql_task"], dict) and config["sql_task"].get("sql_file_path") else "sql_query"


def _named(key: str, job: Any) -> Any:
    """A job of a mapping is called as its key, unless it says otherwise."""
    return {"name": key, **job} if isinstance(job, dict) and "job_name" not in job else job


def _is_parameter(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"name", "default"} and isinstance(value["name"], str)


def _renamed(value: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {key if names.get(key) in value else names.get(key, key): inner for key, inner in value.items()}


def _without(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: inner for name, inner in value.items() if name != key}
