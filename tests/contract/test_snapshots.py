"""Versions are kept as long as somebody needs them, and no longer: tags, policies, readers, expiry."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.keeping import ORDERS, let_pass, overwrite, put, read
from contract.making import execute, rows, table_names
from iceberg_readers import catalog
from lakeledger import Conflict, Invalid, Ledger, NotFound
from lakeledger.maintenance import expiry
from lakeledger.maintenance.policies import INHERIT
from lakeledger.sync import IcebergPosition
from lakeledger.tables import Partitions

NOTHING = timedelta(0)


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    """Without a policy of its own, versions are kept for a day, and no longer than that for their number."""
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        opened.snapshots.set_policy("", keep_versions=1, keep_for=timedelta(days=1), grace=NOTHING)
        yield opened


def fill(ledger: Ledger, versions: int = 5, days: float = 10) -> None:
    for number in range(1, versions + 1):
        overwrite(ledger, [number])
    let_pass(ledger, days)


def left(ledger: Ledger) -> list[int]:
    return sorted(each.version for each in ledger.tables.history(ORDERS))


def expire(ledger: Ledger) -> list[int]:
    (care,) = ledger.maintenance.expire(apply=True).tables
    assert care.problems == []
    return care.expired


def test_old_versions_expire_and_the_current_one_never_does(ledger: Ledger) -> None:
    fill(ledger)
    (care,) = ledger.maintenance.expire().tables
    assert (care.expired, left(ledger)) == ([1, 2, 3, 4], [1, 2, 3, 4, 5])
    assert expire(ledger) == [1, 2, 3, 4]
    assert left(ledger) == [5]
    assert read(ledger) == [5]
    (run,) = [run for run in ledger.runs.list() if run.run_kind == "maintenance"]
    found = rows(ledger, "select version, expired_by from expired_snapshots order by version")
    assert [(row["version"], row["expired_by"]) for row in found] == [(number, run.id) for number in range(1, 5)]
    assert ledger.runs.steps(run.id)[0].metadata == {ORDERS: {"expired": [[1, 4]]}}
    assert [change.operation for change in ledger.changes.after(0, "table_snapshots", 1_000)].count("DELETE") == 4


def test_a_version_expires_only_if_age_and_number_allow_it(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("shop", keep_versions=3)
    fill(ledger)
    overwrite(ledger, [6])
    assert expire(ledger) == [1, 2, 3]
    ledger.snapshots.set_policy(ORDERS, keep_versions=1)
    # The fifth was current until just now.
    assert expire(ledger) == [4]
    assert left(ledger) == [5, 6]


def test_a_tag_keeps_a_version_until_it_is_taken_away(ledger: Ledger) -> None:
    for number in range(1, 4):
        overwrite(ledger, [number])
    tag = ledger.snapshots.tag(ORDERS, "june", 2, "the audit", by="ann")
    assert (tag.name, tag.version, tag.comment, tag.created_by) == ("june", 2, "the audit", "ann")
    assert ledger.snapshots.tag(ORDERS, "june", 2) == tag
    let_pass(ledger, 10)
    assert expire(ledger) == [1]
    assert [(each.snapshot.version, each.tags, each.kept) for each in ledger.snapshots.list(ORDERS)] == [
        (3, [], "current"),
        (2, ["june"], "tag june"),
    ]
    assert read(ledger, 2) == [2]
    assert ledger.tables.view(ORDERS, "june").version == 2
    with ledger.pin(ORDERS, "june") as view:
        assert view.version == 2
    with pytest.raises(NotFound, match="no tag 'july'"):
        ledger.tables.view(ORDERS, "july")
    ledger.snapshots.untag(ORDERS, "june")
    assert expire(ledger) == [2]


def test_a_tag_is_of_a_version_that_is_there_and_of_one_only(ledger: Ledger) -> None:
    overwrite(ledger, [1])
    overwrite(ledger, [2])
    ledger.snapshots.tag(ORDERS, "june")
    with pytest.raises(Conflict, match=r"version 2 of shop\.orders is called 'june' already"):
        ledger.snapshots.tag(ORDERS, "june", 1)
    with pytest.raises(NotFound, match="no version 3"):
        ledger.snapshots.tag(ORDERS, "july", 3)
    with pytest.raises(Invalid, match="a tag needs a name"):
        ledger.snapshots.tag(ORDERS, " ")
    with pytest.raises(NotFound, match="no tag 'july'"):
        ledger.snapshots.untag(ORDERS, "july")
    other = ledger.for_tenant("other")
    with pytest.raises(NotFound, match=r"no table shop\.orders"):
        other.snapshots.tags(ORDERS)


def test_who_reads_an_expired_version_hears_what_is_left_and_how_to_keep_it(ledger: Ledger) -> None:
    for number in range(1, 7):
        overwrite(ledger, [number])
        let_pass(ledger, 1)
    times = {each.version: each.committed_at for each in ledger.tables.history(ORDERS)}
    ledger.snapshots.tag(ORDERS, "june", 2)
    let_pass(ledger, 10)
    times = {version: at - timedelta(days=10) for version, at in times.items()}
    expire(ledger)
    with pytest.raises(NotFound, match=r"version 4 of shop\.orders has expired; the nearest that are left: 2 and 6\. .*snapshots tag"):
        ledger.tables.view(ORDERS, 4)
    with pytest.raises(NotFound, match="no version 7: it has 1 to 6"):
        ledger.tables.view(ORDERS, 7)
    # By time one never gets another version than the one that was current.
    assert ledger.tables.view(ORDERS, at=times[6]).version == 6
    assert ledger.tables.view(ORDERS, at=times[3] - timedelta(hours=1)).version == 2
    for gone in (1, 3, 4, 5):
        with pytest.raises(NotFound, match=f"version {gone} of shop.orders has expired"):
            ledger.tables.view(ORDERS, at=times[gone] + timedelta(hours=1))
    with pytest.raises(NotFound, match="did not exist"):
        ledger.tables.view(ORDERS, at=times[1] - timedelta(days=1))


def test_a_batch_is_applied_once_also_after_its_version_has_expired(ledger: Ledger) -> None:
    put(ledger, [1], batch_id="monday")
    overwrite(ledger, [2])
    let_pass(ledger, 10)
    assert expire(ledger) == [1]
    again = put(ledger, [1], batch_id="monday")
    assert (again.applied, again.tables[0].version) == (False, 1)
    assert read(ledger) == [2]


def test_what_a_run_did_is_explained_after_it_has_expired(ledger: Ledger) -> None:
    run = put(ledger, [1]).run
    fill(ledger, 2)
    expire(ledger)
    assert any("shop.orders version 1" in line for line in ledger.explain(run.id).visible)


def test_rows_computed_from_an_expired_version_are_a_conflict(ledger: Ledger) -> None:
    fill(ledger, 3)
    expire(ledger)
    with pytest.raises(Conflict, match="moved from version 1 to 3"):
        put(ledger, [9], operation="overwrite", retires=Partitions(frozenset(["day=1"])), base_version=1)


def test_an_open_reader_keeps_its_version(ledger: Ledger) -> None:
    fill(ledger)
    with ledger.pin(ORDERS, 2) as view:
        assert view.version == 2
        assert expire(ledger) == [1, 3, 4]
        assert read(ledger, 2) == [2]
        assert [each.kept for each in ledger.snapshots.list(ORDERS)] == ["current", f"read by {ledger.worker.name}"]
    assert expire(ledger) == [2]


def test_a_reader_that_is_gone_keeps_nothing(ledger: Ledger) -> None:
    fill(ledger)
    with ledger.pin(ORDERS, 1), ledger.pin(ORDERS, 2), ledger.pin(ORDERS, 3):
        execute(ledger, "update table_pins set expires_at = pinned_at where version = 1")
        execute(ledger, "update table_pins set held_by = 'here:999999999' where version = 2")
        assert expire(ledger) == [1, 2, 4]


def test_a_pin_is_renewed_while_its_reader_lives(url: str, tmp_path: Path) -> None:
    from contract.making import wait_until
    from lakeledger.config import Settings

    with lakeledger.open(Settings(url=url, warehouse=str(tmp_path / "warehouse"), lease_seconds=0.2)) as ledger:
        overwrite(ledger, [1])
        with ledger.pin(ORDERS):
            (first,) = rows(ledger, "select expires_at from table_pins")
            wait_until(lambda: rows(ledger, "select expires_at from table_pins")[0]["expires_at"] > first["expires_at"])
        assert rows(ledger, "select 1 from table_pins") == []


def test_a_running_run_keeps_what_was_current_since_it_began(ledger: Ledger) -> None:
    fill(ledger, 3, days=20)
    with ledger.run("report"):
        overwrite(ledger, [4])
        overwrite(ledger, [5])
        let_pass(ledger, 10)
        assert expire(ledger) == [1, 2]
        assert "of report is at work" in (ledger.snapshots.list(ORDERS)[-1].kept or "")
    assert expire(ledger) == [3, 4]


def test_a_version_that_was_just_replaced_is_kept_for_the_grace_time(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("", keep_for=NOTHING, grace=timedelta(hours=1))
    overwrite(ledger, [1])
    let_pass(ledger, 10)
    overwrite(ledger, [2])
    assert expire(ledger) == []
    let_pass(ledger, 1)
    assert expire(ledger) == [1]


def test_a_source_that_reads_piece_by_piece_keeps_what_it_has_not_read(ledger: Ledger) -> None:
    fill(ledger)
    third = next(each for each in ledger.tables.history(ORDERS) if each.version == 3)
    ledger.positions.advance("shop.orders", IcebergPosition(third.iceberg_snapshot_id or 0, 3))
    assert expire(ledger) == [1, 2]
    assert ledger.snapshots.list(ORDERS)[1].kept == "source shop.orders has read up to version 3"


def test_a_subscriber_keeps_the_versions_it_has_not_heard_of(ledger: Ledger) -> None:
    fill(ledger)
    events = [change for change in ledger.changes.after(0, "table_snapshots") if change.operation == "INSERT"]
    seq = next(change.seq for change in events if (change.after or {})["version"] == 3)
    execute(
        ledger,
        "insert into subscriber_cursor (tenant_id, subscriber, seq, updated_at) values (:tenant_id, 'mirror', :seq, :now)",
        seq=seq,
    )
    with ledger.store.read() as tx:
        assert expiry.unheard(tx) == {ledger.tables.get(ORDERS).table_id: 4}
    assert expire(ledger) == [1, 2, 3]
    execute(ledger, "update subscriber_cursor set seq = :seq", seq=events[-1].seq)
    assert expire(ledger) == [4]


def test_a_subscriber_that_is_behind_with_some_tables_keeps_their_versions(ledger: Ledger) -> None:
    fill(ledger)
    events = [change for change in ledger.changes.after(0, "table_snapshots") if change.operation == "INSERT"]
    columns = (
        "tenant_id text, subscriber text, registry_table text, lake_table text, next_seq bigint, attempts integer, updated_at timestamptz"
    )
    if "delivery" not in table_names(ledger):
        execute(ledger, f"create table delivery ({columns})")
    execute(
        ledger,
        "insert into subscriber_cursor (tenant_id, subscriber, seq, updated_at) values (:tenant_id, 'mirror', :seq, :now)",
        seq=events[-1].seq,
    )
    execute(
        ledger,
        "insert into delivery (tenant_id, subscriber, registry_table, lake_table, next_seq, attempts, updated_at)"
        " values (:tenant_id, 'mirror', 'table_snapshots', 'x', :seq, 3, :now)",
        seq=next(change.seq for change in events if (change.after or {})["version"] == 3),
    )
    assert expire(ledger) == [1, 2]
    execute(ledger, "delete from delivery")
    assert expire(ledger) == [3, 4]


def test_what_is_published_is_kept_and_expired_versions_leave_what_others_see(ledger: Ledger) -> None:
    overwrite(ledger, [1])
    overwrite(ledger, [2])
    ledger.snapshots.tag(ORDERS, "june", 1)
    overwrite(ledger, [3])
    overwrite(ledger, [4], mode="async")
    overwrite(ledger, [5], mode="async")
    let_pass(ledger, 10)
    (care,) = ledger.maintenance.expire().tables
    assert (care.expired, care.dropped) == ([2, 4], [2])
    (care,) = ledger.maintenance.expire(apply=True).tables
    assert (care.expired, care.dropped) == ([2, 4], [2])
    with catalog(ledger) as opened:
        table = opened.load_table(ORDERS)
        assert [each.sequence_number for each in table.metadata.snapshots] == [1, 3]
        # By time, too, nobody finds an older one than was current.
        assert [each.snapshot_id for each in table.metadata.snapshot_log] == [table.metadata.snapshots[-1].snapshot_id]
        assert table.scan().to_arrow()["id"].to_pylist() == [3]
    ledger.publisher.publish(ORDERS)
    with catalog(ledger) as opened:
        assert opened.load_table(ORDERS).scan().to_arrow()["id"].to_pylist() == [5]
    assert expire(ledger) == [3]


def test_a_policy_is_inherited_by_schema_and_table(ledger: Ledger) -> None:
    snapshots = ledger.snapshots
    snapshots.set_policy("Shop", keep_versions=7, grace=timedelta(hours=2))
    snapshots.set_policy("shop.ORDERS", keep_versions=9, snapshot_commits=None, by="ann")
    found = snapshots.policy("shop.orders")
    assert (found.keep_versions, found.keep_for, found.grace, found.snapshot_commits) == (9, timedelta(days=1), timedelta(hours=2), None)
    assert snapshots.policy("shop.items").keep_versions == 7
    assert snapshots.policy("crm.people").keep_versions == 1
    assert [(each.scope, each.settings, each.updated_by) for each in snapshots.policies()][2] == (
        "shop.orders",
        {"keep_versions": 9, "snapshot_commits": None},
        "ann",
    )
    assert snapshots.set_policy("shop.orders", keep_versions=INHERIT, snapshot_commits=INHERIT) == {}
    assert [each.scope for each in snapshots.policies()] == ["", "shop"]
    assert ledger.for_tenant("other").snapshots.policies() == []


@pytest.mark.parametrize(
    ("scope", "changes", "why"),
    [
        ("shop", {"keep_version": 3}, "no setting 'keep_version'; did you mean 'keep_versions'"),
        ("shop", {"keep_versions": 0}, "keep_versions must be at least 1, not 0"),
        ("shop", {"keep_for": 3}, "keep_for must be a time span"),
        ("shop", {"keep_for": timedelta(days=-1)}, "keep_for must be a time span"),
        ("shop", {"grace": timedelta.max}, "grace must be a time span of at most 36500 days"),
        ("a.b.c", {"keep_versions": 3}, "neither a schema nor a table"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(ledger: Ledger, scope: str, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(Invalid, match=why):
        ledger.snapshots.set_policy(scope, **changes)


def test_a_snapshot_is_made_by_hand_and_named(ledger: Ledger) -> None:
    put(ledger, [1], mode="async")
    made = ledger.snapshots.create(ORDERS, "first")
    assert made.publication is not None
    assert made.tag is not None
    assert (made.publication.version, made.tag.version) == (1, 1)
