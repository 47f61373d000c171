"""Modules as YAML that people read and keep in Git: the same modules always give the same text, and reading it gives them back."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from lakeledger.control import variables
from lakeledger.control.documents import AnySource, Module, TaskSource

if TYPE_CHECKING:
    from ruamel.yaml import YAML

    from lakeledger.quality.model import Suite

VERSION = "1.0"

# What readers of YAML 1.1 take for a truth value.
_OLD_BOOLEANS = ("y", "n", "yes", "no", "on", "off")

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
    _yaml().dump({"metadata_version": _styled(VERSION), "modules": said}, stream)
    return stream.getvalue()


def export_suite(suite: Suite) -> str:
    """A suite of expectations as the text of a suite file: in its own order, what is short on one line."""
    stream = io.StringIO()
    _yaml().dump(_kept(suite.document), stream)
    return stream.getvalue()


def _kept(value: Any) -> Any:
    """A value as YAML has it, in its own order. A list of plain values stays on one line."""
    from ruamel.yaml.comments import CommentedSeq

    match value:
        case Mapping():
            return {_text(str(key)): _kept(inner) for key, inner in value.items()}
        case list() | tuple():
            made = CommentedSeq(_kept(inner) for inner in value)
            if not any(isinstance(inner, Mapping | list | tuple) for inner in value):
                made.fa.set_flow_style()
            return made
        case Decimal():
            return int(value) if value == int(value) else float(value)
        case str():  # suite files have no variables
            return _block(value) if "\n" in value else _text(value)
        case _:
            return value


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
            return {_text(key): _styled(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [_styled(inner) for inner in value]
        case str():
            text = variables.escape(value)
            return _block(text) if "\n" in text else _text(text)
        case _:
            return value


def _block(text: str) -> Any:
    """A text of several lines as it stands, if that can be read back."""
    from ruamel.yaml.scalarstring import LiteralScalarString

    is_plain = (
        text.replace("\n", "").replace("\t", "").isprintable() and not text.startswith((" ", "\t", "\n")) and not text.endswith("\n\n")
    )
    return LiteralScalarString(text) if is_plain else _text(text)


def _text(text: str) -> Any:
    """A text of one line, in quotes if a reader could take it for something else."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

    if not text.isprintable():
        return DoubleQuotedScalarString(text)
    return SingleQuotedScalarString(text) if text.lower() in _OLD_BOOLEANS else text


def _yaml() -> YAML:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.width = 1_000_000  # a long text stays on its line
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.ignore_aliases = lambda *_: True
    return yaml
