"""`${var.name}` in a document's texts, filled in after the YAML is read: no value can break the document, whatever it holds."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from lakeledger.config import suggest
from lakeledger.control.json_text import NO_TEXT
from lakeledger.control.values import as_text
from lakeledger.control.yaml_text import Path

PREFIX = "LAKELEDGER_VAR_"

# More than one `$` is an escape: the first of them is dropped, and nothing is filled in.
_USE = re.compile(r"(?P<dollars>\$+)\{var\.(?P<name>[^{}\s]*)\}")

Unknown = list[tuple[Path, str]]


class Missing:
    """What a variable has that is declared without a default and was not given."""


def substitute(document: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], Unknown]:
    """The document without its `variables:` and with their values in its texts, and what could not be filled in.

    A value comes from the call, else from `LAKELEDGER_VAR_<name>`, else from the document.
    """
    problems: Unknown = []
    values = _values(document.get("variables"), given or {}, problems)
    body = {key: _filled(value, (key,), values, problems) for key, value in document.items() if key != "variables"}
    return body, problems


def unused(text: str, given: Mapping[str, Any]) -> frozenset[str]:
    """The given variables that a document neither uses nor declares."""
    keys = {name: rf"(?m)(?:^|[{{,])\s*['\"]?{re.escape(name)}['\"]?\s*:" for name in given}
    return frozenset(name for name, key in keys.items() if f"{{var.{name}}}" not in text and not re.search(key, text))


def escape(text: str) -> str:
    """The text as a document must have it so that nothing in it is filled in."""
    return _USE.sub(lambda use: f"${use[0]}", text)


def _values(declared: Any, given: Mapping[str, Any], problems: Unknown) -> dict[str, Any]:
    if not isinstance(declared, dict | None):
        problems.append((("variables",), "variables must be a mapping of names to values"))
        declared = {}
    defaults = {name: _default(name, value, problems) for name, value in (declared or {}).items()}
    outside = {name.removeprefix(PREFIX): value for name, value in os.environ.items() if name.startswith(PREFIX)}
    found = {**defaults, **outside, **given}
    return {name: _typed(name, value, defaults.get(name), problems) for name, value in found.items()}


def _default(name: str, value: Any, problems: Unknown) -> Any:
    """The value itself, or what `{default: …, description: …}` says."""
    if not isinstance(value, dict):
        return value
    if unknown := [key for key in value if key not in ("default", "description")]:
        told = f"unknown key {unknown[0]!r}{suggest(unknown[0], ['default', 'description'])}"
        problems.append((("variables", name, unknown[0]), told))
    return value.get("default", Missing())


def _typed(name: str, value: Any, default: Any, problems: Unknown) -> Any:
    """A text from outside, as the number or truth value that the document's own value is."""
    if not isinstance(value, str) or not isinstance(default, int | float):
        return value
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[value.strip().lower()]
        return int(value) if isinstance(default, int) else float(value)
    except (KeyError, ValueError):
        kind = "true or false" if isinstance(default, bool) else "a whole number" if isinstance(default, int) else "a number"
        problems.append((("variables", name), f"the variable {name!r} must be {kind}, as its default is"))
        return default


def _filled(value: Any, path: Path, values: Mapping[str, Any], problems: Unknown) -> Any:
    match value:
        case dict():
            return {key: _filled(inner, (*path, key), values, problems) for key, inner in value.items()}
        case list():
            return [_filled(inner, (*path, index), values, problems) for index, inner in enumerate(value)]
        case str() if "{var." in value:
            return _filled_text(value, path, values, problems)
        case _:
            return value


def _filled_text(text: str, path: Path, values: Mapping[str, Any], problems: Unknown) -> Any:
    whole = _USE.fullmatch(text)
    if whole and whole["dollars"] == "$":
        return _look_up(whole["name"], path, values, problems)

    def fill(use: re.Match[str]) -> str:
        if use["dollars"] != "$":
            return use[0][1:]
        value = _look_up(use["name"], path, values, problems)
        if isinstance(value, dict | list):
            problems.append((path, f"the variable {use['name']!r} is a {type(value).__name__}: it cannot be a part of a text"))
            return ""
        return "" if value is None else str(as_text(value))

    return _USE.sub(fill, text)


def _look_up(name: str, path: Path, values: Mapping[str, Any], problems: Unknown) -> Any:
    value = values.get(name, values)
    if value is values:
        what_to_do = suggest(name, list(values)) or f"; declare it under `variables:`, give --var {name}=… or set {PREFIX}{name}"
        problems.append((path, f"unknown variable {name!r}{what_to_do}"))
    elif isinstance(value, Missing):
        problems.append((path, f"the variable {name!r} has no value: give it a default, --var {name}=…, or set {PREFIX}{name}"))
    elif isinstance(value, str) and NO_TEXT.search(value):
        problems.append((path, f"the variable {name!r} holds a character that cannot be stored"))
    else:
        return value
    return None
