"""What other engines see of tables as Delta: how far the log is, and which versions of the ledger become its next entries."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakeledger import clock
from lakeledger.db import Row, Store, Transaction
from lakeledger.errors import Conflict
from lakeledger.lake.delta import LogFile, Shape
from lakeledger.lake.delta.schema import to_delta
from lakeledger.lake.iceberg import Unpublishable
from lakeledger.tables import store
from lakeledger.tables.model import NO_NEWS, DeltaPublication, Table
from lakeledger.tables.store import sql

# So many versions that wait become one entry each; if there are more, neighbours that do the same are one.
MOST_AT_ONCE = 100
FILES_AT_A_TIME = 5_000


class LogMoved(Conflict):
    """Somebody else has moved the log on meanwhile: look again."""

    def __init__(self, table: object) -> None:
        super().__init__(f"the Delta log of {table} was moved on by somebody else meanwhile: retry", retryable=True)


@dataclass(frozen=True)
class Version:
    """A version that waits: its number, what it did, and whether others can see it: not if it has expired, or has no place in Delta."""

    number: int
    operation: str
    can_be_seen: bool = True


@dataclass(frozen=True)
class Stretch:
    """The versions after `low` up to `high`, which become one entry. `does` is append, replace or change: what its readers are told."""

    low: int
    high: int
    does: str

    @property
    def is_news(self) -> bool:
        """Whether there are other rows by it: if not, whoever follows the table reads nothing again."""
        return self.does != "replace"


def stretches(versions: Sequence[Version], since: int, most: int = MOST_AT_ONCE) -> list[Stretch]:
    """The next entries, in order. Each ends with a version that can be seen; what comes after the last of these waits.

    If there are too many, neighbours that do the same become one, and if there still are, all but the newest do.
    """
    found: list[Stretch] = []
    low, group = since, list[str]()
    for version in versions:
        group.append(version.operation)
        if version.can_be_seen:
            found.append(Stretch(low, version.number, _does(group)))
            low, group = version.number, []
    if len(found) > most:
        found = _merged(found)
    if len(found) > most:
        first = found[: len(found) - most + 1]
        found = [Stretch(first[0].low, first[-1].high, _both([each.does for each in first])), *found[len(first) :]]
    return found


def _does(operations: Collection[str]) -> str:
    """What some versions do together. A column that is added or renamed changes no row, whatever it goes with."""
    words = {_word(operation) for operation in operations if operation != "alter"} or {"replace"}
    return words.pop() if len(words) == 1 else "change"


def _word(operation: str) -> str:
    return "replace" if operation in NO_NEWS else "append" if operation == "append" else "change"


def _both(words: Sequence[str]) -> str:
    return words[0] if len(set(words)) == 1 else "change"


def _merged(found: Sequence[Stretch]) -> list[Stretch]:
    made: list[Stretch] = []
    for each in found:
        if made and made[-1].does == each.does:
            made[-1] = Stretch(made[-1].low, each.high, each.does)
        else:
            made.append(each)
    return made


def find(tx: Transaction, table: Table) -> DeltaPublication | None:
    """What is published of the table as Delta, or None if nothing ever was."""
    row = tx.one(sql.find_delta, table_id=table.table_id)
    return DeltaPublication(**row) if row else None


def plan(tx: Transaction, table: Table, since: int) -> list[Stretch]:
    """The entries that are due after a version. Raises Unpublishable if the current version has no place in Delta."""
    if why := _why_not_here(tx, table):
        raise Unpublishable(why)
    rows = tx.all(sql.versions_since, table_id=table.table_id, version=since)
    problems = _problems(tx, table, {row["schema_version"] for row in rows if row["is_kept"]})
    versions = [Version(row["version"], row["operation"], bool(row["is_kept"]) and not problems[row["schema_version"]]) for row in rows]
    found = stretches(versions, since)
    if versions and not found and (why := problems[rows[-1]["schema_version"]]):
        raise Unpublishable(why)
    return found


def between(tx: Transaction, table: Table, low: int, high: int) -> Stretch:
    """What the versions after one do together, up to another."""
    rows = tx.all(sql.versions_since, table_id=table.table_id, version=low)
    return Stretch(low, high, _does([row["operation"] for row in rows if row["version"] <= high]))


def _problems(tx: Transaction, table: Table, wanted: Collection[int]) -> dict[int, str | None]:
    """Why schema versions have no place in Delta; None for those that do."""
    known = tx.all(sql.schemas_of, table_id=table.table_id) if wanted else []
    found: dict[int, str | None] = dict.fromkeys(wanted)
    for version in wanted:
        try:
            _shape(table, known, version)
        except Unpublishable as error:
            found[version] = str(error)
    return found


def shape_at(tx: Transaction, table: Table, schema_version: int) -> Shape:
    """The table's columns at a schema version. Raises Unpublishable."""
    return _shape(table, tx.all(sql.schemas_of, table_id=table.table_id), schema_version)


