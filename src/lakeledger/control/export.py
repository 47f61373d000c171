"""Modules as YAML that people read and keep in Git: the same modules always give the same text, and reading it gives them back."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from lakeledger.control import variables
from lakeledger.control.documents import AnySource, Module, TaskSource
from lakeledger.control.yaml_writing import block, plain_text, writer

VERSION = "1.0"

_SOURCE_KEYS = (
    "source_id",
    "source_type",
    "execution_order",
    "is_active",
    "depends_on",
    "run_if",
    "timeout_seconds",
    "max_retries",
    "retry_seconds",
    "source_config",
    "transformation_config",
    "target_config",
)


def export(modules: Iterable[Module]) -> str:
    """The modules as a document: sorted, defaults left out, queries of several lines as they stand."""
    said = [_module(module) for module in sorted(modules, key=lambda module: module.module_name)]
    stream = io.StringIO()
    writer().dump({"metadata_version": _styled(VERSION), "modules": said}, stream)
    return stream.getvalue()


def _module(module: Module) -> dict[str, Any]:
    sources = sorted(module.sources, key=lambda source: (source.execution_order, source.source_id))
    is_levelled = any(source.execution_order != 1 for source in sources)
    return {**_said(module, leave_out={"sources"}), "sources": [_source(source, is_levelled) for source in sources]}


def _source(source: AnySource, is_levelled: bool) -> dict[str, Any]:
    said = _said(source)
    work = said.get("transformation_config", {})
    if source.source_type == "sql":  # its default is worth a word: queries and files look alike
        work = {"task_type": source.transformation_config.task_type, **work}
    if said.get("transformation_config") == {} and not isinstance(source, TaskSource):  # its defaults are not those of this kind of source
        work = {"load_type": source.transformation_config.load_type}
    if source.depends_on and is_levelled:  # without it, the order would follow from depends_on
        said["execution_order"] = source.execution_order
    said["transformation_config"] = work
    return {key: said[key] for key in _SOURCE_KEYS if said.get(key) not in (None, {})}


def _said(part: BaseModel, leave_out: set[str] | None = None) -> dict[str, Any]:
    """What differs from the defaults, the keys of free mappings sorted, as nobody can say in which order they were."""
    said = part.model_dump(by_alias=True, exclude_defaults=True, exclude=leave_out)
    return {name: _plain(part, name, value) for name, value in said.items()}


def _plain(part: BaseModel, name: str, value: Any) -> Any:
    """A value as YAML has it. What is a model keeps the order of its fields."""
    own = {field.alias or each: getattr(part, each) for each, field in type(part).model_fields.items()}.get(name)
    if isinstance(own, BaseModel):
        return {key: _plain(own, key, inner) for key, inner in value.items()}
    return _styled(value)


def _styled(value: Any) -> Any:
    match value:
        case Mapping():
            return {plain_text(key): _styled(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [_styled(inner) for inner in value]
        case str():
            text = variables.escape(value)
            return block(text) if "\n" in text else plain_text(text)
        case _:
            return value
