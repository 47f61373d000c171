"""YAML that people read and keep in Git: texts in quotes only where a reader could take them for something else; suites as files."""

from __future__ import annotations

import io
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ruamel.yaml import YAML

    from lakeledger.quality.model import Suite

# What readers of YAML 1.1 take for a truth value.
_OLD_BOOLEANS = ("y", "n", "yes", "no", "on", "off")


def export_suite(suite: Suite) -> str:
    """A suite of expectations as the text of a suite file: in its own order, what is short on one line."""
    stream = io.StringIO()
    writer().dump(_kept(suite.document), stream)
    return stream.getvalue()


def _kept(value: Any) -> Any:
    """A value as YAML has it, in its own order. A list of plain values stays on one line."""
    from ruamel.yaml.comments import CommentedSeq

    match value:
        case Mapping():
            return {plain_text(str(key)): _kept(inner) for key, inner in value.items()}
        case list() | tuple():
            made = CommentedSeq(_kept(inner) for inner in value)
            if not any(isinstance(inner, Mapping | list | tuple) for inner in value):
                made.fa.set_flow_style()
            return made
        case Decimal():
            return int(value) if value == int(value) else float(value)
        case str():  # suite files have no variables
            return block(value) if "\n" in value else plain_text(value)
        case _:
            return value


def block(text: str) -> Any:
    """A text of several lines as it stands, if that can be read back."""
    from ruamel.yaml.scalarstring import LiteralScalarString

    is_plain = (
        text.replace("\n", "").replace("\t", "").isprintable() and not text.startswith((" ", "\t", "\n")) and not text.endswith("\n\n")
    )
    return LiteralScalarString(text) if is_plain else plain_text(text)


def plain_text(text: str) -> Any:
    """A text of one line, in quotes if a reader could take it for something else."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

    if not text.isprintable():
        return DoubleQuotedScalarString(text)
    return SingleQuotedScalarString(text) if text.lower() in _OLD_BOOLEANS else text


def writer() -> YAML:
    """What writes YAML as we like it: indented, long texts on their line, nothing by reference."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.width = 1_000_000  # a long text stays on its line
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.ignore_aliases = lambda *_: True
    return yaml
