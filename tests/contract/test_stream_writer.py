"""The stream writer: rows are acknowledged once their rotation is committed, and until then they are nowhere, or lost with a word."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakeledger
from contract.keeping import ORDERS, overwrite
from contract.streaming import EVENTS, ids, quarantined, read
from empty_ledgers import new_sqlite_url
from integration.test_tasks import call, module, steps_py
from integration.test_tasks import run as run_tasks
from lakeledger import Failed, Fenced, Invalid, Ledger, Settings, Unavailable, failpoints
from lakeledger.runs import cancelled
from lakeledger.testing import raise_at
from postgres_server import Server

NEVER = timedelta(days=1)
PATIENCE = 30


@pytest.fixture
def sqlite_ledger(tmp_path: Path) -> Any:
    with lakeledger.open(new_sqlite_url(tmp_path)) as opened:
        yield opened


def rows(first: int, last: int, **more: Any) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"n{number}", **more} for number in range(first, last)]


def test_rows_of_python_and_arrow_are_one_file_one_version_and_one_run(ledger: Ledger) -> None:
    with ledger.stream_writer(EVENTS, every=NEVER) as writer:
        tickets = [writer.write({"id": 0, "name": "n0"}), writer.write(rows(1, 10)), writer.write(pa.table({"id": [10], "name": ["n10"]}))]
        assert not any(ticket.done() for ticket in tickets)
        assert ledger.tables.find(EVENTS) is None
        assert writer.flush() == 1
        assert [ticket.result() for ticket in tickets] == [1, 1, 1]
        assert (ids(ledger), len(ledger.tables.files(EVENTS))) == (list(range(11)), 1)
        assert (writer.flush(), writer.write([]).result()) == (1, 1), "without rows there is nothing to commit"
        late = writer.write(pa.RecordBatch.from_pydict({"id": [11], "name": ["n11"]}))
        (run,) = ledger.runs.list()
        assert (run.id, run.status, run.records_inserted, run.commit_count) == (writer.run_id, "RUNNING", 11, 1)
    assert late.result() == 2, "the end of the block commits what is there"
    (run,) = ledger.runs.list()
    assert (run.status, run.pipeline_id, run.records_inserted, run.commit_count) == ("COMPLETED", EVENTS, 12, 2)
    assert run.parameters["stream_writer"] == {"every_seconds": 86400.0, "rows": 1_000_000, "bytes": 128 << 20}
    (file,) = [each for each in ledger.tables.files(EVENTS) if each.added_version == 1]
    assert (file.row_count, file.column_bounds["id"], file.run_id) == (11, {"min": 0, "max": 10, "nulls": 0}, run.id)
    volume = ledger.records.latest(EVENTS, "ingestion_volume")
    assert volume is not None
    assert (volume.payload["rows"], volume.payload["files"], volume.payload["table_version"]) == (1, 1, 2)
    assert volume.context.extras == ledger.records.environment
    ledger.settle()
    assert ledger.tables.verify(EVENTS).ok


def test_rows_are_rotated_by_number_by_size_and_by_age_even_if_nobody_writes_any_more(ledger: Ledger) -> None:
    with ledger.stream_writer(EVENTS, every=NEVER, rows=10) as writer:
        first = [writer.write(rows(number, number + 1)) for number in range(10)]
        assert {ticket.result(PATIENCE) for ticket in first} == {1}
    with ledger.stream_writer(EVENTS, every=NEVER, bytes=1000) as writer:
        assert writer.write({"id": 10, "name": "x" * 1000}).result(PATIENCE) == 2
    with ledger.stream_writer(EVENTS, every="1s") as writer:
        assert writer.write(rows(11, 12)).result(PATIENCE) == 3
    assert ids(ledger) == list(range(12))


def test_many_rotations_are_one_run_that_is_explained_in_one_line(sqlite_ledger: Ledger) -> None:
    with sqlite_ledger.stream_writer(EVENTS, every=NEVER, rows=1) as writer:
        for number in range(25):
            writer.write({"id": number})
    (run,) = sqlite_ledger.runs.list()
    assert sqlite_ledger.explain(run.id).visible == ["bronze.events 25 versions, 1 to 25 (append, +25 rows)"]


def test_bad_rows_are_in_the_quarantine_in_the_same_commit_with_their_letters(ledger: Ledger) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
    with ledger.stream_writer(EVENTS, every=NEVER, schema=schema) as writer:
        writer.write([{"id": 1, "name": "a"}, {"id": "x", "name": 2}, {"name": "c"}, {"id": 4, "color": "red"}])
        assert writer.flush() == 1
        writer.write([{"name": "d"}])
        assert writer.flush() == 2
    assert ids(ledger) == [1]
    assert quarantined(ledger) == [
        ({"id": "x", "name": 2}, ["id is not long", "name is not string"]),
        ({"id": 4, "color": "red"}, ["color is new"]),
        ({"name": "c"}, ["id is NULL"]),
        ({"name": "d"}, ["id is NULL"]),
    ]
    (run,) = ledger.runs.list()
    assert (run.records_processed, run.records_inserted, run.records_failed) == (5, 1, 4)
    assert {(row["run_id"], row["format"]) for row in read(ledger, f"{EVENTS}__quarantine").to_pylist()} == {(run.id, "columns")}
    letters = sorted((letter.record_data["reason"], letter.record_data["rows"]) for letter in ledger.dead_letters.list())
    assert letters == [("color is new", 1), ("id is NULL", 1), ("id is NULL", 1), ("id is not long", 1), ("name is not string", 1)]
    volume = ledger.records.latest(EVENTS, "ingestion_volume")
    assert volume is not None
    assert volume.extras["guardrails"]["reasons"] == {"id is NULL": 1}
    assert ledger.tables.get(EVENTS).current_version == 2
    assert ledger.repair.verify(f"{EVENTS}__quarantine").defects == []


def test_too_many_bad_rows_fail_the_rotation_and_the_writer_and_nothing_of_it_is_visible(sqlite_ledger: Ledger) -> None:
    with sqlite_ledger.stream_writer(EVENTS, every=NEVER, max_bad_rate=0.5, required_columns=["id"]) as writer:
        writer.write(rows(0, 2))
        writer.flush()
        ticket = writer.write([{"id": None}, {"id": None}, *rows(2, 3)])
        with pytest.raises(Failed, match=r"2 of 3 rows for bronze.events are bad, more than max_bad_rate 0.5: 2 × id is NULL"):
            writer.flush()
        assert isinstance(ticket.exception(), Failed)
        with pytest.raises(Failed, match="2 of 3 rows"):
            writer.write(rows(3, 4))
    assert (ids(sqlite_ledger), quarantined(sqlite_ledger)) == ([0, 1], [])
    (run,) = sqlite_ledger.runs.list()
    assert (run.status, run.commit_count, sqlite_ledger.dead_letters.list()) == ("FAILED", 1, [])
    sqlite_ledger.settle()
    assert sqlite_ledger.tables.sweep(timedelta(0)).leftovers == [], "it has removed its files"


def test_columns_come_and_types_grow_by_the_drift_policy_and_partitions_have_files_of_their_own(ledger: Ledger) -> None:
    with ledger.stream_writer(EVENTS, every=NEVER, partition_by=["day"], schema_drift="evolve") as writer:
        writer.write([{"id": 1, "day": "mon"}, {"id": 2, "day": "tue"}, {"id": 3, "day": "mon"}])
        writer.write(pa.table({"id": [4], "day": ["tue"], "color": ["red"]}))
        writer.flush()
        ledger.columns.rename(EVENTS, "color", "paint")
        writer.write([{"id": 5, "day": None, "paint": "blue", "color": "new"}])
        writer.write([{"id": 6}])
    found = {row["id"]: (row["day"], row["paint"], row["color"]) for row in read(ledger).to_pylist()}
    assert found == {
        1: ("mon", None, None), 2: ("tue", None, None), 3: ("mon", None, None), 4: ("tue", "red", None), 5: (None, "blue", "new"),
        6: (None, None, None),
    }  # fmt: skip
    partitions = sorted((file.added_version, file.partition_path, file.row_count) for file in ledger.tables.files(EVENTS))
    assert partitions == [(1, "day=mon", 2), (1, "day=tue", 2), (3, "day=__HIVE_DEFAULT_PARTITION__", 2)]
    assert [field["physical_name"] for field in ledger.tables.view(EVENTS).schema["fields"]] == ["id", "day", "color", "color_4"]
    assert ledger.tables.history(EVENTS)[0].summary["schema_changes"] == ["color string added"]


def test_arrow_that_does_not_fit_is_refused_where_it_is_written_and_the_writer_goes_on(sqlite_ledger: Ledger) -> None:
    with sqlite_ledger.stream_writer(EVENTS, every=NEVER) as writer:
        writer.write(pa.table({"id": [1]}))
        with pytest.raises(Invalid, match=r"the data does not fit bronze.events: id is long, not string"):
            writer.write(pa.table({"id": ["a"]}))
        writer.write(pa.table({"id": [2], "name": ["b"]}))
        writer.flush()
        with pytest.raises(Invalid, match="color is new; schema_drift='evolve' lets new columns in"):
            writer.write(pa.table({"id": [3], "color": ["red"]}))
        sqlite_ledger.columns.add(EVENTS, "color", "string")
        writer.write(pa.table({"id": [3], "color": ["red"]}))
    assert ids(sqlite_ledger) == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"every": 0}, "every=0 seconds lets no rows gather: give more than 0"),
        ({"every": "soon"}, "every='soon' is no time span: write 10s"),
        ({"wait": None}, "wait=None is no time span"),
        ({"rows": 0}, "rows=0 is no number of rows to gather: give a whole number above 0"),
        ({"bytes": "1MB"}, "bytes='1MB' is no number of bytes to gather"),
        ({"schema": "id int"}, "schema='id int' is no schema of Arrow: write pyarrow.schema"),
        ({"wait": -1}, "wait=-1 is no time"),
        ({"schema_drift": "ignore"}, "schema_drift='ignore' is none of freeze, evolve, rescue, drop"),
        ({"max_bad_rate": 2}, "max_bad_rate=2 is no share of rows"),
        ({"metadata": "now"}, "now"),
        ({"table": "bronze events!"}, "table name 'bronze events!' is not allowed"),
        ({"partition_by": ["id", "ID"]}, "a column is there twice"),
    ],
)
def test_what_cannot_be_is_refused_at_once_with_the_fix(sqlite_ledger: Ledger, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        sqlite_ledger.stream_writer(**{"table": EVENTS, **arguments})
    assert sqlite_ledger.runs.list() == []


def test_what_is_no_row_and_what_comes_too_late_is_refused(sqlite_ledger: Ledger) -> None:
    writer = sqlite_ledger.stream_writer(EVENTS, every=NEVER)
    wrong: list[tuple[Any, str]] = [
        ("{}", "takes dicts or Arrow, not str"),
        ([1], "a row for bronze.events is a int: give dicts"),
        (5, "not int"),
    ]
    for odd, message in wrong:
        with pytest.raises(Invalid, match=message):
            writer.write(odd)
    row = {"id": 1}
    writer.write(row)
    row["id"] = 2
    writer.write(row)
    writer.close()
    writer.close()
    with pytest.raises(Invalid, match=r"the stream writer of bronze.events is closed: open another with ledger.stream_writer"):
        writer.write(row)
    assert (ids(sqlite_ledger), writer.flush()) == ([1, 2], 1)


def test_a_ledger_that_is_closed_commits_what_its_writers_have(tmp_path: Path) -> None:
    url = new_sqlite_url(tmp_path)
    with lakeledger.open(url) as ledger:
        ledger.stream_writer(EVENTS, every=NEVER).write(rows(0, 3))
        ledger.for_tenant("other").stream_writer(EVENTS, every=NEVER).write(rows(0, 2))
    with lakeledger.open(url) as ledger:
        assert (ids(ledger), ids(ledger.for_tenant("other"))) == ([0, 1, 2], [0, 1])
        assert [run.status for run in ledger.runs.list()] == ["COMPLETED"]


def test_whoever_writes_too_fast_waits_for_a_bounded_time_and_nothing_of_it_is_taken(
    sqlite_ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold(_: str) -> None:
        reached.set()
        go_on.wait(PATIENCE)

    monkeypatch.setitem(failpoints.armed, failpoints.BEFORE_WRITE, hold)
    with sqlite_ledger.stream_writer(EVENTS, every=NEVER, rows=10, wait=0.05) as writer:
        first = writer.write(rows(0, 10))
        assert reached.wait(PATIENCE)
        second = writer.write(rows(10, 20))
        with pytest.raises(Unavailable, match=r"10 rows wait for bronze.events .* longer than 0.05 s: write them again later") as refused:
            writer.write(rows(20, 21))
        assert refused.value.retryable
        assert not first.done()
        go_on.set()
        assert (first.result(PATIENCE), second.result(PATIENCE)) == (1, 2)
        writer.write(rows(21, 22))
    assert ids(sqlite_ledger) == [*range(20), 21]


def test_a_failure_reaches_whoever_waits_writes_or_closes_and_leaves_nothing(sqlite_ledger: Ledger) -> None:
    writer = sqlite_ledger.stream_writer(EVENTS, every=NEVER, rows=5)
    with raise_at(failpoints.IN_TRANSACTION, Failed("the disk is gone")):
        tickets = [writer.write(rows(0, 5)) for _ in range(2)]
        for ticket in tickets:
            with pytest.raises(Failed, match="the disk is gone"):
                ticket.result(PATIENCE)
    with pytest.raises(Failed, match="the disk is gone"):
        writer.write(rows(5, 6))
    writer.close()
    assert sqlite_ledger.tables.find(EVENTS) is None
    with (
        raise_at(failpoints.AFTER_WRITE, Failed("no")),
        pytest.raises(Failed, match="no"),
        sqlite_ledger.stream_writer(EVENTS, every=NEVER) as unheard,
    ):
        unheard.write(rows(0, 1))

    def fail() -> None:
        with sqlite_ledger.stream_writer(EVENTS, every=NEVER) as mine:
            mine.write(rows(0, 1))
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        fail()
    assert ids(sqlite_ledger) == [0], "what was written before the program failed is there"
    assert [run.status for run in sqlite_ledger.runs.list()] == ["FAILED", "FAILED", "FAILED"]


def test_a_run_that_somebody_cancels_stops_its_writer(ledger: Ledger) -> None:
    with ledger.stream_writer(EVENTS, every=NEVER) as writer:
        writer.write(rows(0, 3))
        writer.flush()
        ledger.runs.finish(str(writer.run_id), cancelled("enough"))
        writer.write(rows(3, 6))
        with pytest.raises(Fenced, match="already ended: CANCELLED"):
            writer.flush()
    assert ids(ledger) == [0, 1, 2]
    assert [run.status for run in ledger.runs.list()] == ["CANCELLED"]


def test_a_given_step_and_a_task_commit_in_their_own_name_and_a_task_need_not_close(sqlite_ledger: Ledger, tmp_path: Path) -> None:
    with sqlite_ledger.run("feed") as run, run.step("events") as step, sqlite_ledger.stream_writer(EVENTS, every=NEVER, run=step) as writer:
        writer.write(rows(0, 3))
    steps_py(
        tmp_path,
        """
