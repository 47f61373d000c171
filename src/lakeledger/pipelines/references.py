"""`{{job.parameters.day}}`: references in what a source says, replaced by what they mean in this run.

`{{env.NAME}}` and `${env:NAME}` are one: a variable of the machine that runs the task.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from lakeledger.config import suggest
from lakeledger.control.loads import REFERENCE, RESOLVED
from lakeledger.errors import Invalid
from lakeledger.runs import Run

__all__ = ["REFERENCE", "Occasion", "replace", "resolved", "secrets_in", "secrets_of", "values"]

Source = TypeVar("Source", bound=BaseModel)

# What is bound or run as it stands: a value must not become part of the text of a query or a condition.
LEFT_ALONE = ("sql_query", "expectations")
ENVIRONMENT = "env."


@dataclass(frozen=True)
class Occasion:
    """When and why something runs, as far as it can be referred to."""

    pipeline: str
    run_id: str
    trigger: str
    at: datetime

    @classmethod
    def of(cls, run: Run) -> Occasion:
        return cls(run.pipeline_id, run.id, run.trigger_type, run.start_time)


def values(occasion: Occasion, task: str, parameters: Mapping[str, str]) -> dict[str, str]:
    """Everything that can be referred to in one task, by the names that Databricks has for it."""
    return {
        "job.name": occasion.pipeline,
        "job.run_id": occasion.run_id,
        "job.trigger.type": occasion.trigger,
        "job.start_time.iso_date": occasion.at.date().isoformat(),
        "job.start_time.iso_datetime": _second(occasion.at),
        "task.name": task,
        **{f"job.parameters.{name}": value for name, value in parameters.items()},
    }


def resolved(source: Source, known: Mapping[str, str]) -> Source:
    """The source with its references replaced. Raises Invalid for one that leads nowhere."""
    said = source.model_dump(by_alias=True)
    means = replace(said, known)
    return source if means == said else type(source).model_validate(means, context=RESOLVED)


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
    return secrets_in(source.model_dump_json(by_alias=True))


def secrets_in(text: str) -> list[str]:
    """The values that a text takes from the environment."""
    names = (_variable(found) for found in REFERENCE.finditer(text))
    return [value for name in names if name and (value := os.environ.get(name))]


def _variable(found: re.Match[str]) -> str | None:
    """The variable of the environment that is meant; None if it is something else."""
    return found[2] or (found[1].removeprefix(ENVIRONMENT) if found[1].startswith(ENVIRONMENT) else None)


def _meaning(found: re.Match[str], known: Mapping[str, str]) -> str:
    if variable := _variable(found):
        return _environment(variable)
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
