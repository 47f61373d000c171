"""What is kept of a record: never a secret, never more than the cap, and never an exception."""

from __future__ import annotations

import json
import math
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.redaction import MASK
from lakeledger.sync.masking import TOO_DEEP, Masked, Masking, excerpt, plain, plain_record, text_of

CANARY = "canary-5f1e9"
NAMES = st.sampled_from(["id", "name", "password", "api_key", "note", "email", "Email", "card"]) | st.text(max_size=8)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.text(max_size=50)
    | st.binary(max_size=20)
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC))
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.uuids()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(NAMES | st.integers(), inner, max_size=4)
        | st.tuples(inner, inner)
        | st.frozensets(st.integers() | st.text(max_size=5), max_size=3)
    ),
    max_leaves=25,
)


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Order:
    id: int
    password: str


Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024 - the kind without types is what is tested


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no")


class BrokenMapping(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no")


@given(record=VALUES)
def test_any_record_is_kept_within_the_cap(record: Any) -> None:
    masked = Masking(("email",), max_bytes=300).mask(record)
    assert len(codec.to_json(masked.data).encode()) <= 300
    assert json.loads(codec.to_json(masked.data)) == masked.data


@given(record=VALUES)
def test_a_complete_record_is_the_whole_record(record: Any) -> None:
    masked = Masking().mask(record)
    assert not masked.complete or masked.data == plain_record(record)


@given(
    record=st.dictionaries(NAMES, st.lists(VALUES, max_size=2), max_size=3), name=st.sampled_from(["password", "Api_Key", "EMAIL", "card"])
)
def test_no_secret_remains_wherever_it_stands(record: dict[str, Any], name: str) -> None:
    secrets = {
        name: CANARY,
        "url": f"postgresql://ann:{CANARY}@db/shop",
        "deep": [{"er": {name: [CANARY, {"x": CANARY}]}}],
        "text": f"rejected: {CANARY}!",
        f"key {CANARY}": 1,
    }
    masking = Masking(("email", "deep.er.card", "card"))
    whole = {"rest": record, **secrets}
    masked = masking.mask(whole, masking.hidden(whole))
    assert CANARY not in codec.to_json(masked.data)
    assert not masked.complete


@pytest.mark.parametrize(
    ("columns", "masked"),
    [
        ((), {"email": "a@b.example", "card": {"number": "4111", "year": 30}, "items": [{"iban": "DE1"}]}),
        (("email",), {"email": MASK, "card": {"number": "4111", "year": 30}, "items": [{"iban": "DE1"}]}),
        (("E*L",), {"email": MASK, "card": {"number": "4111", "year": 30}, "items": [{"iban": "DE1"}]}),
        (("card",), {"email": "a@b.example", "card": MASK, "items": [{"iban": "DE1"}]}),
        (("card.*",), {"email": "a@b.example", "card": {"number": MASK, "year": MASK}, "items": [{"iban": "DE1"}]}),
        (("number", "iban"), {"email": "a@b.example", "card": {"number": MASK, "year": 30}, "items": [{"iban": MASK}]}),
        (("items.iban",), {"email": "a@b.example", "card": {"number": "4111", "year": 30}, "items": [{"iban": MASK}]}),
        (("mail", "numb"), {"email": "a@b.example", "card": {"number": "4111", "year": 30}, "items": [{"iban": "DE1"}]}),
    ],
)
def test_a_column_is_masked_by_its_pattern(columns: tuple[str, ...], masked: dict[str, Any]) -> None:
    record = {"email": "a@b.example", "card": {"number": "4111", "year": 30}, "items": [{"iban": "DE1"}]}
    found = Masking(columns).mask(record)
    assert found.data == masked
    assert found.complete == (masked == record)


def test_a_dotted_pattern_is_found_at_any_depth() -> None:
    record = {"customer": {"card": {"number": "4111"}}, "discard": {"number": "7"}}
    assert Masking(("card.*",)).mask(record).data == {"customer": {"card": {"number": MASK}}, "discard": {"number": "7"}}


def test_what_is_masked_is_known_so_that_texts_can_be_scrubbed_of_it() -> None:
    record = {"email": "a@b.example", "card": {"number": 41112222, "year": 30}, "password": "hunter2", "plain": "visible"}
    assert Masking(("email", "card.*")).hidden(record) == {"a@b.example", "41112222", "hunter2"}
    assert Masking().hidden(None) == frozenset()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (timedelta(seconds=90), "0:01:30"),
        (Decimal("1.50"), "1.50"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (b"\x00\xff", "AP8="),
        ({3, 1, 2}, [1, 2, 3]),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (PurePosixPath("/a/b"), "/a/b"),
        (Colour.RED, "red"),
        ("a\0b\ud800", "a\\0b\\ud800"),
        (10**2_000, hex(10**2_000)),
        (Order(1, "x"), {"id": 1, "password": "x"}),
        (Pair(1, b"a"), {"left": 1, "right": "YQ=="}),
        (Row(id=1, item=Row(name="a")), {"id": 1, "item": {"name": "a"}}),
        ({1: "a", "1": "b"}, {"1": "a", "1'": "b"}),
        (Broken(), "<Broken>"),
        (BrokenMapping(), "<BrokenMapping>"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_foreign_values_become_plain_json(value: Any, expected: Any) -> None:
    assert plain(value) == expected
    assert json.loads(codec.to_json(plain(value))) == expected


def test_numpy_values_become_plain_json() -> None:
    assert plain({"n": np.int64(5), "a": np.array([1.5, 2.0])}) == {"n": 5, "a": [1.5, 2.0]}


def test_what_is_no_object_is_wrapped() -> None:
    assert Masking().mask("text").data == {"value": "text"}
    assert Masking().mask([1, 2]).data == {"value": [1, 2]}
    assert Masking().mask(None).data == {"value": None}


def test_a_record_that_holds_itself_is_cut_there() -> None:
    record: dict[str, Any] = {"id": 1}
    record["self"] = [record, record]
    masked = Masking().mask(record)
    assert masked.data == {"id": 1, "self": [TOO_DEEP, TOO_DEEP]}
    assert not masked.complete


def test_a_record_that_is_nested_beyond_reason_is_cut() -> None:
    record: dict[str, Any] = {}
    for _ in range(5_000):
        record = {"next": record}
    assert not Masking().mask(record).complete


def test_long_texts_are_cut_first() -> None:
    masked = Masking(max_bytes=2_000).mask({"id": 1, "text": "x" * 5_000})
    assert masked.data == {"id": 1, "text": "x" * 1_000 + "…(+4000 characters)"}
    assert not masked.complete


def test_what_is_still_too_big_is_summed_up() -> None:
    record = {f"column_{number}": number for number in range(1_000)}
    masked = Masking(max_bytes=300).mask(record)
    assert masked.data["_cut"] is True
    assert masked.data["_bytes"] == len(codec.to_json(record))
    assert masked.data["_sha256"] == codec.digest(record)
    assert masked.data["_keys"][0] == "column_0"
    assert len(codec.to_json(masked.data)) <= 300
    assert not masked.complete


def test_a_cap_that_holds_no_summary_is_refused() -> None:
    with pytest.raises(Invalid, match="at least 256 bytes"):
        Masking(max_bytes=10)


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, b"x", "a\0b", "\ud800", 10**2_000, Broken(), {"a\0": 1}, {1: "a", "1": "b"}, [{"deep": math.nan}]],
    ids=lambda value: type(value).__name__,
)
def test_a_record_that_had_to_be_changed_to_be_kept_is_not_complete(value: Any) -> None:
    assert not Masking().mask({"id": 1, "value": value}).complete


@pytest.mark.parametrize("value", [1.5, "Łódź", 2**64, date(2026, 1, 2), Decimal("1.5"), UUID(int=7), (1, 2), None, TOO_DEEP])
def test_a_record_that_can_be_kept_as_it_is_is_complete(value: Any) -> None:
    assert Masking().mask({"id": 1, "value": value}).complete


def test_a_record_with_a_known_secret_is_not_complete() -> None:
    masked = Masking().mask({"id": 1, "note": "typed hunter2"}, ["hunter2"])
    assert masked == Masked({"id": 1, "note": "typed ***"}, complete=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1062, "1062"),
        (0, "0"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (b"a\xff", "a\\xff"),
        (["one\n", "two"], "one\ntwo"),
        ({"a": 1}, '{"a":1}'),
        (Broken(), "<Broken>"),
        (Colour.RED, "red"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_was_given_for_a_text_is_a_text(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_an_excerpt_reads_no_more_than_it_may_keep() -> None:
    assert excerpt("password=hunter2 " + "x" * 1_000_000, 20) == "password=*** xxxxxxx"
    assert excerpt("x" * 1_000_000 + " password=hunter2", 20, end=True) == "xxxxxxx password=***"
