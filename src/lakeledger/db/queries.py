"""Named SQL: the statements of a slice, read from the `.sql` file beside it.

    -- name: finish
    update … where status in (:a, :b) returning *

A statement that differs by database is a named pair: `-- name: claim@postgres` and `-- name: claim@sqlite`.

A filter that need not be set is a line that ends in `-- optional`: without a value for its parameter it is left out.
A planner finds the right index for what is left; `(:status is null or status = :status)` makes it scan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: *(?P<name>\w+)(?:@(?P<dialect>\w+))?[ \t]*$", re.MULTILINE)
_PARAMETER = re.compile(r"'(?:[^']|'')*'|--[^\n]*|(?<!:):(?P<name>[a-z_]\w*)")
_BOUND = re.compile(r"(?<!:):([a-z_]\w*)|%\((\w+)\)s")
_OPTIONAL = "-- optional"


@dataclass(frozen=True)
class Query:
    """One named statement, with its text per dialect ('' is the common one)."""

    name: str
    texts: dict[str, str] = field(hash=False)

    def text(self, dialect: str, absent: frozenset[str] = frozenset()) -> str:
        """The statement as that database's driver wants it, without the optional lines of the parameters that have no value."""
        whole = self.texts.get(dialect) or self.texts[""]
        return _without(whole, absent) if absent else whole

    @cached_property
    def optional(self) -> frozenset[str]:
        """The parameters that may be without a value."""
        lines = (line for text in self.texts.values() for line in text.splitlines() if line.endswith(_OPTIONAL))
        return frozenset(name for line in lines for name in _names(line))


class Queries:
    """The statements of one `.sql` file, as attributes."""

    def __init__(self, queries: dict[str, Query]) -> None:
        self._queries = queries

    def __getattr__(self, name: str) -> Query:
        try:
            return self._queries[name]
        except KeyError:
            raise AttributeError(f"no query named {name!r}") from None


def load(package: str, file: str = "queries.sql") -> Queries:
    """Read the statements of `package`'s file."""
    return parse(files(package).joinpath(file).read_text(encoding="utf-8"))


def parse(source: str) -> Queries:
    """Split a file's text into its named statements."""
    found: dict[str, dict[str, str]] = {}
    matches = list(_NAME.finditer(source))
    ends = [match.start() for match in matches[1:]] + [len(source)]
    for match, end in zip(matches, ends, strict=True):
        name, dialect = match["name"], match["dialect"] or ""
        texts = found.setdefault(name, {})
        if dialect not in ("", "sqlite", "postgres"):
            raise ValueError(f"query {name}: there is no dialect {dialect!r}")
        if dialect in texts:
            raise ValueError(f"query {name} is there twice")
        texts[dialect] = source[match.end() : end].strip()
    return Queries({name: Query(name, _by_dialect(texts)) for name, texts in found.items()})


def statement(text: str) -> Query:
    """An unnamed statement, for generated SQL."""
    return Query("", _by_dialect({"": text}))


@lru_cache(maxsize=1_024)
def _without(text: str, absent: frozenset[str]) -> str:
    return "\n".join(line for line in text.splitlines() if not (line.endswith(_OPTIONAL) and absent & _names(line)))


def _names(line: str) -> set[str]:
    return {colon or percent for colon, percent in _BOUND.findall(line)}


def _by_dialect(texts: dict[str, str]) -> dict[str, str]:
    postgres = texts.get("postgres", texts.get(""))
    return texts if postgres is None else {**texts, "postgres": to_pyformat(postgres)}


def to_pyformat(text: str) -> str:
    """`:name` parameters as psycopg's `%(name)s`; strings, comments and `::casts` are left alone."""
    return _PARAMETER.sub(lambda match: f"%({match['name']})s" if match["name"] else match[0], text.replace("%", "%%"))
