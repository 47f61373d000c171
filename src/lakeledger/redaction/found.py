"""What a finder gives: where a secret stands, and what is none although it stands in the place of one."""

from __future__ import annotations

import re
from typing import NamedTuple

from lakeledger.redaction.lazy import lazy

MASK = "***"

# Shorter values are words that turn up everywhere. What is called a password or a key may be a little shorter.
SHORTEST_KNOWN = 8
SHORTEST_PASSWORD = 5


class Numeral(str):
    """A number as text, because JSON would not keep all of its digits. Numbers of a record are no secrets."""

    __slots__ = ()


class Found(NamedTuple):
    """Where a secret stands in a text, the name that gave it away if one did, and what is written there instead."""

    start: int
    end: int
    name: str = ""
    instead: str = MASK
    is_password: bool = False


# `{{env.PASSWORD}}` and `${env:PASSWORD}` name the place of a secret; `varchar(50)` is the type of its column.
REFERENCE = lazy(r"\{\{[\w.:-]{1,256}\}\}|\$\{[\w.:-]{1,256}\}")
_TYPE = lazy(
    r"(?:string|str|text|(?:n?var)?char2?|bytea?|binary|varbinary|blob|clob|uuid|json[b]?|bool(?:ean)?|(?:big|small|tiny)?int(?:eger)?\d{0,2}|long"
    r"|float\d?|double|real|decimal|numeric|number|date|datetime|timestamp(?:tz|_ntz|_ltz)?)(?:\s?\(\s?(?:\d{1,5}|max)(?:\s?,\s?\d{1,3})?\s?\))?",
    re.IGNORECASE,
)


def is_type(value: str) -> bool:
    """Whether a value is the type of a column, so that `{"password": "varchar(50)"}` is the description of a table."""
    return _TYPE.fullmatch(value) is not None
