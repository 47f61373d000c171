"""Registry, storage and what other engines see, after any work with any failures: what differs is found and nothing else, and is repaired.

The oracle of what is published is pyiceberg; that of files is what the test itself did to them.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakeledger
from contract.keeping import ORDERS, overwrite, put, read
from contract.making import execute
from iceberg_readers import catalog
from lakeledger import LakeledgerError, Ledger, failpoints
from lakeledger.maintenance.repair import Checked
from lakeledger.tables import Files, Partitions, store
from lakeledger.tables.model import DataFile
from lakeledger.testing import raise_at

OLD_SECONDS = 2 * 3600
NOTHING = timedelta(0)
CRASHES = (failpoints.AFTER_STAGE, failpoints.IN_TRANSACTION)


class Crash(Exception):
    """Something that nobody expects."""


@dataclass
class World:
    """A table, the rows that its versions should have, and what was done to its files behind the ledger's back, by their paths."""

    ledger: Ledger
    rows: dict[int, list[int]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    strange: set[str] = field(default_factory=set)
    orphans: set[str] = field(default_factory=set)
    miscounted: bool = False
    numbers: count[int] = field(default_factory=lambda: count(1))

    @property
    def folder(self) -> Path:
        return Path(self.ledger.tables.get(ORDERS).location)

    @property
    def current(self) -> list[int]:
        return self.rows[max(self.rows)] if self.rows else []

    def made(self, rows: list[int]) -> None:
        self.rows[max(self.rows, default=0) + 1] = sorted(rows)

    def on_disk(self) -> set[str]:
        found = (path.relative_to(self.folder) for path in self.folder.glob("data/**/*") if path.is_file())
        return {str(path) for path in found if not path.name.startswith(".")}

    def known(self) -> dict[str, DataFile]:
        with self.ledger.store.read() as tx:
            return {file.file_path: file for file in store.files(tx, store.get(tx, self.ledger.tables.get(ORDERS).name))}

    def execute(self, statement: str) -> None:
        execute(self.ledger, statement, id=self.ledger.tables.get(ORDERS).table_id)

    def kept(self) -> list[int]:
        return [each.version for each in self.ledger.tables.history(ORDERS)]

    def needed(self, path: str) -> list[int]:
        """The versions that are kept and have that file."""
        file = self.known()[path]
        return [
            each for each in self.kept() if file.added_version <= each and (file.removed_version is None or each < file.removed_version)
        ]


def work(world: World, step: str, number: int, mode: str) -> None:
    """Something that people do."""
    ledger, new = world.ledger, next(world.numbers)
    match step:
        case "append":
            put(ledger, [new], mode=mode)
            world.made([*world.current, new])
        case "overwrite":
            overwrite(ledger, [new], mode=mode)
            world.made([new])
        case "overwrite partition":
            put(ledger, [new], mode=mode, operation="overwrite", retires=Partitions(frozenset([""])))
            world.made([new])
        case "replace":
            live = frozenset(ledger.tables.view(ORDERS).file_paths)
            put(ledger, world.current, mode=mode, operation="replace", retires=Files(live))
            world.made(world.current)
        case "columns":
            ledger.publisher.set_mode(ORDERS, mode)
            ledger.columns.add(ORDERS, "note", "string")
            ledger.columns.rename(ORDERS, "note", "remark")
            ledger.columns.drop(ORDERS, "remark")
            for _ in range(3):
                world.made(world.current)
        case "tag":
            version = world.kept()[number % len(world.kept())]
            ledger.snapshots.tag(ORDERS, f"t{version}", version)
        case "publish":
            ledger.publisher.publish(ORDERS)
        case _:
            maintain(world, step, number)


def maintain(world: World, step: str, newest: int) -> None:
    """Versions expire; what cannot be done because of what was done to files is said, and the rest is done."""
    ledger = world.ledger
    ledger.snapshots.set_policy(ORDERS, keep_versions=newest)
    act = ledger.maintenance.expire if step == "expire" else ledger.maintenance.maintain
    act(apply=True)
    kept = set(world.kept())
    world.rows = {version: rows for version, rows in world.rows.items() if version in kept}
    if step == "maintain":
        assert not world.orphans & world.on_disk()
        world.orphans.clear()


def fail(world: World, step: str, number: int, mode: str) -> None:
    """Something that goes wrong."""
    folder, live = world.folder, sorted(world.on_disk() & world.known().keys())
    path = live[number % len(live)] if live else None
    match step:
        case "crash":
            crash(world, CRASHES[number % 2], mode)
        case "storage fails":
            fail_storage(world)
        case "delete" if path:
            (folder / path).unlink()
            world.deleted.add(path)
        case "change" if path:
            (folder / path).write_bytes(b"other rows")
            world.changed.add(path)
        case "add":
            strange = f"data/mine/{next(world.numbers)}.parquet"
            (folder / "data/mine").mkdir(parents=True, exist_ok=True)
            (folder / strange).write_bytes(b"x")
            world.strange.add(strange)
        case "lose metadata":
            for piece in sorted(folder.glob("metadata/*"))[-number:]:
                piece.unlink()
        case "miscount":
            world.execute("update tables set row_count = row_count + 7 where table_id = :id")
            world.miscounted = True
        case "rename tag":
            world.execute("update table_tags set name = 'x' || name where table_id = :id")


def fail_storage(world: World) -> None:
    """A write finds that metadata cannot be written."""
    place, aside, before = world.folder / "metadata", world.folder / "elsewhere", world.on_disk()
    if was_there := place.exists():
        place.rename(aside)
    place.write_bytes(b"no folder")
    with pytest.raises((LakeledgerError, OSError)):
        overwrite(world.ledger, [next(world.numbers)], mode="sync")
    abandon(world, before)
    place.unlink()
    if was_there:
        aside.rename(place)


def crash(world: World, point: str, mode: str) -> None:
    before = world.on_disk()
    with suppress(Crash), raise_at(point, Crash()):
        put(world.ledger, [next(world.numbers)], mode="sync" if point == failpoints.AFTER_STAGE else mode)
        pytest.fail(f"{point} was not reached")
    abandon(world, before)


def abandon(world: World, before: set[str]) -> None:
    """What a failed write left is old by now."""
    left = world.on_disk() - before
    past = time.time() - OLD_SECONDS
    for path in left:
        os.utime(world.folder / path, (past, past))
    world.orphans |= left


def published_is_wrong(world: World) -> bool:
    """Whether what pyiceberg sees is not what the registry says of that version."""
    seen = world.ledger.tables.publication(ORDERS)
    if seen is None or seen.metadata_location is None:
        return False
    try:
        with catalog(world.ledger) as opened:
            table = opened.load_table(ORDERS)
            paths = {task.file.file_path for task in table.scan().plan_files()}
    except OSError:
        return True
    view = world.ledger.tables.view(ORDERS, seen.version)
    versions = {snapshot.snapshot_id: snapshot.sequence_number for snapshot in table.metadata.snapshots}
    tags = {name: versions[ref.snapshot_id] for name, ref in table.metadata.refs.items() if name != "main"}
    ours = {tag.name: tag.version for tag in world.ledger.snapshots.tags(ORDERS) if tag.version in versions.values()}
    return paths != set(view.paths) or not set(versions.values()) <= set(world.kept()) or tags != ours


def expected(world: World) -> list[tuple[str, str]]:
    """What is wrong, by kind and path."""
    known, disk = world.known(), world.on_disk()
    counted = {path: file for path, file in known.items() if file.removable_since is None}
    found = [("missing", path) for path in world.deleted & counted.keys() - disk]
    found += [("changed", path) for path in world.changed & counted.keys() & disk]
    found += [("untracked", path) for path in (world.strange | world.orphans) & disk - known.keys()]
    found += [("statistics", "")] if world.miscounted else []
    return sorted(found + ([("published", "")] if published_is_wrong(world) else []))


def told(checked: Checked) -> list[tuple[str, str]]:
    return sorted((each.problem, "" if each.problem == "published" else each.path) for each in checked.defects)


def check(world: World) -> None:
    ledger = world.ledger
    wrong = expected(world)
    assert told(ledger.repair.verify(ORDERS)) == wrong
    lost = {path for path in world.deleted | world.changed if ("missing", path) in wrong or ("changed", path) in wrong}
    lost = {path for path in lost if world.needed(path)}
    for defect in ledger.repair.verify(ORDERS, apply=True).defects:
        is_for_people = defect.path in lost | world.strange
        assert defect.repaired is (None if is_for_people else True), defect
    left = told(ledger.repair.verify(ORDERS))
    assert {path for _, path in left} == lost | (world.strange & world.on_disk())
    assert not published_is_wrong(world)
    for version in world.kept():
        if not lost & set(ledger.tables.view(ORDERS, version).file_paths):
            assert read(ledger, version) == world.rows[version]
    registered = {path for path, file in world.known().items() if file.removable_since is None}
    assert registered - lost <= world.on_disk()
    assert world.on_disk() - world.known().keys() == world.strange & world.on_disk()


WORK = ["append", "overwrite", "overwrite", "overwrite partition", "replace", "columns", "tag", "expire", "maintain", "publish"]
FAILURES = ["crash", "storage fails", "delete", "change", "add", "lose metadata", "miscount", "rename tag"]
STEPS = st.lists(
    st.tuples(st.sampled_from([*WORK, *FAILURES]), st.integers(1, 3), st.sampled_from(["sync", "sync", "async"])), min_size=2, max_size=12
)


def test_what_is_wrong_is_found_and_nothing_else_and_is_repaired(url: str, tmp_path: Path) -> None:
    tenants = count()

    @settings(max_examples=settings().max_examples * 4 // 5, suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def any_sequence(steps: list[tuple[str, int, str]]) -> None:
        tenant = f"t{next(tenants)}"
        with lakeledger.open(url, tenant=tenant, warehouse=str(tmp_path / "warehouse"), metadata="sync") as ledger:
            ledger.snapshots.set_policy("", keep_for=NOTHING, grace=NOTHING)
            world = World(ledger)
            work(world, "append", 1, "sync")
            for step, number, mode in steps:
                act: Any = work if step in WORK else fail
                act(world, step, number, mode)
            check(world)

    any_sequence()
