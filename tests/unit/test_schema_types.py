"""Types of many engines under common names, and how one relates to another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.sync.schemas.types import DataType, Member, Relation, array_of, compare, map_of, parse, relation, struct_of

ALIASES = [
    ("INT", "INTEGER", "int4", "int(11)", " Integer ", "serial"),
    ("BIGINT", "LONG", "int8", "bigserial", "int64"),
    ("SMALLINT", "short", "int2"),
    ("TINYINT", "byte", "tinyint(1)"),
    ("INT UNSIGNED", "int(10) unsigned", "uint32"),
    ("DOUBLE PRECISION", "double", "float8", "FLOAT(53)", "FLOAT64"),
    ("REAL", "float", "float4", "float(24)"),
    ("BOOL", "BOOLEAN", "bit", "BIT(1)"),
    ("bit(8)", "BIT( 8 )"),
    ("TEXT", "STRING", "clob", "varchar", "VARCHAR(MAX)"),
    ("VARCHAR(20)", "STRING(20)", "character varying(20)", "varchar2(20 char)", "nvarchar( 20 )"),
    ("char(3)", "CHARACTER(3)", "bpchar(3)"),
    ("char", "char(1)"),
    ("NUMERIC(10,2)", "decimal( 10 , 2 )", "NUMBER(10,2)"),
    ("decimal(10)", "numeric(10,0)"),
    ("TIMESTAMPTZ", "timestamp with time zone", "timestamp(6) with time zone", "timestamp_ltz"),
    ("TIMESTAMP", "timestamp without time zone", "timestamp(6)", "timestamp_ntz"),
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
    ("binary(4)", "varbinary(4)"),
    ("varbinary(4)", "varbinary(8)"),
    ("tinytext", "mediumtext"),
    ("tinytext", "longtext"),
    ("mediumtext", "longtext"),
    ("tinytext", "text"),
    ("text", "mediumtext"),
    ("text", "longtext"),
    ("longtext", "string"),
    ("varchar(63)", "tinytext"),
    ("tinytext", "varchar(255)"),
    ("varchar(16383)", "mediumtext"),
    ("char(3)", "longtext"),
    ("tinyblob", "mediumblob"),
    ("tinyblob", "longblob"),
    ("mediumblob", "longblob"),
    ("tinyblob", "blob"),
    ("blob", "mediumblob"),
    ("blob", "longblob"),
    ("longblob", "binary"),
    ("array<text>", "array<longtext>"),
    ("varbinary(255)", "tinyblob"),
    ("tinyblob", "varbinary(256)"),
    ("binary(16)", "tinyblob"),
    ("smallint", "mediumint"),
    ("mediumint", "int"),
    ("mediumint unsigned", "int"),
    ("mediumint", "float"),
    ("decimal(3,5)", "decimal(4,5)"),
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
    ("varchar(100)", "tinytext"),  # 100 characters may be 400 bytes
    ("tinytext", "char(255)"),
    ("tinytext", "tinyblob"),
    ("varbinary(4)", "binary(8)"),
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
    ("bit(1)", "bit(64)"),
    ("boolean", "bit(2)"),
    ("bit(8)", "bit(64)"),
    ("bit(8)", "varbit(8)"),
    ("clob(1M)", "clob(2M)"),
    ("array<json>", "array<text>"),
    ("struct<a int", "struct<a: int>"),
]

# What a column of an engine becomes, and what a data engineer would say of it, there and back.
ENGINES: list[tuple[str, str, Relation, Relation]] = [
    # Oracle
    ("NUMBER(10)", "NUMBER(10,0)", "same", "same"),
    ("NUMBER(*,0)", "NUMBER(38,0)", "same", "same"),
    ("NUMBER(10,2)", "NUMBER(12,2)", "wider", "narrower"),
    ("NUMBER(10,2)", "NUMBER(10,4)", "other", "other"),
    ("NUMBER(5,-2)", "NUMBER(7)", "wider", "narrower"),
    ("NUMBER", "NUMBER(38,0)", "unknown", "unknown"),
    ("NUMBER(9,0)", "VARCHAR2(10)", "other", "other"),
    ("VARCHAR2(30)", "VARCHAR2(60 CHAR)", "wider", "narrower"),
    ("VARCHAR2(4000)", "CLOB", "wider", "narrower"),
    ("RAW(16)", "RAW(2000)", "wider", "narrower"),
    ("RAW(16)", "BLOB", "wider", "narrower"),
    ("FLOAT(126)", "BINARY_DOUBLE", "unknown", "unknown"),
    ("BINARY_FLOAT", "BINARY_DOUBLE", "wider", "narrower"),
    ("TIMESTAMP(3)", "TIMESTAMP(9)", "wider", "narrower"),
    ("TIMESTAMP(6)", "TIMESTAMP(6) WITH TIME ZONE", "other", "other"),
    ("INTERVAL DAY(2) TO SECOND(6)", "INTERVAL YEAR TO MONTH", "unknown", "unknown"),
    # SQL Server
    ("nvarchar(100)", "nvarchar(max)", "wider", "narrower"),
    ("nvarchar(max)", "varbinary(max)", "other", "other"),
    ("varbinary(100)", "varbinary(max)", "wider", "narrower"),
    ("binary(8)", "varbinary(8)", "wider", "narrower"),
    ("datetime2", "datetime2(7)", "same", "same"),
    ("datetime2(3)", "datetime2", "wider", "narrower"),
    ("datetime", "datetime2", "wider", "narrower"),
    ("date", "datetime2(0)", "wider", "narrower"),
    ("datetime2", "datetimeoffset", "other", "other"),
    ("smalldatetime", "datetime2", "unknown", "unknown"),
    ("uniqueidentifier", "nvarchar(36)", "unknown", "unknown"),
    ("money", "decimal(19,4)", "unknown", "unknown"),
    ("bit", "int", "other", "other"),
    ("hierarchyid", "sql_variant", "unknown", "unknown"),
    # PostgreSQL
    ("int4", "int8", "wider", "narrower"),
    ("int2", "int4", "wider", "narrower"),
    ("int8", "float8", "other", "other"),
    ("int8", "numeric", "unknown", "unknown"),
    ("int8", "numeric(19)", "wider", "narrower"),
    ("timestamp", "timestamptz", "other", "other"),
    ("timestamptz(3)", "timestamptz", "wider", "narrower"),
    ("timetz", "time", "unknown", "unknown"),
    ("uuid", "text", "unknown", "unknown"),
    ("uuid", "bytea", "unknown", "unknown"),
    ("json", "jsonb", "unknown", "unknown"),
    ("jsonb", "text", "unknown", "unknown"),
    ("int4[]", "int8[]", "wider", "narrower"),
    ("_int4", "int4[]", "same", "same"),
    ("bool", "int4", "other", "other"),
    # MySQL
    ("MEDIUMINT", "INT(11)", "wider", "narrower"),
    ("INT", "INT UNSIGNED", "other", "other"),
    ("DATETIME(3)", "DATETIME(6)", "wider", "narrower"),
    ("DATETIME", "TIMESTAMP", "other", "other"),
    ("DATETIME(3)", "TIMESTAMP(6)", "other", "other"),
    ("DATE", "DATETIME", "wider", "narrower"),
    ("VARCHAR(100)", "TEXT", "wider", "narrower"),
    ("TEXT", "LONGTEXT", "wider", "narrower"),
    ("BLOB", "MEDIUMBLOB", "wider", "narrower"),
    ("enum('a','b')", "enum('a','b','c')", "unknown", "unknown"),
    ("BIT(1)", "TINYINT(1)", "other", "other"),
    # Snowflake
    ("VARIANT", "OBJECT", "unknown", "unknown"),
    ("VARIANT", "VARCHAR", "unknown", "unknown"),
    ("NUMBER(38,0)", "NUMBER(38,2)", "other", "other"),
    ("TEXT(10)", "VARCHAR(10)", "same", "same"),
    ("VARCHAR(10)", "VARCHAR(16777216)", "wider", "narrower"),
    ("TIMESTAMP_NTZ(9)", "TIMESTAMP_LTZ(9)", "other", "other"),
    ("TIMESTAMP_TZ", "TIMESTAMP_LTZ", "unknown", "unknown"),
    # BigQuery
    ("INT64", "BIGINT", "same", "same"),
    ("INT64", "FLOAT64", "other", "other"),
    ("INT64", "NUMERIC", "unknown", "unknown"),
    ("INT64", "STRING", "other", "other"),
    ("NUMERIC", "BIGNUMERIC", "unknown", "unknown"),
    ("NUMERIC(10,2)", "NUMERIC(20,2)", "wider", "narrower"),
    ("STRING(10)", "STRING", "wider", "narrower"),
    ("STRING(10)", "STRING(20)", "wider", "narrower"),
    ("STRING", "BYTES", "other", "other"),
    ("BYTES(10)", "BYTES", "wider", "narrower"),
    ("ARRAY<INT64>", "ARRAY<STRING>", "other", "other"),
    ("STRUCT<a INT64>", "STRUCT<a INT64, b STRING>", "wider", "narrower"),
    ("GEOGRAPHY", "STRING", "unknown", "unknown"),
]

NUMBERS = ["byte", "mediumint", "mediumint unsigned", "int", "long", "double", "decimal(9,2)", "decimal(2,5)", "decimal(3,5)"]
TEXTS = ["string", "varchar(7)", "varchar(255)", "char(63)", "tinytext", "longtext"]
BYTES = ["binary", "binary(255)", "varbinary(255)", "tinyblob", "longblob"]
SCALARS = st.sampled_from([*NUMBERS, *TEXTS, *BYTES, "date", "datetime2", "timestamptz", "bit", "bit(8)", "geometry"]).map(parse)
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


@pytest.mark.parametrize(("old", "new", "there", "back"), ENGINES)
def test_types_of_engines_relate_as_a_data_engineer_expects(old: str, new: str, there: Relation, back: Relation) -> None:
    assert (relation(old, new), relation(new, old)) == (there, back)


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