def feed(context):
    context.ledger.stream_writer("bronze.events").write([{"id": 3}, {"id": 4}])
def spoil(context):
    context.ledger.stream_writer("bronze.events", max_bad_rows=0).write([{"id": "x"}])
def fail(context):
    context.ledger.stream_writer("bronze.events").write([{"id": 5}])
    raise ValueError("no")
""",
    )
    done = run_tasks(sqlite_ledger, module(*(call(name, name) for name in ("feed", "spoil", "fail"))), tmp_path)
    assert [(step.status, step.error) for step in done.steps] == [
        ("COMPLETED", None),
        (
            "FAILED",
            "1 of 1 rows for bronze.events are bad, more than max_bad_rows 0: 1 × id is not long; correct the source, or raise the limit",
        ),
        ("FAILED", "ValueError: no"),
    ]
    assert ids(sqlite_ledger) == [0, 1, 2, 3, 4]
    found = {each.pipeline_id: (each.records_inserted, each.commit_count) for each in sqlite_ledger.runs.list()}
    assert found == {"feed": (3, 1), "shop": (2, 1)}


def test_threads_and_writers_share_a_table_and_every_row_is_there_once(ledger: Ledger) -> None:
    threads, times, size = 4, 25, 4
    first, second = (ledger.stream_writer(EVENTS, every=0.01, rows=60) for _ in range(2))

    def write(thread: int) -> list[int]:
        writer = (first, second)[thread % 2]
        tickets = []
        for turn in range(times):
            start = (thread * times + turn) * size
            given = rows(start, start + size)
            tickets.append(writer.write(given if turn % 2 else pa.Table.from_pylist(given)))
        return [ticket.result(PATIENCE) for ticket in tickets]

    with ThreadPoolExecutor(threads) as pool:
        versions = {version for found in pool.map(write, range(threads)) for version in found}
    first.close()
    second.close()
    assert ids(ledger) == list(range(threads * times * size))
    assert versions == set(range(1, ledger.tables.get(EVENTS).current_version + 1))
    assert len(ledger.tables.files(EVENTS)) == len(versions) < threads * times


def test_rows_outlast_an_outage_of_the_store(
    fragile_postgres: Server, server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = threading.Thread(target=fragile_postgres.resume)

    def go_down(_: str) -> None:
        failpoints.armed.clear()
        fragile_postgres.stop()
        back.start()

    with (
        lakeledger.open(server_url, warehouse=str(tmp_path / "warehouse")) as ledger,
        ledger.stream_writer(EVENTS, every=NEVER) as writer,
    ):
        writer.write(rows(0, 5))
        writer.flush()
        monkeypatch.setitem(failpoints.armed, failpoints.BEFORE_WRITE, go_down)
        ticket = writer.write(rows(5, 10))
        assert writer.flush() == ticket.result() == 2
        back.join()
        assert (ids(ledger), ledger.runs.list()[0].commit_count) == (list(range(10)), 2)


def test_a_store_that_is_away_is_tried_again_and_one_that_stays_away_fails_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def refuse(point: str) -> None:
        tried.append(point)
        if len(tried) < 3:
            raise Unavailable("the store is away")

    with lakeledger.open(Settings(new_sqlite_url(tmp_path), outage_seconds=1)) as ledger:
        monkeypatch.setitem(failpoints.armed, failpoints.BEFORE_WRITE, refuse)
        with ledger.stream_writer(EVENTS, every=NEVER) as writer:
            writer.write(rows(0, 1))
        assert (ids(ledger), len(tried)) == ([0], 3)
        with raise_at(failpoints.BEFORE_WRITE, Unavailable("the store is away")):
            ticket = ledger.stream_writer(EVENTS, every=0.01).write(rows(1, 2))
            with pytest.raises(Unavailable, match="the store is away"):
                ticket.result(PATIENCE)
        assert ids(ledger) == [0]


def test_a_table_of_another_kind_is_refused(sqlite_ledger: Ledger) -> None:
    with sqlite_ledger.stream_writer(EVENTS, every=NEVER, partition_by=["ratio"]) as writer:
        writer.write({"id": 1, "ratio": 0.5})
        with pytest.raises(Invalid, match=r"a stream writer cannot partition bronze.events by ratio, a double: partition by text"):
            writer.flush()
    with sqlite_ledger.stream_writer(EVENTS, every=NEVER, partition_by=["day"]) as writer:
        writer.write({"id": 1, "day": "mon"})
    with pytest.raises(Invalid, match="partitioned by day: write it that way"):
        sqlite_ledger.stream_writer(EVENTS, partition_by=["id"])
    overwrite(sqlite_ledger, [1], format_="jsonl")
    with pytest.raises(Invalid, match=r"is jsonl, and a stream writer makes Parquet files: use ledger.append"):
        sqlite_ledger.stream_writer(ORDERS)
    with sqlite_ledger.stream_writer("history", every=NEVER) as writer:
        writer.write({"id": 1, "__START_AT": 1})
    with pytest.raises(Invalid, match=r"main.history keeps the history of its rows \(__START_AT\): write it with scd2"):
        sqlite_ledger.stream_writer("history")


def test_programs_that_await_wait_for_their_rows_without_holding_the_loop(sqlite_ledger: Ledger) -> None:
    async def feed(writer: Any, number: int) -> int:
        return await asyncio.wrap_future(await asyncio.to_thread(writer.write, rows(number, number + 1)))

    async def main(writer: Any) -> list[int]:
        return await asyncio.gather(*(feed(writer, number) for number in range(20)))

    with sqlite_ledger.stream_writer(EVENTS, every=NEVER, rows=20) as writer:
        assert asyncio.run(main(writer)) == [1] * 20
    assert ids(sqlite_ledger) == list(range(20))


def test_a_stream_writer_needs_no_spark_and_importing_the_ledger_no_arrow(tmp_path: Path) -> None:
    code = f"""
import sys, lakeledger
assert not {{"pyarrow", "pyspark"}} & sys.modules.keys()
with lakeledger.open({new_sqlite_url(tmp_path)!r}, metadata="sync") as ledger:
    with ledger.stream_writer("events") as writer:
        writer.write({{"id": 1}})
        writer.write({{"id": "x"}})
    print(ledger.tables.publication("events").version)
assert "pyspark" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_conflict_is_planned_again(sqlite_ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else makes the table, with other columns, after the rotation was planned."""
    raised: list[str] = []

    def make_it(_: str) -> None:
        failpoints.armed.clear()
        raised.append("once")
        with sqlite_ledger.stream_writer(EVENTS, every=NEVER, schema=pa.schema([("id", pa.int32())])) as other:
            other.write({"id": 1})

    monkeypatch.setitem(failpoints.armed, failpoints.AFTER_WRITE, make_it)
    with sqlite_ledger.stream_writer(EVENTS, every=NEVER) as writer:
        writer.write([{"id": 2}, {"id": 3, "name": "x"}])
    assert (raised, ids(sqlite_ledger), quarantined(sqlite_ledger)) == (["once"], [1, 2], [({"id": 3, "name": "x"}, ["name is new"])])
