"""What a suite would have found: the rows that past versions of a table brought, each looked at by itself. Nothing is kept of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from lakeledger.db import Store, Transaction
from lakeledger.errors import Failed, NotFound
from lakeledger.names import TableName, parse_name
from lakeledger.pipelines import Context
from lakeledger.pipelines.checks.standalone import evaluate
from lakeledger.pipelines.read import read
from lakeledger.pipelines.translating import translating
from lakeledger.quality.model import Suite, SuiteResult
from lakeledger.tables import Snapshot, Table, View, store
from lakeledger.tables.model import NO_NEWS

# By these, the files that a version added hold its own rows; by any other, they hold rows that were there before, too.
BRINGS_ITS_OWN = ("append", "overwrite")
PAGE = 100


@dataclass(frozen=True)
class Past:
    """A load: its own rows, or None if its files hold others, too, and the table is looked at as it was after it."""

    name: TableName
    snapshot: Snapshot
    own: View | None


@dataclass(frozen=True)
class Tried:
    """What a suite would have found in the rows of a version; `problem` says why they could not be looked at."""

    version: int
    committed_at: datetime
    operation: str
    is_whole: bool
    result: SuiteResult | None = None
    problem: str | None = None


def loads_since(database: Store, name: str, since: datetime, most: int) -> tuple[list[Past], bool]:
    """The newest loads of a table since then, newest first, and whether there are more of them. Raises NotFound."""
    with database.read() as tx:
        return _loads(tx, store.get(tx, parse_name(name)), since, most)


def _loads(tx: Transaction, table: Table, since: datetime, most: int) -> tuple[list[Past], bool]:
    found, after = list[Snapshot](), None
    while len(found) <= most:
        page = store.history(tx, table, PAGE, after)
        found += [each for each in page if each.committed_at >= since and each.operation not in NO_NEWS]
        if (after := page.next) is None or (page and page[-1].committed_at < since):
            break
    chosen = found[:most]
    own = [each.version for each in chosen if each.operation in BRINGS_ITS_OWN]
    paths: dict[int, list[str]] = {version: [] for version in own}
    for file in store.files_of_versions(tx, table.table_id, own) if own else ():
        paths[file.added_version].append(file.file_path)
    return [_past(tx, table, each, paths.get(each.version)) for each in chosen], len(found) > most


def _past(tx: Transaction, table: Table, snapshot: Snapshot, paths: list[str] | None) -> Past:
    """A load, with its own files if they hold no other rows. All files of a version, which may be many, are found when it is its turn."""
    known = store.metadata(tx, table, snapshot.schema_version) if paths is not None else None
    view = View(table, snapshot.version, known.schema, store.layout_of(known), paths) if known and paths is not None else None
    return Past(table.name, snapshot, view)


def attempt(context: Context, suite: Suite, loads: Sequence[Past]) -> Iterator[Tried]:
    """What the suite would have found in each, one after the other, as if it had been looked at when it was committed."""
    for each in loads:
        about = (each.snapshot.version, each.snapshot.committed_at, each.snapshot.operation, each.own is None)
        try:
            yield Tried(*about, _evaluated(context, suite, each))
        except (Failed, NotFound) as error:
            yield Tried(*about, problem=str(error))


def _evaluated(context: Context, suite: Suite, load: Past) -> SuiteResult:
    view = load.own
    if view is None:
        with context.store.read() as tx:
            view = store.view(tx, load.name, load.snapshot.version)
    with translating():
        frame = read(context.spark, view.placed(context.warehouse))
        return evaluate(context, frame, suite, str(load.name), now=load.snapshot.committed_at)
