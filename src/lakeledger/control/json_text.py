"""The JSON texts of the control table, read as strictly as YAML is: people write them by hand, in SQL."""

from __future__ import annotations

import json
import math
import re
from typing import Any

# What no database takes as text.
NO_TEXT = re.compile("[\x00\ud800-\udfff]")
MAX_DEPTH = 50


def read_object(text: Any) -> dict[str, Any]:
    """The mapping that a text holds; nothing at all is an empty one. Raises ValueError or TypeError that says what is wrong."""
    if text is None or (isinstance(text, str) and not text.strip()):
        return {}
    if not isinstance(text, str):
        raise TypeError(f"must be a text of JSON, not {type(text).__name__}")
    if text == "{}":
        return {}
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep") from error
    if not isinstance(value, dict):
        raise TypeError("must be a mapping: {…}")
    if "\\" in text or NO_TEXT.search(text) or text.count("{") + text.count("[") > MAX_DEPTH:
        _check(value, 1)  # only such a text can hold what is checked for
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is used twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"not valid JSON: {constant}")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text[:40])


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, str) and NO_TEXT.search(value):
        raise ValueError("holds a character that cannot be stored")
    if isinstance(value, dict):
        for name, inner in value.items():
            _check(name, depth)
            _check(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check(inner, depth + 1)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
