"""Combinations that lose, double or mix up rows are refused when the document is read, with the reason and the fix."""

from __future__ import annotations

from typing import Any

import pytest

from lakeledger.control import dangers
from lakeledger.control.documents import Document, parse
from lakeledger.control.modules import Module
from lakeledger.errors import Invalid

FILES: dict[str, Any] = {"source_id": "orders", "source_type": "files", "source_config": {"path": "landing/*.csv"}}
JDBC: dict[str, Any] = {
    "source_id": "orders",
    "source_type": "jdbc",
    "source_config": {"url": "jdbc:postgresql://db/shop", "table": "public.orders", "password": "{{env.PASSWORD}}"},
}


def source(base: dict[str, Any] = FILES, work: dict[str, Any] | None = None, **target: Any) -> dict[str, Any]:
    return {**base, "transformation_config": work or {}, "target_config": {"table": "orders", **target}}


def refusal(*sources: dict[str, Any]) -> str:
    with pytest.raises(Invalid) as caught:
        parse(str({"modules": [{"module_name": "shop", "sources": list(sources)}]}), "shop.yaml")
    return str(caught.value)


# Which rule each of these breaks, and the words that name the fix.
DANGEROUS = {
    "keep only the newest rows": source(write_mode="overwrite"),
    "add every row again at each run: use overwrite": source(work={"load_type": "full"}, write_mode="append"),
    "merge without keys": source(write_mode="merge"),
    "insert_only without keys": source(write_mode="insert_only"),
    "cdc without keys": source(work={"load_type": "cdc"}, sequence_by="at"),
    "cdc without sequence_by": source(work={"load_type": "cdc"}, keys="id"),
    "cdc with append": source(work={"load_type": "cdc"}, keys="id", sequence_by="at", write_mode="append"),
    "scd2 without sequence_by": source(keys="id", write_mode="scd2"),
    "snapshot_diff without keys": source(work={"load_type": "snapshot_diff"}),
    "which overwrite does not apply": source(work={"load_type": "snapshot_diff"}, keys="id", write_mode="overwrite"),
    "a sequence has nothing to decide": source(work={"load_type": "snapshot_diff"}, keys="id", sequence_by="at"),
    "would delete the rows whose new values are bad": source(work={"load_type": "snapshot_diff"}, keys="id", bad_rows="quarantine"),
    "this feed says itself": source(
        {"source_id": "d", "source_type": "files", "source_config": {"path": "a.jsonl", "format": "debezium"}},
        {"load_type": "cdc"},
        keys="id",
        sequence_by="at",
    ),
    "apply_as_deletes has no rows to match": source(work={"load_type": "snapshot_diff"}, keys="id", apply_as_deletes="gone"),
    "without keys they would be there twice": source(JDBC, {"watermark_column": "at", "lookback": "10m"}),
    "a lookback with append": source(JDBC, {"watermark_column": "at", "lookback": "10m"}, keys="id", write_mode="append"),
    "watermark_column would be ignored": source(JDBC, {"load_type": "full", "watermark_column": "at"}),
    "nothing to look back from": source(JDBC, {"load_type": "full", "lookback": 5}, keys="id"),
    "needs watermark_column": source(JDBC),
    "mean as deletes": source(apply_as_deletes="op = 'D'"),
    "keep no history with merge": source(keys="id", track_history_column_list="name"),
    "track_history_except_column_list exclude each other": source(
        keys="id", sequence_by="at", write_mode="scd2", track_history_column_list="a", track_history_except_column_list="b"
    ),
    "column_list and except_column_list exclude each other": source(keys="id", column_list=["id", "a"], except_column_list="b"),
    "the table needs its keys": source(keys="ID", except_column_list=["id"]),
    "name them in column_list, too": source(keys="id", column_list=["name"]),
    "is also a key": source(keys=["id", "at"], sequence_by="AT"),
    "overwrite_partitions needs partition_by": source(work={"load_type": "full"}, write_mode="overwrite_partitions"),
    "drop the rows of a partition": source(write_mode="overwrite_partitions", partition_by=["day"]),
    "contradict each other": source(keys="id", sequence_by="at", write_mode="merge", stored_as_scd_type=2),
    "changed_files load with append": source({**FILES, "source_config": {"path": "a.csv", "changed_files": "load"}}),
    "an incremental append brought, not those of incremental with merge": source(
        {**FILES, "source_config": {"path": "a.csv", "changed_files": "replace"}}, keys="id"
    ),
    "an incremental append brought, not those of full with overwrite": source(
        {**FILES, "source_config": {"path": "a.csv", "changed_files": "replace"}}, {"load_type": "full"}
    ),
    "to replay them would add them": source(
        {**FILES, "source_config": {"path": "a.csv", "schema": "id int", "changed_files": "replace"}}, bad_rows="quarantine"
    ),
    "no rule that quarantines": source(
        {**FILES, "source_config": {"path": "a.csv", "changed_files": "replace"}},
        quality={"expectations": [{"valid": "a > 0", "action": "quarantine"}]},
    ),
    "the rows that a rule sets aside": source(
        work={"load_type": "snapshot_diff"}, keys="id", quality={"expectations": [{"not_null": "a", "action": "quarantine"}]}
    ),
    "would take back events": source(
        {**FILES, "source_config": {"path": "a.jsonl", "format": "debezium", "changed_files": "replace"}}, write_mode="append"
    ),
    "only mean something with bad_rows quarantine": source(max_bad_rows=10),
    "an Iceberg table is read by what was added": source(
        {"source_id": "i", "source_type": "iceberg", "source_config": {"table": "a.b"}}, {"load_type": "cdc"}, keys="id", sequence_by="at"
    ),
    "a topic gives only what is new": source(
        {"source_id": "k", "source_type": "kafka", "source_config": {"servers": "a:9092", "topic": "t", "schema": "id int"}},
        {"load_type": "full"},
    ),
    "allow_empty only means something": source(work={"allow_empty": True}),
}


