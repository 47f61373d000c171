"""One moment for all tables of a tenant: tables are published one by one, so one may be ahead of another that it was made with or from.

Whatever is ahead goes back to a version that fits, if its sources bring again what is left out; where nothing fits, a position is left out,
and the load that needs it refuses to run instead of losing rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lakeledger import codec
from lakeledger.rebuilding.model import Found, Lost, Move, Position, Rebuilt, SourceFileRow, Version, plural
from lakeledger.rebuilding.reading import read_table
from lakeledger.sync import FilesPosition
from lakeledger.tables.change import prefix_of
from lakeledger.tables.model import NO_NEWS

Tables = dict[str, Rebuilt]

# What is published follows its commit within moments. A table that is further behind was not published with the other at all: then the
# other does not go back for it.
MOST_BACK = 10
FULL_REFRESH = "load it with a full refresh: until then its load refuses to run"


def prove(found: Sequence[tuple[Found, Rebuilt]]) -> tuple[list[Rebuilt], list[Lost]]:
    """The tables of one tenant. Newer metadata without a hint is taken if another table's proves that it was committed."""
    tables = {codec.fold(str(table.name)): (each, table) for each, table in found}
    while True:
        wanted = _wanted(table for _, table in tables.values())
        taken = False
        for key, (each, table) in list(tables.items()):
            number, snapshot_id = wanted.get(key, (0, None))
            proven = _last([newer for newer in each.newer if newer.document["last-sequence-number"] == number])
            if number > table.current.version and len(proven) == 1 and snapshot_id in (None, read_table(proven[0]).current.snapshot_id):
                others = tuple(newer for newer in each.newer if newer is not proven[0])
                tables[key] = replace(proven[0], newer=others), read_table(proven[0])
                taken = True
        if not taken:
            break
    lost: list[Lost] = []
    for each, table in tables.values():
        newer = [found for found in each.newer if found.document["last-sequence-number"] > table.current.version]
        lost += [_unproven(table, found) for found in newer]
    return [table for _, table in tables.values()], lost


def _last(found: Sequence[Found]) -> list[Found]:
    """Those that no other of them goes on from: a version may have been published again, with other tags."""
    logged = {entry["metadata-file"].rpartition("/")[2] for each in found for entry in each.document["metadata-log"]}
    return [each for each in found if each.path.rpartition("/")[2] not in logged]


def _wanted(tables: Iterable[Rebuilt]) -> dict[str, tuple[int, str | None]]:
    wanted: dict[str, tuple[int, str | None]] = {}
    for version in (version for table in tables for version in table.versions):
        for name, at in version.needs.items():
            wanted[codec.fold(name)] = max(at, wanted.get(codec.fold(name), (0, None)), key=lambda each: each[0])
    return wanted


def _unproven(table: Rebuilt, newer: Found) -> Lost:
    snapshot = newer.document["snapshots"][-1]["summary"]
    files, rows = plural(int(snapshot.get("added-data-files", 0)), "file"), plural(int(snapshot.get("added-records", 0)), "row")
    return Lost(
        str(table.name),
        f"version {newer.document['last-sequence-number']} ({files}, {rows}), whose metadata {newer.path} was staged: nothing "
        "proves that it was committed",
        "its source loads the rows again; rows that no source brings again are in those files",
    )


def hosted(tables: Sequence[Rebuilt]) -> tuple[list[Rebuilt], list[Lost]]:
    """The tables without those that live beside one which was never published: all of it is loaded again, and so is what was set aside."""
    known = {table.name.folder for table in tables}
    alone = [table for table in tables if prefix_of(table.name, table.location) and table.location not in known]
    lost = [
        Lost(str(table.name), f"it was set aside from {table.location.replace('/', '.')}, which was never published", "it is loaded again")
        for table in alone
    ]
    return [table for table in tables if table not in alone], lost


def cut(tables: Sequence[Rebuilt]) -> tuple[list[Rebuilt], list[Lost], set[tuple[str, str]]]:
    """The tables at versions that fit together, what is left out for it, and sources whose positions must not come back."""
    at: Tables = {codec.fold(str(table.name)): table for table in tables}
    lost: list[Lost] = []
    refused: set[tuple[str, str]] = set()
    looked: set[tuple[str, int]] = set()
    while ahead := next((each for each in _ahead(at) if (each[0], each[1].version) not in looked), None):
        key, version, name, number = ahead
        table, other = at[key], at[codec.fold(name)]
        because = f"it needs version {number} of {other.name}, of which {other.current.version} is the newest that came back"
        # Versions that nobody published came with the one that was published after them, and go with it.
        published = [each.version for each in table.versions if each.version < version.version and each.manifest_list]
        staying = [each for each in table.versions if published and each.version <= published[-1]]
        leaving = table.versions[len(staying) :]
        moved = {move.table_version for each in leaving for move in each.moves}
        missing = range(staying[-1].version + 1 if staying else 1, leaving[-1].version + 1)
        silent = {each.version for each in (*leaving, *table.expired) if each.operation in NO_NEWS}
        if staying and all(each in moved or each in silent for each in missing) and len(leaving) <= MOST_BACK:
            at[key] = _gone_back(table, staying[-1].version)
            numbers = ", ".join(str(each.version) for each in leaving)
            lost.append(Lost(str(table.name), f"version {numbers}: {because}", "its source loads the rows again with the next run"))
            continue
        looked.add((key, version.version))
        reading = [move for move in version.moves if move.kind == "versions" and name in move.data["versions"]]
        refused |= {move.key for move in reading}
        if reading:
            lost.append(Lost(reading[0].source, f"its position: {because}", FULL_REFRESH))
        else:
            lost.append(Lost(str(other.name), f"version {number}, made together with version {version.version} of {table.name}"))
    for move in (move for table in at.values() for move in table.known if move.key not in refused):
        if any(not _is_there(at.get(codec.fold(name)), *needed) for name, needed in move.read.items()):
            refused.add(move.key)
            lost.append(Lost(move.source, "its position: a version that it has read did not come back", FULL_REFRESH))
    return list(at.values()), lost, refused


