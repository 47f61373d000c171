"""Which failures share a cause: messages that differ only in the record's own values."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.sync.failures import fingerprint

WORDS = st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8), min_size=1, max_size=6).map(" ".join)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Invalid date '2023-13-45' in row 17", "Invalid date '2024-99-01' in row 9"),
        ("no order 5c3d1f0a-27bb-4f0e-8d5e-0a4f2f6d9f10", "no order 0192f1c2-aaaa-7bbb-8ccc-1234567890ab"),
        ("at 2026-01-02T03:04:05.678Z it ended", "at 2025-11-12 13:14:15+01:00 it ended"),
        ("10.0.0.7:5432 refused", "192.168.1.20:5433 refused"),
        ("fe80::1 refused", "2001:db8::8a2e:370:7334 refused"),
        ("object 0x7f3a at 507f1f77bcf86cd799439011", "object 0x11bc at 5f50c31e8a7d4b0017e2b1aa"),
        ("cannot read /data/day=17/part-00017.parquet", "cannot read /data/day=9/part-4.parquet"),
        ("value -1.5e10 is too big", "value 27 is too big"),
        ('Key (id)=(17) "a"', 'Key (id)=(9) "bc"'),
        ("can't read 'O'Brien'", "can't read 'Smith'"),
        ("took 17ms", "took 9ms"),
        ("two  spaces\nand a line", "two spaces and a line"),
    ],
)
def test_values_of_the_record_do_not_matter(one: str, other: str) -> None:
    assert fingerprint("validation", None, one) == fingerprint("validation", None, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Invalid date '2023-13-45' in row 17", "Invalid time '2023-13-45' in row 17"),
        ("cannot cast to int32", "cannot cast to int64"),
        ("column a is missing", "column b is missing"),
        ("can't read this", "can't write this"),
        ("std::bad_alloc", "std::bad_cast"),
    ],
)
def test_different_texts_are_different_causes(one: str, other: str) -> None:
    assert fingerprint("validation", None, one) != fingerprint("validation", None, other)


def test_type_and_code_are_part_of_the_cause() -> None:
    prints = {fingerprint("validation", None, "x"), fingerprint("schema", None, "x"), fingerprint("validation", "VAL_001", "x")}
    assert len(prints) == 3


@given(text=st.text())
def test_it_is_always_sixteen_hexadecimal_digits(text: str) -> None:
    assert re.fullmatch("[0-9a-f]{16}", fingerprint("unknown", None, text))


@given(words=WORDS, other=WORDS, numbers=st.tuples(st.integers(), st.integers()))
def test_words_matter_and_numbers_do_not(words: str, other: str, numbers: tuple[int, int]) -> None:
    made = [fingerprint("unknown", None, f"{words} {number}") for number in numbers]
    assert made[0] == made[1]
    assert (fingerprint("unknown", None, f"{other} {numbers[0]}") == made[0]) == (words == other)


def test_a_hostile_message_takes_no_time() -> None:
    for text in ("'" * 2_000, "a:" * 1_000, "/1" * 1_000, "1" * 2_000, "0-" * 1_000, "' \"" * 600):
        assert fingerprint("unknown", None, text)
