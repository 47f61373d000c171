"""A compaction has the same rows in other files: nobody who waits for news, plans a write or knows a batch hears of it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from contract.making import ORDERS, append, change, new_file, overwrite, put
from lakeledger import Conflict, Failed, Ledger
from lakeledger.cli.scheduler import table_versions
from lakeledger.tables import Committed, Files, Keys, Layout, NewFile, Partitions, parse_name
from lakeledger.tables.change import prefix_of

MON, TUE = "day=mon", "day=tue"
DAYS = Layout("parquet", ("day",))
WITH_DAYS = {"type": "struct", "fields": [{"name": "id", "type": "long"}, {"name": "day", "type": "string"}]}


def compact(ledger: Ledger, files: list[NewFile], into: NewFile, **more: object) -> Committed:
    paths = Files(frozenset(file.path for file in files))
    return append(ledger, into, operation="replace", retires=paths, **more)


def test_the_same_rows_in_other_files_are_a_version_but_no_news(ledger: Ledger) -> None:
    small = [new_file("a"), new_file("b")]
    before = append(ledger, *small).table
    made = compact(ledger, small, new_file("ab", rows=20, size=150))
    assert (made.version, made.table.content_version, made.table.row_count, made.table.file_count) == (2, 1, 20, 1)
    assert made.table.last_modified == before.last_modified
    assert made.removed == ("data/run/a", "data/run/b")
    assert table_versions(ledger, [ORDERS])[ORDERS].version == 1
    assert ledger.tables.view(ORDERS, 1).file_paths == ["data/run/a", "data/run/b"]
    append(ledger, new_file("c"))
    assert ledger.tables.get(ORDERS).content_version == 3


def test_rows_must_not_get_lost_by_it(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    with pytest.raises(Failed, match=r"9 rows cannot replace 10 of silver\.orders: nothing was changed"):
        compact(ledger, [new_file("a")], new_file("b", rows=9))
    assert ledger.tables.view(ORDERS).file_paths == ["data/run/a"]


def test_files_that_are_gone_meanwhile_are_a_conflict(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    overwrite(ledger, new_file("b"))
    with pytest.raises(Conflict):
        compact(ledger, [new_file("a")], new_file("c"))


def test_a_full_load_of_the_same_batch_is_still_there(ledger: Ledger) -> None:
    overwrite(ledger, new_file("a"), batch_id="all")
    compact(ledger, [new_file("a")], new_file("b"))
    ledger.columns.add(ORDERS, "x", "long")
    assert not overwrite(ledger, new_file("c"), batch_id="all").applied
    append(ledger, new_file("d"), schema=ledger.tables.view(ORDERS).schema)
    assert overwrite(ledger, new_file("e"), batch_id="all").applied


def test_writers_that_planned_before_it_do_not_collide_with_it(ledger: Ledger) -> None:
    mon, tue = new_file("a", partition=MON), new_file("b", partition=TUE)
    append(ledger, mon, tue, layout=DAYS, schema=WITH_DAYS)
    compact(ledger, [mon], new_file("c", partition=MON), layout=DAYS, schema=WITH_DAYS)
    days = {"layout": DAYS, "schema": WITH_DAYS, "base_version": 1}
    append(ledger, new_file("d", partition=MON), operation="overwrite", retires=Partitions(frozenset([MON])), **days)
    assert ledger.tables.view(ORDERS).file_paths == ["data/run/day=tue/b", "data/run/day=mon/d"]
    with pytest.raises(Conflict):
        append(ledger, new_file("e", partition=MON), operation="overwrite", retires=Partitions(frozenset([MON])), **days)


@pytest.mark.parametrize("reads", ["all", Keys("id", 1, 5)])
def test_rows_that_were_computed_before_it_are_still_right(ledger: Ledger, reads: object) -> None:
    append(ledger, new_file("a"))
    compact(ledger, [new_file("a")], new_file("b"))
    append(ledger, new_file("c"), reads=reads, base_version=1)
    with pytest.raises(Conflict):
        append(ledger, new_file("d"), reads=reads, base_version=1)


def test_a_column_that_came_meanwhile_does_not_matter_to_it(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    planned = ledger.tables.view(ORDERS).schema
    ledger.columns.rename(ORDERS, "id", "key")
    ledger.columns.add(ORDERS, "x", "long")
    compact(ledger, [new_file("a")], new_file("b"), schema=planned)
    assert [field["name"] for field in ledger.tables.view(ORDERS).schema["fields"]] == ["key", "x"]


@pytest.mark.parametrize(
    ("low", "high", "bounds", "may_be"),
    [
        (1, 5, {"min": 5, "max": 9}, True),
        (1, 5, {"min": 6, "max": 9}, False),
        (Decimal("8.00"), Decimal("10.00"), {"min": "9.50", "max": "9.90"}, True),
        (Decimal("8.00"), Decimal("10.00"), {"min": "10.01", "max": "11"}, False),
        ("2026-01-01", "2026-02-01", {"min": "2026-03-01", "max": "2026-03-02"}, False),
        (1, 5, {}, True),
        (1, 5, {"min": 9}, True),
        (1, 5, {"min": "a", "max": "b"}, True),
        (Decimal(1), Decimal(2), {"min": "NaN", "max": "x"}, True),
    ],
)
def test_a_range_of_keys_is_compared_by_value(low: object, high: object, bounds: dict[str, object], may_be: bool) -> None:
    assert Keys("id", low, high).may_be_in(bounds) is may_be


def test_an_append_that_was_planned_before_a_column_came_is_to_be_tried_again(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    planned = ledger.tables.view(ORDERS).schema
    ledger.columns.add(ORDERS, "x", "long")
    with ledger.run("load") as run, pytest.raises(Conflict, match="has other columns since the rows were written") as raised:
        put(ledger, change(run, new_file("b"), schema=planned, schema_version=1))
    assert raised.value.retryable


def test_a_table_that_was_made_elsewhere_meanwhile_is_a_conflict(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    with pytest.raises(Conflict, match="was made in another place"):
        append(ledger, new_file("b"), location="/warehouse/silver/other")


def test_a_change_without_a_batch_follows_the_others(ledger: Ledger) -> None:
    from lakeledger.commit import commit

    with ledger.run("load") as run:
        first = change(run, new_file("a"), batch_id="b").change
        second = change(run, new_file("b"), table="silver.other").change
        for number in (1, 2):
            with ledger.store.write() as tx:
                made = commit(tx, run.fence, [first, second])
            assert made.applied is (number == 1)
    assert ledger.tables.get("silver.other").current_version == 1


def test_what_a_position_brings_is_what_goes_into_the_first_table(ledger: Ledger) -> None:
    from lakeledger import NumberPosition
    from lakeledger.commit import commit
    from lakeledger.sync import Advance, parse_source

    move = Advance(parse_source("shop"), NumberPosition(5))
    with ledger.run("load") as run:
        good = change(run, new_file("a", rows=7)).change
        bad = change(run, new_file("b", rows=3), table="silver.bad").change
        with ledger.store.write() as tx:
            commit(tx, run.fence, [good, bad], [move])
    (value,) = ledger.positions.history("shop")
    assert value.appended_rows == 7


def test_a_column_that_was_renamed_by_case_alone_is_no_trouble_to_a_partitioned_write(ledger: Ledger) -> None:
    append(ledger, new_file("a", partition=MON), layout=DAYS, schema=WITH_DAYS)
    planned = ledger.tables.view(ORDERS).schema
    ledger.columns.rename(ORDERS, "day", "Day")
    append(ledger, new_file("b", partition=MON), layout=DAYS, schema=planned, schema_version=1)
    assert ledger.tables.view(ORDERS).layout.partition_by == ("Day",)


@pytest.mark.parametrize(
    ("location", "prefix"),
    [
        ("main/bad", ""),
        ("/warehouse/main/bad", ""),
        ("s3://lake/default/main/bad", ""),
        ("main/orders", "lakeledger_aside_bad_"),
        ("other_main/bad", "lakeledger_aside_bad_"),
    ],
)
def test_only_a_table_in_another_ones_place_has_other_names_in_its_files(location: str, prefix: str) -> None:
    assert prefix_of(parse_name("main.BAD"), location) == prefix
