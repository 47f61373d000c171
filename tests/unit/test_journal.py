"""What is noted beside metadata: each note once more for each power of sixteen, and bounds that come back as they were."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger import codec
from lakeledger.lake.iceberg import journal
from lakeledger.lake.iceberg.hint import hint_path
from lakeledger.lake.iceberg.values import from_bytes, to_bytes


def test_journals_stay_few_and_no_note_is_written_often() -> None:
    kept: dict[str, bytes] = {}
    written = 0

    def keep(content: bytes) -> str:
        nonlocal written
        written += sum(1 for _ in journal.read(content))
        kept[str(len(kept))] = content
        return str(len(kept) - 1)

    listed: journal.Listed = []
    for number in range(1_000):
        listed = journal.add(listed, [{"number": number}], keep, kept.__getitem__)
        assert len(listed) <= 3 * journal.MERGED_AT
    assert [note["number"] for path, _ in listed for note in journal.read(kept[path])] == list(range(1_000))
    assert written <= 3 * 1_000


NUMBERS = {"int": st.integers(-(2**31), 2**31 - 1), "long": st.integers(-(2**63), 2**63 - 1)}
VALUES = {
    **NUMBERS,
    "boolean": st.booleans(),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "string": st.text(),
    "date": st.dates().map(date.isoformat),
    "timestamptz": st.datetimes().map(lambda at: codec.to_text(at.replace(tzinfo=UTC))),
    "timestamp": st.datetimes().map(datetime.isoformat),
    "decimal(18, 4)": st.decimals(-(10**13), 10**13, places=4).map(str),
}


@given(st.sampled_from(sorted(VALUES)).flatmap(lambda type_: st.tuples(st.just(type_), VALUES[type_])))
def test_a_bound_comes_back_as_it_was(given: tuple[str, Any]) -> None:
    type_, value = given
    back = from_bytes(type_, to_bytes(type_, value))
    assert (Decimal(back) == Decimal(value)) if type_.startswith("decimal") else (back == value)


@pytest.mark.parametrize(("type_", "written", "value"), [("long", "int", -7), ("double", "float", 0.5)])
def test_a_bound_of_a_column_that_became_wider_comes_back(type_: str, written: str, value: float) -> None:
    assert from_bytes(type_, to_bytes(written, value)) == value


def test_tables_in_one_place_have_hints_of_their_own() -> None:
    assert hint_path("shop/orders", "/lake/default/shop/orders") == "metadata/version-hint.text"
    assert hint_path("shop/orders__quarantine", "/lake/default/shop/orders") == "metadata/shop.orders__quarantine.version-hint.text"
