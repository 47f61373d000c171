"""Expectations as people write them in YAML, JSON or Python: read into plain fields, checked, and written again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from lakeledger import clock, codec
from lakeledger.config import suggest
from lakeledger.errors import Invalid
from lakeledger.quality import catalogue
from lakeledger.quality.catalogue import Kind, Parameter

SEVERITIES, ACTIONS, NULLS = ("critical", "warning", "info"), ("report", "quarantine"), ("ignore", "fail", "pass")
# What every expectation may say, whatever its kind.
SHARED = ("severity", "mostly", "max_unexpected", "where", "nulls", "action", "name", "description")
FIELDS = ("columns", "parameters", *SHARED)
# What says which columns it is about, by how many there are.
_COLUMNS = {"one": ("column",), "many": ("columns", "column", "column_list"), "two": ("columns", "column_A", "column_B"), "none": ()}
# What files of Great Expectations say of their own affairs.
_IGNORED = ("result_format", "catch_exceptions", "meta", "notes", "batch_id", "condition_parser", "id", "rendered_content")
_ANSWERS: Mapping[Any, bool] = {True: True, False: False, "true": True, "false": False}


def read(declared: Any) -> dict[str, Any]:
    """The fields of an expectation. Raises Invalid."""
    if not isinstance(declared, Mapping):
        raise Invalid(f"an expectation is a mapping such as {{not_null: order_id}}, not {_told(declared)}")
    named = [key for key in declared if key not in (*SHARED, *_IGNORED)]
    if len(named) != 1:
        what = f"names {', '.join(map(str, named))}: write each as an expectation of its own" if named else "names no kind"
        raise Invalid(f"an expectation is a mapping with one kind, such as {{not_null: order_id}}; this one {what}")
    kind, implied = catalogue.find(str(named[0]))
    shared = {key: value for key, value in declared.items() if key in SHARED}
    inner = _opened(kind, declared[named[0]])
    if doubled := [key for key in inner if key in shared]:
        raise Invalid(f"{kind.name}: {doubled[0]} is there twice: leave one of them out")
    return _fields(kind, {**implied, **inner, **shared})


def _opened(kind: Kind, value: Any) -> dict[str, Any]:
    """What a kind is given, by name: `order_id` and `[a, b]` stand for columns, or for what the kind is about."""
    if isinstance(value, Mapping):
        return {str(key): inner for key, inner in value.items() if key not in _IGNORED}
    if kind.columns == "none":
        if kind.main is None or value is None:
            raise Invalid(f"{kind.name} takes a mapping with {', '.join(each.name for each in kind.parameters)}, not {_told(value)}")
        return {kind.main: value}
    return {"columns": list(value) if isinstance(value, list | tuple) else [value]}


def _fields(kind: Kind, given: Mapping[str, Any]) -> dict[str, Any]:
    columns = _columns(kind, given)
    known = kind.names
    parameters: dict[str, Any] = {}
    for name, value in given.items():
        if name in SHARED or name in (*_COLUMNS[kind.columns], "columns"):
            continue
        if name not in known:
            raise Invalid(f"{kind.name}: unknown key {name!r}{suggest(name, [*known, *_COLUMNS[kind.columns], *SHARED])}")
        if value is not None:
            parameters[known[name].name] = _value(kind, known[name], value)
    shared = {name: given[name] for name in SHARED if given.get(name) is not None}
    if shared.get("action") == "quarantine":
        # Rows that break it never reach the table: what it says of them is no failure of the load, unless somebody declares it so.
        shared.setdefault("severity", "warning")
    if kind.name == "compare" and parameters.pop("or_equal", False):
        parameters["operator"] = ">="
    return {"kind": kind.name, "columns": columns, "parameters": parameters, **shared}


def _columns(kind: Kind, given: Mapping[str, Any]) -> tuple[str, ...]:
    if "column_A" in given or "column_B" in given:
        named = [given.get("column_A"), given.get("column_B")]
    else:
        said = next((given[name] for name in ("columns", "column", "column_list") if name in given and kind.columns != "none"), None)
        named = list(said) if isinstance(said, list | tuple) else [] if said is None else [said]
    if wrong := [each for each in named if not isinstance(each, str) or not each.strip()]:
        raise Invalid(f"{kind.name}: {_told(wrong[0])} is no name of a column")
    return tuple(str(each) for each in named)


def _value(kind: Kind, parameter: Parameter, value: Any) -> Any:
    """A parameter's value. Raises Invalid."""
    return _READERS[parameter.type](f"{kind.name}: {parameter.name}", parameter, value)


