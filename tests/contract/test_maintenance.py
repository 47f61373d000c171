"""Files and metadata that nobody needs go, in two phases; nothing that a kept version needs ever does. Files are real."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakeledger
from contract.keeping import ORDERS, files, let_pass, overwrite, put, read, write
from contract.making import execute, expire_lease, rows
from iceberg_readers import READERS, catalog
from lakeledger import Conflict, Ledger, clock, failpoints
from lakeledger.errors import Failed
from lakeledger.lake.storage import Storage
from lakeledger.maintenance import published, retired
from lakeledger.maintenance.model import Care
from lakeledger.tables import Files
from lakeledger.testing import raise_at

DAY = timedelta(days=1)


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    """Versions are kept for a day, and what nobody needs for another one."""
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        opened.snapshots.set_policy("", keep_versions=1, keep_for=DAY, grace=DAY)
        yield opened


def maintain(ledger: Ledger, *names: str, apply: bool = True) -> Care:
    """What was done for the one table; the checksums of its background are left to it."""
    (care,) = ledger.maintenance.maintain(names, apply=apply).tables
    assert care.problems == []
    return care


def data(ledger: Ledger, *versions: int) -> set[str]:
    """The files of these versions."""
    return {path for version in versions for path in ledger.tables.view(ORDERS, version).file_paths}


def test_files_of_expired_versions_are_marked_and_go_after_the_grace_time(ledger: Ledger) -> None:
    for number in range(1, 5):
        overwrite(ledger, [number])
    ledger.snapshots.tag(ORDERS, "june", 2)
    let_pass(ledger, 5)
    before, kept = files(ledger), data(ledger, 2, 4)
    dry = maintain(ledger, apply=False)
    assert (dry.expired, dry.dropped, dry.marked.files, dry.removed.files) == ([1, 3], [1, 3], 2, 0)
    assert (files(ledger), rows(ledger, "select 1 from table_files where removable_since is not null")) == (before, [])
    done = maintain(ledger)
    assert (done.expired, done.dropped, done.marked.files, done.removed.files, done.waiting.files) == ([1, 3], [1, 3], 2, 0, 2)
    assert files(ledger) == before
    assert ledger.tables.verify(ORDERS).ok
    let_pass(ledger, 2)
    assert maintain(ledger, apply=False).removed.files == 2
    done = maintain(ledger)
    assert (done.removed.files, done.marked.files, done.waiting.files) == (2, 0, 0)
    assert files(ledger) == kept
    assert (read(ledger), read(ledger, 2)) == ([4], [2])
    assert ledger.tables.verify(ORDERS).ok
    assert maintain(ledger).has_done is False


def test_who_removed_what_and_when_is_kept(ledger: Ledger) -> None:
    for number in range(1, 4):
        overwrite(ledger, [number])
    gone = data(ledger, 1, 2)
    let_pass(ledger, 5)
    ledger.maintenance.maintain(apply=True, by="ann")
    let_pass(ledger, 2)
    run_id = ledger.maintenance.maintain(apply=True, by="ann").run_id
    removal = ledger.records.latest(ORDERS, "file_removal")
    assert removal is not None
    assert set(removal.payload["paths"]) == gone
    assert (removal.payload["reason"], removal.payload["files"], removal.context.run_id) == ("retired", 2, run_id)
    run = ledger.runs.get(run_id or "")
    assert (run.run_kind, run.trigger_by, run.status) == ("maintenance", "ann", "COMPLETED")
    assert [step.step_name for step in ledger.runs.steps(run.id)] == [
        "expire",
        "unpublish",
        "retired files",
        "orphans",
        "metadata",
        "checksums",
    ]
    assert ledger.runs.steps(run.id)[2].metadata[ORDERS]["removed"]["files"] == 2


def test_what_other_engines_can_still_read_is_not_touched(ledger: Ledger) -> None:
    overwrite(ledger, [1])
    overwrite(ledger, [2])
    let_pass(ledger, 5)
    # Their metadata cannot be changed now: its folder is away.
    metadata = Path(ledger.tables.get(ORDERS).location, "metadata")
    metadata.rename(metadata.with_name("away"))
    (care,) = ledger.maintenance.maintain(apply=True).tables
    assert care.expired == [1]
    assert (care.marked.files, len(care.problems)) == (0, 2)
    assert "`lakeledger tables verify shop.orders --repair --apply` publishes it anew" in care.problems[0]
    metadata.with_name("away").rename(metadata)
    done = maintain(ledger)
    assert (done.dropped, done.marked.files) == ([1], 1)


def test_json_lines_are_maintained_alike(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("", grace=timedelta(0))
    for number in range(1, 4):
        overwrite(ledger, [number], format_="jsonl")
    let_pass(ledger, 5)
    done = maintain(ledger)
    assert (done.expired, done.dropped, done.removed.files) == ([1, 2], [], 2)
    assert (read(ledger), len(files(ledger))) == ([3], 1)


def test_a_file_that_another_table_in_the_same_place_knows_stays(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("", grace=timedelta(0))
    overwrite(ledger, [1])
    (shared,) = data(ledger, 1)
    overwrite(ledger, [2])
    # The rows that are set aside are in the folder of the table that they came from.
    with ledger.run("load"):
        put(ledger, [7], table="shop.orders__quarantine", location="shop/orders")
    aside = ledger.tables.view("shop.orders__quarantine").table.table_id
    execute(ledger, "update table_files set file_path = :path where table_id = :aside", path=shared, aside=aside)
    let_pass(ledger, 5)
    report = ledger.maintenance.maintain([ORDERS], apply=True)
    assert (report.tables[0].expired, report.tables[0].removed.files) == ([1], 1)
    assert shared in files(ledger)
    assert rows(ledger, "select 1 from table_files where table_id <> :aside and state = 'retired'", aside=aside) == []


def test_metadata_of_tables_in_the_same_place_is_kept_for_all_of_them(ledger: Ledger) -> None:
    put(ledger, [1])
    put(ledger, [7], table="shop.orders__quarantine", location="shop/orders")
    let_pass(ledger, 5)
    report = ledger.maintenance.maintain(apply=True)
    assert [each.metadata.files for each in report.tables] == [0, 0]
    with catalog(ledger) as opened:
        assert opened.load_table(ORDERS).scan().to_arrow()["id"].to_pylist() == [1]
        assert len(list(opened.load_table("shop.orders__quarantine").scan().plan_files())) == 1


def test_metadata_that_nobody_needs_is_swept_and_what_is_pointed_at_stays(ledger: Ledger) -> None:
    for number in range(1, 16):
        put(ledger, [number])
    folder = Path(ledger.tables.get(ORDERS).location, "metadata")
    staged = folder / f"00000016-{clock.new_id()}-abcdef01-table.metadata.json"
    staged.write_text("{}")
    strange = [folder / name for name in ("version-hint.text", "notes.metadata.json")]
    for each in strange:
        each.write_text("mine")
    let_pass(ledger, 5)
    young = folder / f"00000016-{clock.new_id()}-abcdef02-list.avro"
    young.write_text("")
    ledger.maintenance.expire(apply=True)
    dry = maintain(ledger, apply=False)
    present = {path.name for path in folder.iterdir()}
    done = maintain(ledger)
    gone = present - {path.name for path in folder.iterdir()}
    # Ten earlier ones are in the log, beside the current one, and what leads from them is kept as well.
    assert dry.metadata.files == done.metadata.files == len(gone)
    assert staged.name in gone
    assert young.exists()
    assert all(each.exists() for each in strange)
    assert {name.rpartition("-")[2] for name in gone} <= {"table.metadata.json", "list.avro"}
    for reader in READERS.values():
        found = ledger.tables.history(ORDERS)[0]
        assert sorted(reader(ledger, ORDERS, found.iceberg_snapshot_id or 0)["id"].to_pylist()) == list(range(1, 16))
    put(ledger, [16])
    let_pass(ledger, 5)
    maintain(ledger)
    with catalog(ledger) as opened:
        assert sorted(opened.load_table(ORDERS).scan().to_arrow()["id"].to_pylist()) == list(range(1, 17))


def test_metadata_that_is_about_to_be_pointed_at_stays_whatever_the_grace_time(ledger: Ledger) -> None:
    put(ledger, [1])
    ledger.snapshots.set_policy("", grace=timedelta(0))
    staged = Path(ledger.tables.get(ORDERS).location, "metadata", f"00000002-{clock.new_id()}-abcdef01-list.avro")
    staged.write_text("")
    assert maintain(ledger).metadata.files == 0
    table = ledger.tables.get(ORDERS)
    found = published.unneeded(ledger.store, [table], ledger.settings.s3, timedelta(0), timedelta(0))
    assert [file.name for file in found] == [staged.name]


def test_orphans_of_crashed_runs_go_too(ledger: Ledger) -> None:
    put(ledger, [1])
    with pytest.raises(Conflict), ledger.run("orders") as run:  # noqa: PT012 - what raises is the block of a run
        orphan = Path(ledger.tables.get(ORDERS).location, "data", run.id, "part-0.parquet")
        orphan.parent.mkdir(parents=True)
        orphan.write_bytes(b"rows")
        expire_lease(ledger, run.id)
        ledger.runs.recover()
    let_pass(ledger, 5)
    assert maintain(ledger, apply=False).orphans.files == 1
    assert orphan.exists()
    assert maintain(ledger, ORDERS).orphans.files == 1
    assert not orphan.exists()
    removal = ledger.records.latest(ORDERS, "file_removal")
    assert removal is not None
    assert (removal.payload["reason"], removal.payload["files"]) == ("orphan", 1)


def test_checksums_are_filled_in(ledger: Ledger) -> None:
    put(ledger, [1])
    put(ledger, [2])
    assert maintain(ledger, apply=False).checksums == 2
    assert maintain(ledger).checksums == 2
    assert [row["checksum"][:7] for row in rows(ledger, "select checksum from table_files")] == ["sha256:"] * 2
    assert maintain(ledger).checksums == 0


def test_a_tenant_maintains_its_own_tables_only(ledger: Ledger) -> None:
    other = ledger.for_tenant("other")
    for each in (ledger, other):
        each.snapshots.set_policy("", keep_versions=1, keep_for=DAY, grace=timedelta(0))
        overwrite(each, [1])
        overwrite(each, [2])
        each.snapshots.tag(ORDERS, "june")
        let_pass(each, 5)
    assert maintain(ledger).expired == [1]
    assert (len(files(ledger)), len(files(other)), read(other, 1)) == (1, 2, [1])
    assert [each.version for each in other.tables.history(ORDERS)] == [2, 1]
    other.close()


def test_two_do_not_maintain_at_once(ledger: Ledger) -> None:
    put(ledger, [1])
    with ledger.run("maintenance", kind="maintenance", exclusive=True), pytest.raises(Conflict, match="maintenance is already running"):
        ledger.maintenance.maintain(apply=True)


def test_what_cannot_be_removed_is_told_and_the_others_go_on(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("", grace=timedelta(0))
    for table in (ORDERS, "shop.items"):
        overwrite(ledger, [1], table=table)
        overwrite(ledger, [2], table=table)
    (path,) = ledger.tables.view("shop.items", 1).paths
    Path(path).unlink()
    Path(path, "not", "empty").mkdir(parents=True)
    let_pass(ledger, 5)
    items, orders = ledger.maintenance.maintain(apply=True).tables
    assert (orders.removed.files, orders.problems) == (1, [])
    assert items.removed.files == 0
    assert "cannot remove retired files: cannot delete" in items.problems[0]
    assert len(rows(ledger, "select 1 from table_files where removable_since is not null")) == 1


CHILD = """
import sys
from datetime import timedelta
import lakeledger
from lakeledger.maintenance import retired
from lakeledger.testing import kill_at

