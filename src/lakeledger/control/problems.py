"""What pydantic found wrong, in the words and at the places of the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from lakeledger.config import suggest
from lakeledger.control.shapes import NAMES, TASKS, Shaped
from lakeledger.control.tasks import KINDS, SOURCE_TYPES
from lakeledger.control.yaml_text import Path, Problem, Tree

# Problems whose message already names what it is about.
_OWN_WORDS = ("table_name", "sql_task", "unsafe", "doubled", "task", "schedule", "expectation")


def problems(error: ValidationError, model: type[BaseModel], shaped: Shaped, tree: Tree) -> list[Problem]:
    """Each problem at the place that it is about."""
    found = []
    for item in error.errors(include_url=False):
        path = shaped.origin(path_of(shaped.value, item))
        where = ".".join(_told(part) for part in path if isinstance(part, str))
        found.append(tree.problem(path, explain(item, model, shaped, where)))
    return found


def explain(item: ErrorDetails, model: type[BaseModel], shaped: Shaped, where: str = "") -> str:
    """One problem in words. `where` names what it is about, for those that do not say it themselves."""
    type_, key = item["type"], str(item["loc"][-1]) if item["loc"] else ""
    if type_ == "extra_forbidden":
        return f"unknown key {key!r}{suggest(key, _known_keys(model, item['loc'], shaped))}"
    if type_ in ("union_tag_invalid", "union_tag_not_found"):
        return _explain_choice(item, shaped)
    if type_ in _OWN_WORDS:
        return item["msg"]
    if type_ == "missing":
        return f"{where} is missing".strip()
    known = re.findall(r"'([^']*)'", item["ctx"]["expected"]) if type_ == "literal_error" else []
    if type_ in ("model_type", "model_attributes_type", "dict_type"):
        return f"{where}: input should be a mapping" if where else "input should be a mapping"
    message = item["msg"].replace("tuple", "list").replace("Tuple", "List")
    told = f"{message[:1].lower()}{message[1:]}{suggest(str(item['input']), known) if known else ''}"
    return f"{where}: {told}" if where else told


def path_of(value: Any, item: ErrorDetails) -> Path:
    """What a problem is about: the part of pydantic's path that is in the document, or the key that is missing there or chooses wrongly."""
    path: Path = ()
    for part in item["loc"]:
        if part in (value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
            path, value = (*path, part), value[part]
    match item["type"]:
        case "missing":
            return (*path, item["loc"][-1])
        case "union_tag_invalid" | "union_tag_not_found":
            return (*path, str(item["ctx"]["discriminator"]).strip("'"))
        case _:
            return path


def _explain_choice(item: ErrorDetails, shaped: Shaped) -> str:
    """A source_type or task_type that is wrong or missing. A job's tasks say only their task_type."""
    name = str(item["ctx"]["discriminator"]).strip("'")
    known = [type_ for type_, source in SOURCE_TYPES.items() if source == "task"]
    if name == "source_type":
        known = list(SOURCE_TYPES) if shaped.is_jobs else KINDS
        name = NAMES[name] if shaped.is_jobs else name
    if item["type"] == "union_tag_not_found":
        near = get_close_matches(name, [str(key) for key in item["input"]] if isinstance(item["input"], dict) else [], n=1, cutoff=0.8)
        meant = f"; is it meant by {near[0]!r}?" if near else ""
        return f"{name} is missing: {', '.join(known[:-1])} or {known[-1]}{meant}"
    given = str(item["ctx"]["tag"])
    return f"{name} {given!r} is not one of {', '.join(known)}{suggest(given, known)}"


def _told(part: str) -> str:
    return part if part.isprintable() else ascii(part)


def _known_keys(model: type[BaseModel], loc: Path, shaped: Shaped) -> list[str]:
    """The keys that are allowed where an unknown one was found."""
    models: list[type[BaseModel]] = [model]
    for part in loc[:-1]:
        below = [inner for each in models for name, inner in _below(each) if name == part]
        tagged = [each for each in models if part in _tags(each)]
        models = below or tagged or models
    keys = list(dict.fromkeys(name for each in models for name in _keys(each)))
    if "metadata_version" in keys:
        return [*keys, "jobs", "variables"]
    if not shaped.is_jobs:
        return keys
    extra = ("task_type", *TASKS) if "source_id" in keys else ()
    return [*(NAMES.get(key, key) for key in keys), *extra]


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _below(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    for name, field in model.model_fields.items():
        for inner in _models(field.annotation):
            yield field.alias or name, inner


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _tags(model: type[BaseModel]) -> set[Any]:
    """By which values of source_type or task_type a model is chosen."""
    fields = (model.model_fields.get(name) for name in ("source_type", "task_type"))
    return {tag for field in fields if field for tag in get_args(field.annotation)}
