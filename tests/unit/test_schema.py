"""Schemas are made comparable, compared and grown by new columns."""

from __future__ import annotations

from typing import Any

import pytest

from lakeledger.errors import Invalid
from lakeledger.tables.schema import Schema, column_names, normalise, reconcile, type_text


def struct(**columns: Any) -> Schema:
    return normalise({"fields": [{"name": name, "type": type_} for name, type_ in columns.items()]})


def nested(*, nullable: bool) -> Schema:
    inner = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": nullable, "metadata": {"comment": "a"}}]}
    array = {"type": "array", "elementType": inner, "containsNull": nullable}
    mapping = {"type": "map", "keyType": "string", "valueType": array, "valueContainsNull": nullable}
    return {"type": "struct", "fields": [{"name": "m", "type": mapping, "nullable": nullable, "metadata": {"id": 7}}]}


def test_schemas_that_differ_in_nullability_and_comments_are_the_same() -> None:
    assert normalise(nested(nullable=False)) == normalise(nested(nullable=True))


def test_normalising_twice_changes_nothing() -> None:
    once = normalise(nested(nullable=False))
    assert normalise(once) == once


def test_user_defined_types_are_left_as_they_are() -> None:
    udt = {"type": "udt", "class": "a.b.C"}
    assert struct(v=udt)["fields"][0]["type"] == udt


def test_data_that_fits_leaves_the_schema_as_it_is() -> None:
    current = struct(id="long", name="string")
    assert reconcile("t", current, struct(id="long", name="string"), evolve=False) == current


def test_columns_are_matched_by_folded_name_in_any_order_and_keep_the_tables_spelling() -> None:
    current = struct(Id="long", name="string")
    assert reconcile("t", current, struct(NAME="string", id="long"), evolve=False) == current


def test_a_new_column_is_refused_unless_it_may_evolve() -> None:
    with pytest.raises(Invalid, match=r"the data does not fit silver\.orders: tax is new; evolve=True lets new columns in"):
        reconcile("silver.orders", struct(id="long"), struct(id="long", tax="double"), evolve=False)


def test_new_columns_are_added_at_the_end_in_their_order() -> None:
    grown = reconcile("t", struct(id="long"), struct(b="double", id="long", a="string"), evolve=True)
    assert column_names(grown) == ["id", "b", "a"]


@pytest.mark.parametrize("evolve", [True, False])
def test_a_missing_column_is_refused_also_when_evolving(evolve: bool) -> None:
    with pytest.raises(Invalid, match="name is missing"):
        reconcile("t", struct(id="long", name="string"), struct(id="long"), evolve=evolve)


def test_another_type_is_refused_and_both_are_named() -> None:
    with pytest.raises(Invalid, match="id is long, not integer"):
        reconcile("t", struct(id="long"), struct(id="integer"), evolve=True)


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(Invalid, match="b is missing, a is long, not string, c is new"):
        reconcile("t", struct(a="long", b="long"), struct(a="string", c="long"), evolve=False)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("decimal(10,2)", "decimal(10,2)"),
        ({"type": "array", "elementType": "long", "containsNull": True}, "array<long>"),
        (
            {"type": "map", "keyType": "string", "valueType": {"type": "struct", "fields": []}, "valueContainsNull": True},
            "map<string, struct<>>",
        ),
        ({"type": "struct", "fields": [{"name": "a", "type": "long"}]}, "struct<a: long>"),
    ],
)
def test_a_type_is_told_in_a_word(type_: Any, text: str) -> None:
    assert type_text(type_) == text