retired.FILES_AT_A_TIME = 2
with lakeledger.open(sys.argv[1], warehouse=sys.argv[2], metadata="sync") as ledger:
    kill_at(sys.argv[3])
    ledger.maintenance.maintain(apply=True)
"""


@pytest.mark.parametrize("point", failpoints.MAINTENANCE)
def test_a_process_that_is_killed_anywhere_leaves_work_for_the_next_one(ledger: Ledger, url: str, point: str) -> None:
    ledger.snapshots.set_policy("", grace=timedelta(0))
    for number in range(1, 8):
        overwrite(ledger, [number])
    ledger.snapshots.tag(ORDERS, "june", 3)
    let_pass(ledger, 5)
    kept = data(ledger, 3, 7)
    child = [sys.executable, "-c", CHILD, url, str(Path(ledger.warehouse).parent), point]
    assert subprocess.run(child, check=False, start_new_session=True).returncode == -signal.SIGKILL
    assert (read(ledger), read(ledger, 3)) == ([7], [3])
    assert ledger.tables.verify(ORDERS).ok
    with catalog(ledger) as opened:
        assert opened.load_table(ORDERS).scan().to_arrow()["id"].to_pylist() == [7]
    let_pass(ledger, 1)
    maintain(ledger)
    assert files(ledger) == kept
    assert len(rows(ledger, "select 1 from table_files")) == len(kept)
    assert (read(ledger), read(ledger, 3)) == ([7], [3])
    assert {each.version for each in ledger.tables.history(ORDERS)} == {3, 7}
    with catalog(ledger) as opened:
        assert [each.sequence_number for each in opened.load_table(ORDERS).metadata.snapshots] == [3, 7]
    staged = [path for path in files(ledger, "metadata") if path.endswith("table.metadata.json")]
    log = published.find(ledger.store, ledger.tables.get(ORDERS), ledger.settings.s3)
    assert log is not None
    assert len(staged) == 1 + len(log.base.document["metadata-log"])


def test_many_files_go_in_small_transactions(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("", grace=timedelta(0))
    made = put(ledger, [1])
    table = made.tables[0].table
    number = 3 * retired.FILES_AT_A_TIME + 7
    execute(
        ledger,
        """
        insert into table_files (id, tenant_id, table_id, file_name, file_path, file_size, file_type, partition_path, row_count,
               is_compressed, column_bounds, state, added_version, removed_version, run_id, iceberg_metadata_state, created_at, modified_at)
        with recursive n (n) as (select 1 union all select n + 1 from n where n < :number)
        select 'gone-' || n, tenant_id, table_id, 'f', 'data/gone/' || n, 10, 'parquet', '', 1, is_compressed, column_bounds, 'retired',
               1, 2, run_id, 'completed', created_at, modified_at
          from table_files, n where table_id = :table_id
        """,
        number=number,
        table_id=table.table_id,
    )
    overwrite(ledger, [2])
    let_pass(ledger, 5)
    done = maintain(ledger)
    assert (done.marked.files, done.removed.files, done.removed.bytes) == (number + 1, number + 1, done.marked.bytes)
    assert len(ledger.records.history(ORDERS, "file_removal")) == 4
    assert read(ledger) == [2]


# Of a commit: metadata is staged and nobody points at it; all is written and nothing is committed.
POINTS = (*failpoints.MAINTENANCE, failpoints.AFTER_STAGE, failpoints.IN_TRANSACTION)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 99)),
        st.tuples(st.just("overwrite"), st.integers(1, 99)),
        st.tuples(st.just("replace"), st.integers(0, 9)),
        st.tuples(st.just("tag"), st.integers(0, 9)),
        st.tuples(st.just("untag"), st.integers(0, 9)),
        st.tuples(st.just("maintain"), st.integers(0, 2)),
        st.tuples(st.just("crash"), st.sampled_from(POINTS)),
    ),
    min_size=3,
    max_size=14,
)


@pytest.mark.parametrize("format_", ["parquet", "jsonl"])
def test_whatever_is_kept_stays_readable_and_nothing_else_is_left(tmp_path: Path, format_: str) -> None:
    number = iter(range(1_000))

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def check(steps: list[tuple[str, Any]]) -> None:
        folder = tmp_path / str(next(number))
        with lakeledger.open(f"sqlite:///{folder}/ledger.db", warehouse=str(folder / "warehouse"), metadata="sync") as ledger:
            ledger.snapshots.set_policy("", keep_versions=2, keep_for=DAY, grace=timedelta(0))
            _random(ledger, steps, format_)

    check()


class Crash(Exception):
    """Something that nobody expects."""


def _crash(ledger: Ledger, point: str, format_: str) -> None:
    """Reach a point, if there is anything to do there, and no further."""
    with suppress(Crash), raise_at(point, Crash()):
        if point in failpoints.MAINTENANCE:
            ledger.maintenance.maintain(apply=True)
        else:
            overwrite(ledger, [77], format_=format_)
            pytest.fail(f"{point} was not reached")


def _random(ledger: Ledger, steps: list[tuple[str, Any]], format_: str) -> None:
    expected: dict[int, list[int]] = {}
    tags: dict[str, int] = {}

    def made(version: int, ids: list[int]) -> None:
        expected[version] = sorted(ids)

    made(put(ledger, [0], format_=format_).tables[0].version, [0])
    for what, value in steps:
        current = max(expected)
        alive = [each.version for each in ledger.tables.history(ORDERS)]
        chosen = alive[value % len(alive)] if isinstance(value, int) else 0
        if what == "crash":
            _crash(ledger, value, format_)
        elif what == "append":
            made(put(ledger, [value], format_=format_).tables[0].version, [*expected[current], value])
        elif what == "overwrite":
            made(overwrite(ledger, [value], format_=format_).tables[0].version, [value])
        elif what == "replace":
            live = frozenset(ledger.tables.view(ORDERS).file_paths)
            done = put(ledger, expected[current], format_=format_, operation="replace", retires=Files(live))
            made(done.tables[0].version, expected[current])
        elif what == "tag":
            ledger.snapshots.tag(ORDERS, f"t{chosen}", chosen)
            tags[f"t{chosen}"] = chosen
        elif what == "untag" and tags:
            ledger.snapshots.untag(ORDERS, tags.popitem()[0])
        elif what == "maintain":
            let_pass(ledger, value)
            maintain(ledger)
        _check(ledger, expected, set(tags.values()))
    let_pass(ledger, 5)
    maintain(ledger)
    _check(ledger, expected, set(tags.values()))
    alive = [each.version for each in ledger.tables.history(ORDERS)]
    assert set(alive) == {max(expected), *([max(expected) - 1] if max(expected) > 1 else []), *tags.values()}
    assert files(ledger) == {path for version in alive for path in ledger.tables.view(ORDERS, version).file_paths}
    assert ledger.repair.verify(ORDERS).defects == []
    table = ledger.tables.get(ORDERS)
    assert published.unneeded(ledger.store, [table], ledger.settings.s3, timedelta(hours=1)) == []


def _check(ledger: Ledger, expected: dict[int, list[int]], tagged: set[int]) -> None:
    alive = {each.version for each in ledger.tables.history(ORDERS)}
    assert {max(expected), *tagged} <= alive
    for version in alive:
        assert read(ledger, version) == expected[version]
    seen = published.find(ledger.store, ledger.tables.get(ORDERS), ledger.settings.s3)
    if seen:
        with catalog(ledger) as opened:
            table = opened.load_table(ORDERS)
            for snapshot in table.metadata.snapshots:
                if snapshot.sequence_number in alive:
                    found = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()["id"].to_pylist()
                    assert sorted(found) == expected[snapshot.sequence_number]


def test_removing_stops_at_the_first_file_that_cannot_be_removed(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    storage.write("a", b"x")
    (tmp_path / "b" / "c").mkdir(parents=True)
    with pytest.raises(Failed, match="cannot delete"):
        list(storage.remove_all(["a", "gone", "b"]))
    assert not storage.has("a")


def test_an_uncommitted_file_is_no_business_of_maintenance(ledger: Ledger) -> None:
    put(ledger, [1])
    waiting = write(ledger, [2])
    let_pass(ledger, 5)
    maintain(ledger)
    assert waiting.path in files(ledger)
