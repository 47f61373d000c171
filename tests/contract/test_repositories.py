"""What every repository promises: records are kept once, found by index, paged, and logged in the order in which they were stored."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contract.repositories import ORDERS, START, fact, numbers
from lakeledger import Invalid, Ledger, NotInstalled, records
from lakeledger.records import Condition, MetadataContext, MetadataQuery, MetadataRecord, MetadataRepository, MetadataTarget, Stored, Window


def test_a_record_comes_back_as_it_was_stored(kept: MetadataRepository) -> None:
    payload: dict[str, Any] = {"n": 2**53, "none": None, "yes": True, "text": "ü🙂\n", "deep": [{"a": []}]}
    target = MetadataTarget("erp", "sales", "orders", {"host": "db"})
    context = MetadataContext("job", "run/1", "ns", {"cluster": "c"})
    made = MetadataRecord(target, context, "custom", payload, "me", "2", {"score": 0.5}, {"x": 1}, START + timedelta(microseconds=7))
    stored = kept.store(made)
    assert stored == made == kept.latest(target, "custom") == kept.history(target, "custom")[0]
    assert stored.sequence
    assert kept.log()[0] == made


def test_the_latest_of_a_kind_is_of_that_kind(kept: MetadataRepository) -> None:
    kept.bulk_store([fact(5, "ingestion_volume"), fact(9, "recon_result"), fact(7, "schema_snapshot")])
    found = {kind: kept.latest(ORDERS, kind) for kind in ("ingestion_volume", "recon_result", "schema_snapshot", "lineage")}
    assert {kind: each and each.payload["number"] for kind, each in found.items()} == {
        "ingestion_volume": 5, "recon_result": 9, "schema_snapshot": 7, "lineage": None,
    }  # fmt: skip


def test_records_in_any_order_have_the_right_latest_and_history(kept: MetadataRepository) -> None:
    kinds = ("ingestion_volume", "recon_result", "schema_snapshot")
    made = [fact(number, kinds[number % 3]) for number in range(3_000)]
    random.Random(7).shuffle(made)
    assert kept.bulk_store(made) == Stored(3_000, 0)
    for offset, kind in enumerate(kinds):
        latest = kept.latest(ORDERS, kind)
        assert latest is not None
        assert latest.payload["number"] == 2_997 + offset
        assert numbers(kept.history("sales.orders", kind, limit=4)) == [2_997 + offset - 3 * back for back in range(4)]


def test_records_of_one_moment_are_all_kept_and_the_last_stored_is_the_latest(kept: MetadataRepository) -> None:
    for number in (3, 1, 4, 0, 2):
        kept.store(fact(number, produced_at=START))
    assert numbers(kept.history(ORDERS, "custom")) == [2, 0, 4, 1, 3]
    latest = kept.latest(ORDERS, "custom")
    assert latest is not None
    assert latest.payload["number"] == 2


def test_the_same_record_twice_is_one(kept: MetadataRepository) -> None:
    first = kept.store(fact(1))
    again = kept.store(fact(1))
    assert (again.record_id, again.sequence) == (first.record_id, first.sequence)
    assert kept.bulk_store([fact(1), fact(2), fact(2), fact(1)]) == Stored(1, 3)
    assert numbers(kept.history(ORDERS, "custom")) == [2, 1]
    assert numbers(kept.log()) == [1, 2]


def test_a_key_says_which_records_are_the_same(kept: MetadataRepository) -> None:
    kept.store(fact(1, dedupe_key="backfill:7"))
    kept.store(fact(2, dedupe_key="backfill:7"))
    assert numbers(kept.history(ORDERS, "custom")) == [1]


def test_a_target_is_its_source_and_its_table_and_a_name_is_the_table_alone(kept: MetadataRepository) -> None:
    crm = MetadataTarget("crm", "Sales", "Orders")
    job = MetadataTarget("nightly")
    kept.bulk_store([fact(1), fact(2, target=crm), fact(3, target=job), fact(4, target=MetadataTarget("nightly", "sales"))])
    assert numbers(kept.history(ORDERS, "custom")) == [1]
    assert numbers(kept.history(replace(crm, schema="SALES", extras={"x": 1}), "custom")) == [2]
    assert numbers(kept.history("SALES.orders", "custom")) == [2, 1]
    assert numbers(kept.history(job, "custom")) == [3]
    assert numbers(kept.history(kind="custom")) == [4, 3, 2, 1]


def test_history_is_of_a_time_and_comes_in_pages(kept: MetadataRepository) -> None:
    kept.bulk_store(fact(number) for number in (4, 0, 3, 1, 2, 5))
    assert numbers(kept.history(ORDERS, "custom", since=START + timedelta(seconds=2), until=START + timedelta(seconds=4))) == [3, 2]
    first = kept.history(ORDERS, "custom", limit=4)
    kept.store(fact(6))
    rest = kept.history(ORDERS, "custom", limit=4, after=first.next)
    assert (numbers(first), numbers(rest), rest.next) == ([5, 4, 3, 2], [1, 0], None)
    assert len(kept.history(ORDERS, "custom", limit=None)) == 7


def test_a_query_needs_no_target_and_no_kind(kept: MetadataRepository) -> None:
    kept.bulk_store([fact(1, "ingestion_volume"), fact(2, "recon_result", MetadataTarget("crm", "sales", "returns")), fact(3, "custom")])
    assert numbers(kept.query(MetadataQuery())) == [3, 2, 1]
    assert numbers(kept.query(MetadataQuery(kinds=("ingestion_volume", "custom")))) == [3, 1]
    first = kept.query(MetadataQuery(limit=2))
    assert numbers(first) == [3, 2]
    assert numbers(kept.query(MetadataQuery(limit=2, after=first.next))) == [1]


def test_a_query_is_by_execution_and_producer(kept: MetadataRepository) -> None:
    kept.bulk_store([fact(1), fact(2, context=MetadataContext("other", "run-1")), fact(3, context=MetadataContext("other", "run-3"))])
    kept.store(replace(fact(4), producer_id="others.v1", dedupe_key="", record_id="x"))
    assert numbers(kept.query(MetadataQuery(run_id="run-1"))) == [2, 1]
    assert numbers(kept.query(MetadataQuery(job_id="other"))) == [3, 2]
    assert numbers(kept.query(MetadataQuery(job_id="other", run_id="run-1", kinds=["custom"]))) == [2]
    assert numbers(kept.query(MetadataQuery(producer_id="others.v1"))) == [4]


VALUES: list[Any] = [1, 2, 10, 2.5, "1", "a", "ä", "b", "", True, False, None, [1], {"b": 1}, 1e300, -3]
WANTED: list[tuple[str, Any]] = [
    *((op, value) for op in ("=", "!=") for value in (1, 2.5, "1", "ä", "", True, False, None)),
    *((op, value) for op in ("<", "<=", ">", ">=") for value in (2, 2.5, "1", "a", "ä", "")),
]


def test_conditions_on_what_is_inside_hold_as_they_do_in_python(kept: MetadataRepository) -> None:
    made = [fact(number, payload={"number": number, "a b": {"c": value}}) for number, value in enumerate(VALUES)]
    made.append(fact(len(VALUES)))
    kept.bulk_store(made)
    for op, value in WANTED:
        condition = Condition("payload.a b.c", op, value)
        expected = [each.payload["number"] for each in reversed(made) if condition.holds(each)]
        assert numbers(kept.query(MetadataQuery(ORDERS, where=[condition]))) == expected, (op, value)


def test_conditions_are_on_extras_and_quality_too_and_all_must_hold(kept: MetadataRepository) -> None:
    kept.bulk_store(fact(number, extras={"slice": number % 3}, quality={"status": "fail"} if number % 2 else None) for number in range(9))
    failed = Condition("quality.status", "=", "fail")
    assert numbers(kept.query(MetadataQuery(where=[failed]))) == [7, 5, 3, 1]
    assert numbers(kept.query(MetadataQuery(where=[failed, Condition("extras.slice", ">=", 1)], limit=2))) == [7, 5]


def test_windows_overlap_wherever_they_stand_and_however_they_are_written(kept: MetadataRepository) -> None:
    def of(number: int, start: Any, end: Any, *, inside: str = "payload") -> MetadataRecord:
        window = {name: value for name, value in (("window_start", start), ("window_end", end)) if value is not None}
        if inside == "payload":
            return fact(number, payload={"number": number, **window})
        return fact(number, extras=window)

    kept.bulk_store(
        [
            of(1, "2026-01-01", "2026-01-02"),
            of(2, "2026-01-02T00:00:00Z", "2026-01-03T00:00:00.000000Z", inside="extras"),
            of(3, "2026-01-03T01:00:00+01:00", "2026-01-04T00:00:00Z"),
            of(4, "2026-01-03T12:00:00Z", None),
            of(5, None, "2026-01-01T12:00:00Z"),
            of(6, 100, 200),
            fact(7),
        ]
    )
    assert numbers(kept.query(MetadataQuery(window=Window("2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z")))) == [2]
    assert numbers(kept.query(MetadataQuery(window=Window("2026-01-02T23:00:00Z", "2026-01-03T00:00:01Z")))) == [3, 2]
    assert numbers(kept.query(MetadataQuery(window=Window(start="2026-01-03T18:00:00Z")))) == [4, 3]
    assert numbers(kept.query(MetadataQuery(window=Window(end="2026-01-01T00:00:01Z")))) == [5, 1]
    assert numbers(kept.query(MetadataQuery(window=Window()))) == [5, 4, 3, 2, 1]


def test_the_log_is_in_the_order_of_storing_and_read_from_any_place(kept: MetadataRepository) -> None:
    kept.store(fact(9))
    kept.bulk_store(fact(number, "ingestion_volume" if number % 2 else "custom") for number in (5, 2, 7))
    logged = kept.log()
    assert numbers(logged) == [9, 5, 2, 7]
    places = [each.sequence or 0 for each in logged]
    assert places == sorted(set(places))
    assert numbers(kept.log(after=places[1])) == [2, 7]
    assert numbers(kept.log(after=places[0], limit=2)) == [5, 2]
    assert numbers(kept.log(kind="ingestion_volume")) == [5, 7]
    assert kept.log(after=places[-1]) == []


def test_a_reader_never_sees_a_part_of_what_is_written(kept: MetadataRepository) -> None:
    """Whatever a reader finds is whole, the latest never goes back, and the log grows only at its end."""
    done = threading.Event()
    problems: list[str] = []

    def read() -> None:
        last, place = -1, 0
        while not problems:
            over = done.is_set()
            found = kept.latest(ORDERS, "custom")
            if found and found.payload["number"] < last:
                problems.append(f"the latest was {last}, then {found.payload['number']}")
            last = found.payload["number"] if found else last
            for each in kept.log(place, limit=50):
                if each.payload["text"] != "x" * 200 or (each.sequence or 0) <= place:
                    problems.append(f"{each.sequence} after {place}: {each.payload}")
                place = each.sequence or 0
            if over:
                return

    reader = threading.Thread(target=read)
    reader.start()
    for start in range(0, 120, 40):
        kept.bulk_store(fact(number, payload={"number": number, "text": "x" * 200}) for number in range(start, start + 39))
        kept.store(fact(start + 39, payload={"number": start + 39, "text": "x" * 200}))
    done.set()
    reader.join(60)
    assert problems == []
    assert numbers(kept.log(limit=None)) == list(range(120))


def test_what_is_no_record_is_refused_with_the_reason(kept: MetadataRepository) -> None:
    with pytest.raises(Invalid, match=r"'sales\.orders' is no kind of record; the target comes first"):
        kept.latest("custom", "sales.orders")
    with pytest.raises(Invalid, match="which kind of record is not said"):
        kept.latest("sales.orders")
    with pytest.raises(Invalid, match="'a/b' is no kind of record"):
        fact(kind="a/b")
    with pytest.raises(Invalid, match="holds what JSON does not know"):
        fact(payload={"x": float("nan")})
    with pytest.raises(Invalid, match="needs a time with a time zone"):
        fact(produced_at=START.replace(tzinfo=None))
    with pytest.raises(Invalid, match="after 'x' is no place in this listing"):
        kept.history(ORDERS, "custom", after="x")
    with pytest.raises(Invalid, match="'rows' is no path in a record"):
        Condition("rows", "=", 1)


def test_a_repository_is_chosen_by_its_url(ledger: Ledger) -> None:
    with pytest.raises(NotInstalled, match="needs the client of the metadata service"):
        records.open("https://ann:secret@metadata.example/api", ledger.store)
    with pytest.raises(Invalid, match=r"records\.repository cannot be 'mongo'"):
        records.open("mongo", ledger.store)
    with pytest.raises(Invalid, match="ftp:// is not supported as a place for files"):
        records.open("ftp://host/folder", ledger.store)


def test_whoever_follows_the_log_misses_nothing_of_writers_at_the_same_time(kept: MetadataRepository) -> None:
    """A place that was read is never filled in behind: places are in the order of commits, not of beginnings."""
    writers = [
        threading.Thread(target=lambda first=first: [kept.store(fact(first + each)) for each in range(15)]) for first in (0, 100, 200)
    ]
    heard: list[MetadataRecord] = []
    for each in writers:
        each.start()
    while True:
        over = not any(each.is_alive() for each in writers)
        heard += kept.log(heard[-1].sequence or 0 if heard else 0)
        if over:
            break
    assert heard == kept.log(limit=None)
    assert sorted(numbers(heard)) == [*range(15), *range(100, 115), *range(200, 215)]