def _flag(where: str, _: Parameter, value: Any) -> bool:
    if isinstance(value, bool | str) and value in _ANSWERS:
        return _ANSWERS[value]
    raise Invalid(f"{where} is true or false, not {_told(value)}")


def _scalar(where: str, _: Parameter, value: Any) -> Any:
    if not isinstance(value, str | int | float | Decimal | date) or (isinstance(value, float) and not math.isfinite(value)):
        raise Invalid(f"{where} is a finite number, a text, a date or a time, not {_told(value)}; without it there is no bound")
    return _plain(value)


def _texts(where: str, _: Parameter, value: Any) -> list[str]:
    texts = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    if not texts or any(not isinstance(each, str) for each in texts):
        raise Invalid(f"{where} is a list of names, not {_told(value)}")
    return texts


def _span(where: str, _: Parameter, value: Any) -> str:
    if not isinstance(value, str) or clock.parse_span(value) is None:
        raise Invalid(f"{where} is a time span such as 90s, 30m, 24h or 2d, not {_told(value)}")
    return value


def _listed(where: str, _: Parameter, values: Any) -> list[Any]:
    if not isinstance(values, list | tuple | set | frozenset):
        raise Invalid(f"{where} is a list, not {_told(values)}")
    if wrong := [each for each in values if each is None or not isinstance(each, str | int | float | Decimal | date)]:
        raise Invalid(f"{where} are numbers, texts, dates or times, not {_told(wrong[0])}; NULL is ruled by `nulls`")
    return [_plain(each) for each in (sorted(values, key=str) if isinstance(values, set | frozenset) else values)]


