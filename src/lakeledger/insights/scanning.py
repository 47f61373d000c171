"""Records read a page at a time, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from lakeledger.db.pages import Page
from lakeledger.records.model import MetadataRecord
from lakeledger.records.query import MetadataQuery

PAGE = 5_000


class Queried(Protocol):
    """What records are asked of: `ledger.records`, or any repository."""

    def query(self, query: MetadataQuery) -> Page[MetadataRecord]: ...


def scan(known: Queried, query: MetadataQuery) -> Iterator[MetadataRecord]:
    """Every record that a query asks for, newest first, in small transactions."""
    page = known.query(replace(query, limit=PAGE))
    yield from page
    while page.next is not None:
        page = known.query(replace(query, limit=PAGE, after=page.next))
        yield from page
