"""What is not as the registry says is found, in storage and for other engines; what can be repaired is, and what cannot is named."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import lakeledger
from contract.keeping import ORDERS, let_pass, overwrite, put, read
from contract.making import execute, rows
from iceberg_readers import catalog
from lakeledger import Ledger
from lakeledger.maintenance import expiry
from lakeledger.maintenance.repair import Checked


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        yield opened


def seen(ledger: Ledger) -> list[int]:
    with catalog(ledger) as opened:
        return sorted(opened.load_table(ORDERS).scan().to_arrow()["id"].to_pylist())


def check(ledger: Ledger, *, apply: bool = False) -> Checked:
    return ledger.repair.verify(ORDERS, apply=apply)


def test_a_sound_table_has_no_defects(ledger: Ledger) -> None:
    put(ledger, [1])
    overwrite(ledger, [2], mode="async")
    found = check(ledger, apply=True)
    assert (found.ok, found.checked, found.defects) == (True, 2, [])


@pytest.mark.parametrize("spoil", ["gone", "spoilt", "manifest", "list"])
def test_what_others_cannot_read_is_published_anew(ledger: Ledger, spoil: str) -> None:
    put(ledger, [1])
    put(ledger, [2])
    pointer = Path(rows(ledger, "select metadata_location from table_publications")[0]["metadata_location"])
    match spoil:
        case "gone":
            pointer.unlink()
        case "spoilt":
            pointer.write_text('{"format-version": 2')
        case "list":
            next(pointer.parent.glob("00000002-*-list.avro")).unlink()
        case _:
            next(pointer.parent.glob("00000001-*-manifest-*.avro")).unlink()
    found = check(ledger)
    assert [(defect.problem, defect.repair, defect.repaired) for defect in found.defects] == [
        ("published", "publish shop.orders anew", False)
    ]
    assert not found.ok
    assert check(ledger, apply=True).ok
    assert seen(ledger) == [1, 2]
    assert check(ledger).defects == []
    put(ledger, [3])
    assert seen(ledger) == [1, 2, 3]


def test_what_others_see_and_the_registry_does_not_is_found(ledger: Ledger) -> None:
    put(ledger, [1])
    put(ledger, [2])
    (path, _) = ledger.tables.view(ORDERS).file_paths
    execute(ledger, "update table_files set state = 'retired', removed_version = 2 where file_path = :path", path=path)
    (counted, published) = check(ledger).defects
    assert (counted.problem, published.problem) == ("statistics", "published")
    assert published.detail == "version 2 has 1 files, other engines see 2, 1 of them the same"
    assert check(ledger, apply=True).ok
    assert seen(ledger) == read(ledger) == [2]
    table, stats = ledger.tables.get(ORDERS), ledger.tables.stats(ORDERS)
    assert (table.row_count, table.file_count, stats.row_count, stats.file_count) == (1, 1, 1, 1)


def test_a_warehouse_that_was_moved_is_published_anew(ledger: Ledger, url: str, tmp_path: Path) -> None:
    put(ledger, [1])
    (tmp_path / "warehouse").rename(tmp_path / "elsewhere")
    with lakeledger.open(url, warehouse=str(tmp_path / "elsewhere"), metadata="sync") as moved:
        moved.move_warehouse(apply=True)
        assert [defect.detail for defect in check(moved).defects] == ["it is not where the table is: the warehouse was moved"]
        assert check(moved, apply=True).ok
        assert seen(moved) == [1]


def test_expired_versions_that_others_still_see_are_found(ledger: Ledger) -> None:
    overwrite(ledger, [1])
    overwrite(ledger, [2])
    let_pass(ledger, 60)
    ledger.snapshots.set_policy("", keep_versions=1)
    with ledger.store.read() as tx:
        planned = expiry.plan(tx, ledger.tables.get(ORDERS), ledger.snapshots.policy(ORDERS), ledger.worker, {})
    with ledger.run("expire") as run:
        assert list(expiry.expire(ledger.store, planned, ledger.worker, run.id)) == [[1]]
    assert [defect.detail for defect in check(ledger).defects] == ["other engines still see the expired versions 1"]
    assert check(ledger, apply=True).ok
    assert check(ledger).defects == []


def test_rows_that_are_lost_are_named_and_not_invented(ledger: Ledger) -> None:
    put(ledger, [1])
    overwrite(ledger, [2])
    for path in Path(ledger.tables.get(ORDERS).location, "data").rglob("*.parquet"):
        path.unlink()
    found = check(ledger, apply=True)
    assert [(defect.problem, defect.repaired) for defect in found.defects] == [("missing", None), ("missing", None)]
    told = sorted(defect.repair for defect in found.defects)
    assert told == [
        "version 1 cannot be read without it: restore it, or let it expire (`lakeledger snapshots expire shop.orders`)",
        "version 2 cannot be read without it: restore it, or overwrite the table",
    ]
    assert len(rows(ledger, "select 1 from table_files")) == 2


def test_a_missing_file_that_no_version_needs_is_forgotten(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("", keep_versions=1, keep_for=timedelta(days=1), grace=timedelta(0))
    overwrite(ledger, [1])
    (path,) = ledger.tables.view(ORDERS).paths
    overwrite(ledger, [2])
    let_pass(ledger, 5)
    ledger.maintenance.expire(apply=True)
    Path(path).unlink()
    (defect,) = check(ledger).defects
    assert (defect.problem, defect.repair, defect.repaired) == ("missing", "no version needs it: forget it", False)
    assert check(ledger, apply=True).ok
    assert check(ledger).defects == []
    ledger.maintenance.maintain(apply=True)
    assert len(rows(ledger, "select 1 from table_files")) == 1


@pytest.mark.parametrize("content", [b"x", None], ids=["another size", "the same size"])
def test_a_changed_file_that_no_version_needs_is_left_to_maintenance(ledger: Ledger, content: bytes | None) -> None:
    ledger.snapshots.set_policy("", keep_versions=1, keep_for=timedelta(days=1), grace=timedelta(0))
    overwrite(ledger, [1])
    (path,) = ledger.tables.view(ORDERS).paths
    overwrite(ledger, [2])
    ledger.repair.verify(ORDERS)  # computes checksums
    let_pass(ledger, 5)
    ledger.maintenance.expire(apply=True)
    Path(path).write_bytes(content or b"x" * Path(path).stat().st_size)
    (defect,) = check(ledger).defects
    assert (defect.problem, defect.repair, defect.repaired) == ("changed", "no version needs it: forget it", False)
    assert check(ledger, apply=True).ok
    assert check(ledger).defects == []
    ledger.maintenance.maintain(apply=True)
    assert not Path(path).exists()
    assert len(rows(ledger, "select 1 from table_files")) == 1


def test_a_file_that_nobody_knows_is_left_to_people(ledger: Ledger) -> None:
    put(ledger, [1])
    strange = Path(ledger.tables.get(ORDERS).location, "data/mine/notes.parquet")
    strange.parent.mkdir(parents=True)
    strange.write_bytes(b"x")
    (defect,) = check(ledger, apply=True).defects
    assert (defect.problem, defect.repaired, strange.exists()) == ("untracked", None, True)
    assert "move it away by hand" in defect.repair
    shutil.rmtree(strange.parent)


def test_what_a_crashed_run_left_is_removed(ledger: Ledger) -> None:
    put(ledger, [1])
    with ledger.run("crashed") as run:
        pass
    orphan = Path(ledger.tables.get(ORDERS).location, f"data/{run.id}/part-0.parquet")
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"x")
    let_pass(ledger, 1)
    (defect,) = check(ledger, apply=True).defects
    assert (defect.problem, defect.repair, defect.repaired) == ("untracked", "a crashed run left it: remove it", True)
    assert not orphan.exists()
