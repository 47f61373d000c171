"""A ledger that is lost comes back from what it has published: the same tables, versions, files and positions; nothing comes twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakeledger
from contract import test_publishing_model as model
from contract.making import dump, execute
from contract.making import rows as select
from contract.rebuilt import assert_same, load, rebuilt, state, version_state
from contract.test_publishing import MONDAY, ORDERS, TUESDAY, append, change, new_file, put, seen
from iceberg_readers import READERS
from integration.commands import answer, refused, shown
from lakeledger import Invalid, Ledger, clock, failpoints
from lakeledger.batches import _Forget
from lakeledger.commit import find_applied
from lakeledger.lake.iceberg.hint import HINT
from lakeledger.pipelines.effects import MovedFiles, ReadFiles
from lakeledger.sync import Advance, FilesPosition, NumberPosition, Source, SourceFile, VersionsPosition, WatermarkPosition
from lakeledger.sync.kinds import LsnPosition, OffsetsPosition
from lakeledger.sync.positions import Rewind
from lakeledger.sync.schemas import SchemaDefinition
from lakeledger.tables import Change, Files, Layout, Partitions, parse_name, store

FILES, SHOP, TRAIL = Source("shop", "files"), Source("shop", "orders"), Source("cdc", None, "stream")
AT = clock.now()
TESTS = Path(__file__).parent.parent


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        yield opened


@pytest.fixture
def lost(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger on SQLite that is to be lost."""
    with lakeledger.open(f"sqlite:///{tmp_path}/lost.db", warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        yield opened


@pytest.fixture
def new_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/new.db"


def warehouse(ledger: Ledger) -> str:
    return str(Path(ledger.warehouse).parent)


def one(ledger: Ledger, number: int, **more: Any) -> Change:
    return change(ledger, new_file(ledger, [(number, MONDAY, "a")]), **more)


class Read:
    """A source of files: what was read of it so far."""

    def __init__(self) -> None:
        self.known: dict[str, SourceFile] = {}

    def load(self, ledger: Ledger, *names: str, renamed: dict[str, str] | None = None, mode: str = "sync") -> None:
        """Read some files, and note that others have other names now."""
        moved = {old: replace(self.known.pop(old), path=new) for old, new in (renamed or {}).items()}
        new = [SourceFile(name, len(name), AT, f"sha256:{name}:{clock.new_id()}") for name in names]
        self.known |= {file.path: file for file in (*moved.values(), *new)}
        effects = [MovedFiles(FILES, moved)] if moved else []
        advance = Advance(FILES, FilesPosition.of(file.identity for file in self.known.values()), reason="renamed" if moved else None)
        read = ReadFiles(FILES, new, {file.path: f"key of {file.path}" for file in new})
        load(ledger, *([one(ledger, len(self.known))] if new else []), moves=[advance], effects=[*effects, read], mode=mode)

    def forget(self, ledger: Ledger, name: str) -> None:
        """Take a file back, with its rows."""
        gone = self.known.pop(name)
        to = FilesPosition.of(file.identity for file in self.known.values())
        plan = Rewind(FILES, ledger.positions.get(FILES), to, [], 0, 0, [gone], 0, "exactly")
        load(ledger, one(ledger, 0), moves=[Advance(FILES, to, force=True)], effects=[_Forget(plan)])


def test_everything_that_was_published_comes_back(ledger: Ledger, new_url: str) -> None:
    first = new_file(ledger, [(1, MONDAY, "a"), (2, MONDAY, None)])
    quarantine = Change(
        parse_name("shop.orders__quarantine"),
        ORDERS.folder,
        "append",
        {"fields": [{**field("why"), "physical_name": "lakeledger_aside_why"}]},
        Layout(),
        [],
    )
    bad = replace(quarantine, files=[replace(new_file(ledger, [(9, MONDAY, "x")]), partition_path="", bounds={})])
    moves = [
        Advance(SHOP, WatermarkPosition.parse({"columns": ["id"], "types": ["integer"], "values": [2]})),
        Advance(TRAIL, LsnPosition.parse({"lsn": "0/16B3748"})),
    ]
    hidden = {**field("lakeledger_hidden_sequence", "long"), "hidden": True}
    fields = [field("id", "long"), field("day", "date"), field("name"), hidden]
    schema = {"fields": [{**each, "physical_name": each["name"]} for each in fields]}
    wide = replace(first, bounds={**first.bounds, "lakeledger_hidden_sequence": {"min": 3, "max": 7, "nulls": 1}})
    load(ledger, change(ledger, wide, schema=schema, batch_id="one", summary={"source": "shop.orders"}, keys=("id",)), bad, moves=moves)
    load(ledger, one(ledger, 3), moves=[Advance(Source("by", "hand"), VersionsPosition({"no table!": 3}))])
    load(ledger, one(ledger, 4), moves=[Advance(Source("kafka", "orders"), OffsetsPosition.parse({"offsets": {"t": {"0": 5}}}))])
    ledger.snapshots.tag("shop.orders", "first", 1)
    retires = Partitions(frozenset([f"day={MONDAY}"]))
    load(ledger, change(ledger, new_file(ledger, [(5, TUESDAY, "e")]), operation="overwrite", retires=retires), moves=[_number(7)])
    append(ledger, (6, TUESDAY, "f"))
    ledger.columns.rename("shop.orders", "name", "title")
    ledger.columns.drop("shop.orders", "title")
    ledger.publisher.set_mode("shop.orders", "sync")
    ledger.columns.add("shop.orders", "name", "string")
    with rebuilt(ledger, new_url) as found:
        assert_same(found, ledger)
        assert found.runs.list()[0].run_kind == "maintenance"
        for source in (SHOP, TRAIL, Source("shop", "counted")):
            told = [
                [(each.version, each.position_data, each.appended_rows) for each in ledger_.positions.history(source)]
                for ledger_ in (found, ledger)
            ]
            assert told[0] == told[1]
        # It goes on from there: the next version extends what is published.
        assert seen(found) == [5, 6]
        put(found, change(found, new_file(found, [(7, TUESDAY, "g")]), operation="overwrite", retires="all"))
        assert seen(found) == [7]
        published = found.tables.publication("shop.orders")
        before = ledger.tables.publication("shop.orders")
        assert published
        assert before
        assert (published.version, published.previous_metadata_location) == (9, before.metadata_location)


def empty(name: str, **more: Any) -> Change:
    """A version without new files."""
    table = parse_name(name)
    return Change(table, table.folder, "append", {"fields": [field("id", "long")]}, Layout(), [], **more)


def field(name: str, type_: str = "string") -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": {}}


def _number(value: int) -> Advance:
    return Advance(Source("shop", "counted"), NumberPosition(value))


def test_it_comes_back_on_either_database(lost: Ledger, bare_url: str) -> None:
    read = Read()
    read.load(lost, "a.csv", "b.csv")
    lost.schemas.register(FILES, SchemaDefinition([{"name": "id", "type": "int"}]))
    read.load(lost, "c.csv")
    append(lost, (4, MONDAY, "d"), mode="async")
    append(lost, (5, MONDAY, "e"), mode="async")
    lost.publisher.publish("shop.orders")
    with rebuilt(lost, bare_url) as found:
        assert_same(found, lost)
        assert len(found.positions.files(FILES)) == 3


def test_every_file_that_was_read_is_known_again_whatever_was_renamed(ledger: Ledger, tmp_path: Path) -> None:
    read = Read()
    for number in range(40):  # more than are kept in one journal
        read.load(ledger, f"{number}.csv", mode="async" if number % 7 == 3 else "sync")
        if number % 10 == 5:
            read.load(ledger, renamed={f"{number}.csv": f"{number}-renamed.csv"})  # seen by no table
        if number % 10 == 8:
            read.load(ledger, f"{number - 3}.csv", renamed={f"{number}.csv": f"{number}-moved.csv"})
            read.forget(ledger, f"{number - 1}.csv")
    read.load(ledger, "last.csv", mode="async")
    read.load(ledger, renamed={"last.csv": "renamed.csv"})
    ledger.publisher.publish("shop.orders")
    with rebuilt(ledger, f"sqlite:///{tmp_path}/new.db") as found:
        assert_same(found, ledger)
        keys = "select file_path, row_key from source_files order by file_path"
        assert select(found, keys) == select(ledger, keys)
    journals = list(Path(ledger.warehouse, ORDERS.folder, "metadata").glob("*journal*"))
    assert max(path.stat().st_size for path in journals) < 100_000


def test_a_batch_is_known_again_after_its_version_has_left_the_metadata(lost: Ledger, new_url: str) -> None:
    for number in range(120):
        mode = "async" if number % 10 in (3, 4) else "sync"
        load(lost, empty("shop.orders", batch_id=f"batch {number}"), moves=[_number(number)], mode=mode)
    with rebuilt(lost, new_url) as found:
        (table,) = found.tables.list()
        with found.store.read() as tx:
            known = [find_applied(tx, table, "append", f"batch {number}") for number in range(120)]
        assert [each.version if each else None for each in known] == list(range(1, 121))
        assert state(found)["positions"] == state(lost)["positions"]


def test_versions_that_nobody_published_come_back_unless_something_left_the_table(lost: Ledger, new_url: str) -> None:
    append(lost, (1, MONDAY, "a"))
    for number in (2, 3, 4):
        append(lost, (number, MONDAY, "b"), mode="async")
    append(lost, (5, MONDAY, "c"))
    gone = lost.tables.view("shop.orders").file_paths[0]
    append(lost, (6, MONDAY, "c"), mode="async")
    load(lost, one(lost, 7, operation="overwrite", retires=Files(frozenset([gone]))), mode="async")
    append(lost, (8, MONDAY, "c"))
    with rebuilt(lost, new_url) as found:
        assert [each.version for each in found.tables.history("shop.orders")] == [8, 5, 4, 3, 2, 1]
        old = {each.version: version_state(lost, "shop.orders", each) for each in lost.tables.history("shop.orders")}
        assert {each.version: version_state(found, "shop.orders", each) for each in found.tables.history("shop.orders")} == {
            version: old[version] for version in (1, 2, 3, 4, 5, 8)
        }


def test_what_was_committed_after_the_last_publish_is_listed_and_loaded_again(lost: Ledger, new_url: str) -> None:
    load(lost, one(lost, 1), moves=[_number(1)])
    load(lost, one(lost, 2), moves=[_number(2)], mode="async")
    report = lakeledger.rebuild(new_url, warehouse=warehouse(lost), apply=True)
    (tenant,) = report.tenants
    orphans = [each for each in tenant.lost if "1 data file with 1 row " in each.detail]
    assert [each.what for each in orphans] == [f"{lost.warehouse}/shop/orders"]
    with lakeledger.open(new_url, warehouse=warehouse(lost), metadata="sync") as found:
        assert found.positions.get("shop.counted").position_data == {"value": 1}
        load(found, one(found, 2), moves=[_number(2)])
        assert seen(found) == [1, 2]
        (left,) = found.tables.sweep(grace=timedelta(0)).leftovers
        assert left.path not in found.tables.view("shop.orders").file_paths


@pytest.mark.parametrize("point", [failpoints.AFTER_STAGE, failpoints.IN_TRANSACTION, failpoints.BEFORE_HINT])
def test_metadata_of_a_commit_that_was_killed_is_never_taken_for_true(lost: Ledger, new_url: str, point: str) -> None:
    load(lost, one(lost, 1), moves=[_number(1)])
    killed = """
import os, signal, sys, lakeledger
from contract.test_rebuild import _number, load, one
from lakeledger import failpoints
with lakeledger.open(sys.argv[1], warehouse=sys.argv[2], metadata="sync") as ledger:
    failpoints.armed[sys.argv[3]] = lambda _: os.kill(os.getpid(), signal.SIGKILL)
    load(ledger, one(ledger, 2), moves=[_number(2)])
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", killed, lost.settings.url or "", warehouse(lost), point]
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    report = lakeledger.rebuild(new_url, warehouse=warehouse(lost), apply=True)
    assert [each.what for each in report.tenants[0].lost if "nothing proves that it was committed" in each.detail] == ["shop.orders"]
    with lakeledger.open(new_url, warehouse=warehouse(lost), metadata="sync") as found:
        assert (seen(found), found.positions.get("shop.counted").position_data) == ([1], {"value": 1})
        load(found, one(found, 2), moves=[_number(2)])
        assert seen(found) == [1, 2]
    # Whoever publishes next, or only looks whether there is something to publish, puts the hint right.
    lost.publisher.publish("shop.orders")
    shutil.rmtree(Path(new_url.removeprefix("sqlite:///")), ignore_errors=True)
    (again,) = lakeledger.rebuild(f"{new_url}2", warehouse=warehouse(lost)).tenants
    assert again.tables[0].current.version == lost.tables.get("shop.orders").current_version


def test_the_hint_names_what_is_published_though_its_writer_was_overtaken(lost: Ledger) -> None:
    others = iter([2])

    def overtake(_: str) -> None:
        if number := next(others, None):
            append(lost, (number, MONDAY, "b"))

    failpoints.armed[failpoints.BEFORE_HINT] = overtake
    try:
        append(lost, (1, MONDAY, "a"))
    finally:
        failpoints.armed.clear()
    published = lost.tables.publication("shop.orders")
    assert published
    hint = Path(lost.warehouse, "shop/orders/metadata", HINT).read_text()
    assert (published.version, published.metadata_location) == (2, f"{lost.warehouse}/shop/orders/metadata/{hint}.metadata.json")


def test_metadata_of_an_earlier_release_carries_everything_from_the_next_commit_on(lost: Ledger, new_url: str) -> None:
    read = Read()
    for name in ("a.csv", "b.csv"):
        read.load(lost, name)
    metadata = Path(lost.warehouse, "shop/orders/metadata")
    published = metadata / f"{(metadata / HINT).read_text()}.metadata.json"
    document = json.loads(published.read_text())
    kept = ("tenant", "schema-name", "table-name", "partition-by", "schema.")
    own = {
        name for name in document["properties"] if name.startswith("lakeledger.") and not name.removeprefix("lakeledger.").startswith(kept)
    }
    document["properties"] = {name: value for name, value in document["properties"].items() if name not in own}
    published.write_text(json.dumps(document))
    (report,) = lakeledger.rebuild(new_url, warehouse=warehouse(lost)).problems
    assert "published by an earlier release" in report.reason
    (metadata / HINT).unlink()
    (report,) = lakeledger.rebuild(new_url, warehouse=warehouse(lost)).problems
    assert "no version-hint.text says which of it is published" in report.reason
    with lakeledger.open(lost.settings) as upgraded:
        append(upgraded, (3, MONDAY, "c"))
        with rebuilt(upgraded, new_url) as found:
            assert_same(found, upgraded)


def test_a_commit_of_two_tables_of_which_one_has_its_hint_is_taken_as_a_whole(lost: Ledger, new_url: str) -> None:
    for number in (1, 2):
        load(lost, one(lost, number), empty("shop.history"), moves=[_number(number)])
        if number == 1:
            before = Path(lost.warehouse, "shop/history/metadata", HINT).read_text()
    Path(lost.warehouse, "shop/history/metadata", HINT).write_text(before)
    with rebuilt(lost, new_url) as found:
        assert_same(found, lost)


def test_a_table_goes_back_to_what_it_was_made_from(lost: Ledger, new_url: str) -> None:
    for number in (1, 2, 3):
        load(lost, one(lost, number), moves=[_number(number)], mode="sync" if number < 3 else "async")
        read = VersionsPosition({"shop.orders": number}, {"shop.orders": lost.tables.get("shop.orders").table_id})
        load(lost, empty("shop.sales"), moves=[Advance(Source("reports", "sales"), read)])
    report = lakeledger.rebuild(new_url, warehouse=warehouse(lost), apply=True)
    assert [each.detail for each in report.tenants[0].lost if each.what == "shop.sales"] == [
        "version 3: it needs version 3 of shop.orders, of which 2 is the newest that came back"
    ]
    with lakeledger.open(new_url, warehouse=warehouse(lost), metadata="sync") as found:
        assert found.positions.get("reports.sales").position_data["versions"] == {"shop.orders": 2}
        assert found.tables.get("shop.sales").current_version == 2
        load(found, empty("shop.sales"), moves=[Advance(Source("reports", "sales"), read)])
        published = found.tables.publication("shop.sales")
        assert published
        assert published.version == 3


def test_a_position_whose_table_cannot_go_back_is_left_out_and_not_guessed(lost: Ledger, new_url: str) -> None:
    load(lost, one(lost, 1))
    append(lost, (2, MONDAY, "b"), mode="async")
    read = VersionsPosition({"shop.orders": 2}, {"shop.orders": lost.tables.get("shop.orders").table_id})
    load(lost, empty("shop.sales"), moves=[Advance(Source("reports", "sales"), read)])
    with rebuilt(lost, new_url) as found:
        assert found.positions.find("reports.sales") is None


def test_a_ledger_with_anything_in_it_is_refused_and_one_that_is_done_is_left_alone(lost: Ledger, ledger: Ledger) -> None:
    append(lost, (1, MONDAY, "a"))
    with ledger.run("something"):
        pass
    before = dump(ledger)
    with pytest.raises(Invalid, match="the ledger is not empty: tenant default has 1 run;"):
        lakeledger.rebuild(ledger.settings, warehouse=warehouse(lost), apply=True)
    with pytest.raises(Invalid, match="the ledger is not empty"):
        lakeledger.rebuild(ledger.settings, warehouse=warehouse(lost))
    assert dump(ledger) == before
    execute(ledger, "delete from pipeline_runs")
    assert not lakeledger.rebuild(ledger.settings, warehouse=warehouse(lost), apply=True).tenants[0].was_there
    done = dump(ledger)
    assert lakeledger.rebuild(ledger.settings, warehouse=warehouse(lost), apply=True).tenants[0].was_there
    assert dump(ledger) == done


def test_a_rebuild_that_is_killed_is_called_again(lost: Ledger, bare_url: str) -> None:
    for tenant in ("default", "other"):
        append(lost.for_tenant(tenant), (1, MONDAY, tenant))
    points = iter([None, RuntimeError("killed")])

    def stop(_: str) -> None:
        if error := next(points, None):
            raise error

    failpoints.armed[failpoints.IN_TRANSACTION] = stop
    try:
        with pytest.raises(RuntimeError, match="killed"):
            lakeledger.rebuild(bare_url, warehouse=warehouse(lost), apply=True)
    finally:
        failpoints.armed.clear()
    again = lakeledger.rebuild(bare_url, warehouse=warehouse(lost), apply=True)
    assert [(each.tenant, each.was_there) for each in again.tenants] == [("default", True), ("other", False)]
    with lakeledger.open(bare_url, warehouse=warehouse(lost)) as found:
        for tenant in ("default", "other"):
            assert_same(found.for_tenant(tenant), lost.for_tenant(tenant))


def test_a_warehouse_that_was_moved_comes_back_and_is_published_anew(lost: Ledger, new_url: str, tmp_path: Path) -> None:
    append(lost, (1, MONDAY, "a"))
    append(lost, (2, MONDAY, "b"))
    shutil.move(warehouse(lost), tmp_path / "elsewhere")
    report = lakeledger.rebuild(new_url, warehouse=str(tmp_path / "elsewhere"), apply=True)
    assert "`lakeledger tables publish shop.orders` publishes it anew" in [each.fix for each in report.tenants[0].lost]
    with lakeledger.open(new_url, warehouse=str(tmp_path / "elsewhere"), metadata="sync") as found:
        assert len(found.tables.history("shop.orders")) == 2
        append(found, (3, MONDAY, "c"))
        assert seen(found) == [1, 2, 3]


def test_what_cannot_be_used_is_named_and_the_rest_comes_back(lost: Ledger, new_url: str, tmp_path: Path) -> None:
    for name in ("spoilt", "foreign", "hintless", "fine"):
        load(lost, empty(f"shop.{name}"))
    append(lost, (1, MONDAY, "a"), mode="async")
    place = Path(lost.warehouse, "shop")
    for path in (place / "spoilt/metadata").glob("*.metadata.json"):
        path.write_text("{")
    for path in (place / "foreign/metadata").glob("*.metadata.json"):
        path.write_text('{"properties": {}}')
    (place / "hintless/metadata" / HINT).write_text("")
    words = ["rebuild", "--from", warehouse(lost), "--url", new_url]
    dry = answer(*words, code=3)
    assert not Path(new_url.removeprefix("sqlite:///")).exists()
    assert (dry["applied"], [each["table"] for each in dry["tenants"][0]["tables"]]) == (False, ["shop.fine"])
    reasons = {Path(each["path"]).parts[-3]: each["reason"] for each in dry["problems"]}
    assert reasons["foreign"].endswith("it is no metadata of lakeledger")
    assert reasons["hintless"].endswith("'' names no metadata")
    assert set(reasons) == {"spoilt", "foreign", "hintless"}
    assert {"what": "shop.orders", "detail": "the table was never published"}.items() <= dry["tenants"][0]["lost"][0].items()
    text = shown(*words, "--apply", code=3)
    assert "1 table came back" in text
    assert answer("tables", "list", "--url", new_url, "--warehouse", warehouse(lost))["tables"][0]["table_name"] == "fine"
    (tmp_path / "empty").mkdir()
    refused(["rebuild", "--from", str(tmp_path / "empty"), "--url", f"{new_url}2"], 2, "Invalid", "is published")
    refused(["rebuild", "--from", warehouse(lost), "--url", lost.settings.url or ""], 2, "Invalid", "the ledger is not empty")


@settings(max_examples=settings().max_examples // 3)
@given(st.lists(model.STEP, min_size=1, max_size=12), st.sampled_from(["sync", "async"]))
def test_any_history_comes_back_at_every_version_that_the_metadata_has(steps: list[tuple[str, int, str]], first: str) -> None:
    with model.opened() as ledger:
        made = model.Model()
        model.commit(ledger, made, made.rows(2), first)
        for step, number, mode in steps:
            model.apply(ledger, made, step, number, mode)
        ledger.publisher.publish(model.NAME)
        made.show()
        old = {each.version: each for each in ledger.tables.history(model.NAME, limit=None)}
        with rebuilt(ledger, f"sqlite:///{Path(ledger.warehouse).parent.parent}/new.db") as found:
            history = list(found.tables.history(model.NAME, limit=None))
            assert made.seen <= {each.version for each in history}
            for each in (each for each in history if each.version in old):
                assert version_state(found, model.NAME, each) == version_state(ledger, model.NAME, old[each.version])
            assert {tag.name: tag.version for tag in found.snapshots.tags(model.NAME)}.items() <= made.tags.items()
            with ledger.store.read() as tx, found.store.read() as other:
                table, again = store.get(tx, ORDERS), store.get(other, ORDERS)
                assert replace(again, last_modified=table.last_modified, created_at=table.created_at, updated_at=table.updated_at) == table
                batches = select(ledger, "select batch_id from table_snapshots union select batch_id from expired_snapshots")
                for batch in (row["batch_id"] for row in batches if row["batch_id"]):
                    assert store.find_batch(other, again, batch) is not None
            assert seen_rows(found) == made.versions[made.current][1]
            # It is a ledger as any other: it verifies, it is maintained, and it comes back once more.
            assert [each for each in found.repair.verify(model.NAME).defects if each.problem != "untracked"] == []
            assert found.maintenance.maintain(apply=True).tables[0].problems == []
            assert seen_rows(found) == made.versions[made.current][1]
            with rebuilt(found, f"sqlite:///{Path(ledger.warehouse).parent.parent}/again.db") as again_:
                assert seen_rows(again_) == made.versions[made.current][1]


def seen_rows(ledger: Ledger) -> list[str]:
    """The rows that another engine finds."""
    snapshot = ledger.tables.history(model.NAME, limit=1)[0].iceberg_snapshot_id
    return sorted(repr(list(row.values())) for row in READERS["pyiceberg"](ledger, model.NAME, snapshot or 0).to_pylist())
