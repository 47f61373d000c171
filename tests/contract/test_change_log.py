"""The change log: one row for each change of a watched row, with what was before and after, in the order of commits."""

# ruff: noqa: PT012 - what raises is the block of a run or a transaction
from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from contract.making import ORDERS, append, change, execute, expire_lease, new_file, opened, overwrite, put, rows, together
from lakeledger import Conflict, Ledger, codec
from lakeledger.db.derived import QUIET, WATCHED
from lakeledger.db.queries import statement
from lakeledger.events import Change
from lakeledger.runs import Counters, store
from lakeledger.tables import Layout

BIG = 2**62
SILENT = set(QUIET["pipeline_runs"])


def told(changes: Sequence[Change]) -> list[tuple[str, str]]:
    return [(each.table_name, each.operation) for each in changes]


def head(ledger: Ledger) -> int:
    return max((each.seq for each in ledger.changes.after(limit=100_000)), default=0)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the log may spell it, without what is not logged."""
    return {name: value for name, value in row.items() if name not in SILENT}


def same(logged: dict[str, Any], row: dict[str, Any]) -> None:
    """A row in the log says what the row in the table says; times may be spelt differently."""
    assert set(logged) == set(row)
    for name, value in plain(row).items():
        found = logged[name]
        if isinstance(value, datetime):
            assert isinstance(found, str), name
            assert codec.to_time(found) == value, name
        else:
            assert (found, type(found)) == (value, type(value)), name


def replay(changes: Sequence[Change]) -> dict[str, dict[str, dict[str, Any]]]:
    """What the tables hold, told only from the log."""
    state: dict[str, dict[str, dict[str, Any]]] = {table: {} for table in WATCHED}
    for each in changes:
        known = state[each.table_name]
        before = known.get(each.key)
        assert (each.before is None) == (each.operation == "INSERT")
        assert (each.after is None) == (each.operation == "DELETE")
        assert (plain(each.before) if each.before else None) == (plain(before) if before else None)
        assert each.before != each.after
        if each.after is None:
            del known[each.key]
        else:
            known[each.key] = each.after
    return state


def workload(ledger: Ledger) -> None:
    """Runs that complete, fail, are cancelled and taken over; commits that append, overwrite and fail."""
    append(ledger, new_file("a", BIG, BIG), new_file("b"), counters=Counters(processed=BIG))
    overwrite(ledger, new_file("c"), base_version=1, schema={"type": "struct", "fields": [{"name": "é🙂", "type": "long"}]})
    append(ledger, new_file("d", partition="day=mon"), table="silver.days", layout=Layout("jsonl", ("day",)))
    with pytest.raises(ValueError, match="no"), ledger.run("fails", parameters={"n": BIG, "none": None, "yes": True}) as run:
        with run.step("load") as step:
            put(ledger, change(step, new_file("e"), table="silver.days", layout=Layout("jsonl", ("day",))))
        raise ValueError("no")
    with pytest.raises(Conflict), ledger.run("lost", exclusive=True) as old:
        expire_lease(ledger, old.id)
        with ledger.run("lost", exclusive=True):
            pass
    execute(ledger, "update table_files set checksum = 'x', iceberg_metadata_state = 'completed'")
    execute(ledger, "delete from tables where name_key = 'silver.days'")


def test_the_first_append_is_told_row_by_row_in_order(ledger: Ledger) -> None:
    with ledger.run("load") as run:
        seen = head(ledger)
        put(ledger, change(run, new_file("a"), new_file("b")))
        assert told(ledger.changes.after(seen)) == [
            ("tables", "INSERT"),
            ("table_metadata", "INSERT"),
            ("table_files", "INSERT"),
            ("table_files", "INSERT"),
            ("tables", "UPDATE"),
            ("table_stats", "INSERT"),
            ("table_snapshots", "INSERT"),
            ("pipeline_runs", "UPDATE"),
        ]
        seen = head(ledger)
        put(ledger, change(run, new_file("c"), operation="overwrite", replaces="all", base_version=1))
        assert sorted(told(ledger.changes.after(seen))) == [
            ("pipeline_runs", "UPDATE"),
            ("table_files", "INSERT"),
            ("table_files", "UPDATE"),
            ("table_files", "UPDATE"),
            ("table_snapshots", "INSERT"),
            ("table_stats", "UPDATE"),
            ("tables", "UPDATE"),
        ]


def test_a_run_is_told_when_it_is_written_begins_and_ends(ledger: Ledger) -> None:
    with ledger.run("load"):
        pass
    found = ledger.changes.after()
    assert told(found) == [("pipeline_runs", "INSERT"), ("pipeline_runs", "UPDATE"), ("pipeline_runs", "UPDATE")]
    assert [(each.after or {})["status"] for each in found] == ["PENDING", "RUNNING", "COMPLETED"]
    assert [(each.before or {}).get("status") for each in found] == [None, "PENDING", "RUNNING"]


def test_whoever_replays_the_log_has_the_tables(ledger: Ledger) -> None:
    workload(ledger)
    state = replay(ledger.changes.after(limit=100_000))
    for table, key in WATCHED.items():
        found = {row[key]: row for row in rows(ledger, f"select * from {table}")}
        assert set(state[table]) == set(found), table
        for name, row in found.items():
            same(state[table][name], row)


def test_before_and_after_say_exactly_what_was_there(ledger: Ledger) -> None:
    append(ledger, new_file("a", BIG, 2**63 - 1))
    seen = head(ledger)
    bounds = {"id": {"min": -BIG, "max": BIG, "nulls": 0}, "ü": {"min": 'it\'s "x"', "none": None, "yes": True, "f": 0.1}}
    execute(
        ledger,
        "update table_files set checksum = 'x', is_compressed = false, removed_version = :big, column_bounds = :bounds",
        big=BIG,
        bounds=bounds,
    )
    only = ledger.changes.after(seen)[0]
    assert only.before is not None
    assert only.after is not None
    changed = {name for name in only.before if only.before[name] != only.after[name]}
    assert changed == {"checksum", "is_compressed", "removed_version", "column_bounds"}
    assert [only.before[name] for name in ("checksum", "removed_version", "is_compressed")] == [None, None, True]
    assert [only.after[name] for name in ("checksum", "removed_version", "is_compressed")] == ["x", BIG, False]
    assert (only.after["row_count"], only.after["file_size"]) == (BIG, 2**63 - 1)
    assert only.after["column_bounds"] == bounds


def test_an_update_that_changes_nothing_is_no_news(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    seen = head(ledger)
    for table in WATCHED:
        assert execute(ledger, f"update {table} set tenant_id = tenant_id") > 0
    assert ledger.changes.after(seen) == []


def test_heartbeats_are_no_news(ledger: Ledger) -> None:
    with ledger.run("load") as run:
        seen = head(ledger)
        with ledger.store.write() as tx:
            assert store.renew(tx, run.fence, 999)
        expire_lease(ledger, run.id)
        assert ledger.changes.after(seen) == []
        execute(ledger, "update pipeline_runs set heartbeat_at = null, worker_instance = 'other'")
        assert told(ledger.changes.after(seen)) == [("pipeline_runs", "UPDATE")]


def test_what_was_rolled_back_is_not_told(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    seen = head(ledger)
    with pytest.raises(ZeroDivisionError), ledger.store.write() as tx:
        tx.execute(statement("update tables set row_count = 7"))
        tx.execute(statement("delete from table_stats"))
        _ = 1 / 0
    assert ledger.changes.after(seen) == []


def test_one_statement_that_changes_many_rows_is_told_row_by_row(ledger: Ledger) -> None:
    append(ledger, *(new_file(f"f{index}") for index in range(7)))
    seen = head(ledger)
    execute(ledger, "update table_files set checksum = 'x'")
    found = ledger.changes.after(seen)
    assert told(found) == [("table_files", "UPDATE")] * 7
    assert len({each.key for each in found}) == 7


def test_rows_that_vanish_with_their_table_are_told_too(ledger: Ledger) -> None:
    append(ledger, new_file("a"), new_file("b"))
    seen = head(ledger)
    execute(ledger, "delete from tables")
    assert sorted(told(ledger.changes.after(seen))) == [
        ("table_files", "DELETE"),
        ("table_files", "DELETE"),
        ("table_metadata", "DELETE"),
        ("table_snapshots", "DELETE"),
        ("table_stats", "DELETE"),
        ("tables", "DELETE"),
    ]


def test_the_feed_is_read_page_by_page_and_by_table(ledger: Ledger) -> None:
    workload(ledger)
    everything = ledger.changes.after(limit=100_000)
    paged: list[Change] = []
    while page := ledger.changes.after(paged[-1].seq if paged else 0, limit=7):
        paged += page
    assert paged == everything
    assert [each.seq for each in everything] == sorted({each.seq for each in everything})
    files = [each for each in everything if each.table_name == "table_files"]
    assert ledger.changes.after(table="table_files") == files
    assert {each.tenant_id for each in everything} == {"default"}


def test_numbers_are_not_used_again_after_the_log_was_emptied(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    seen = head(ledger)
    execute(ledger, "delete from change_log")
    append(ledger, new_file("b"))
    assert min(each.seq for each in ledger.changes.after()) > seen


def test_the_order_of_the_log_is_the_order_of_commits(ledger: Ledger, url: str) -> None:
    for name in ("one", "two"):
        append(ledger, new_file("first"), table=name)

    def load(index: int) -> None:
        with opened(url) as other:
            for number in range(6):
                append(other, new_file(f"{index}-{number}"), table=("one", "two")[(index + number) % 2])

    together(load, 5)
    for name in ("one", "two"):
        moved = [each.after for each in ledger.changes.after(table="tables", limit=100_000) if each.operation == "UPDATE"]
        versions = [row["current_version"] for row in moved if row is not None and row["table_name"] == name]
        assert versions == list(range(1, 17))
    by_run = [
        each.key for each in ledger.changes.after(table="pipeline_runs", limit=100_000) if (each.after or {}).get("commit_count") == 1
    ]
    committed = rows(ledger, "select run_id from table_snapshots order by committed_at, snapshot_id")
    assert list(dict.fromkeys(by_run)) == [row["run_id"] for row in committed]


def test_a_reader_that_follows_the_log_misses_nothing_while_others_write(ledger: Ledger, url: str) -> None:
    done = threading.Event()
    followed: list[Change] = []

    def follow() -> None:
        with opened(url) as reader:
            cursor = 0
            while True:
                last_round = done.is_set()
                page = reader.changes.after(cursor)
                followed.extend(page)
                cursor = page[-1].seq if page else cursor
                if last_round and not page:
                    return

    def load(index: int) -> None:
        with opened(url) as other:
            for number in range(8):
                append(other, new_file(f"{index}-{number}"), table=f"t{index}")

    follower = threading.Thread(target=follow)
    follower.start()
    try:
        together(load, 4)
    finally:
        done.set()
        follower.join(30)
    assert followed == ledger.changes.after(limit=100_000)


class Hand:
    """A person at a console of the database, who knows nothing of us."""

    def __init__(self, connection: Any, mark: str) -> None:
        self._connection = connection
        self._mark = mark

    def row(self, table: str) -> dict[str, Any]:
        return dict(self._connection.execute(f"select * from {table} limit 1").fetchone())

    def insert(self, table: str, row: dict[str, Any]) -> None:
        values = [Jsonb(value) if isinstance(value, dict | list) else value for value in row.values()]
        columns = ", ".join(f'"{name}"' for name in row)
        self._connection.execute(f"insert into {table} ({columns}) values ({', '.join([self._mark] * len(row))})", values)

    def execute(self, text: str, *values: Any) -> None:
        self._connection.execute(text.replace("?", self._mark), values)


@contextmanager
def by_hand(url: str) -> Iterator[Hand]:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            yield Hand(connection, "?")
    else:
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as server:
            yield Hand(server, "%s")


UNIQUE: dict[str, dict[str, Any]] = {
    "tables": {"name_key": "silver.copy"},
    "table_metadata": {"schema_version": 99},
    "table_files": {"file_path": "copy"},
    "table_stats": {"table_id": "copy"},
    "table_snapshots": {"version": 99},
    "pipeline_runs": {"lease_token": 99},
}


def test_sql_by_hand_is_told_for_every_watched_table(ledger: Ledger, url: str) -> None:
    append(ledger, new_file("a"))
    with by_hand(url) as hand:
        for table, key in WATCHED.items():
            seen = head(ledger)
            copy = {**hand.row(table), **UNIQUE[table], key: "copy"}
            hand.insert(table, copy)
            hand.execute(f"update {table} set tenant_id = 'other' where {key} = ?", "copy")
            hand.execute(f"update {table} set tenant_id = 'default' where {key} = ?", "copy")
            if table != "tables":
                hand.execute(f"delete from {table} where {key} = ?", "copy")
            found = rows(ledger, "select * from change_log where seq > :seen order by seq", seen=seen)
            operations = ["INSERT", "UPDATE", "UPDATE", "DELETE"][: 3 if table == "tables" else 4]
            assert [(each["table_name"], each["operation"], each["key"]) for each in found] == [
                (table, each, "copy") for each in operations
            ]
            assert found[0]["after"]["tenant_id"] == "default"
            assert [each["tenant_id"] for each in found] == ["default", "other", "default", "default"][: len(found)]
            assert (found[1]["before"]["tenant_id"], found[1]["after"]["tenant_id"]) == ("default", "other")


def test_a_transaction_by_hand_is_told_when_it_commits_and_not_if_it_is_rolled_back(ledger: Ledger, url: str) -> None:
    append(ledger, new_file("a"))
    seen = head(ledger)
    with by_hand(url) as hand:
        hand.execute("begin")
        hand.execute("update tables set row_count = 7")
        assert ledger.changes.after(seen) == []
        hand.execute("rollback")
        hand.execute("begin")
        hand.execute("update tables set row_count = 8")
        hand.execute("commit")
    found = ledger.changes.after(seen)
    assert told(found) == [("tables", "UPDATE")]
    assert (found[0].after or {})["row_count"] == 8


def test_a_person_who_writes_by_hand_waits_for_the_writer_before(url: str, ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    began, order = threading.Event(), []

    def person() -> None:
        with by_hand(url) as hand:
            began.set()
            hand.execute("update tables set row_count = 7")
            order.append("person")

    with ledger.store.write() as tx:
        tx.execute(statement("update tables set row_count = 6"))
        thread = threading.Thread(target=person)
        thread.start()
        assert began.wait(10)
        thread.join(0.2)
        assert thread.is_alive()
        order.append("ledger")
    thread.join(10)
    assert order == ["ledger", "person"]
    counts = [(each.after or {})["row_count"] for each in ledger.changes.after(table="tables")]
    assert counts[-2:] == [6, 7]


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_table_cannot_be_emptied_behind_the_logs_back(ledger: Ledger, url: str) -> None:
    append(ledger, new_file("a"))
    with by_hand(url) as hand, pytest.raises(psycopg.Error, match="truncate"):
        hand.execute("truncate tables cascade")
    assert ledger.tables.get(ORDERS).current_version == 1


def test_json_in_the_log_is_json(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    for row in rows(ledger, "select cast(before as text) as before, cast(after as text) as after from change_log"):
        for text in row.values():
            assert text is None or isinstance(json.loads(text), dict)
