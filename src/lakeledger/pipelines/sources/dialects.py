"""How databases differ as sources: quoting, literals, the driver, and how one row is taken. Everything else is one code for all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.sync.kinds.watermark import DATE, DECIMAL, INTEGER, TEXT, TIMESTAMP, TIMESTAMP_NTZ


@dataclass(frozen=True)
class Dialect:
    """One database. `literals` write a value by its type, `written` a column as the text that we read it back from.

    `text_order` is how texts are compared by their bytes, as we compare them; `jars` the set of `lakeledger jars fetch`, if there is one.
    """

    name: str
    driver: str
    literals: Mapping[str, str]
    written: Mapping[str, str]
    text_order: str
    one_row: str = "fetch first 1 rows only"
    quotes: tuple[str, str] = ('"', '"')
    escapes: Mapping[str, str] = field(default_factory=lambda: {"'": "''"})
    jars: str | None = None

    def quote(self, name: str) -> str:
        """A name, whatever characters it has."""
        first, last = self.quotes
        return f"{first}{name.replace(last, last * 2)}{last}"

    def literal(self, type_: str, value: Any) -> str:
        """A value as SQL writes it."""
        match value:
            case datetime() if value.tzinfo is not None:
                text = value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", timespec="microseconds")
            case datetime():
                text = value.isoformat(" ", timespec="microseconds")
            case Decimal():
                text = f"{value:f}"
            case str():
                text = "".join(self.escapes.get(letter, letter) for letter in value)
            case _:
                text = str(value)
        return self.literals[type_].format(text)

    def ordered(self, type_: str, column: str) -> str:
        """The column as it is compared."""
        return self.text_order.format(column) if type_ == TEXT else column

    def text(self, type_: str, column: str) -> str:
        """The column as the text that the watermark is read back from."""
        return self.written.get(type_, "{}").format(column)


_NUMBERS = {INTEGER: "{}", DECIMAL: "{}"}
_PLAIN = {**_NUMBERS, TIMESTAMP_NTZ: "timestamp '{}'", DATE: "date '{}'", TEXT: "'{}'"}

POSTGRESQL = Dialect(
    "postgresql",
    "org.postgresql.Driver",
    {**_PLAIN, TIMESTAMP: "timestamptz '{}+00'"},
    {
        TIMESTAMP: "case when isfinite({0}) then to_char({0} at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') else {0}::text end",
        TIMESTAMP_NTZ: "case when isfinite({0}) then to_char({0}, 'YYYY-MM-DD\"T\"HH24:MI:SS.US') else {0}::text end",
        DATE: "{}::text",
        INTEGER: "{}::text",
        DECIMAL: "{}::text",
        TEXT: "{}::text",
    },
    '{} collate "C"',
    "limit 1",
    jars="postgresql",
)
MYSQL = Dialect(
    "mysql",
    "com.mysql.cj.jdbc.Driver",
    {**_PLAIN, TIMESTAMP: "timestamp '{}'"},
    {
        TIMESTAMP: "date_format({}, '%Y-%m-%dT%H:%i:%s.%fZ')",
        TIMESTAMP_NTZ: "date_format({}, '%Y-%m-%dT%H:%i:%s.%f')",
        **dict.fromkeys((DATE, INTEGER, DECIMAL), "cast({} as char)"),
    },
    "binary {}",
    "limit 1",
    ("`", "`"),
    {"'": "''", "\\": "\\\\"},
)
SQLSERVER = Dialect(
    "sqlserver",
    "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    {
        **_NUMBERS,
        TIMESTAMP: "cast('{}+00:00' as datetimeoffset)",
        TIMESTAMP_NTZ: "cast('{}' as datetime2)",
        DATE: "cast('{}' as date)",
        TEXT: "N'{}'",
    },
    {
        TIMESTAMP: "convert(varchar(40), switchoffset({}, '+00:00'), 126)",
        TIMESTAMP_NTZ: "convert(varchar(40), cast({} as datetime2(6)), 126)",
        DATE: "convert(varchar(10), {}, 23)",
        **dict.fromkeys((INTEGER, DECIMAL), "cast({} as varchar(60))"),
    },
    "{} collate Latin1_General_BIN2",
    "offset 0 rows fetch next 1 rows only",
    ("[", "]"),
)
ORACLE = Dialect(
    "oracle",
    "oracle.jdbc.OracleDriver",
    {**_PLAIN, TIMESTAMP: "timestamp '{} +00:00'"},
    {
        TIMESTAMP: 'to_char(sys_extract_utc({}), \'YYYY-MM-DD"T"HH24:MI:SS.FF6"Z"\')',
        TIMESTAMP_NTZ: "to_char(cast({} as timestamp), 'YYYY-MM-DD\"T\"HH24:MI:SS.FF6')",
        DATE: "to_char({}, 'YYYY-MM-DD')",
        **dict.fromkeys((INTEGER, DECIMAL), "to_char({}, 'TM9', 'NLS_NUMERIC_CHARACTERS=''.,''')"),
    },
    "nlssort({}, 'NLS_SORT=BINARY')",
)
DIALECTS = {each.name: each for each in (POSTGRESQL, MYSQL, SQLSERVER, ORACLE)}
_PASSWORD = re.compile(r"//[^/?#@]*:[^/?#@]+@|thin:[^@/]+/[^@]+@|[?&;]\s*(?:ssl)?(?:password|pwd)\s*=(?!\$\{|\{\{)", re.IGNORECASE)
_ALIASES = {"postgres": "postgresql", "mariadb": "mysql"}


def find(url: str) -> Dialect:
    """The dialect of a database by its URL, `jdbc:postgresql://…`. Raises Invalid."""
    word = url.removeprefix("jdbc:").partition(":")[0].lower()
    if found := DIALECTS.get(_ALIASES.get(word, word)):
        return found
    from lakeledger.config import suggest

    raise Invalid(
        f"no database is known by {word}://: use {', '.join(f'jdbc:{name}:…' for name in DIALECTS)}{suggest(word, list(DIALECTS))}"
    )


def check_url(url: str) -> None:
    """Raise Invalid for a URL with a password in it: URLs are stored and shown."""
    if _PASSWORD.search(url):
        bare = re.sub(r"^.*@|^(?:jdbc:)?\w+:(?://)?|[?;].*$", "", url)
        raise Invalid(f"the URL of {bare} holds a password, and URLs are stored: give password='${{env:NAME}}' instead")


def split_name(name: str) -> list[str]:
    """The parts of `shop.orders`; a dot inside double quotes is part of a name. Raises Invalid."""
    parts, inside, current = [], False, ""
    for letter in name:
        if letter == '"':
            inside = not inside
        elif letter == "." and not inside:
            parts.append(current)
            current = ""
        else:
            current += letter
    parts.append(current)
    if inside or not all(part.strip() for part in parts):
        raise Invalid(f"{name!r} is no name of a table: write schema.table")
    return parts


def same(one: str, other: str) -> bool:
    """Whether two names of columns are one."""
    return codec.fold(one) == codec.fold(other)