def _shape(table: Table, known: Sequence[Row], schema_version: int) -> Shape:
    rows = [row for row in known if row["schema_version"] <= schema_version]
    if rows[-1]["format"] != "parquet":
        raise Unpublishable(f"Delta has no {rows[-1]['format']} files: write {table.name} as parquet to publish it")
    return to_delta([row["schema"] for row in rows])


def _why_not_here(tx: Transaction, table: Table) -> str | None:
    known = store.metadata(tx, table)
    is_at_home = f"/{table.location}".endswith(f"/{table.name.folder}") or (known is not None and known.adopted_version is not None)
    if is_at_home:
        return None
    return f"the rows of {table.name} are in the folder of another table, which can have one Delta log: read it through Iceberg"


def reserve(tx: Transaction, table: Table, seen: DeltaPublication | None, version: int, number: int) -> DeltaPublication:
    """Say that a version will be the log's entry with that number. Raises LogMoved if somebody else has said or done something."""
    told = {"target_version": version, "target_delta": number, "log_id": seen.log_id if seen and number else clock.new_id()}
    expected = {"delta_version": seen.delta_version if seen else None, "seen_target": seen.target_delta if seen else None}
    row = tx.one(sql.reserve_delta, table_id=table.table_id, **told, **expected)
    if row is None:
        raise LogMoved(table.name)
    return DeltaPublication(**row)


def point(tx: Transaction, table: Table, reserved: DeltaPublication) -> DeltaPublication | None:
    """Note that the entry is written. If somebody else was faster with the same one, theirs counts: None."""
    target = {"target_version": reserved.target_version, "target_delta": reserved.target_delta}
    row = tx.one(sql.point_delta, table_id=table.table_id, **target)
    if row is None:
        return None
    tx.execute(sql.publish_delta_snapshot, table_id=table.table_id, version=row["version"], delta_version=row["delta_version"])
    return DeltaPublication(**row)


def forget_unless_published(tx: Transaction, table: Table, formats: Collection[str]) -> None:
    """If the table is not published as Delta, keep no version for its log. That stays as it is, and goes on if the table is again."""
    if "delta" not in formats:
        tx.execute(sql.forget_delta, table_id=table.table_id)


def begin_anew(tx: Transaction, table: Table) -> None:
    """Forget a log that is gone."""
    tx.execute(sql.begin_delta_anew, table_id=table.table_id)
    tx.execute(sql.forget_delta_versions, table_id=table.table_id)


def note_checkpoint(tx: Transaction, table: Table, number: int) -> None:
    """Note that readers need no entry before that one."""
    tx.execute(sql.set_delta_checkpoint, table_id=table.table_id, checkpoint_version=number)


def note_problem(tx: Transaction, table: Table, problem: str) -> None:
    """Keep why the table's version is not published."""
    told = {"version": table.current_version, "problem": problem, "log_id": clock.new_id()}
    tx.execute(sql.note_delta_problem, table_id=table.table_id, **told)


def oldest(tx: Transaction, table: Table) -> int | None:
    """The oldest entry of the log that is a version which the ledger keeps."""
    row = tx.one(sql.oldest_delta_version, table_id=table.table_id)
    return row["delta_version"] if row else None


def came(handle: Store, table: Table, low: int, high: int) -> Iterator[LogFile]:
    """The files of a version that came after an earlier one, some at a time."""
    after: dict[str, Any] = {}
    while True:
        chosen = {"table_id": table.table_id, "low": low, "high": high, "page_size": FILES_AT_A_TIME, **after}
        with handle.read() as tx:
            rows = tx.all(sql.files_between, **chosen)
        for row in rows:
            yield LogFile(row["file_path"], row["file_size"], row["row_count"], row["column_bounds"], _ms(row["modified_at"]))
        if len(rows) < FILES_AT_A_TIME:
            return
        after = {"after_added_version": rows[-1]["added_version"], "after_file_path": rows[-1]["file_path"]}


def gone(tx: Transaction, table: Table, low: int, high: int) -> list[tuple[str, int]]:
    """The paths and sizes of the files of a version that a later one no longer has."""
    rows = tx.all(sql.paths_gone_between, table_id=table.table_id, low=low, high=high)
    return [(row["file_path"], row["file_size"]) for row in rows]


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1_000)
