"""`{{job.parameters.day}}`: references in what a source says, replaced by what they mean in this run."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from lakeledger.config import suggest
from lakeledger.errors import Invalid
from lakeledger.runs import Run

Source = TypeVar("Source", bound=BaseModel)

REFERENCE = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}")
# What is bound or run as it stands: a value must not become part of a query's text.
LEFT_ALONE = ("sql_query",)
ENVIRONMENT = "env."


def values(run: Run, task: str, parameters: Mapping[str, str]) -> dict[str, str]:
    """Everything that can be referred to in one task of a run, by the names that Databricks has for it."""
    return {
        "job.name": run.pipeline_id,
        "job.run_id": run.id,
        "job.trigger.type": run.trigger_type,
        "job.start_time.iso_date": run.start_time.date().isoformat(),
        "job.start_time.iso_datetime": _second(run.start_time),
        "task.name": task,
        **{f"job.parameters.{name}": value for name, value in parameters.items()},
    }


def resolved(source: Source, known: Mapping[str, str]) -> Source:
    """The source with its references replaced. Raises Invalid for one that leads nowhere."""
    said = source.model_dump(by_alias=True)
    means = replace(said, known)
    return source if means == said else type(source).model_validate(means)


def replace(value: Any, known: Mapping[str, str]) -> Any:
    """The value with the references in all its texts replaced. Raises Invalid."""
    match value:
        case str():
            return REFERENCE.sub(lambda found: _meaning(found, known), value)
        case dict():
            return {key: item if key in LEFT_ALONE else replace(item, known) for key, item in value.items()}
        case list() | tuple():
            return type(value)(replace(item, known) for item in value)
        case _:
            return value


def secrets_of(source: BaseModel) -> list[str]:
    """The values that the source takes from the environment: they must not be stored."""
    names = (found[1] for found in REFERENCE.finditer(source.model_dump_json(by_alias=True)) if found[1].startswith(ENVIRONMENT))
    return [value for name in names if (value := os.environ.get(name.removeprefix(ENVIRONMENT)))]


def _meaning(found: re.Match[str], known: Mapping[str, str]) -> str:
    if found[1].startswith(ENVIRONMENT):
        return _environment(found[1].removeprefix(ENVIRONMENT))
    if found[1] not in known:
        raise Invalid(f"{found[0]} leads nowhere: there is {', '.join(known)}{suggest(found[1], list(known))}")
    return known[found[1]]


def _environment(name: str) -> str:
    """What only the machine that runs the task knows: secrets stand neither in the control table nor in the ledger."""
    if name not in os.environ:
        raise Invalid(f"{{{{env.{name}}}}} leads nowhere: set the variable {name} where the task runs")
    return os.environ[name]


def _second(at: datetime) -> str:
    return at.replace(microsecond=0).isoformat()
