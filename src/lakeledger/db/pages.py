"""Pages: a listing in parts, each of which begins behind the last row of the one before, whatever is written meanwhile.

A listing is ordered by a key that no row changes. In its statement `(at, id) < (:after_at, :after_id) -- optional` continues it and
`limit :page_size -- optional` ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from lakeledger import codec
from lakeledger.db import Row, Transaction
from lakeledger.db.queries import Query
from lakeledger.errors import Invalid

T = TypeVar("T")

MAX_PAGE = 1_000

# The columns of a key, in order, each with what reads its text.
Key = Mapping[str, Callable[[str], Any]]

_PLAIN = "/:.@+-_"


class Page(list[T]):
    """A part of a listing. `next` is what to give as `after` for the part behind it; None if there is none."""

    def __init__(self, rows: Iterable[T] = (), next: str | None = None) -> None:
        super().__init__(rows)
        self.next = next


def read(
    tx: Transaction, query: Query, key: Key, make: Callable[[Row], T], limit: int | None, after: str | int | None, **parameters: Any
) -> Page[T]:
    """The rows behind that place, at most so many, or all of them. Raises Invalid for what is no place of the listing."""
    behind = {f"after_{name}": value for name, value in parse(after, key).items()}
    rows = tx.all(query, **behind, **parameters, page_size=None if limit is None else check_limit(limit) + 1)
    return Page(map(make, rows[:limit]), place([rows[limit - 1][name] for name in key]) if limit and len(rows) > limit else None)


def cut(
    rows: Iterable[T], key: Key, values: Callable[[T], tuple[Any, ...]], limit: int | None, after: str | None, *, descending: bool = False
) -> Page[T]:
    """The same of rows that are at hand, put in the order of their keys' `values`. Raises Invalid."""
    last = tuple(parse(after, key).values())
    ordered = sorted(rows, key=values, reverse=descending)
    behind = [row for row in ordered if not last or (values(row) < last if descending else values(row) > last)]
    page = behind if limit is None else behind[: check_limit(limit)]
    return Page(page, place(values(page[-1])) if len(page) < len(behind) else None)


def check_limit(limit: int, most: int | None = None) -> int:
    """The limit, if it is one. Raises Invalid."""
    if limit < 1 or (most is not None and limit > most):
        raise Invalid(f"limit must be between 1 and {most}, not {limit}" if most else f"limit must be at least 1, not {limit}")
    return limit


def parse(after: str | int | None, key: Key) -> dict[str, Any]:
    """The values of the key at that place; nothing if none is given. Raises Invalid."""
    if after is None:
        return {}
    parts = [unquote(part) for part in str(after).split(",")]
    try:
        return {name: typed(part) for (name, typed), part in zip(key.items(), parts, strict=True)}
    except (ValueError, OverflowError) as error:
        raise Invalid(f"after {after!r} is no place in this listing: give the `next` of the page before it") from error


def place(values: Iterable[Any]) -> str:
    """A place in a listing as text: the values of its key there."""
    return ",".join(quote(codec.to_text(value) if isinstance(value, datetime) else str(value), _PLAIN) for value in values)
