"""What is kept of a failed record: plain JSON without secrets and masked columns, never bigger than its cap."""

from __future__ import annotations

import base64
import fnmatch
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.redaction import CONFIGURATION, MASK, SHORTEST_PASSWORD, Numeral, Rules, is_clean, scrub, scrub_value, secrets_in

MIN_BYTES = 256
TEXT_LIMIT = 1_000
KEY_LIMIT = 100
MAX_DEPTH = 64
MAX_BITS = 4_096
TOO_DEEP = "…(nested too deep)"


@dataclass(frozen=True)
class Masked:
    """A record as it is kept. It is not complete if anything was masked, cut, or changed because no database can keep it."""

    data: dict[str, Any]
    complete: bool


@dataclass(frozen=True)
class Masking:
    """Which columns are never kept, by pattern (`email`, `card.*`), which are no secrets whatever they are called, and how much is kept."""

    columns: tuple[str, ...] = ()
    max_bytes: int = 65_536
    unmask: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.max_bytes < MIN_BYTES:
            raise Invalid(f"a record needs at least {MIN_BYTES} bytes to be kept or summed up, not {self.max_bytes}")

    def mask(self, record: Any, known: Iterable[str] = ()) -> Masked:
        """The record as it may be stored and replayed: without secrets, masked columns and the `known` values. Never raises."""
        return self._masked(plain_record(record), known, self._records)

    def mask_details(self, details: Any, known: Iterable[str] = ()) -> dict[str, Any]:
        """What was noted beside an error: nobody replays it, so a name that may be a secret's is enough to mask its value."""
        return self._masked(plain_record(details), known, self.texts).data

    def hidden(self, record: Any) -> frozenset[str]:
        """The values that are masked in the record: texts about it must not show them either."""
        return self._hidden(record, self._records)

    def hidden_in_details(self, details: Any) -> frozenset[str]:
        """The values that are masked in what was noted beside an error."""
        return self._hidden(details, self.texts)

    @cached_property
    def texts(self) -> Rules:
        """What is a secret in messages and details."""
        return Rules(unmask=self.unmask) if self.unmask else CONFIGURATION

    @cached_property
    def _records(self) -> Rules:
        return Rules(business=True, unmask=self.unmask)

    def _masked(self, whole: PlainRecord, known: Iterable[str], rules: Rules) -> Masked:
        if not known and not self.columns and whole.is_clean and whole.size <= self.max_bytes:
            return Masked(dict(whole), complete=whole.exact)
        data: dict[str, Any] = scrub_value(whole, known=known, rules=rules)
        data = self._hide(data) if self.columns else data
        text = codec.to_json(data)
        if len(text.encode()) > self.max_bytes:
            return Masked(self._reduced(data), complete=False)
        return Masked(data, complete=whole.exact and data == whole)

    def _hidden(self, record: Any, rules: Rules) -> frozenset[str]:
        if record is None:
            return frozenset()
        whole = plain_record(record)
        if not self.columns and whole.is_clean:
            return frozenset()
        masked = self._masked_texts(whole) if self.columns else ()
        return secrets_in(whole, rules) | frozenset(text for text in masked if len(text) >= SHORTEST_PASSWORD)

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        return re.compile("|".join(fnmatch.translate(column.casefold()) for column in self.columns)) if self.columns else None

    def _names(self, path: tuple[str, ...]) -> bool:
        """Whether a pattern names the value at that path: by the whole path, by its end, or by the value's own name."""
        if self._pattern is None:
            return False
        return any(self._pattern.match(".".join(path[start:]).casefold()) for start in range(len(path)))

    def _hide(self, value: Any, path: tuple[str, ...] = ()) -> Any:
        if self._names(path):
            return MASK
        match value:
            case dict():
                return {key: self._hide(item, (*path, key)) for key, item in value.items()}
            case list():
                return [self._hide(item, path) for item in value]
            case _:
                return value

    def _masked_texts(self, value: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
        if self._names(path):
            yield from _texts(value)
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from self._masked_texts(item, (*path, key))
        elif isinstance(value, list):
            for item in value:
                yield from self._masked_texts(item, path)

    def _reduced(self, data: dict[str, Any]) -> dict[str, Any]:
        shortened: dict[str, Any] = _shortened(data)
        return shortened if _size(shortened) <= self.max_bytes else self._summary(data)

    def _summary(self, data: dict[str, Any]) -> dict[str, Any]:
        """What is said of a record that is too big: how big, which one, and as many of its columns as there is room for."""
        summary = {"_cut": True, "_bytes": _size(data), "_sha256": codec.digest(data), "_keys": []}
        room, keys = self.max_bytes - _size(summary), []
        for key in data:
            name = _cut(key, KEY_LIMIT)
            room -= _size(name) + 1
            if room < 0:
                break
            keys.append(name)
        return {**summary, "_keys": keys}


def storable(text: str, known: Iterable[str] = (), rules: Rules = CONFIGURATION) -> str:
    """The text without secrets and without what a database cannot keep: NUL and halves of characters."""
    return writable(scrub(text, known, rules))


def writable(text: str) -> str:
    """The text without what a database cannot keep."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def excerpt(text: str, limit: int, known: Iterable[str] = (), *, end: bool = False, rules: Rules = CONFIGURATION) -> str:
    """The beginning of a text, or its end, as it may be stored. What is far from what is kept is not even read."""
    near = text[-4 * limit :] if end else text[: 4 * limit]
    kept = storable(near, known, rules)
    return kept[-limit:] if end else kept[:limit]


def text_of(value: Any) -> str:
    """What was given where a text belongs: a number, an id, the lines of a trace. Never raises."""
    match value:
        case str():
            return str(value)
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case list() | tuple():
            return "\n".join(text_of(line).rstrip("\n") for line in value)
        case _:
            made = plain(value)
            return made if isinstance(made, str) else codec.to_json(made)


class PlainRecord(dict[str, Any]):
    """A record that is plain JSON already, so that it need not be read again; `exact` if it still says all that the original said."""

    exact = True

    @cached_property
    def is_clean(self) -> bool:
        """Whether it is sure to hold no secret by shape or name."""
        return is_clean(self._document)

    @property
    def size(self) -> int:
        return len(self._document.encode())

    @cached_property
    def _document(self) -> str:
        return codec.to_json(self)


def plain_record(record: Any) -> PlainRecord:
    """The record as plain JSON; what is no object is wrapped as `{"value": …}`. Never raises."""
    if isinstance(record, PlainRecord):
        return record
    reading = _Reading()
    value = reading.plain(record)
    made = PlainRecord(value if isinstance(value, dict) else {"value": value})
    made.exact = reading.exact
    return made


def plain(value: Any) -> Any:
    """The value made only of what JSON and both databases can keep. Never raises."""
    return _Reading().plain(value)


@dataclass
class _Reading:
    """One value being made plain, and whether all of it could be kept as it was."""

    exact: bool = True

    def plain(self, value: Any, ancestors: tuple[int, ...] = ()) -> Any:
        try:
            return self._plain(value, ancestors)
        except Exception:  # noqa: BLE001 - whatever a foreign object does when it is read, the failure it belongs to must be kept
            return self._changed(f"<{type(value).__name__}>")

    def _plain(self, value: Any, ancestors: tuple[int, ...]) -> Any:
        match value:
            case Enum():
                return self.plain(value.value, ancestors)
            case None | str() | int() | float():
                return self._scalar(value)
            case bytes() | bytearray() | memoryview():
                return self._changed(base64.b64encode(value).decode())
            case date() | time():
                return value.isoformat()
            case _ if id(value) in ancestors or len(ancestors) == MAX_DEPTH:
                return self._changed(TOO_DEEP)
            case _:
                return self._object(value, (*ancestors, id(value)))

    def _scalar(self, value: str | float | None) -> Any:
        match value:
            case None | True | False:
                return value
            case str():
                return self._text(value)
            case int():
                return int(value) if value.bit_length() <= MAX_BITS else self._changed(hex(value))
            case _:
                return float(value) if math.isfinite(value) else self._changed(str(float(value)))

    def _object(self, value: Any, ancestors: tuple[int, ...]) -> Any:
        opened = _opened(value)
        match opened:
            case Mapping():
                return self._renamed((self._name(key), self.plain(item, ancestors)) for key, item in opened.items())
            case list() | tuple():
                return [self.plain(item, ancestors) for item in opened]
            case set() | frozenset():
                return sorted((self.plain(item, ancestors) for item in opened), key=codec.to_json)
            case _ if opened is not value:
                return self.plain(opened, ancestors)
            case _:
                return self._text(str(value))

    def _text(self, text: str) -> str:
        made = writable(text)
        return made if made == text else self._changed(made)

    def _name(self, key: Any) -> str:
        made = self.plain(key)
        return made if isinstance(made, str) else codec.to_json(made)

    def _renamed(self, items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        """A dict in which keys that have become the same text are told apart, so that no value is lost."""
        found: dict[str, Any] = {}
        for key, item in items:
            name = key
            while name in found:
                name = self._changed(f"{name}'")
            found[name] = item
        return found

    def _changed(self, instead: str) -> str:
        self.exact = False
        return instead


def _opened(value: Any) -> Any:
    """The fields of a Spark Row, a named tuple, a dataclass or a pydantic model; the Python value of a numpy one; a decimal's digits."""
    if isinstance(value, type):
        return value
    if isinstance(value, Decimal):
        return Numeral(value)
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    for name in ("asDict", "_asdict", "model_dump", "tolist"):
        if callable(method := getattr(value, name, None)):
            return method()
    return value


def _texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case None | True | False:
            return
        case _:
            yield str(value)


def _shortened(value: Any) -> Any:
    match value:
        case dict():
            return {key: _shortened(item) for key, item in value.items()}
        case list():
            return [_shortened(item) for item in value]
        case str():
            return _cut(value, TEXT_LIMIT)
        case _:
            return value


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…(+{len(text) - limit} characters)"


def _size(value: Any) -> int:
    return len(codec.to_json(value).encode())
