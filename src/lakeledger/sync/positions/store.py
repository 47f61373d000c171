"""Positions: compare-and-set, never backwards unless forced, and every value kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from lakeledger import clock, codec
from lakeledger.db import Row, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import Conflict, NotFound
from lakeledger.runs import Transition
from lakeledger.runs import store as run_store
from lakeledger.sync.kinds.order import have_one_order, order_class
from lakeledger.sync.model import Advance, Marker, MarkerChange, Source, SourceFile

sql = load("lakeledger.sync.positions")

_BY_NAME: pages.Key = {"name_key": str, "marker_type": str}


def find(tx: Transaction, source: Source) -> Marker | None:
    """Where that source stands, or None if it was never read."""
    row = tx.one(sql.find_marker, name_key=source.key, marker_type=source.marker_type)
    return Marker(**row) if row else None


def get(tx: Transaction, source: Source) -> Marker:
    """Where that source stands. Raises NotFound."""
    if marker := find(tx, source):
        return marker
    raise NotFound(f"no position for {source.name!r}: `lakeledger positions list` shows them")


def list_page(tx: Transaction, limit: int | None = None, after: str | None = None) -> Page[Marker]:
    """Every source's position, by name; `after` is the `next` of the page before."""
    return pages.read(tx, sql.list_markers, _BY_NAME, lambda row: Marker(**row), limit, after)


def history(tx: Transaction, source: Source, limit: int | None = None, after: str | None = None) -> Page[MarkerChange]:
    """The values the source's position had, newest first. Raises NotFound."""
    chosen = get(tx, source).id
    return pages.read(tx, sql.list_history, {"version": int}, lambda row: MarkerChange(**row), limit, after, marker_id=chosen)


def advance(tx: Transaction, move: Advance, by: str, run_id: str | None = None, appended_rows: int | None = None) -> Marker:
    """Move a position, with as many rows as the same commit appends.

    Raises Conflict if it is not where the caller thinks, or would go backwards.
    """
    current = find(tx, move.source)
    check(move, current)
    columns = {
        "position_kind": move.to.kind,
        "position_data": move.to.document(),
        "order_key": move.to.order_key,
        "sync_run_id": run_id,
    }
    if current is None:
        row = tx.one(sql.add_marker, id=clock.new_id(), **vars(move.source), name_key=move.source.key, **columns)
    else:
        row = tx.one(sql.move_marker, id=current.id, version=current.version, **columns)
    if row is None:
        raise Conflict(f"the position of {move.source.name} was moved by somebody else: read it and try again", retryable=True)
    marker = Marker(**row)
    tx.execute(
        sql.add_history,
        **columns,
        id=clock.new_id(),
        marker_id=marker.id,
        version=marker.version,
        updated_by=by,
        forced=move.force,
        reason=move.reason,
        appended_rows=appended_rows,
    )
    return marker


def remove(tx: Transaction, marker: Marker, reason: str | None, by: str) -> None:
    """Forget where a source stands, with its history and its files; that it was removed is kept. Raises Conflict if it has moved since."""
    name = marker.source.name
    if tx.one(sql.remove_marker, id=marker.id, version=marker.version) is None:
        raise Conflict(f"the position of {name} was moved by somebody else: look at it again, and try again", retryable=True)
    stood = f"it stood at version {marker.version}, {codec.to_json(marker.position_data)}"
    why = f"{reason}; {stood}" if reason else stood
    run_store.note_transition(tx, "position", _removal_id(marker.source), f"version {marker.version}", "REMOVED", why, by)


def removals(tx: Transaction, source: Source) -> list[Transition]:
    """When, why and by whom positions of that source were removed, the oldest first."""
    return run_store.transitions(tx, _removal_id(source))


def _removal_id(source: Source) -> str:
    return f"{source.key}:{source.marker_type}"


def stands_at(tx: Transaction, move: Advance) -> bool:
    """Whether the source is already where the move would bring it."""
    current = find(tx, move.source)
    return current is not None and (current.position_kind, current.position_data) == (move.to.kind, move.to.document())


def check(move: Advance, current: Marker | None) -> None:
    """Raise Conflict if the move is not allowed from where the source stands."""
    name, wanted = move.source.name, move.to.document()
    found = current.version if current else 0
    if move.expected_version is not None and move.expected_version != found:
        there = f"version {found}, {current.position_data}" if current else "not there"
        raise Conflict(f"the position of {name} is {there}; it cannot go from version {move.expected_version} to {wanted}", retryable=True)
    if current is None or move.force:
        return
    if current.position_kind != move.to.kind:
        raise Conflict(f"the position of {name} is a {current.position_kind}, not a {move.to.kind}: force the change if it is meant")
    if current.order_key and not move.to.order_key:
        raise Conflict(f"the position of {name} has an order that {wanted} lacks: declare its order, or force it if it is meant")
    if not move.to.follows(current.position):
        if not have_one_order(move.to.order_key, current.order_key):
            before, after = order_class(current.order_key), order_class(move.to.order_key)
            raise Conflict(
                f"the position of {name} is ordered as {before}, {current.position_data}, and cannot be compared with {wanted}, which is "
                f"{after}: order it by a field of one type, or force it if it is meant"
            )
        raise Conflict(f"the position of {name} would go back from {current.position_data} to {wanted}: force it if it is meant")


def files(tx: Transaction, marker: Marker, after: datetime | None = None) -> list[SourceFile]:
    """The files of that source that have been read, or only those read after that time."""
    return [_file(row) for row in tx.all(sql.list_files, marker_id=marker.id, after=after)]


def last_files(tx: Transaction, marker: Marker, limit: int | None, after: str | None) -> Page[SourceFile]:
    """The files of that source that have been read, the last name first; `after` is the `next` of the page before."""
    return pages.read(tx, sql.last_files, {"file_path": str}, _file, limit, after, marker_id=marker.id)


def _file(row: Row) -> SourceFile:
    return SourceFile(row["file_path"], row["file_size"], row["modified_at"], row["content_hash"])


def row_keys(tx: Transaction, marker: Marker) -> dict[str, str]:
    """By which the rows of a source's files are found in their table, by path, of those that were written so."""
    return {row["file_path"]: row["row_key"] for row in tx.all(sql.row_keys, marker_id=marker.id)}


def register_files(
    tx: Transaction, marker: Marker, read: Iterable[SourceFile], run_id: str, row_keys: Mapping[str, str] | None = None
) -> None:
    """Note that these files have been read; a file that is known gets its new identity, and the key of its new rows, if they have one."""
    keys = row_keys or {}
    tx.many(
        sql.put_file,
        (
            {
                "id": clock.new_id(),
                "marker_id": marker.id,
                "file_path": file.path,
                "file_size": file.size,
                "modified_at": file.modified_at,
                "content_hash": file.content_hash,
                "run_id": run_id,
                "row_key": keys.get(file.path),
            }
            for file in read
        ),
    )


def rename_files(tx: Transaction, marker: Marker, renamed: Mapping[str, SourceFile]) -> None:
    """Note the new paths of files, by their old ones. They were read when they were read: only where they are has changed."""
    # First out of the way: files may have swapped their names.
    aside = {path: clock.new_id() for path in renamed}
    tx.many(sql.set_file_aside, ({"marker_id": marker.id, "file_path": path, "aside": place} for path, place in aside.items()))
    tx.many(
        sql.rename_file,
        (
            {
                "marker_id": marker.id,
                "aside": aside[path],
                "file_path": file.path,
                "file_size": file.size,
                "modified_at": file.modified_at,
            }
            for path, file in renamed.items()
        ),
    )
