"""What other engines see of a table as Delta: every version as the ledger has it, whatever happens to the table or to its log. No Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakeledger
from contract.delta_tables import COLUMNS, compact, names, put
from contract.keeping import grow_old, let_pass
from contract.making import execute, together, wait_until
from contract.rebuilt import rebuilt
from delta_readers import READERS, actions, entries, location, log, opened, seen, told
from empty_ledgers import new_sqlite_url
from lakeledger import Conflict, Invalid, Ledger, delta_publishing
from lakeledger.delta_publishing import Foreign
from lakeledger.lake.delta import OWNER
from lakeledger.lake.iceberg import Unpublishable
from lakeledger.tables import Layout, parse_name

DAY = timedelta(days=1)


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse")) as opened:
        opened.snapshots.set_policy("", keep_versions=1, keep_for=DAY, grace=DAY)
        yield opened


def publish(ledger: Ledger) -> int:
    """The ledger's version that others see then."""
    _, found = ledger.publish("shop.orders", ["delta"])
    assert found is not None
    assert found.problem is None
    return found.version


@pytest.mark.parametrize("is_late", [False, True])
def test_every_version_is_what_the_ledger_says_whatever_happened_to_the_table(ledger: Ledger, is_late: bool) -> None:
    put(ledger, (1, "a"), (2, None))
    publish(ledger)
    assert actions(entries(ledger)[0], "protocol") == [{"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [OWNER]}]
    steps: list[Any] = [
        lambda: put(ledger, (3, "c"), folder="name=a%20b ü/"),
        lambda: compact(ledger, (1, "a"), (2, None), (3, "c")),
        lambda: put(ledger, (4, "d", 1), columns={**COLUMNS, "size": "integer"}),
        lambda: put(ledger, (5, "e", 2**40), columns={**COLUMNS, "size": "long"}),
        lambda: ledger.columns.rename("shop.orders", "name", "title"),
        lambda: put(ledger, (6, "f", 6), columns={"id": "long", "title": "string", "size": "long"}),
        lambda: ledger.columns.drop("shop.orders", "size"),
        lambda: ledger.columns.add("shop.orders", "size", "string"),
        lambda: put(ledger, (7, "g", "large"), columns={"id": "long", "title": "string", "size": "string"}),
        lambda: put(ledger, operation="delete", retires="all", columns={"id": "long", "title": "string", "size": "string"}),
        lambda: put(ledger, (8, "h", "x", 1), columns={"id": "long", "title": "string", "size": "string", "q": "long"}, hidden=["q"]),
    ]
    for do in steps:
        do()
        is_late or publish(ledger)
    last = publish(ledger)
    assert last == len(steps) + 1
    assert "q" not in names(ledger)
    for reader in READERS:
        assert {version: seen(ledger, version, reader) for version in range(1, last + 1)} == {
            version: told(ledger, version) for version in range(1, last + 1)
        }, reader
    made = entries(ledger)
    assert [actions(entry, "txn")[0]["version"] for entry in made] == [*range(1, last + 1)]
    changed = [{action["dataChange"] for kind in ("add", "remove") for action in actions(entry, kind)} for entry in made]
    assert changed[2] == {False}, "a compaction is no news"
    assert all(each == {True} for place, each in enumerate(changed) if place != 2 and each)
    stats = json.loads(actions(made[1], "add")[0]["stats"])
    assert stats == {
        "numRecords": 1,
        "minValues": {"id": 3, "name": "c"},
        "maxValues": {"id": 3, "name": "c"},
        "nullCount": {"id": 0, "name": 0},
    }


def test_what_is_published_is_published_once_and_nothing_is_an_entry_by_itself(ledger: Ledger) -> None:
    put(ledger, (1, "a"))
    publish(ledger)
    assert publish(ledger) == 1
    assert len(entries(ledger)) == 1
    put(ledger, (2, "b"))
    first, second = lakeledger.open(ledger.settings), lakeledger.open(ledger.settings)
    with first, second:
        first.delta.publish("shop.orders")
        second.delta.publish("shop.orders")
    assert len(entries(ledger)) == 2


def test_several_that_publish_at_once_write_each_version_once(ledger: Ledger) -> None:
    put(ledger, (0, "a"))
    publish(ledger)

    def work(index: int) -> None:
        for number in range(4):
            if index == 0:
                put(ledger, (number + 1, "x"))
            ledger.delta.publish("shop.orders")

    together(work, 3)
    assert publish(ledger) == 5
    assert [actions(entry, "txn")[0]["version"] for entry in entries(ledger)] == [1, 2, 3, 4, 5]
    assert seen(ledger) == told(ledger)


def test_both_formats_are_caught_up_with_and_one_that_has_no_place_does_not_keep_the_other(ledger: Ledger) -> None:
    put(ledger, (1, "a"))
    iceberg, delta = ledger.publish("shop.orders", ["iceberg", "delta"])
    assert iceberg is not None
    assert delta is not None
    assert (iceberg.version, iceberg.formats, delta.version, delta.delta_version) == (1, ["iceberg", "delta"], 1, 0)
    odd = {**COLUMNS, "odd": "string"}
    more: dict[str, Any] = {"schema": {"fields": [*_fields(COLUMNS), {"name": "odd", "type": "variant", "nullable": True, "metadata": {}}]}}
    put(ledger, (2, "b", "x"), columns=odd, **more)
    with pytest.raises(Unpublishable, match="no type for column odd, which is variant"):
        ledger.publish("shop.orders")
    found = ledger.tables.delta("shop.orders")
    assert found is not None
    assert (found.version, found.problem_version) == (1, 2)
    assert "Delta has no type for column odd, which is variant" in (found.problem or "")
    put(ledger, (3, "c"), operation="overwrite", retires="all", layout=Layout("jsonl"))
    with pytest.raises(Unpublishable, match="has no jsonl files"):
        ledger.publish("shop.orders")
    put(ledger, (4, "d"), operation="overwrite", retires="all")
    assert publish(ledger) == 4
    assert seen(ledger) == told(ledger)
    assert len(entries(ledger)) == 2, "what had no place went with the next"


def _fields(columns: dict[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in columns.items()]


def test_only_tables_that_say_so_follow_their_commits_as_delta(ledger: Ledger) -> None:
    put(ledger, (1, "a"))
    with ledger.astha():
        wait_until(lambda: bool(ledger.events.lag()) and all(not lag.behind for lag in ledger.events.lag()))
        assert not log(ledger).exists()
        ledger.publisher.set_formats("shop.orders", ["iceberg", "delta"])
        put(ledger, (2, "b"))
        wait_until(lambda: _version(ledger) == 2)
        put(ledger, (3, "c"))
        wait_until(lambda: _version(ledger) == 3)
        ledger.publisher.set_mode("shop.orders", "off")
        put(ledger, (4, "d"))
        wait_until(lambda: all(not lag.behind for lag in ledger.events.lag()))
    assert _version(ledger) == 3
    assert (seen(ledger), len(seen(ledger)[1])) == (told(ledger, 3), 3)
    assert not ledger.events.parked()


def _version(ledger: Ledger) -> int:
    found = ledger.tables.delta("shop.orders")
    return found.version if found else 0


def test_whoever_writes_to_the_log_is_refused_found_out_and_set_right(ledger: Ledger) -> None:
    from deltalake import write_deltalake

    put(ledger, (1, "a"))
    put(ledger, (2, "b"))
    publish(ledger)
    with pytest.raises(Exception, match=OWNER):
        write_deltalake(location(ledger), pa.table({"id": [9], "name": ["z"]}), mode="append")
    ours = actions(entries(ledger)[0], "add")
    stray = {"path": "stray.parquet", "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    by_hand = [{"commitInfo": {"operation": "OPTIMIZE", "engineInfo": "somebody"}}, {"add": stray}]
    by_hand.append({"remove": {"path": ours[0]["path"], "deletionTimestamp": 0, "dataChange": True}})
    (log(ledger) / f"{1:020}.json").write_text("\n".join(map(json.dumps, by_hand)))
    put(ledger, (3, "c"))
    with pytest.raises(Foreign, match=r"has an entry 1 that the ledger did not write \(OPTIMIZE by somebody\).*--repair --apply"):
        ledger.publish("shop.orders")
    assert "did not write" in ((ledger.tables.delta("shop.orders") or found_nothing()).problem or "")
    (defect,) = ledger.repair.verify("shop.orders").defects
    assert (defect.problem, defect.repaired) == ("published", False)
    assert "somebody else wrote to it" in defect.detail
    (defect,) = ledger.repair.verify("shop.orders", apply=True).defects
    assert defect.repaired
    assert seen(ledger) == told(ledger)
    assert len(entries(ledger)) == 3, "on top of it"
    assert ledger.repair.verify("shop.orders").defects == []
    put(ledger, (4, "d"))
    assert publish(ledger) == 4
    assert seen(ledger) == told(ledger)


def found_nothing() -> Any:
    raise AssertionError("nothing is published")


def test_the_log_of_somebody_else_is_left_alone_and_one_that_is_gone_is_begun_anew(ledger: Ledger) -> None:
    from deltalake import write_deltalake

    put(ledger, (1, "a"))
    write_deltalake(location(ledger), pa.table({"id": [9]}))
    before = entries(ledger)
    with pytest.raises(Foreign, match=r"has a Delta log in its folder that is not the ledger's: move .*/_delta_log away"):
        publish(ledger)
    assert entries(ledger) == before
    shutil.rmtree(log(ledger))
    publish(ledger)
    old = opened(ledger).metadata().id
    put(ledger, (2, "b"))
    publish(ledger)
    shutil.rmtree(log(ledger))
    (defect,) = ledger.repair.verify("shop.orders").defects
    assert defect.detail == "it is gone"
    put(ledger, (3, "c"))
    assert publish(ledger) == 3
    assert seen(ledger) == told(ledger)
    assert (len(entries(ledger)), opened(ledger).metadata().id == old) == (1, False)
    shutil.copytree(log(ledger), log(ledger).with_name("kept"))
    put(ledger, (4, "d"))
    publish(ledger)
    shutil.rmtree(log(ledger))
    shutil.copytree(log(ledger).with_name("kept"), log(ledger))
    put(ledger, (5, "e"))
    with pytest.raises(Foreign, match="does not have the entry 1 that the ledger wrote"):
        ledger.publish("shop.orders")


def test_an_entry_of_another_life_of_the_ledger_is_not_taken_for_the_one_to_be_written(ledger: Ledger) -> None:
    for number in (1, 2, 3):
        put(ledger, (number, "a"))
        number < 3 and publish(ledger)
    execute(ledger, "update delta_publications set version = 1, delta_version = 0, target_version = 3, target_delta = 1")
    with pytest.raises(Foreign, match=r"has an entry 1 that the ledger did not write \(WRITE by lakeledger\)"):
        ledger.publish("shop.orders")
    ledger.delta.publish("shop.orders", anew=True)
    assert (seen(ledger), len(entries(ledger))) == (told(ledger), 3)


def test_a_table_that_is_no_longer_published_as_delta_goes_on_where_it_was_when_it_is_again(ledger: Ledger) -> None:
    put(ledger, (1, "a"))
    publish(ledger)
    ledger.publisher.set_formats("shop.orders", ["iceberg"])
    assert ledger.tables.delta("shop.orders") is None
    put(ledger, (2, "b"), operation="overwrite", retires="all")
    let_pass(ledger, 5)
    ledger.maintenance.maintain(apply=True)
    let_pass(ledger, 5)
    ledger.maintenance.maintain(apply=True)
    assert publish(ledger) == 2
    assert seen(ledger) == told(ledger)
    assert len(entries(ledger)) == 2


def test_checkpoints_are_written_and_old_entries_go_with_the_versions_that_expire(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_publishing, "ENTRIES", 3)
    for number in range(1, 9):
        put(ledger, (number, "a"), operation="overwrite", retires="all")
        publish(ledger)
    checkpoints = sorted(path.name.lstrip("0").partition(".")[0] for path in log(ledger).glob("*.checkpoint.parquet"))
    assert checkpoints == ["2", "5"]
    assert json.loads((log(ledger) / "_last_checkpoint").read_text())["version"] == 5
    grow_old(Path(location(ledger), "_delta_log"), 3 * DAY)
    for reader in READERS:
        assert {version: seen(ledger, version, reader) for version in range(1, 9)} == {
            version: told(ledger, version) for version in range(1, 9)
        }
    left = log(ledger) / f".{4:020}.json.0a1b2c3d.lakeledger-tmp"
    left.write_text("a crash left it")
    ledger.snapshots.tag("shop.orders", "june", 7)
    let_pass(ledger, 5)
    (care,) = ledger.maintenance.maintain(apply=True).tables
    assert (care.expired, care.problems) == ([1, 2, 3, 4, 5, 6], [])
    assert care.metadata.files == 7
    assert sorted(path.name.lstrip("0") for path in log(ledger).iterdir()) == [
        "5.checkpoint.parquet", "5.json", "6.json", "7.json", "_last_checkpoint",
    ]  # fmt: skip
    let_pass(ledger, 5)
    ledger.maintenance.maintain(apply=True)
    for version in (7, 8):
        assert seen(ledger, version) == told(ledger, version)
    put(ledger, (9, "z"))
    publish(ledger)
    assert seen(ledger) == told(ledger)
    assert ledger.repair.verify("shop.orders").ok


def test_what_delta_sees_is_kept_until_it_sees_something_newer(ledger: Ledger) -> None:
    put(ledger, (1, "a"))
    publish(ledger)
    for number in (2, 3):
        put(ledger, (number, "b"), operation="overwrite", retires="all")
    for _ in range(3):
        let_pass(ledger, 5)
        ledger.maintenance.maintain(apply=True)
    assert [each.version for each in ledger.tables.history("shop.orders")] == [3, 1]
    assert {each.snapshot.version: each.kept for each in ledger.snapshots.list("shop.orders")}[1] == "published as Delta"
    assert seen(ledger) == told(ledger, 1)
    assert publish(ledger) == 3
    assert (seen(ledger), len(entries(ledger))) == (told(ledger), 2)


def test_many_that_wait_are_caught_up_with_and_a_thousand_files_are_followed_by_a_checkpoint(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_publishing, "MANY_ACTIONS", 5)
    put(ledger, (0, "a"))
    publish(ledger)
    for number in range(1, 12):
        put(ledger, (number, "a"))
    monkeypatch.setattr("lakeledger.tables.delta.MOST_AT_ONCE", 3)
    monkeypatch.setattr("lakeledger.tables.delta.stretches.__defaults__", (3,))
    assert publish(ledger) == 12
    assert seen(ledger) == told(ledger)
    assert len(entries(ledger)) == 2
    assert [path.name.lstrip("0") for path in log(ledger).glob("*.checkpoint.parquet")] == ["1.checkpoint.parquet"]


def test_rows_that_were_set_aside_have_no_log_of_their_own(ledger: Ledger) -> None:
    from contract import keeping

    put(ledger, (1, "a"))
    keeping.put(ledger, [1], table="shop.orders__quarantine", location=parse_name("shop.orders").folder, mode="async")
    with pytest.raises(Unpublishable, match=r"the rows of shop\.orders__quarantine are in the folder of another table"):
        ledger.publish("shop.orders__quarantine", ["delta"])


def test_a_warehouse_that_is_moved_takes_its_log_along(ledger: Ledger, tmp_path: Path) -> None:
    put(ledger, (1, "a"))
    publish(ledger)
    url, there = ledger.settings.url, tmp_path / "elsewhere"
    shutil.move(tmp_path / "warehouse", there)
    with lakeledger.open(url, warehouse=str(there)) as moved:
        moved.move_warehouse(apply=True)
        assert seen(moved) == told(moved)
        put(moved, (2, "b"))
        assert publish(moved) == 2
        assert seen(moved) == told(moved)
        assert len(entries(moved)) == 2
        assert moved.repair.verify("shop.orders").ok


def test_a_ledger_that_was_rebuilt_goes_on_with_the_log_that_is_there(ledger: Ledger, tmp_path: Path) -> None:
    put(ledger, (1, "a"), mode="sync")
    ledger.publish("shop.orders", ["iceberg", "delta"])
    put(ledger, (2, "b"), mode="sync")
    publish(ledger)
    (tmp_path / "anew").mkdir()
    with rebuilt(ledger, new_sqlite_url(tmp_path / "anew")) as found:
        assert found.publisher.formats("shop.orders") == ("iceberg", "delta")
        put(found, (3, "c"), mode="sync")
        found.publish("shop.orders")
        assert [actions(entry, "txn")[0]["version"] for entry in entries(found)] == [1, 2, 3]
        assert seen(found) == told(found, 3)


def test_formats_that_are_none_are_refused_and_code_is_given_once_there_is_a_log(ledger: Ledger) -> None:
    put(ledger, (1, "a"))
    with pytest.raises(Invalid, match="publish cannot have 'hudi': write iceberg or delta, or both as a list"):
        ledger.publish("shop.orders", ["hudi"])
    with pytest.raises(Conflict, match=r"shop\.orders is not published as Delta: `lakeledger tables publish shop\.orders --formats"):
        ledger.delta.read_with("deltalake", "shop.orders")
    publish(ledger)
    place: dict[str, Any] = {}
    exec(ledger.delta.read_with("deltalake", "shop.orders"), place)
    assert pa.table(place["frame"]).to_pylist() == [{"id": 1, "name": "a"}]
