"""Values of Python in the types of Arrow: converted all at once, and never to something else; only where that fails one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from numbers import Integral, Number, Real
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.pipelines.streaming.columns import schema_of
from lakeledger.tables.schema import ASIDE, HIDDEN

if TYPE_CHECKING:
    import pyarrow as pa


def convert(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """The values as an array of that type. Raises one of `errors` if one of them is none, or would be another one there.

    Arrow itself takes 1.5 for 1, a number for a time, and leaves out what a struct has no field for.
    """
    import pyarrow as pa

    there = [each for each in values if each is not None] if pa.types.is_nested(type_) else ()
    if pa.types.is_map(type_):
        pairs = (each.items() if isinstance(each, dict) else each for each in there)
        convert([value for each in pairs for _, value in each], type_.item_type)
    elif pa.types.is_list(type_):
        convert(list(chain.from_iterable(there)), type_.value_type)
    elif pa.types.is_struct(type_):
        _check_struct(there, type_)
    elif _check_kinds(set(map(type, values)), type_):
        return pa.array(values, pa.float64()).cast(type_)  # if all are whole
    return pa.array(values, type_)


def misfits(values: Sequence[Any], type_: pa.DataType, start: int = 0) -> Iterator[int]:
    """Which of the values are none of that type: halves are tried, so that few bad ones among many are found soon."""
    try:
        convert(values, type_)
    except errors():
        if len(values) == 1:
            yield start
            return
        middle = len(values) // 2
        yield from misfits(values[:middle], type_, start)
        yield from misfits(values[middle:], type_, start + middle)


def type_of(rows: Sequence[dict[str, Any]], key: Any) -> Any:
    """The type that a table has for all values of a key, or for the first if they have several; None if there is none, or no such type."""
    import pyarrow as pa

    if not str(key) or codec.fold(str(key)).startswith((ASIDE, HIDDEN)):
        return None
    values = [value for row in rows if (value := row.get(key)) is not None]
    for tried in (values, values[:1]):
        try:
            type_ = _declarable(pa.array(tried).type)
            return schema_of(pa.schema([(str(key), type_)]))["fields"][0]["type"] if type_ else None
        except errors(Invalid):
            continue
    return None


def is_empty(value: Any) -> bool:
    """Whether there is nothing to lose."""
    if isinstance(value, dict | list):
        return all(map(is_empty, value.values() if isinstance(value, dict) else value))
    return value is None


def text_of(row: Any) -> str:
    """A row as text, as far as it can be had."""
    try:
        text = json.dumps(row, default=_plain, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(row)
    return text.encode("utf-8", "backslashreplace").decode()


def errors(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """What Arrow raises for values that are none of a type, and what else is no surprise."""
    import pyarrow as pa

    return (pa.ArrowException, AttributeError, OverflowError, TypeError, ValueError, *more)


def _check_struct(rows: Sequence[Any], type_: pa.DataType) -> None:
    names = {each.name for each in type_}
    for key in set().union(*(row.keys() for row in rows)) - names:
        if not all(is_empty(row.get(key)) for row in rows):
            raise TypeError(f"{type_} has no {key}")
    for each in type_:
        convert([row.get(each.name) for row in rows], each.type)


def _check_kinds(kinds: set[type], type_: pa.DataType) -> bool:
    """Raise TypeError for kinds of values that Arrow would take for others; whether there are numbers that may not be whole."""
    from pyarrow import types

    numbers: set[Any] = {kind for kind in kinds if issubclass(kind, Number)}
    parts = {kind for kind in numbers if not issubclass(kind, Integral)}
    is_taken_for_time = types.is_temporal(type_) and (
        numbers or (types.is_date(type_) and any(issubclass(each, datetime) for each in kinds))
    )
    if is_taken_for_time or (types.is_integer(type_) and any(each is bool or not issubclass(each, Real) for each in numbers)):
        raise TypeError(f"{', '.join(each.__name__ for each in kinds)} is not {type_}")
    return types.is_integer(type_) and bool(parts)


def _declarable(type_: pa.DataType) -> pa.DataType | None:
    """An inferred type as it is declared: without what has no values yet, and with decimals of one size, as later ones may need."""
    import pyarrow as pa

    if pa.types.is_null(type_):
        return None
    if pa.types.is_struct(type_):
        fields = [(each.name, inner) for each in type_ if (inner := _declarable(each.type))]
        return pa.struct(fields) if fields else None
    if pa.types.is_list(type_):
        inner = _declarable(type_.value_type)
        return pa.list_(inner) if inner else None
    return pa.decimal128(38, 18) if pa.types.is_decimal(type_) else type_


def _plain(value: Any) -> Any:
    try:
        return codec.to_plain(value)
    except (TypeError, ValueError):
        return str(value)
