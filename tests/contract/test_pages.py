"""Every listing goes page by page: nothing comes twice and nothing is left out, whatever is written meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from contract.making import append, change, new_file, put
from lakeledger import Invalid, Ledger, NumberPosition
from lakeledger.clock import new_id
from lakeledger.db import pages
from lakeledger.db.pages import Page
from lakeledger.jobs import MODULE_TAG, OWNER_TAG, JobSpec, queue
from lakeledger.jobs.local import LocalBackend
from lakeledger.records import MetadataContext, MetadataRecord, MetadataTarget, add
from lakeledger.runs import NewRun, NewStep
from lakeledger.runs import store as run_store
from lakeledger.sync import NewError, NewLetter, NewSync, SourceFile, parse_source
from lakeledger.sync.positions import store as positions

T = TypeVar("T")

DAY = datetime(2026, 1, 1, tzinfo=UTC)
# Names that a cursor must carry unharmed.
NAMES = ["a,b", "b c", "c%2C", "d/e", "é\\f", "g'h"]


def _run(ledger: Ledger, number: int) -> None:
    with ledger.run(f"pipeline_{number % 2}"):
        pass


def _step(ledger: Ledger, number: int) -> None:
    with ledger.store.write() as tx:
        run = next(iter(run_store.list_page(tx, "long")), None) or run_store.add(tx, NewRun("long"), "test")
        run_store.add_step(tx, run.id, NewStep(f"step {number}"), "test")


def _error(ledger: Ledger, number: int) -> None:
    ledger.errors.log(NewError("shop", f"t{number}", "schema", f"cause {'abcdefghijklmnop'[number]} happened"))


def _letter(ledger: Ledger, number: int) -> None:
    ledger.dead_letters.add(NewLetter("shop", "orders", "insert", {"id": number}, error_message=f"cause {'abcdefghijklmnop'[number]}"))


def _schema(ledger: Ledger, number: int) -> None:
    for column in ("id", "other"):
        definition = {"columns": [{"name": column, "type": "long"}]}
        ledger.schemas.register(f"shop.{NAMES[number % 6].replace('.', '')}{number}", definition, policy="none")


def _schema_version(ledger: Ledger, number: int) -> None:
    ledger.schemas.register("shop.orders", {"columns": [{"name": f"c{number}", "type": "long"}]}, policy="none")


def _position(ledger: Ledger, number: int) -> None:
    ledger.positions.advance(f"{NAMES[number % 6]}{number}", NumberPosition(1))


def _move(ledger: Ledger, number: int) -> None:
    ledger.positions.advance("shop", NumberPosition(number))


def _read_file(ledger: Ledger, number: int) -> None:
    if number == 0:
        ledger.positions.advance("shop", NumberPosition(1))
    with ledger.store.write() as tx:
        marker = positions.get(tx, parse_source("shop"))
        positions.register_files(tx, marker, [SourceFile(f"in/{NAMES[number % 6]}{number}.csv", 1, DAY, str(number))], "r")


def _record(ledger: Ledger, number: int) -> None:
    new = MetadataRecord(MetadataTarget("shop", "silver", "orders"), MetadataContext(), "volume", {"rows": number}, "me")
    with ledger.store.write() as tx:  # two at one moment
        add(tx, new)
        add(tx, new)


def _table(ledger: Ledger, number: int) -> None:
    append(ledger, new_file("a"), table=f"silver.t{(number * 7) % 11}")


def _version(ledger: Ledger, number: int) -> None:
    with ledger.run("load") as run:
        put(ledger, change(run, new_file(f"{NAMES[number % 6]}{number}"), new_file(f"z{number}")))


def _local_run(ledger: Ledger, number: int) -> None:
    backend = LocalBackend(ledger.store, "ann")
    tags = {OWNER_TAG: "etl_control", MODULE_TAG: "shop"}
    job = next(iter(backend.list()), None) or backend.create(JobSpec("shop", {"name": "shop", "tags": tags}, {"module_name": "shop"}))
    with ledger.store.write() as tx:
        queue.add(tx, job.job_id, "asked", DAY + timedelta(days=number // 2), "ann")


LISTINGS: dict[str, tuple[Callable[[Ledger, int], None], Callable[..., Page[Any]]]] = {
    "runs": (_run, lambda ledger, **page: ledger.runs.list(**page)),
    "runs of a pipeline": (_run, lambda ledger, **page: ledger.runs.list("pipeline_1", **page)),
    "steps": (_step, lambda ledger, **page: ledger.runs.steps(ledger.runs.list("long")[0].id, **page)),
    "sync runs": (
        lambda ledger, _: void(ledger.sync.runs.start(NewSync("shop", "batch"))),
        lambda ledger, **page: ledger.sync.runs.list(**page),
    ),
    "errors": (_error, lambda ledger, **page: ledger.errors.list(**page)),
    "error groups": (_error, lambda ledger, **page: ledger.errors.groups(**page)),
    "dead letters": (_letter, lambda ledger, **page: ledger.dead_letters.list(**page)),
    "letter groups": (_letter, lambda ledger, **page: ledger.dead_letters.groups(**page)),
    "schemas": (_schema, lambda ledger, **page: ledger.schemas.list(**page)),
    "schema history": (_schema_version, lambda ledger, **page: ledger.schemas.history("shop.orders", **page)),
    "positions": (_position, lambda ledger, **page: ledger.positions.list(**page)),
    "position history": (_move, lambda ledger, **page: ledger.positions.history("shop", **page)),
    "source files": (_read_file, lambda ledger, **page: ledger.positions.files("shop", **page)),
    "records": (_record, lambda ledger, **page: ledger.records.history(kind="volume", **page)),
    "records of a table": (_record, lambda ledger, **page: ledger.records.history("silver.orders", "volume", **page)),
    "tables": (_table, lambda ledger, **page: ledger.tables.list(**page)),
    "table history": (_version, lambda ledger, **page: ledger.tables.history("silver.orders", **page)),
    "table files": (_version, lambda ledger, **page: ledger.tables.files("silver.orders", **page)),
    "local runs": (_local_run, lambda ledger, **page: LocalBackend(ledger.store, "ann").runs(**page)),
    "changes": (_run, lambda ledger, limit, after=None: ledger.changes.after(after or 0, limit=limit)),
}


def void(_: object) -> None:
    """Nothing."""


def through(listing: Callable[..., Page[T]], ledger: Ledger, limit: int, meanwhile: Callable[[], None] = lambda: None) -> list[T]:
    """All pages, one after the other."""
    found: list[T] = []
    after: str | None = None
    while True:
        page = listing(ledger, limit=limit, after=after)
        assert len(page) <= limit
        found += page
        if (after := page.next) is None:
            return found
        assert len(page) == limit
        meanwhile()


@pytest.mark.parametrize("name", LISTINGS)
def test_pages_hold_every_row_once_in_order(ledger: Ledger, name: str) -> None:
    fill, listing = LISTINGS[name]
    for number in range(7):
        fill(ledger, number)
    everything = listing(ledger, limit=1_000)
    assert len(everything) >= 3
    assert everything.next is None
    for limit in (1, 2, 3, len(everything)):
        assert through(listing, ledger, limit) == list(everything)


@pytest.mark.parametrize("name", [name for name in LISTINGS if "groups" not in name])
def test_what_is_written_while_somebody_pages_neither_hides_nor_repeats_a_row(ledger: Ledger, name: str) -> None:
    fill, listing = LISTINGS[name]
    for number in range(5):
        fill(ledger, number)
    before = [_told(row) for row in listing(ledger, limit=1_000)]
    more = iter(range(5, 9))

    def meanwhile() -> None:
        if number := next(more, None):
            fill(ledger, number)

    found = [_told(row) for row in through(listing, ledger, 2, meanwhile)]
    assert len(found) == len(set(found))
    assert [row for row in found if row in set(before)] == before


def _told(row: Any) -> str:
    """What tells a row from the others, and does not change."""
    for name in ("seq", "id", "record_id", "file_path", "snapshot_id", "path", "table_id"):
        if (value := getattr(row, name, None)) is not None:
            return str(value)
    raise AssertionError(row)


@pytest.mark.parametrize("name", LISTINGS)
def test_what_is_no_place_in_a_listing_is_refused(ledger: Ledger, name: str) -> None:
    fill, listing = LISTINGS[name]
    fill(ledger, 0)
    fill(ledger, 1)
    with pytest.raises(Invalid, match="is no place in this listing: give the `next` of the page before it"):
        listing(ledger, limit=2, after="here,there,everywhere")
    with pytest.raises(Invalid, match="limit must be"):
        listing(ledger, limit=0)


@pytest.mark.parametrize("values", [("a,b", 7), ("", 0), ("%2C,é 日本\n", -1), (new_id(), 2**62)])
def test_a_place_comes_back_as_it_was(values: tuple[str, int]) -> None:
    text = pages.place((DAY, *values))
    assert tuple(pages.parse(text, {"at": datetime.fromisoformat, "name": str, "number": int}).values()) == (DAY, *values)
    assert text.isascii()
