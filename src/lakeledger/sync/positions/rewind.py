"""Setting a source back on purpose: first a preview of what would be read again, then exactly that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from lakeledger import codec
from lakeledger.db import Transaction
from lakeledger.errors import Conflict, Invalid, NotFound
from lakeledger.sync.kinds import FilesPosition, Position, PositionLike, as_position
from lakeledger.sync.model import Advance, Marker, MarkerChange, Source, SourceFile
from lakeledger.sync.positions import store
from lakeledger.sync.positions.store import sql


@dataclass(frozen=True)
class Target:
    """Where to go back to: a version of the position, where it stood at a time, or a place. Exactly one of them."""

    version: int | None = None
    at: datetime | str | None = None
    to: PositionLike | None = None

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.version, self.at, self.to)) != 1:
            raise Invalid("say where to rewind to: a version, a time or a position, one of them")


@dataclass(frozen=True)
class Rewind:
    """What going back means: the moves that would be undone, and what would be read again.

    `appended_rows` are in the table, and the next run appends them a second time: exactly so many, `up to` so many if it goes back to
    a place between two moves, or `at least` so many if earlier moves were cleaned up.
    """

    source: Source
    current: Marker
    to: Position
    undone: list[MarkerChange]
    runs: int
    records: int
    files: list[SourceFile]
    appended_rows: int
    appended_bound: Literal["exactly", "up to", "at least"]

    @property
    def appended(self) -> str:
        """How many rows would come twice, in words."""
        bound = "" if self.appended_bound == "exactly" else f"{self.appended_bound} "
        return f"{bound}{self.appended_rows:,} row{'' if self.appended_rows == 1 else 's'}"

    @property
    def needs_reason(self) -> bool:
        """Whether rows come twice, as far as anybody knows."""
        return self.appended_rows > 0 or self.appended_bound == "at least"

    @property
    def distance(self) -> str | None:
        """How much lies between, in words, where the kind of position can tell."""
        return self.current.position.distance(self.to)


def preview(tx: Transaction, source: Source, target: Target) -> Rewind:
    """What a rewind would do. Raises NotFound, or Invalid if that is not behind where the source stands."""
    marker = store.get(tx, source)
    history = store.history(tx, source)[::-1]
    to, undone = _by_place(marker, history, as_position(target.to)) if target.to is not None else _by_version(marker, history, target)
    files: list[SourceFile] = []
    if isinstance(to, FilesPosition):
        to, files = _files_again(tx, marker, history, undone)
    again = tx.one(sql.count_runs_since, marker_id=marker.id, version=min(change.version for change in undone)) or {}
    return Rewind(
        source=source,
        current=marker,
        to=to,
        undone=undone,
        runs=int(again["runs"]),
        records=int(again["records"] or 0),
        files=files,
        appended_rows=appended_rows(undone),
        appended_bound=_bound(history, undone, to),
    )


def _bound(history: list[MarkerChange], undone: list[MarkerChange], to: Position) -> Literal["exactly", "up to", "at least"]:
    before = [change for change in history if change.version < undone[0].version]
    since = [change for change in history if change.version >= undone[0].version]
    if since[-1].version - (before[-1].version if before else 0) > len(since):
        return "at least"
    return "exactly" if isinstance(to, FilesPosition) or to.document() in [change.position_data for change in before] else "up to"


def appended_rows(undone: Iterable[MarkerChange]) -> int:
    """How many rows the moves have appended that a run would make again: not those that an earlier rewind already took back."""
    standing: list[MarkerChange] = []
    for change in undone:
        if change.forced:
            standing = [each for each in standing if each.position_kind != change.position_kind or change.position.follows(each.position)]
        standing.append(change)
    return sum(change.appended_rows or 0 for change in standing)


def move_back(plan: Rewind, reason: str | None, *, takes_back: bool = False) -> Advance:
    """The move that does what the preview said, also with its batches. Raises Invalid if rows would come twice for no reason."""
    if plan.needs_reason and not takes_back and not (reason or "").strip():
        unknown = "; older moves were cleaned up, so nobody knows how many more" if plan.appended_bound == "at least" else ""
        raise Invalid(
            f"{plan.source.name} appends: the next run would append {plan.appended} a second time, which its table already has{unknown}; "
            "if that is meant, give a reason (--reason), or take its batches back (--take-back)"
        )
    why = f"rewound from version {plan.current.version}{', its batches taken back' if takes_back else ''}"
    why += f": {reason}" if reason else ""
    return Advance(plan.source, plan.to, plan.current.version, force=True, reason=why)


def apply(tx: Transaction, plan: Rewind, move: Advance, by: str) -> Marker:
    """Do what the preview said. Raises Conflict if the source has moved since."""
    forget_files(tx, plan)
    try:
        return store.advance(tx, move, by)
    except Conflict as error:
        raise Conflict(f"{error}; look at a new preview first", retryable=True) from error


def forget_files(tx: Transaction, plan: Rewind) -> None:
    """The files that are to be read again were never read."""
    if plan.files:
        tx.many(sql.forget_file, ({"marker_id": plan.current.id, "file_path": file.path} for file in plan.files))


def _by_version(marker: Marker, history: list[MarkerChange], target: Target) -> tuple[Position, list[MarkerChange]]:
    if target.at is not None:
        at = codec.to_moment(target.at)
        kept = [change for change in history if change.updated_at <= at]
        missing = f"{marker.source.name} has no position of {at.isoformat()} or before: its first is of {history[0].updated_at}"
    else:
        kept = [change for change in history if change.version == target.version]
        missing = f"{marker.source.name} has no version {target.version} of its position: it has {history[0].version} to {marker.version}"
    if not kept:
        raise NotFound(missing)
    back = kept[-1]
    undone = [change for change in history if change.version > back.version]
    if not undone:
        raise Invalid(f"{marker.source.name} already stands there, at version {marker.version}: there is nothing to rewind")
    if marker.position_kind == back.position_kind and not marker.position.follows(back.position):
        raise Invalid(f"{back.position_data} is not behind {marker.position_data}, where {marker.source.name} stands: use `positions set`")
    return back.position, undone


def _by_place(marker: Marker, history: list[MarkerChange], to: Position) -> tuple[Position, list[MarkerChange]]:
    if isinstance(to, FilesPosition):
        raise Invalid("a list of files is rewound to a version or a time, not to a position")
    undone = [change for change in history if change.position_kind == to.kind and not to.follows(change.position)]
    if marker.position_kind != to.kind or to.follows(marker.position):
        raise Invalid(f"{to.document()} is not behind {marker.position_data}, where {marker.source.name} stands: use `positions set`")
    return to, undone


def _files_again(
    tx: Transaction, marker: Marker, history: list[MarkerChange], undone: list[MarkerChange]
) -> tuple[FilesPosition, list[SourceFile]]:
    """The files that were read since, and where the source stands without them: a file that changed later is forgotten altogether."""
    back = next(change for change in reversed(history) if change.version < undone[0].version)
    again = {file.path for file in store.files(tx, marker, after=back.updated_at)}
    read = store.files(tx, marker)
    kept = FilesPosition.of(file.identity for file in read if file.path not in again)
    return kept, [file for file in read if file.path in again]