def _plain(value: Any) -> Any:
    """A value as JSON has it, too: dates, times, NaN and infinity are their texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value.isoformat() if isinstance(value, date) else value


def _number(where: str, parameter: Parameter, value: Any) -> Any:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or (parameter.type == "count" and (value != int(value) or value < 0)):
        what = "a whole number, 0 or more" if parameter.type == "count" else "a number"
        raise Invalid(f"{where} is {what}, not {_told(value)}")
    return int(value) if parameter.type == "count" else value


def _text(where: str, parameter: Parameter, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f"{where} is a text, not {_told(value)}")
    if parameter.choices and value not in parameter.choices:
        raise Invalid(f"{where} {value!r} is none of {', '.join(parameter.choices)}{suggest(value, list(parameter.choices))}")
    return value


_READERS: Mapping[str, Callable[[str, Parameter, Any], Any]] = {
    "flag": _flag, "number": _number, "count": _number, "value": _scalar, "values": _listed, "text": _text, "texts": _texts, "span": _span,
}  # fmt: skip


def check(kind_name: str, fields: Mapping[str, Any]) -> None:
    """Raise Invalid for what cannot be checked, or means nothing."""
    kind = catalogue.BY_NAME.get(kind_name) or catalogue.find(kind_name)[0]
    if kind.name != kind_name:
        raise Invalid(f"{kind_name} is called {kind.name} here: make it with expect({kind_name!r}, …)")
    _check_columns(kind, fields["columns"])
    given = fields["parameters"]
    if missing := [each.name for each in kind.parameters if each.required and each.name not in given]:
        raise Invalid(f"{kind.name} needs {missing[0]}: {kind.names[missing[0]].doc}")
    if unknown := [name for name in given if name not in {each.name for each in kind.parameters}]:
        raise Invalid(f"{kind.name}: unknown key {unknown[0]!r}{suggest(unknown[0], [each.name for each in kind.parameters])}")
    _check_bounds(kind, given)
    _check_shared(kind, fields)
    if "regex" in given:
        _check_regex(kind, given["regex"])
    if kind.name == "foreign_key" and len(given.get("references") or fields["columns"]) != len(fields["columns"]):
        raise Invalid(f"foreign_key: {len(fields['columns'])} columns refer to {len(given['references'])}: name as many")


def _check_columns(kind: Kind, columns: tuple[str, ...]) -> None:
    wanted = {"none": range(1), "one": range(1, 2), "two": range(2, 3), "many": range(1, 65)}[kind.columns]
    if len(columns) not in wanted:
        what = {"none": "no column", "one": "one column", "two": "two columns", "many": "one or more columns"}[kind.columns]
        told = f"not {len(columns)} ({', '.join(columns)})" if columns else "and none is named"
        raise Invalid(f"{kind.name} is about {what}, {told}{'; write one for each' if kind.columns == 'one' and columns else ''}")
    folded = [codec.fold(each) for each in columns]
    if doubled := [each for each in columns if folded.count(codec.fold(each)) > 1]:
        raise Invalid(f"{kind.name} names {doubled[0]} twice")


def _check_bounds(kind: Kind, given: Mapping[str, Any]) -> None:
    names = {each.name for each in kind.parameters}
    if not {"min", "max"} <= names:
        return
    least, greatest, equal = given.get("min"), given.get("max"), given.get("equal")
    if equal is not None and (least is not None or greatest is not None):
        raise Invalid(f"{kind.name}: give either equal, or min and max")
    if least is None and greatest is None and equal is None:
        raise Invalid(f"{kind.name} needs {'equal, ' if 'equal' in names else ''}min or max")
    if isinstance(least, str) != isinstance(greatest, str) and least is not None and greatest is not None:
        raise Invalid(f"{kind.name}: min {_told(least)} and max {_told(greatest)} cannot be compared with each other")
    if least is not None and greatest is not None and _is_number(least) and least > greatest:
        raise Invalid(f"{kind.name}: min {_told(least)} is greater than max {_told(greatest)}: nothing lies between them")


def _check_shared(kind: Kind, fields: Mapping[str, Any]) -> None:
    for name, known in (("severity", SEVERITIES), ("action", ACTIONS), ("nulls", NULLS)):
        given = fields[name]
        if given is not None and given not in known:
            raise Invalid(f"{kind.name}: {name} {_told(given)} is none of {', '.join(known)}{suggest(str(given), list(known))}")
    for name in ("where", "name", "description"):
        if fields[name] is not None and (not isinstance(fields[name], str) or not fields[name].strip()):
            raise Invalid(f"{kind.name}: {name} is a text, not {_told(fields[name])}")
    _check_tolerance(kind, fields["mostly"], fields["max_unexpected"])
    if fields["nulls"] is not None and not kind.has_nulls:
        raise Invalid(f"{kind.name} has no use for nulls: {kind.doc}")
    if fields["nulls"] == "ignore" and kind.name == "valid":
        raise Invalid("valid: nulls says what a condition that is NULL means: fail (the default) or pass")
    if fields["action"] == "quarantine" and kind.level != "row":
        raise Invalid(f"{kind.name} cannot be decided row by row, so no row can be set aside for it: use action report")
    if fields["where"] is not None and kind.level == "schema":
        raise Invalid(f"{kind.name} is about columns, not rows: take out where")


def _check_tolerance(kind: Kind, mostly: Any, most: Any) -> None:
    if mostly is not None and not (_is_number(mostly) and 0 <= mostly <= 1):
        raise Invalid(f"{kind.name}: mostly is a share of rows from 0 to 1, not {_told(mostly)}")
    if most is not None and not (_is_number(most) and most == int(most) and most >= 0):
        raise Invalid(f"{kind.name}: max_unexpected is a number of rows, 0 or more, not {_told(most)}")
    if mostly is not None and most is not None:
        raise Invalid(f"{kind.name}: give either mostly or max_unexpected")
    if not kind.counts and (mostly is not None or most is not None):
        raise Invalid(
            f"{kind.name} counts no rows, so none can be tolerated: take out {'mostly' if mostly is not None else 'max_unexpected'}"
        )


def _check_regex(kind: Kind, regex: str) -> None:
    """What Python cannot read either is a mistake; what only Java knows (possessive quantifiers, classes of Unicode) is left to Spark."""
    if any(sign in regex for sign in ("\\p", "\\P", "++", "*+", "?+", "(?<", "\\Q", "&&", "\\h", "\\R", "\\z", "\\G")):
        return
    try:
        re.compile(regex)
    except re.error as error:
        raise Invalid(f"{kind.name}: {_told(regex)} is no regular expression: {error}") from error


def written(kind_name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """An expectation as YAML and JSON have it, in its shortest form."""
    kind = catalogue.BY_NAME[kind_name]
    columns, given = list(fields["columns"]), dict(fields["parameters"])
    default = "warning" if fields["action"] == "quarantine" else "critical"
    defaults = {"severity": default, "action": "report"}
    shared = {name: fields[name] for name in SHARED if fields[name] is not None and fields[name] != defaults.get(name)}
    if kind.main and set(given) == {kind.main}:
        return {kind.name: given[kind.main], **shared}
    named = {"column": columns[0]} if len(columns) == 1 else {"columns": columns} if columns else {}
    if not given and columns:
        return {kind.name: columns[0] if len(columns) == 1 else columns, **shared}
    return {kind.name: {**named, **given}, **shared}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and math.isfinite(value)


def _told(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
