"""The small values that documents are made of: names, texts that YAML may have read as numbers, and values that JSON can keep."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError


class SpelledInt(int):
    """A whole number that was written in an unusual way, as `007` or `1_000`: where a text is meant, its spelling counts."""

    spelling: str


class SpelledFloat(float):
    """A number that was written in an unusual way, as `1.10` or `1e3`."""

    spelling: str


def as_text(value: Any) -> Any:
    """What YAML reads as a number, a date or a truth value where text is meant: `header: true`."""
    match value:
        case SpelledInt() | SpelledFloat():
            return value.spelling
        case bool():
            return str(value).lower()
        case int() | float() | date():
            return str(value)
        case _:
            return value


def _printable(name: str) -> str:
    if not name.isprintable():
        raise PydanticCustomError("text", "{name} holds a character that cannot be printed", {"name": ascii(name)})
    return name


def _plain(value: Any) -> Any:
    """Only what JSON knows: a date is its text."""
    match value:
        case date():
            return value.isoformat()
        case Mapping():
            return {str(key): _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case SpelledInt() | SpelledFloat():
            return int(value) if isinstance(value, int) else float(value)
        case _:
            return value


def _bound(value: Any) -> Any:
    """A value of a query: JSON has no dates, so there `{"date": "2026-01-02"}` is one."""
    if isinstance(value, date):
        return value
    if isinstance(value, Mapping) and value.keys() == {"date"}:
        try:
            return value["date"] if isinstance(value["date"], date) else date.fromisoformat(str(value["date"]))
        except ValueError as error:
            raise PydanticCustomError("text", "{date} is not a date: write it as 2026-01-31", {"date": repr(value["date"])}) from error
    return [_bound(inner) for inner in value] if isinstance(value, list | tuple) else _plain(value)


def _unbound(value: Any) -> Any:
    if isinstance(value, list):
        return [_unbound(inner) for inner in value]
    return {"date": value.isoformat()} if isinstance(value, date) else value


_SPELLED = ["string", "number", "boolean"]
Text = Annotated[str, BeforeValidator(as_text), WithJsonSchema({"type": _SPELLED})]


def _printed(max_length: int) -> Any:
    """A text of one line. What comes first is checked first, except BeforeValidator: it must stand last to be asked before the others."""
    return (
        StringConstraints(strip_whitespace=True, min_length=1, max_length=max_length),
        AfterValidator(_printable),
        BeforeValidator(as_text),
        WithJsonSchema({"type": _SPELLED, "minLength": 1, "maxLength": max_length}),
    )


Name = Annotated[str, *_printed(200)]
Line = Annotated[str, *_printed(4_096)]
Plain = Annotated[Any, AfterValidator(_plain)]
Bound = Annotated[Any, AfterValidator(_bound), PlainSerializer(_unbound, when_used="json")]
Seconds = Annotated[int, Field(ge=0, le=2**31 - 1)]


def _as_list(value: Any) -> Any:
    """One text stands for a list of one."""
    return (value,) if isinstance(value, str) else value


_ONE_OR_MORE = {"anyOf": [{"type": _SPELLED}, {"type": "array", "items": {"type": _SPELLED}}]}
Columns = Annotated[tuple[Text, ...], BeforeValidator(_as_list), WithJsonSchema(_ONE_OR_MORE)]


class Part(BaseModel):
    """A part of a document: what it does not know is refused, and nothing changes it."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