@pytest.mark.parametrize(("words", "wrong"), DANGEROUS.items())
def test_a_dangerous_combination_is_refused_with_its_reason(words: str, wrong: dict[str, Any]) -> None:
    found = refusal(wrong)
    assert words in found
    assert found.startswith("shop.yaml:1:")


def test_every_rule_is_among_them() -> None:
    found = "\n".join(refusal(wrong) for wrong in DANGEROUS.values())
    ends = [rule.message.rpartition("}")[2][-30:] for rule in dangers.RULES]
    assert [end for end in ends if end not in found] == []


SHARED = {
    "would overwrite what another source writes": (source(work={"load_type": "full"}), source()),
    "is not in its snapshot": (source(work={"load_type": "snapshot_diff"}, keys="id"), source(keys="id")),
    "would append rows to main.orders that another source merges": (source(), source(keys="id")),
    "name different keys": (source(keys="id"), source(keys=["id", "region"])),
}


@pytest.mark.parametrize(("words", "pair"), SHARED.items())
def test_two_sources_that_destroy_each_others_rows_are_refused(words: str, pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    first, second = pair
    assert words in refusal(first, {**second, "source_id": "others"})


def module(*sources: dict[str, Any]) -> Module:
    document: Document = parse(str({"modules": [{"module_name": "shop", "sources": list(sources)}]}), "shop.yaml")
    return document.modules[0]


@pytest.mark.parametrize(
    ("safe", "mode"),
    [
        (source(), "append"),
        (source(keys="id"), "merge"),
        (source(work={"load_type": "full"}), "overwrite"),
        (source(work={"load_type": "full"}, write_mode="overwrite_partitions", partition_by=["day"]), "overwrite_partitions"),
        (source(work={"load_type": "full"}, keys="id", write_mode="merge"), "merge"),
        (source(work={"load_type": "snapshot_diff"}, keys="id"), "merge"),
        (source(work={"load_type": "cdc"}, keys="id", sequence_by="at", apply_as_deletes="op = 'D'"), "merge"),
        (source(work={"load_type": "cdc"}, keys="id", sequence_by="at", stored_as_scd_type=2), "scd2"),
        (source(JDBC, {"watermark_column": ["at", "id"], "lookback": "10m"}, keys="id"), "merge"),
        (source(JDBC, {"watermark_column": "id"}), "append"),
        (source(keys="id", write_mode="insert_only"), "insert_only"),
    ],
)
def test_what_is_safe_is_taken_and_its_write_mode_follows_from_it(safe: dict[str, Any], mode: str) -> None:
    assert module(safe).sources[0].write_mode == mode


def test_a_password_is_a_reference_and_never_part_of_the_url() -> None:
    for wrong in ({"password": "s3cret"}, {"url": "jdbc:postgresql://ann:s3cret@db/shop"}):
        found = refusal(source({**JDBC, "source_config": {**JDBC["source_config"], **wrong}}, {"watermark_column": "id"}))
        assert "s3cret" not in found
        assert "{{env.NAME}}" in found


@pytest.mark.parametrize(("lookback", "words"), [("soon", "is not a time span"), (-5, "would look ahead")])
def test_a_lookback_is_a_span_or_a_number(lookback: object, words: str) -> None:
    assert words in refusal(source(JDBC, {"watermark_column": "at", "lookback": lookback}, keys="id"))


def test_a_table_or_a_query_is_read_and_not_both() -> None:
    both = {**JDBC, "source_config": {**JDBC["source_config"], "query": "select 1"}}
    assert "table or query" in refusal(source(both, {"watermark_column": "id"}))
