"""A definition keeps what it was given, refuses what cannot be, and has a hash that knows what counts."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.errors import Invalid
from lakeledger.sync.schemas import Column, SchemaDefinition

CUSTOMERS = SchemaDefinition(
    columns=[
        {"name": "id", "type": "INTEGER", "nullable": False, "primary_key": True},
        {"name": "name", "type": "TEXT", "nullable": True},
        {"name": "created_at", "type": "TIMESTAMP", "nullable": False},
    ],
    primary_keys=["id"],
    indexes=[{"name": "idx_created_at", "columns": ["created_at"]}],
)

NAMES = st.sampled_from(["id", "name", "email", "größe", "a b"])
COLUMNS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES, "type": st.sampled_from(["int", "TEXT", "decimal(10, 2)", "struct<b: int, a: text>", "geometry"])},
        optional={"nullable": st.booleans(), "primary_key": st.booleans(), "default": st.none() | st.integers(), "comment": st.text()},
    ),
    min_size=1,
    unique_by=lambda column: column["name"],
)


def define(*columns: dict[str, Any], **more: Any) -> SchemaDefinition:
    return SchemaDefinition(list(columns), **more)


def column(name: str = "a", type: str = "int", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, **more}


def test_a_definition_keeps_its_columns_as_they_were_given() -> None:
    given = {"name": "Id", "type": "Integer", "autoincrement": True, "tags": ["x"]}
    assert define(given).columns == [given]
    assert CUSTOMERS.columns[0]["name"] == "id"


def test_a_definition_is_not_changed_through_what_it_was_given() -> None:
    given = column("a", tags=["x"])
    definition = define(given)
    given["tags"].append("y")
    assert definition.columns[0]["tags"] == ["x"]


def test_a_definition_goes_to_json_and_back() -> None:
    assert SchemaDefinition.from_dict(CUSTOMERS.to_dict()) == CUSTOMERS
    assert CUSTOMERS.to_dict()["primary_keys"] == ["id"]


def test_values_that_json_does_not_know_are_kept_as_json_writes_them() -> None:
    assert define(column(default=Decimal("1.50"))).columns[0]["default"] == "1.50"


def test_the_columns_are_also_told_as_they_count() -> None:
    assert CUSTOMERS.fields == (
        Column("id", "INTEGER", nullable=False),
        Column("name", "TEXT"),
        Column("created_at", "TIMESTAMP", nullable=False),
    )
    told = define(column(default=0, comment="how much")).fields[0]
    assert (told.nullable, told.default, told.comment) == (True, 0, "how much")


def test_a_column_of_the_key_is_never_null_however_it_came_into_the_key() -> None:
    flagged = define(column("a", nullable=True, primary_key=True))
    listed = define(column("A", nullable=True), primary_keys=["a"])
    assert [definition.fields[0].nullable for definition in (flagged, listed)] == [False, False]
    assert flagged.hash == listed.hash


def test_the_key_is_what_is_listed_in_its_order_and_then_what_is_flagged() -> None:
    definition = define(column("a", primary_key=True), column("B"), column("c", primary_key=True), primary_keys=["c", "b"])
    assert definition.keys == ("c", "B", "a")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"columns": []}, "at least one column"),
        ({"columns": ["id"]}, "columns of a schema must be a list of dictionaries, but has 'id'"),
        ({"columns": {"id": "int"}}, "columns of a schema must be a list"),
        ({"columns": "id"}, "columns of a schema must be a list"),
        ({"columns": [{"type": "int"}]}, "column 1 of the schema needs a name, not None"),
        ({"columns": [column(), column(" ")]}, "column 2 of the schema needs a name, not ' '"),
        ({"columns": [{"name": "amount"}]}, "column 'amount' needs a type such as 'BIGINT', not None"),
        ({"columns": [column("amount", type="")]}, "column 'amount' needs a type"),
        ({"columns": [column("amount", nullable="YES")]}, "nullable of column 'amount' must be true or false, not 'YES'"),
        ({"columns": [column("amount", primary_key=1)]}, "primary_key of column 'amount' must be true or false, not 1"),
        ({"columns": [column("Größe"), column("GRÖSSE")]}, "column 'Größe' is there more than once"),
        ({"columns": [column("amount", default=float("nan"))]}, "cannot be kept as JSON"),
        ({"columns": [column("amount", default=object())]}, "cannot be kept as JSON"),
        (
            {"columns": [column("amount")], "primary_keys": ["amuont"]},
            "the primary key has an unknown column 'amuont'; did you mean 'amount'",
        ),
        ({"columns": [column()], "primary_keys": "a"}, "primary_keys of a schema must be a list"),
        ({"columns": [column()], "primary_keys": [{"name": "a"}]}, "primary_keys of a schema must be a list of names"),
        ({"columns": [column()], "indexes": [{"name": "i", "columns": ["b"]}]}, "index 'i' has an unknown column 'b'"),
        ({"columns": [column()], "indexes": [{"name": "i"}]}, "index 'i' needs a list of columns"),
        ({"columns": [column()], "indexes": [{"name": "i", "columns": "a"}]}, "index 'i' needs a list of columns, not 'a'"),
        ({"columns": [column()], "indexes": [{"name": 3, "columns": ["a"]}]}, "index names must be text, not 3"),
        ({"columns": [column()], "indexes": [{"name": n, "columns": ["a"]} for n in "iI"]}, "index 'i' is there more than once"),
        ({"columns": [column()], "constraints": ["a > 0"]}, "constraints of a schema must be a list of dictionaries"),
        ({"columns": [column()], "colums": []}, "a schema definition has no 'colums'; did you mean 'columns'"),
    ],
)
def test_what_cannot_be_a_schema_is_refused_and_named(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        SchemaDefinition.from_dict(parts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([column("a"), column("b")], [column("b"), column("a")]),
        ([column("Id")], [column("ID")]),
        ([column(type="INT")], [column(type=" integer ")]),
        ([column(type="VARCHAR(20)")], [column(type="character  varying( 20 )")]),
        ([column(type="numeric(10)")], [column(type="DECIMAL(10, 0)")]),
        ([column(type="struct<a: int, b: text>")], [column(type="STRUCT<B string, A integer>")]),
        ([column(comment="old")], [column(comment="new")]),
        ([column()], [column(nullable=True, default=None)]),
        ([column(default=1e16)], [column(default=10**16)]),
        ([column(primary_key=False)], [column(primary_key=None)]),
    ],
)
def test_the_hash_does_not_see_what_makes_no_difference(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    assert define(*one).hash == define(*other).hash


@pytest.mark.parametrize(
    "other",
    [
        define(column("b")),
        define(column(type="long")),
        define(column(nullable=False)),
        define(column(default=0)),
        define(column(), column("b")),
        define(column(primary_key=True)),
        define(column(), indexes=[{"name": "i", "columns": ["a"]}]),
        define(column(), indexes=[{"name": "i", "columns": ["a"], "unique": True}]),
        define(column(), constraints=[{"name": "c", "expression": "a > 0"}]),
    ],
)
def test_the_hash_sees_what_makes_a_difference(other: SchemaDefinition) -> None:
    assert other.hash != define(column()).hash


def test_indexes_and_constraints_have_no_order_but_the_columns_of_an_index_do() -> None:
    columns = [column("a"), column("b")]
    first, second = {"name": "i", "columns": ["a", "b"], "unique": False}, {"name": "J", "columns": ["b"], "comment": "fast"}
    one = define(*columns, indexes=[first, second])
    assert one.hash == define(*columns, indexes=[{"name": "j", "columns": ["B"]}, {"name": "I", "columns": ["A", "b"]}]).hash
    assert one.hash != define(*columns, indexes=[{"name": "i", "columns": ["b", "a"]}, second]).hash
    checks = [{"type": "CHECK", "expression": "a > 0"}, {"type": "check", "expression": "b > 0"}]
    assert define(*columns, constraints=checks).hash == define(*columns, constraints=checks[::-1]).hash


def test_the_ordinal_hash_also_sees_the_order() -> None:
    one, other = define(column("a"), column("b")), define(column("b"), column("a"))
    assert one.ordinal_hash != other.ordinal_hash
    assert one.ordinal_hash == define(column("A", comment="x"), column("b", type="INTEGER")).ordinal_hash


def test_the_hash_is_the_same_in_another_process() -> None:
    program = (
        f"from lakeledger.sync.schemas import SchemaDefinition as S; d = S.from_dict({CUSTOMERS.to_dict()}); print(d.hash, d.ordinal_hash)"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": "7"})
    assert said.stdout.split() == [CUSTOMERS.hash, CUSTOMERS.ordinal_hash]


def test_the_hash_of_a_known_schema_stays_what_it_is() -> None:
    assert CUSTOMERS.hash == "e8115fdf81c309c038248338dd1372566ebe79fe9f4d950cfad5f540dfc4c212"


@given(COLUMNS, st.randoms())
def test_any_order_of_columns_has_the_same_hash_and_json_keeps_both(columns: list[dict[str, Any]], random: Any) -> None:
    shuffled = random.sample(columns, len(columns))
    definition = SchemaDefinition(columns)
    assert SchemaDefinition(shuffled).hash == definition.hash
    again = SchemaDefinition.from_dict(definition.to_dict())
    assert (again.hash, again.ordinal_hash) == (definition.hash, definition.ordinal_hash)
