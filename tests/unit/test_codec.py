"""Values become text and back: canonical JSON, ordered timestamps, folded names."""

from __future__ import annotations

import json
import math
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger import codec

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
ANY_TIME = st.datetimes(timezones=st.just(UTC))
OFFSET_TIME = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=OFFSETS)  # noqa: DTZ001 - hypothesis adds the zone


@given(JSON)
def test_json_comes_back_as_it_was(value: Any) -> None:
    assert json.loads(codec.to_json(value)) == value
    assert codec.to_plain(value) == value


@given(st.dictionaries(st.text(), SCALARS))
def test_the_order_of_keys_changes_neither_text_nor_digest(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))
    assert codec.to_json(turned) == codec.to_json(value)
    assert codec.digest(turned) == codec.digest(value)


def test_json_has_no_spaces_keeps_letters_and_big_integers_exact() -> None:
    assert codec.to_json({"b": [1, 2**63 - 1], "a": "Größe"}) == '{"a":"Größe","b":[1,9223372036854775807]}'


def test_different_values_have_different_digests() -> None:
    assert codec.digest({"a": 1}) != codec.digest({"a": "1"})
    assert codec.digest(["a", "b"]) != codec.digest(["ab"])


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_know_is_refused_before_a_database_sees_it(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        codec.to_json({"x": number})


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: int
    tags: frozenset[str]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "2026-01-02T03:04:05.000006Z"),
        (datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),  # noqa: DTZ001 - a local time of the data stays local
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4, 5, 6), "03:04:05.000006"),
        (Decimal("1.50"), "1.50"),
        (Colour.RED, "red"),
        (PurePosixPath("a/b"), "a/b"),
        ({"b", "a"}, ["a", "b"]),
        (Point(1, frozenset({"z", "y"})), {"x": 1, "tags": ["y", "z"]}),
    ],
)
def test_what_json_lacks_has_a_plain_form(value: object, plain: object) -> None:
    assert codec.to_plain({"v": value}) == {"v": plain}


def test_what_has_no_plain_form_is_named() -> None:
    with pytest.raises(TypeError, match="object cannot be written as JSON"):
        codec.to_json({"x": object()})


@given(ANY_TIME, ANY_TIME)
def test_the_order_of_timestamp_texts_is_the_order_of_time(first: datetime, second: datetime) -> None:
    assert (codec.to_text(first) < codec.to_text(second)) == (first < second)


@given(ANY_TIME | OFFSET_TIME)
def test_a_timestamp_comes_back_to_the_microsecond_in_utc(at: datetime) -> None:
    text = codec.to_text(at)
    assert len(text) == len("2026-01-02T03:04:05.000006Z")
    assert codec.to_time(text) == at
    assert codec.to_time(text).tzinfo is UTC


@pytest.mark.parametrize("year", [1, 999, 9999])
def test_the_years_that_people_use_as_never_and_forever_have_four_digits(year: int) -> None:
    assert codec.to_text(datetime(year, 1, 1, tzinfo=UTC)) == f"{year:04d}-01-01T00:00:00.000000Z"


def test_a_timestamp_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="attach a time zone"):
        codec.to_text(datetime(2026, 1, 1))  # noqa: DTZ001 - the point of the test


@pytest.mark.parametrize(
    "text", ["2026-01-01T10:00:00.5+02:00", "2026-01-01 08:00:00.500000+00", "2026-01-01T08:00:00.5", "2026-01-01T08:00:00.500Z"]
)
def test_timestamps_of_other_writers_are_understood(text: str) -> None:
    assert codec.to_time(text) == datetime(2026, 1, 1, 8, 0, 0, 500_000, tzinfo=UTC)


@given(st.text())
def test_a_folded_name_is_the_same_for_every_spelling_and_folds_no_further(name: str) -> None:
    folded = codec.fold(name)
    assert codec.fold(unicodedata.normalize("NFD", name)) == codec.fold(unicodedata.normalize("NFC", name)) == folded
    assert codec.fold(folded) == folded


def test_names_that_differ_in_case_or_composition_fold_to_the_same_key() -> None:
    assert codec.fold("Orders") == codec.fold("ORDERS") == "orders"
    assert codec.fold("caf\u00e9") == codec.fold("CAFE\u0301")
