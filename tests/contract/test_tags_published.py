"""A tag of a version is a tag of its snapshot for other engines: from the same moment, and as long as the version has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.keeping import ORDERS, let_pass, overwrite, put
from contract.making import execute
from iceberg_readers import catalog, duckdb_session
from lakeledger import Conflict, Ledger
from lakeledger.db import Transaction
from lakeledger.lake.iceberg.stage import SNAPSHOTS_KEPT, retag, stage_all
from lakeledger.tables import Table


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        yield opened


def tags(ledger: Ledger) -> dict[str, list[int]]:
    """By tag, the ids that pyiceberg finds under it."""
    with catalog(ledger) as opened:
        table = opened.load_table(ORDERS)
        named = {name: ref for name, ref in table.refs().items() if name != "main"}
        assert {ref.snapshot_ref_type.value for ref in named.values()} <= {"tag"}
        return {name: sorted(table.scan().use_ref(name).to_arrow()["id"].to_pylist()) for name in sorted(named)}


def fill(ledger: Ledger, *numbers: int, mode: str = "sync") -> None:
    for number in numbers:
        overwrite(ledger, [number], mode=mode)


def metadata_files(ledger: Ledger) -> set[str]:
    return {path.name for path in Path(ledger.tables.get(ORDERS).location, "metadata").glob("*") if not path.name.endswith("hint.text")}


def once_with(work: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> Callable[..., Any]:
    """The same work, during which something happens the first time that it is done."""

    def slowly(*given: Any, **more: Any) -> Any:
        made = work(*given, **more)
        monkeypatch.undo()
        meanwhile()
        return made

    return slowly


def test_a_tag_is_seen_at_once_and_makes_no_snapshot(ledger: Ledger) -> None:
    fill(ledger, 1, 2, 3)
    before, history = metadata_files(ledger), list(ledger.tables.history(ORDERS))
    ledger.snapshots.tag(ORDERS, "june", 2)
    ledger.snapshots.tag(ORDERS, "now")
    assert tags(ledger) == {"june": [2], "now": [3]}
    added = metadata_files(ledger) - before
    assert len(added) == 2
    assert all(name.endswith("-table.metadata.json") for name in added)
    found = ledger.tables.history(ORDERS)
    assert [each.iceberg_snapshot_id for each in found] == [each.iceberg_snapshot_id for each in history]
    with catalog(ledger) as opened:
        assert len(opened.load_table(ORDERS).metadata.snapshots) == 3
    fill(ledger, 4)
    assert tags(ledger) == {"june": [2], "now": [3]}
    ledger.snapshots.untag(ORDERS, "june")
    assert tags(ledger) == {"now": [3]}
    fill(ledger, 5)
    assert tags(ledger) == {"now": [3]}


def test_duckdb_reads_the_snapshot_of_a_tag(ledger: Ledger) -> None:
    fill(ledger, 1, 2)
    ledger.snapshots.tag(ORDERS, "june", 1)
    found = ledger.tables.publication(ORDERS)
    assert found is not None
    with catalog(ledger) as opened:
        snapshot_id = opened.load_table(ORDERS).refs()["june"].snapshot_id
    query = f"select id from iceberg_scan('{found.metadata_location}', snapshot_from_id => {snapshot_id})"
    assert duckdb_session().sql(query).fetchall() == [(1,)]


def test_a_version_that_is_published_later_is_published_with_its_tag(ledger: Ledger) -> None:
    fill(ledger, 1)
    fill(ledger, 2, 3, mode="async")
    ledger.snapshots.tag(ORDERS, "never", 2)
    ledger.snapshots.tag(ORDERS, "late", 3)
    assert tags(ledger) == {}
    ledger.publisher.publish(ORDERS)
    # Other engines never saw the second version.
    assert tags(ledger) == {"late": [3]}


def test_what_is_published_for_the_first_time_has_the_versions_with_a_tag(ledger: Ledger) -> None:
    fill(ledger, 1, 2, 3, mode="async")
    ledger.snapshots.tag(ORDERS, "first", 1)
    ledger.publisher.publish(ORDERS)
    assert tags(ledger) == {"first": [1]}
    found = ledger.tables.history(ORDERS)
    assert [each.publish_trigger for each in found] == ["manual", None, "manual"]
    assert [each.iceberg_snapshot_id is None for each in found] == [False, True, False]
    assert all(Path(each.manifest_list).exists() for each in found if each.manifest_list)


def test_what_is_published_anew_has_the_versions_with_a_tag_and_no_others(ledger: Ledger) -> None:
    put(ledger, [1])
    put(ledger, [2])
    fill(ledger, 3)
    put(ledger, [4])
    put(ledger, [5])
    for name, version in {"first": 1, "second": 2, "again": 2, "fourth": 4, "now": 5}.items():
        ledger.snapshots.tag(ORDERS, name, version)
    expected = {"first": [1], "second": [1, 2], "again": [1, 2], "fourth": [3, 4], "now": [3, 4, 5]}
    assert tags(ledger) == expected
    ledger.publisher.publish(ORDERS, anew=True)
    assert tags(ledger) == expected
    with catalog(ledger) as opened:
        found = opened.load_table(ORDERS).metadata
        assert [each.sequence_number for each in found.snapshots] == [1, 2, 4, 5]
        assert [each.snapshot_id for each in found.snapshot_log] == [found.current_snapshot_id]
    assert ledger.repair.verify(ORDERS).defects == []
    put(ledger, [6])
    assert tags(ledger) == expected
    assert ledger.maintenance.maintain(apply=True).tables[0].problems == []


def test_a_moved_warehouse_takes_its_tags_along_with_the_next_commit(ledger: Ledger, tmp_path: Path) -> None:
    put(ledger, [1])
    ledger.columns.add(ORDERS, "note", "string")
    ledger.columns.drop(ORDERS, "note")
    put(ledger, [2])
    ledger.snapshots.tag(ORDERS, "june", 2)
    ledger.snapshots.tag(ORDERS, "july", 4)
    (tmp_path / "warehouse").rename(tmp_path / "elsewhere")
    with lakeledger.open(ledger.settings.url, warehouse=str(tmp_path / "elsewhere"), metadata="sync") as moved:
        moved.move_warehouse(apply=True)
        put(moved, [3])
        assert tags(moved) == {"june": [1], "july": [1, 2]}
        with catalog(moved) as opened:
            table = opened.load_table(ORDERS)
            assert [field.name for field in table.scan().use_ref("june").projection().fields] == ["id", "note"]
            assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]


def test_a_tag_of_a_table_whose_metadata_is_gone_is_seen_when_it_is_published_anew(ledger: Ledger) -> None:
    fill(ledger, 1)
    found = ledger.tables.publication(ORDERS)
    assert found is not None
    Path(found.metadata_location or "").unlink()
    with lakeledger.open(ledger.settings.url, warehouse=ledger.settings.warehouse) as other:
        other.snapshots.tag(ORDERS, "june")
        assert other.repair.verify(ORDERS, apply=True).ok
    assert tags(ledger) == {"june": [1]}


def test_the_name_of_icebergs_own_branch_stays_icebergs(ledger: Ledger) -> None:
    fill(ledger, 1, 2)
    ledger.snapshots.tag(ORDERS, "main", 1)
    with catalog(ledger) as opened:
        assert opened.load_table(ORDERS).scan().to_arrow()["id"].to_pylist() == [2]
    assert tags(ledger) == {}
    assert ledger.repair.verify(ORDERS).defects == []


def test_a_tagged_version_outlives_expiry_and_the_last_hundred_snapshots(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("", keep_versions=1, keep_for=timedelta(days=1), grace=timedelta(0))
    fill(ledger, 1, 2)
    ledger.snapshots.tag(ORDERS, "june", 1)
    fill(ledger, *range(3, SNAPSHOTS_KEPT + 5))
    assert tags(ledger) == {"june": [1]}
    let_pass(ledger, 10)
    (care,) = ledger.maintenance.maintain(apply=True).tables
    assert care.problems == []
    assert 1 not in care.expired
    assert tags(ledger) == {"june": [1]}
    ledger.snapshots.untag(ORDERS, "june")
    assert tags(ledger) == {}
    assert ledger.maintenance.expire(apply=True).tables[0].expired == [1]
    assert ledger.repair.verify(ORDERS).defects == []


def test_a_tag_that_is_given_while_a_version_is_published_is_published_with_it(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(ledger, 1)
    fill(ledger, 2, mode="async")
    monkeypatch.setattr(
        "lakeledger.publishing.stage_all", once_with(stage_all, monkeypatch, lambda: ledger.snapshots.tag(ORDERS, "meanwhile", 2))
    )
    ledger.publisher.publish(ORDERS)
    assert tags(ledger) == {"meanwhile": [2]}


def test_a_version_that_is_published_while_a_tag_is_given_has_it(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(ledger, 1, 2)
    monkeypatch.setattr("lakeledger.publishing.retag", once_with(retag, monkeypatch, lambda: fill(ledger, 3)))
    ledger.snapshots.tag(ORDERS, "june", 1)
    assert tags(ledger) == {"june": [1]}
    with catalog(ledger) as opened:
        assert opened.load_table(ORDERS).scan().to_arrow()["id"].to_pylist() == [3]


def test_a_tag_that_is_refused_leaves_no_metadata(ledger: Ledger) -> None:
    fill(ledger, 1, 2)
    ledger.snapshots.tag(ORDERS, "june", 1)
    before = metadata_files(ledger)
    with pytest.raises(Conflict, match="is called 'june' already"):
        ledger.snapshots.tag(ORDERS, "june", 2)
    assert ledger.snapshots.tag(ORDERS, "june", 1).version == 1
    assert metadata_files(ledger) == before


def test_tags_that_differ_are_found_and_repaired(ledger: Ledger) -> None:
    fill(ledger, 1, 2)
    ledger.snapshots.tag(ORDERS, "june", 1)
    execute(ledger, "update table_tags set name = 'july'")
    (defect,) = ledger.repair.verify(ORDERS).defects
    assert (defect.problem, defect.detail) == ("published", "other engines see other tags than the ledger has: july, june")
    assert ledger.repair.verify(ORDERS, apply=True).ok
    assert tags(ledger) == {"july": [1]}
    assert ledger.repair.verify(ORDERS).defects == []


def test_work_that_fails_changes_no_tags(ledger: Ledger) -> None:
    fill(ledger, 1)

    def fail(_tx: Transaction, _table: Table) -> None:
        raise Conflict("no")

    before = metadata_files(ledger)
    with pytest.raises(Conflict, match="no"):
        ledger.publisher.retag(ORDERS, fail)
    assert metadata_files(ledger) == before


def test_rows_that_are_appended_keep_the_tag_where_it_was(ledger: Ledger) -> None:
    put(ledger, [1])
    ledger.snapshots.tag(ORDERS, "one")
    put(ledger, [2])
    assert tags(ledger) == {"one": [1]}