def _is_there(table: Rebuilt | None, number: int, snapshot_id: str | None) -> bool:
    """Whether a table has come back with that version, and it is that very one: a rebuilt ledger may have made another of its number."""
    if table is None:
        return True
    known = next((each.snapshot_id for each in (*table.versions, *table.expired) if each.version == number), snapshot_id)
    return table.current.version >= number and snapshot_id in (None, known)


def _ahead(at: Tables) -> Iterable[tuple[str, Version, str, int]]:
    for key, table in at.items():
        for version in table.versions:
            for name, (number, snapshot_id) in version.needs.items():
                if not _is_there(at.get(codec.fold(name)), number, snapshot_id):
                    yield key, version, name, number


def _gone_back(table: Rebuilt, upto: int) -> Rebuilt:
    """The table as it was at a version. What is published of it is newer, so it is published anew."""
    versions = [each for each in table.versions if each.version <= upto]
    files = [
        replace(file, removed_version=None if file.removed_version and file.removed_version > upto else file.removed_version)
        for file in table.files
        if file.added_version <= upto
    ]
    return replace(
        table,
        versions=versions,
        expired=[each for each in table.expired if each.version < upto],
        files=files,
        schemas=[each for each in table.schemas if each.number <= versions[-1].schema_version],
        tags={name: version for name, version in table.tags.items() if version <= upto},
        known=[move for move in table.known if move.table_version <= upto],
        metadata_location=None,
        previous_location=None,
    )


def positions(tables: Sequence[Rebuilt], refused: set[tuple[str, str]]) -> tuple[list[Position], list[Lost]]:
    """Where each source stands, with its history as far as it is known, and the sources whose position does not come back."""
    found: dict[tuple[str, str], dict[int, Move]] = {}
    for table in tables:
        for move in (*(move for version in table.versions for move in version.moves), *table.known):
            found.setdefault(move.key, {}).setdefault(move.version, move)
    back: list[Position] = []
    lost: list[Lost] = []
    for key, moves in sorted(found.items()):
        if key in refused:
            continue
        last = moves[max(moves)]
        history = [moves[version] for version in sorted(moves)]
        told = [_read(key, table.notes, moves, last.version) for table in tables] if last.kind == FilesPosition.kind else [[]]
        files = next((each for each in told if _agrees(last, each)), None)
        if files is None:
            lost.append(
                Lost(
                    last.source,
                    "its position: the list of files that it was read from did not come back as a whole",
                    FULL_REFRESH,
                )
            )
            continue
        back.append(Position(last, history, files))
    return back, lost


def _agrees(move: Move, files: Sequence[SourceFileRow]) -> bool:
    if move.kind != FilesPosition.kind:
        return True
    wanted = FilesPosition.of((file.path, file.content_hash) for file in files)
    return (wanted.count, wanted.digest) == (move.data["files"], move.data["digest"])


def _read(key: tuple[str, str], notes: Sequence[Mapping[str, Any]], moves: Mapping[int, Move], upto: int) -> list[SourceFileRow]:
    """The files that a source was read from, as its notes tell up to a version of its position."""
    read: dict[str, SourceFileRow] = {}
    mine = [note for note in notes if (note.get("source"), note.get("marker_type")) == key and note["version"] <= upto]
    for note in mine:
        move = moves.get(note["version"])
        match note["op"]:
            case "all":
                read = {file[0]: SourceFileRow(*file) for file in note["files"]}
            case "read":
                at = codec.to_text(move.at) if move else note.get("at", "")
                whole = [file if len(file) == 7 else [*file, at, note["run_id"]] for file in note["files"]]
                read |= {file[0]: SourceFileRow(*file) for file in whole}
            case "forgotten":
                read = {path: file for path, file in read.items() if path not in note["files"]}
            case "moved":
                gone = {old: read.pop(old) for old in note["files"] if old in read}
                for old, (path, size, modified_at) in note["files"].items():
                    if old in gone:
                        read[path] = replace(gone[old], path=path, size=size, modified_at=modified_at)
    return list(read.values())


def schemas(tables: Sequence[Rebuilt]) -> list[dict[str, Any]]:
    """The versions of source schemas, each once."""
    found = {(note["name_key"], note["version"]): note for table in tables for note in table.notes if note["op"] == "schema"}
    return [{name: value for name, value in found[key].items() if name != "op"} for key in sorted(found)]
