"""Types of many engines under common names, and how one relates to another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.sync.schemas.types import DataType, Member, Relation, array_of, compare, map_of, parse, relation, struct_of

ALIASES = [
    ("INT", "INTEGER", "int4", "int(11)", " Integer ", "serial", "mediumint"),
    ("BIGINT", "LONG", "int8", "bigserial", "int64"),
    ("SMALLINT", "short", "int2"),
    ("TINYINT", "byte", "tinyint(1)"),
    ("INT UNSIGNED", "int(10) unsigned", "uint32"),
    ("DOUBLE PRECISION", "double", "float8", "FLOAT(53)"),
    ("REAL", "float", "float4", "float(24)"),
    ("BOOL", "BOOLEAN", "bit"),
    ("TEXT", "STRING", "clob", "varchar", "VARCHAR(MAX)", "longtext"),
    ("VARCHAR(20)", "character varying(20)", "varchar2(20 char)", "nvarchar( 20 )"),
    ("char(3)", "CHARACTER(3)", "bpchar(3)"),
    ("char", "char(1)"),
    ("NUMERIC(10,2)", "decimal( 10 , 2 )", "NUMBER(10,2)"),
    ("decimal(10)", "numeric(10,0)"),
    ("TIMESTAMPTZ", "timestamp with time zone", "timestamp(6) with time zone", "timestamp_ltz"),
    ("TIMESTAMP", "timestamp without time zone", "timestamp(6)", "timestamp_ntz", "datetime"),
    ("bytea", "BLOB", "binary", "varbinary(max)"),
    ("ARRAY<BIGINT>", "array< long >", "bigint[]", "_int8", "list<int8>"),
    ("struct<a: int, b: text>", "STRUCT<`b` string, `A`: integer>", "row<b text, a int>"),
    ("map<string, long>", "MAP<text,bigint>"),
    ("geometry(Point, 4326)", "GEOMETRY( POINT,4326 )"),
]

NARROW_TO_WIDE = [
    ("tinyint", "smallint"),
    ("smallint", "int"),
    ("int", "bigint"),
    ("tinyint", "bigint"),
    ("uint8", "smallint"),
    ("uint32", "bigint"),
    ("int", "double"),
    ("smallint", "float"),
    ("int", "decimal(10,0)"),
    ("int", "decimal(12,2)"),
    ("bigint", "decimal(19)"),
    ("decimal(9,0)", "int"),
    ("float", "double"),
    ("decimal(10,2)", "decimal(12,2)"),
    ("decimal(10,2)", "decimal(12,4)"),
    ("varchar(10)", "varchar(20)"),
    ("varchar(10)", "text"),
    ("char(5)", "char(6)"),
    ("char(5)", "varchar(5)"),
    ("char(5)", "text"),
    ("binary(4)", "binary(8)"),
    ("binary(4)", "bytea"),
    ("date", "timestamp"),
    ("timestamp(3)", "timestamp"),
    ("timestamptz", "timestamptz(9)"),
    ("time(0)", "time"),
    ("void", "int"),
    ("void", "array<int>"),
    ("array<int>", "array<long>"),
    ("array<int not null>", "array<int>"),
    ("map<string, int>", "map<string, long>"),
    ("struct<a: int>", "struct<a: long>"),
    ("struct<a: int>", "struct<a: int, b: text>"),
    ("struct<a: array<struct<x: int>>>", "struct<a: array<struct<x: double>>>"),
]

UNRELATED = [
    ("int", "text"),
    ("bigint", "double"),
    ("int", "float"),
    ("int", "boolean"),
    ("decimal(10,2)", "decimal(10,4)"),
    ("decimal(10,2)", "int"),
    ("decimal(10,2)", "double"),
    ("varchar(5)", "char(10)"),
    ("text", "bytea"),
    ("date", "timestamptz"),
    ("timestamp", "timestamptz"),
    ("array<int>", "int"),
    ("array<int>", "map<int, int>"),
    ("array<int>", "array<text>"),
    ("struct<a: int, b: long>", "struct<a: long, b: int>"),
    ("struct<a: int>", "struct<a: int, b: int not null>"),
]

UNKNOWN = [
    ("json", "jsonb"),
    ("int", "json"),
    ("enum('a')", "enum('A')"),
    ("enum('a', 'b')", "text"),
    ("geometry", "text"),
    ("decimal", "decimal(10,2)"),
    ("array<json>", "array<text>"),
    ("struct<a int", "struct<a: int>"),
]

SCALARS = st.sampled_from(["byte", "int", "long", "double", "string", "date", "timestamptz", "varchar(7)", "decimal(9,2)", "geometry"]).map(
    parse
)
FIELD_NAMES = st.text(st.sampled_from("ab, :<>`(é"), min_size=1, max_size=4)


def nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    members = st.lists(st.builds(Member, FIELD_NAMES, inner, st.booleans()), max_size=3)
    return (
        st.builds(lambda element, nullable: array_of(element, nullable=nullable), inner, st.booleans())
        | st.builds(lambda key, value, nullable: map_of(key, value, nullable=nullable), inner, inner, st.booleans())
        | members.map(struct_of)
    )


TYPES = st.recursive(SCALARS, nested, max_leaves=6)
MIRRORED: dict[Relation, Relation] = {"wider": "narrower", "narrower": "wider"}


@pytest.mark.parametrize("spellings", ALIASES, ids=lambda spellings: spellings[0])
def test_a_type_is_the_same_however_it_is_spelled(spellings: tuple[str, ...]) -> None:
    assert {relation(one, other) for one in spellings for other in spellings} == {"same"}


@pytest.mark.parametrize(("narrow", "wide"), NARROW_TO_WIDE)
def test_a_type_that_holds_all_values_of_another_is_wider(narrow: str, wide: str) -> None:
    assert (relation(narrow, wide), relation(wide, narrow)) == ("wider", "narrower")


@pytest.mark.parametrize(("one", "other"), UNRELATED)
def test_types_of_which_neither_holds_the_other_are_other(one: str, other: str) -> None:
    assert (relation(one, other), relation(other, one)) == ("other", "other")


@pytest.mark.parametrize(("one", "other"), UNKNOWN)
def test_what_only_one_engine_knows_relates_to_nothing(one: str, other: str) -> None:
    assert (relation(one, other), relation(other, one)) == ("unknown", "unknown")


@pytest.mark.parametrize(
    "name", ["json", "geometry(Point,4326)", "enum('A', 'b')", "array<json>", "struct<a int", "interval day to second"]
)
def test_a_type_of_one_engine_is_the_same_as_itself(name: str) -> None:
    assert relation(name, f" {name} ") == "same"


def test_the_words_of_a_type_are_the_common_ones() -> None:
    assert parse("STRUCT<Id BIGINT NOT NULL, `a b`: numeric(5)[], m: map<text, float8 not null>>").text == (
        "struct<Id: long not null, `a b`: array<decimal(5,0)>, m: map<string, double not null>>"
    )


@given(TYPES)
def test_the_words_of_a_type_are_read_back_as_the_type(type_: DataType) -> None:
    assert parse(type_.text) == type_


@given(TYPES, TYPES)
def test_two_types_relate_in_the_opposite_way_when_they_are_exchanged(one: DataType, other: DataType) -> None:
    there, back = compare(one, other), compare(other, one)
    assert back == MIRRORED.get(there, there)


@given(TYPES, TYPES)
def test_types_are_the_same_exactly_if_their_keys_are(one: DataType, other: DataType) -> None:
    assert (compare(one, other) == "same") == (one.key == other.key)


@given(TYPES, TYPES, TYPES)
def test_what_is_wider_than_a_wider_type_is_wider(one: DataType, other: DataType, third: DataType) -> None:
    if compare(one, other) == compare(other, third) == "wider":
        assert compare(one, third) == "wider"


@given(st.text(max_size=30))
def test_any_text_is_a_type(text: str) -> None:
    assert relation(text, text) == "same"
