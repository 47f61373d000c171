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

from contract.making import (
    ORDERS,
    append,
    change,
    execute,
    expire_lease,
    new_file,
    opened,
    overwrite,
    put,
    rows,
    something_of_everything,
    together,
)
from lakeledger import Conflict, Ledger, codec
from lakeledger.db.derived import LEFT_OUT, WATCHED, forget_silently
from lakeledger.db.queries import statement
from lakeledger.events import Change
from lakeledger.runs import Counters, store
from lakeledger.tables import Layout

BIG = 2**62


# Left out by their type, also where they are empty.
DOCUMENTS = {"source_info", "destination_info", "error_details"}


def told(changes: Sequence[Change]) -> list[tuple[str, str]]:
    return [(each.table_name, each.operation) for each in changes]


def head(ledger: Ledger) -> int:
    return max((each.seq for each in ledger.changes.after(limit=100_000)), default=0)


def same(table: str, logged: dict[str, Any], row: dict[str, Any]) -> None:
    """An event says what the row's scalar columns say; times may be spelt differently."""
    scalars = {name: value for name, value in row.items() if not isinstance(value, dict | list) and name not in LEFT_OUT.get(table, ())}
    assert {name for name in scalars if name not in DOCUMENTS} == set(logged)
    for name, found in logged.items():
        value = row[name]
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
        assert (each.before is None) == (each.operation == "INSERT")
        assert (each.after is None) == (each.operation == "DELETE")
        assert each.before == known.get(each.key)
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
        put(ledger, change(run, new_file("c"), operation="overwrite", retires="all", base_version=1))
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
            same(table, state[table][name], row)


def test_before_and_after_say_exactly_what_was_there(ledger: Ledger) -> None:
    append(ledger, new_file("a", BIG, 2**63 - 1))
    seen = head(ledger)
    quoted = 'it\'s "x" \\ é🙂\n'
    execute(
        ledger, "update table_files set file_name = :name, is_compressed = false, removed_version = :big, run_id = ''", name=quoted, big=BIG
    )
    execute(ledger, "update table_files set file_name = 'a', is_compressed = true, removed_version = null")
    there, back = ledger.changes.after(seen)
    for one, other in ((there, back), (back, there)):
        assert one.before is not None
        assert one.after is not None
        assert {name for name in one.before if one.before[name] != one.after[name]} - {"run_id"} == {
            "file_name",
            "is_compressed",
            "removed_version",
        }
        assert (one.after["row_count"], one.after["file_size"]) == (BIG, 2**63 - 1)
        assert {**(other.before or {}), "run_id": ""} == {**one.after, "run_id": ""}
    assert there.after is not None
    assert [there.after[name] for name in ("file_name", "removed_version", "is_compressed")] == [quoted, BIG, False]


def test_an_event_leaves_out_what_is_large_and_a_subscriber_loads_it_by_the_key(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    execute(ledger, "update table_files set checksum = 'x'")
    found = {each.table_name: each for each in ledger.changes.after() if each.operation == "INSERT"}
    for table, name in [
        ("table_files", "column_bounds"),
        ("table_files", "checksum"),
        ("table_metadata", "schema"),
        ("table_snapshots", "summary"),
        ("pipeline_runs", "parameters"),
    ]:
        assert name not in (found[table].after or {})
        assert (ledger.changes.load(found[table]) or {})[name] is not None
    execute(ledger, "delete from table_files")
    assert ledger.changes.load(found["table_files"]) is None


def test_what_changes_only_in_what_is_left_out_is_no_event(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    seen = head(ledger)
    execute(ledger, "update table_files set checksum = 'x'")
    execute(ledger, "update pipeline_runs set parameters = :none, error_details = :none", none={"a": 1})
    assert ledger.changes.after(seen) == []


def test_of_an_update_the_log_keeps_only_what_changed(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    seen = head(ledger)
    execute(ledger, "update tables set row_count = 7")
    kept = rows(ledger, "select before, after from change_log where seq > :seen", seen=seen)[0]
    assert kept["before"] == {"row_count": 10}
    assert (kept["after"]["row_count"], kept["after"]["table_name"]) == (7, "orders")


def test_runs_that_retention_deletes_are_no_events_and_those_deleted_by_hand_are(ledger: Ledger, url: str) -> None:
    for name in ("forgotten", "by_hand"):
        with ledger.run(name):
            pass
    seen = head(ledger)
    with ledger.store.write() as tx, forget_silently(tx):
        tx.execute(statement("delete from pipeline_runs where pipeline_id = 'forgotten'"))
    with by_hand(url) as hand:
        hand.execute("delete from pipeline_runs where pipeline_id = 'by_hand'")
    assert [(each.operation, (each.before or {})["pipeline_id"]) for each in ledger.changes.after(seen)] == [("DELETE", "by_hand")]


def test_registry_rows_are_events_also_while_retention_deletes(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    seen = head(ledger)
    with pytest.raises(ZeroDivisionError), ledger.store.write() as tx, forget_silently(tx):
        _ = 1 / 0
    with ledger.store.write() as tx:
        with forget_silently(tx):
            tx.execute(statement("delete from table_stats"))
        tx.execute(statement("delete from pipeline_runs"))
    assert told(ledger.changes.after(seen)) == [("table_stats", "DELETE"), ("pipeline_runs", "DELETE")]


def test_an_update_that_changes_nothing_is_no_news(ledger: Ledger) -> None:
    something_of_everything(ledger)
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
    execute(ledger, "update table_files set file_type = 'orc'")
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
    "step_logs": {"step_index": 99},
    "dq_results": {},
    "api_keys": {"api_key_hash": "copy"},
}


def test_sql_by_hand_is_told_for_every_watched_table(ledger: Ledger, url: str) -> None:
    something_of_everything(ledger)
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
