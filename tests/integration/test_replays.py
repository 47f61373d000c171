"""Quarantined rows, replayed: through the same load, on exactly one side, settled with their letters, and never over newer ones."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration.commands import answer, shown
from integration.loading import only, put, rows, run
from integration.test_change_feeds import EVENT, events
from integration.test_declared_sources import document
from lakeledger import Ledger
from lakeledger.control import documents
from lakeledger.pipelines.apply import Changes
from lakeledger.pipelines.replaying import Replayed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNREADABLE = "it cannot be read by the schema"
QUARANTINE = "row string, reasons array<string>, source_file string, run_id string, format string"
DAYS = "id,name,day\n1,a,2026-01-31\n2,b,31.01.2026\nx,c,2026-01-31\n,d,2026-01-31\n"


def days(options: dict[str, str] | None = None, **target: Any) -> str:
    config = {"path": "days/*.csv", "schema": "id int, name string, day date", "options": options or {}}
    return document("files", config, bad_rows="quarantine", **target)


def replay(ledger: Ledger, declared: str, base: Path, **more: Any) -> list[Replayed]:
    return ledger.replay(documents.parse(declared, "shop.yml").modules, base, **{"dry_run": False, **more})


def quarantined(ledger: Ledger) -> dict[str, list[str]]:
    return {row["row"]: sorted(row["reasons"]) for row in ledger.read("orders__quarantine").collect()}


def waiting(ledger: Ledger) -> dict[str, Any]:
    return {letter.record_data["reason"]: letter for letter in ledger.dead_letters.list("pending")}


def versions(ledger: Ledger) -> list[int]:
    return [ledger.tables.get(name).current_version for name in ("orders", "orders__quarantine")]


def test_rows_go_through_the_load_as_it_is_declared_now_and_are_on_one_side(lake: Ledger, base: Path) -> None:
    file = put(base / "days/1.csv", DAYS)
    first = run(lake, days(required_columns="id"), base)
    position = lake.positions.get("shop.orders")
    (planned,) = replay(lake, days(), base, dry_run=True)
    assert (planned.source, planned.table, planned.rows, len(planned.letters), planned.error) == ("shop.orders", "main.orders", 3, 2, None)
    assert versions(lake) == [1, 1]
    file.unlink()  # The text is in the quarantine: nobody needs the file.

    (done,) = replay(lake, days({"dateFormat": "dd.MM.yyyy"}, required_columns="id"), base)
    assert (done.error, done.rows, done.inserted, done.still_bad, done.skipped) == (None, 3, 1, 2, 0)
    assert rows(lake.read("orders")) == [(1, "a", date(2026, 1, 31)), (2, "b", date(2026, 1, 31))]
    null = '{"id":null,"name":"d","day":"2026-01-31"}'
    assert quarantined(lake) == {"x,c,2026-01-31": [UNREADABLE], null: ["id is NULL"]}
    assert {row["source_file"] for row in lake.read("orders__quarantine").collect()} == {f"file:{file}"}
    settled = [letter for letter in lake.dead_letters.list("resolved") if letter.sync_run_id == first.run_id]
    assert {letter.resolution_method for letter in settled} == {"replayed"}
    assert len(settled) == 2
    letters = waiting(lake)
    assert {reason: (letter.record_data["rows"], letter.sync_run_id) for reason, letter in letters.items()} == {
        UNREADABLE: (1, done.run_id),
        "id is NULL": (1, done.run_id),
    }
    ended = lake.runs.get(done.run_id or "")
    assert (ended.run_kind, ended.status, ended.pipeline_id) == ("backfill", "COMPLETED", "main.orders__quarantine")
    assert (ended.records_inserted, ended.records_failed, ended.commit_count) == (1, 2, 1)
    assert lake.positions.get("shop.orders") == position

    before = versions(lake)
    (again,) = replay(lake, days({"dateFormat": "dd.MM.yyyy"}, required_columns="id"), base)
    assert "for the same reasons" in (again.error or "")
    assert versions(lake) == before
    assert {letter.error_count for letter in waiting(lake).values()} == {2}

    # One letter of two: what it does not stand for stays, though it is in the same file.
    (chosen,) = replay(lake, days(), base, letters=[letters["id is NULL"].id])
    assert (chosen.rows, chosen.inserted, chosen.still_bad) == (1, 1, 0)
    assert quarantined(lake) == {"x,c,2026-01-31": [UNREADABLE]}
    assert [row for row in rows(lake.read("orders")) if row[0] is None] == [(None, "d", date(2026, 1, 31))]
    assert list(waiting(lake)) == [UNREADABLE]
    lake.settle()
    assert lake.tables.verify("orders").ok
    assert lake.tables.verify("orders__quarantine").ok
    assert run(lake, days(), base).rows == 0, "the position has not moved"


def test_the_text_of_a_row_is_read_by_the_header_that_its_file_had(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "days/1.csv", "id,name,day\n1,a,31.01.2026\n")
    put(base / "days/2.csv", "day,id,name\n2026-01-31,2,b\n31.01.2026,3,c\n").rename(base / "days/other.csv")
    run(sqlite_lake, days(), base)
    assert set(quarantined(sqlite_lake)) == {"1,a,31.01.2026", "31.01.2026,3,c"}
    (done,) = replay(sqlite_lake, days({"dateFormat": "dd.MM.yyyy"}), base)
    assert (done.error, done.inserted, done.still_bad) == (None, 2, 0)
    assert rows(sqlite_lake.read("orders")) == [(number, name, date(2026, 1, 31)) for number, name in ((1, "a"), (2, "b"), (3, "c"))]


@pytest.mark.parametrize("mode", ["merge", "scd2"])
def test_an_old_row_never_beats_a_newer_one_nor_a_delete(sqlite_lake: Ledger, base: Path, mode: str) -> None:
    def changes(**options: str) -> str:
        config = {"path": "c/*.csv", "schema": "id int, name string, n int, at int, op string", "options": options}
        more = {"sequence_by": "at", "apply_as_deletes": "op = 'D'", "except_column_list": ["op"], "write_mode": mode}
        return document("files", config, {"load_type": "cdc"}, keys="id", bad_rows="quarantine", **more)

    bad = "1,old,-,1,U\n1,newest,-,9,U\n2,dead,-,2,U\n3,new,-,3,U\n"
    put(base / "c/1.csv", f"id,name,n,at,op\n1,a,1,5,U\n2,b,1,1,U\n2,,,4,D\n{bad}")
    assert only(run(sqlite_lake, changes(), base)).status == "COMPLETED"
    put(base / "c/2.csv", "id,name,n,at,op\n3,newer,1,4,U\n")
    run(sqlite_lake, changes(), base)
    (done,) = replay(sqlite_lake, changes(nullValue="-"), base)
    assert (done.error, done.rows, done.still_bad) == (None, 4, 0)
    current = sqlite_lake.read("orders").where("__CURRENT" if mode == "scd2" else "true").select("id", "name", "at")
    assert rows(current) == [(1, "newest", 9), (3, "newer", 4)]
    if mode == "scd2":
        history = rows(sqlite_lake.read("orders").select("id", "name", "__START_AT", "__END_AT"))
        assert [row for row in history if row[0] == 1] == [(1, "a", 5, 9), (1, "newest", 9, None), (1, "old", 1, 5)]
    assert sqlite_lake.read("orders__quarantine").count() == 0
    assert replay(sqlite_lake, changes(nullValue="-"), base) == [], "twice is once"


def test_events_are_read_again_and_the_table_may_have_grown(sqlite_lake: Ledger, base: Path) -> None:
    big = EVENT.replace('"id":1', '"id":9999999999').replace('"lsn":1', '"lsn":2')
    put(base / "events/1.jsonl", f"{EVENT}\n{big}\n{{broken\n")
    narrow, wide = ({"schema": f"id {type_}, name string"} for type_ in ("int", "bigint"))
    result = only(run(sqlite_lake, events(config=narrow, bad_rows="quarantine", schema_drift="evolve"), base))
    assert result.status == "COMPLETED", result.error
    (done,) = replay(sqlite_lake, events(config=wide, bad_rows="quarantine", schema_drift="evolve"), base)
    assert (done.error, done.rows, done.inserted, done.still_bad) == (None, 2, 1, 1)
    assert rows(sqlite_lake.read("orders")) == [(1, "a"), (9999999999, "a")]
    assert list(quarantined(sqlite_lake)) == ["{broken"]


def test_rows_without_a_text_keep_their_values_and_do_not_replace_others_without_a_sequence(sqlite_lake: Ledger, tmp_path: Path) -> None:
    (tmp_path / "shop_rows.py").write_text(
        "import pyarrow as pa\n"
        "from datetime import UTC, datetime\n"
        "def fetch(names):\n"
        "    at = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)\n"
        "    return pa.table({'id': [1, 2, 3], 'name': names, 'at': [at] * 3})\n"
    )

    def declared(*names: str | None, **target: Any) -> str:
        config = {"function": "shop_rows:fetch", "parameters": {"names": list(names)}}
        return document("function", config, {"load_type": "full"}, write_mode="merge", keys="id", bad_rows="quarantine", **target)

    assert only(run(sqlite_lake, declared("a", None, None, required_columns="name"), tmp_path)).status == "COMPLETED"
    run(sqlite_lake, declared("a", "later", None, required_columns="name"), tmp_path)
    done = replay(sqlite_lake, declared("a", "later", None), tmp_path)
    assert [(each.error, each.rows, each.inserted, each.updated) for each in done] == [(None, 3, 1, 0)]
    at = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
    found = {row["id"]: (row["name"], row["at"].astimezone(UTC)) for row in sqlite_lake.read("orders").collect()}
    assert found == {1: ("a", at), 2: ("later", at), 3: (None, at)}


def test_rows_that_python_wrote_are_replayed_by_a_function(sqlite_lake: Ledger, base: Path, spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    schema = "id int, name string, at int"
    given: list[tuple[Any, ...]] = [(1, "a", 5), (None, "b", 6), (2, "c", None)]
    sqlite_lake.apply_changes(spark.createDataFrame(given, schema), "orders", keys=["id"], sequence_by="at")
    assert {letter.record_data["rows"] for letter in sqlite_lake.dead_letters.list()} == {1}
    (refused,) = {each.error for each in replay(sqlite_lake, days(), base, dry_run=True)}
    assert 'ledger.replay_rows("main.orders", function' in (refused or "")

    def corrected(rows: DataFrame) -> DataFrame:
        read = rows.select(F.from_json("row", schema).alias("r")).select("r.*")
        return read.withColumn("id", F.coalesce("id", F.lit(1)))

    changes = Changes(keys=("id",), sequence_by="at")
    (planned,) = sqlite_lake.replay_rows("orders", corrected, mode="merge", changes=changes)
    assert (planned.dry_run, planned.rows) == (True, 2)
    (done,) = sqlite_lake.replay_rows("orders", corrected, mode="merge", changes=changes, dry_run=False)
    assert (done.rows, done.updated, done.still_bad) == (2, 1, 1)
    assert rows(sqlite_lake.read("orders")) == [(1, "b", 6)]
    assert quarantined(sqlite_lake) == {'{"id":2,"name":"c","at":null}': ["the sequence is NULL"]}


def test_the_command_counts_and_with_apply_replays(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "days/1.csv", DAYS)
    run(sqlite_lake, days(required_columns="id"), base)
    at = ["--url", sqlite_lake.settings.url, "--warehouse", sqlite_lake.settings.warehouse or ""]
    file = put(base / "shop.yml", days({"dateFormat": "dd.MM.yyyy"}))
    (planned,) = answer("dlq", "replay", "--file", str(file), *at)["replays"]
    assert (planned["source"], planned["rows"], planned["run_id"], planned["error"]) == ("shop.orders", 3, None, None)
    (letter,) = (each for each in sqlite_lake.dead_letters.list() if each.record_data["reason"] == "id is NULL")
    text = shown("dlq", "replay", letter.id, "--file", str(file), *at)
    assert f"next: lakeledger dlq replay {letter.id} --file" in text
    assert f"next: lakeledger dlq replay {letter.id}" in shown("dlq", "show", letter.id, *at)
    missing = answer("dlq", "replay", *at, code=2)["replays"][0]["error"]
    assert "no source shop.orders is declared" in missing
    assert "(--file)" in missing
    text = shown("dlq", "replay", "--table", "main.orders", "--file", str(file), "--apply", *at)
    assert "still bad" in text
    assert rows(sqlite_lake.read("orders").select("name")) == [("a",), ("b",), ("d",)]


def test_a_replay_that_fails_is_in_the_error_log_and_leaves_the_letters_waiting(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "days/1.csv", DAYS)
    run(sqlite_lake, days(), base)
    (failed,) = replay(sqlite_lake, days().replace("day date", "day date, more int"), base)
    assert "more" in (failed.error or "")
    (error,) = sqlite_lake.errors.list("open")
    assert (error.schema_name, error.table_name, error.error_type) == ("main", "orders__quarantine", "validation")
    assert [each.status for each in sqlite_lake.runs.list(limit=1)] == ["FAILED"]
    assert {letter.status for letter in sqlite_lake.dead_letters.list()} == {"pending"}
    with sqlite_lake.run("main.orders__quarantine", exclusive=True):
        (second,) = replay(sqlite_lake, days(), base)
        assert "is already running" in (second.error or ""), "two at once"
    (letter,) = sqlite_lake.dead_letters.claim(ids=[each.id for each in sqlite_lake.dead_letters.list()], worker="somebody")
    assert replay(sqlite_lake, days(), base) == [], "somebody else holds it"
    sqlite_lake.dead_letters.release(letter.id, "somebody")
    (done,) = replay(sqlite_lake, days({"dateFormat": "dd.MM.yyyy"}), base)
    assert (done.error, done.inserted) == (None, 1)
    assert not sqlite_lake.errors.list("open")


def test_texts_are_read_in_their_own_format_only(spark: SparkSession) -> None:
    from pyspark.sql.types import StructType

    from lakeledger.pipelines.reparsing import Texts, read_again

    given = [
        ('[{"id": 1}, {"id": "x"}]', [UNREADABLE], "json"),
        ("{broken", [UNREADABLE], "json"),
        ("2", [UNREADABLE], "csv"),  # as long as the source gave another format
        ('{"id":3}', ["name is NULL"], "columns"),
        ('{"id":"y"}', ["name is NULL"], "columns"),
    ]
    quarantined = spark.createDataFrame([(*each[:2], None, "r", each[2]) for each in given], QUARANTINE)
    read = read_again(quarantined, Texts(StructType().add("id", "integer"), "json")).collect()
    assert sorted(row["id"] for row in read if row["_raw"] is None) == [1, 3]
    assert {row["_raw"]: row["_raw_format"] for row in read if row["_raw"] is not None} == {
        '{"id":"x"}': "json",
        "{broken": "json",
        "2": "csv",
        '{"id":"y"}': "columns",
    }
