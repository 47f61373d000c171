"""Schemas of Spark, Arrow and JDBC become definitions and come back as what they were."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from lakeledger.errors import Invalid
from lakeledger.sync.schemas import SchemaDefinition, from_arrow, from_jdbc, from_spark, to_arrow, to_jdbc, to_spark

SPARK_TYPES: list[T.DataType] = [
    T.ByteType(),
    T.ShortType(),
    T.IntegerType(),
    T.LongType(),
    T.FloatType(),
    T.DoubleType(),
    T.DecimalType(38, 18),
    T.DecimalType(5, 0),
    T.StringType(),
    T.BooleanType(),
    T.BinaryType(),
    T.DateType(),
    T.TimestampType(),
    T.TimestampNTZType(),
    T.TimeType(6),
    T.NullType(),
    T.VariantType(),
    T.DayTimeIntervalType(0, 3),
    T.YearMonthIntervalType(0, 1),
    T.ArrayType(T.LongType(), containsNull=True),
    T.ArrayType(T.LongType(), containsNull=False),
    T.MapType(T.StringType(), T.TimestampType(), valueContainsNull=False),
    T.StructType([T.StructField("Größe, in cm", T.DecimalType(4, 1), nullable=False), T.StructField("b:<c>`", T.StringType())]),
    T.ArrayType(T.MapType(T.StringType(), T.ArrayType(T.StructType([T.StructField("x", T.TimestampNTZType())])))),
    T.StructType([]),
]

ARROW_TYPES = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(10, 2),
    pa.decimal256(60, 3),
    pa.string(),
    pa.bool_(),
    pa.binary(),
    pa.binary(16),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time64("ns"),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp(unit, tz="UTC") for unit in ("s", "ms", "us", "ns")),
    pa.duration("us"),
    pa.list_(pa.int64()),
    pa.list_(pa.field("item", pa.int64(), nullable=False)),
    pa.map_(pa.string(), pa.timestamp("us", tz="UTC")),
    pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False)),
    pa.struct([pa.field("a", pa.int64(), nullable=False), pa.field("b c", pa.list_(pa.struct([pa.field("x", pa.date32())])))]),
]


@pytest.mark.parametrize("type_", SPARK_TYPES, ids=lambda type_: type_.simpleString())
@pytest.mark.parametrize("nullable", [True, False])
def test_a_spark_schema_comes_back_as_it_was(type_: T.DataType, nullable: bool) -> None:
    schema = T.StructType([T.StructField("a", type_, nullable)])
    definition = from_spark(schema)
    assert to_spark(definition) == schema
    assert from_spark(schema.jsonValue()) == definition
    assert definition.fields[0].data_type.text == definition.fields[0].type


def test_comments_and_metadata_of_spark_columns_are_kept() -> None:
    schema = T.StructType([T.StructField("a", T.StringType("UNICODE_CI"), metadata={"comment": "how much", "unit": "EUR"})])
    definition = from_spark(schema)
    assert definition.fields[0].comment == "how much"
    assert [to_spark(definition), to_spark(definition)] == [schema, schema]
    assert to_spark(definition)["a"].metadata["unit"] == "EUR"


def test_a_spark_string_of_limited_length_is_kept_as_spark_keeps_it() -> None:
    given = T.StructType([T.StructField("a", T.VarcharType(10))])
    definition = from_spark(given)
    assert definition.fields[0].type == "varchar(10)"
    usable = to_spark(definition)
    assert usable == T.StructType([T.StructField("a", T.StringType(), metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(10)"})])
    assert from_spark(usable).hash == definition.hash


def test_a_timestamp_of_spark_has_a_time_zone_and_one_of_sql_has_none() -> None:
    spark = from_spark(T.StructType([T.StructField("a", T.TimestampType())]))
    assert [spark.hash == SchemaDefinition([{"name": "a", "type": name}]).hash for name in ("TIMESTAMPTZ", "TIMESTAMP")] == [True, False]
    assert to_spark(SchemaDefinition([{"name": "a", "type": "TIMESTAMP"}]))["a"].dataType == T.TimestampNTZType()


@pytest.mark.parametrize(
    ("type_", "spark", "arrow"),
    [
        ("numeric", T.DecimalType(38, 18), pa.decimal128(38, 18)),
        ("bigint unsigned", T.DecimalType(20, 0), pa.uint64()),
        ("enum('a', 'b')", T.StringType(), pa.string()),
        ("jsonb", T.StringType(), pa.string()),
        ("uuid", T.StringType(), pa.string()),
        ("char(3)", T.StringType(), pa.string()),
        ("tinytext", T.StringType(), pa.string()),
        ("longblob", T.BinaryType(), pa.binary()),
        ("varbinary(8)", T.BinaryType(), pa.binary()),
        ("binary(8)", T.BinaryType(), pa.binary(8)),
        ("mediumint", T.IntegerType(), pa.int32()),
        ("mediumint unsigned", T.IntegerType(), pa.uint32()),
        ("integer[]", T.ArrayType(T.IntegerType()), pa.list_(pa.int32())),
    ],
)
def test_types_of_databases_have_a_place_in_spark_and_arrow(type_: str, spark: T.DataType, arrow: Any) -> None:
    definition = SchemaDefinition([{"name": "a", "type": type_}])
    assert to_spark(definition)["a"].dataType == spark
    assert to_arrow(definition).field("a").type == arrow


def test_a_type_without_a_place_is_refused_with_the_column() -> None:
    definition = SchemaDefinition([{"name": "area", "type": "polygon"}])
    with pytest.raises(Invalid, match="Spark has no type for column 'area' polygon: register it as TEXT"):
        to_spark(definition)
    with pytest.raises(Invalid, match="Arrow has no type for column 'area' polygon: register it as TEXT"):
        to_arrow(definition)


@pytest.mark.parametrize("type_", ARROW_TYPES, ids=str)
@pytest.mark.parametrize("nullable", [True, False])
def test_an_arrow_schema_comes_back_as_it_was(type_: Any, nullable: bool) -> None:
    schema = pa.schema([pa.field("a", type_, nullable)])
    definition = from_arrow(schema)
    assert to_arrow(definition) == schema
    assert definition.fields[0].data_type.text == definition.fields[0].type


@pytest.mark.parametrize(
    ("given", "returned"),
    [
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.large_binary(), pa.binary()),
        (pa.large_list(pa.int64()), pa.list_(pa.int64())),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.timestamp("us", tz="Europe/Berlin"), pa.timestamp("us", tz="UTC")),
        (pa.uuid(), pa.binary(16)),
        (pa.null(), pa.null()),
    ],
    ids=str,
)
def test_how_arrow_lays_out_a_value_is_not_its_type(given: Any, returned: Any) -> None:
    assert to_arrow(from_arrow(pa.schema([("a", given)]))) == pa.schema([("a", returned)])


def test_what_spark_and_arrow_call_the_same_is_the_same() -> None:
    spark = T.StructType([T.StructField("a", T.ArrayType(T.LongType())), T.StructField("at", T.TimestampType())])
    assert from_spark(spark).hash == from_arrow(pa.schema([("a", pa.list_(pa.int64())), ("at", pa.timestamp("us", tz="UTC"))])).hash


def test_the_columns_of_a_jdbc_driver_become_a_definition() -> None:
    rows = [
        {"COLUMN_NAME": "note", "TYPE_NAME": "text", "COLUMN_SIZE": 2147483647, "NULLABLE": 1, "ORDINAL_POSITION": 3, "REMARKS": "free"},
        {"COLUMN_NAME": "id", "TYPE_NAME": "int8", "COLUMN_SIZE": 19, "DECIMAL_DIGITS": 0, "NULLABLE": 0, "ORDINAL_POSITION": 1},
        {
            "COLUMN_NAME": "amount",
            "TYPE_NAME": "numeric",
            "COLUMN_SIZE": 10,
            "DECIMAL_DIGITS": 2,
            "NULLABLE": 1,
            "COLUMN_DEF": "0",
            "ORDINAL_POSITION": 2,
        },
    ]
    indexes = [{"name": "by_amount", "columns": ["amount"]}]
    definition = from_jdbc(rows, primary_keys=["id"], indexes=indexes)
    assert definition.columns == [
        {"name": "id", "type": "int8", "nullable": False},
        {"name": "amount", "type": "numeric(10,2)", "nullable": True, "default": "0"},
        {"name": "note", "type": "text", "nullable": True, "comment": "free"},
    ]
    assert (definition.keys, definition.indexes) == (("id",), indexes)


def test_the_columns_of_an_information_schema_become_a_definition() -> None:
    rows: list[dict[str, Any]] = [
        {"column_name": "code", "data_type": "character varying", "character_maximum_length": 20, "is_nullable": "NO"},
        {"column_name": "price", "data_type": "numeric", "numeric_precision": 8, "numeric_scale": 3, "is_nullable": "YES"},
        {"column_name": "any", "data_type": "numeric", "is_nullable": "YES", "column_default": "1"},
        {"column_name": "tags", "data_type": "ARRAY", "udt_name": "_text", "is_nullable": "YES"},
        {"column_name": "at", "data_type": "timestamp without time zone", "datetime_precision": 3, "is_nullable": "YES"},
        {"column_name": "kind", "data_type": "enum", "column_type": "enum('a','b')", "is_nullable": "YES"},
    ]
    assert [(column.name, column.type, column.nullable, column.default) for column in from_jdbc(rows).fields] == [
        ("code", "character varying(20)", False, None),
        ("price", "numeric(8,3)", True, None),
        ("any", "numeric", True, "1"),
        ("tags", "_text", True, None),
        ("at", "timestamp without time zone(3)", True, None),
        ("kind", "enum('a','b')", True, None),
    ]


@pytest.mark.parametrize(
    ("name", "size", "type_"),
    [
        ("BIT", 1, "boolean"),
        ("BIT", 8, "bit(8)"),
        ("TINYTEXT", 255, "tinytext"),
        ("LONGTEXT", 2147483647, "longtext"),
        ("TEXT", 65535, "string"),
        ("TINYBLOB", 255, "tinyblob"),
        ("VARBINARY", 16, "varbinary(16)"),
    ],
)
def test_the_size_that_a_driver_tells_counts_where_somebody_chose_it(name: str, size: int, type_: str) -> None:
    (column,) = from_jdbc([{"COLUMN_NAME": "a", "TYPE_NAME": name, "COLUMN_SIZE": size}]).fields
    assert column.data_type.text == type_


def test_a_column_whose_type_has_no_name_is_refused() -> None:
    with pytest.raises(Invalid, match="column 'a' has no TYPE_NAME, only 12"):
        from_jdbc([{"COLUMN_NAME": "a", "DATA_TYPE": 12}])


def test_a_definition_goes_to_jdbc_and_comes_back() -> None:
    types = [
        "TINYINT",
        "int",
        "bigint",
        "smallint unsigned",
        "real",
        "double",
        "decimal(10,2)",
        "numeric",
        "TEXT",
        "varchar(20)",
        "char(3)",
    ]
    types += [
        "bool",
        "bytea",
        "binary(4)",
        "varbinary(4)",
        "longblob",
        "TINYTEXT",
        "bit(8)",
        "mediumint unsigned",
        "date",
        "timestamp",
        "timestamptz(3)",
        "enum('a','B')",
        "array<struct<a: int, B: text>>",
    ]
    columns = [{"name": f"c{place}", "type": type_, "nullable": place % 2 == 0} for place, type_ in enumerate(types)]
    definition = SchemaDefinition([{"name": "id", "type": "int", "primary_key": True}, *columns])
    rows = to_jdbc(definition)
    again = from_jdbc(rows, primary_keys=definition.keys)
    assert (again.hash, again.ordinal_hash) == (definition.hash, definition.ordinal_hash)
    assert rows[7] == {
        "COLUMN_NAME": "c6",
        "TYPE_NAME": "DECIMAL",
        "COLUMN_SIZE": 10,
        "DECIMAL_DIGITS": 2,
        "NULLABLE": 1,
        "IS_NULLABLE": "YES",
        "COLUMN_DEF": None,
        "REMARKS": None,
        "ORDINAL_POSITION": 8,
    }
