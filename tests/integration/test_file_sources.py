"""What a source's files are known by, and what they must hold, on real Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from integration.loading import HEADER, SCHEMA, error_of, only, orders, put, rows, run
from lakeledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Known by content


def test_a_changed_file_is_refused_or_ignored_as_declared(lake: Ledger, base: Path) -> None:
    file = put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    run(lake, orders(), base)
    put(file, f"{HEADER}1,b,9.5\n")
    assert "1.csv changed after it was read" in error_of(lake, run(lake, orders(), base))
    assert only(run(lake, orders(changed_files="ignore"), base)).status == "COMPLETED"
    assert (rows(lake.read("orders")), lake.positions.get("shop.orders").version) == ([(1, "a", 1.5)], 1)
    assert only(run(lake, orders(changed_files="load", load_type="full"), base)).error is None
    assert rows(lake.read("orders")) == [(1, "b", 9.5)]
    assert run(lake, orders(), base).rows == 0


def test_a_renamed_file_is_registered_under_its_new_name_and_not_loaded_again(lake: Ledger, base: Path) -> None:
    file = put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    first = run(lake, orders(), base)
    file.rename(base / "orders/2.csv")
    step = only(run(lake, orders(), base))
    assert step.loaded is not None
    assert (step.status, step.loaded.rows, step.loaded.summary) == ("COMPLETED", 0, "nothing new, 1 renamed")
    assert rows(lake.read("orders")) == [(1, "a", 1.5)]
    assert [Path(known.path).name for known in lake.positions.files("shop.orders")] == ["2.csv"]
    assert [change.reason for change in lake.positions.history("shop.orders")] == ["1 renamed", None]
    assert lake.positions.get("shop.orders").position_data["files"] == 1
    assert only(run(lake, orders(), base)).loaded.summary == "nothing new"  # type: ignore[union-attr]
    assert lake.tables.history("orders")[0].run_id == first.run_id


def test_files_that_rotate_bring_only_what_is_new(lake: Ledger, base: Path) -> None:
    today = base / "orders/today.csv"
    for day in range(1, 4):
        for older in (2, 1):
            if (base / f"orders/{older}.csv").exists():
                (base / f"orders/{older}.csv").rename(base / f"orders/{older + 1}.csv")
        if today.exists():
            today.rename(base / "orders/1.csv")
        put(today, f"{HEADER}{day},x,0.5\n")
        assert run(lake, orders(), base).rows == 1
    assert [row[0] for row in rows(lake.read("orders"))] == [1, 2, 3]
    assert [Path(known.path).name for known in lake.positions.files("shop.orders")] == ["today.csv", "2.csv", "1.csv"]
    assert lake.positions.get("shop.orders").position_data["files"] == 3


@pytest.mark.parametrize("changed_files", ["refuse", "ignore"])
def test_a_rotation_that_drops_the_oldest_file_loads_each_row_once(lake: Ledger, base: Path, changed_files: str) -> None:
    document, folder = orders(changed_files=changed_files), base / "orders"
    for day in range(1, 7):
        for older in (2, 1):
            if (folder / f"{older}.csv").exists():
                (folder / f"{older}.csv").rename(folder / f"{older + 1}.csv")
        put(folder / "1.csv", f"{HEADER}{day},x,0.5\n")
        assert only(run(lake, document, base)).error is None
    assert [row[0] for row in rows(lake.read("orders"))] == [1, 2, 3, 4, 5, 6]
    assert lake.positions.get("shop.orders").position_data["files"] == 6
    put(folder / "restored.csv", f"{HEADER}1,x,0.5\n")
    assert only(run(lake, document, base)).loaded.summary == "nothing new, 1 renamed"  # type: ignore[union-attr]
    assert lake.read("orders").count() == 6


def test_files_of_one_size_and_time_that_move_up_are_not_loaded_again(lake: Ledger, base: Path) -> None:
    for number, name in enumerate("ab"):
        os.utime(put(base / f"orders/{name}.csv", f"{HEADER}{number},x,0.5\n"), (1_000, 1_000))
    run(lake, orders(), base)
    (base / "orders/b.csv").rename(base / "orders/c.csv")
    (base / "orders/a.csv").rename(base / "orders/b.csv")
    assert only(run(lake, orders(), base)).loaded.summary == "nothing new, 2 renamed"  # type: ignore[union-attr]
    assert [row[0] for row in rows(lake.read("orders"))] == [0, 1]
    assert [Path(known.path).name for known in lake.positions.files("shop.orders")] == ["c.csv", "b.csv"]


# Columns that are missing

WHOLE = "select 1 as id, 'a' as name, 1.5d as price"


def declared(format: str, schema: str | None = SCHEMA, **config: str) -> str:
    """A module that loads the files of all folders below `orders`."""
    return orders(f"orders/*/*.{format}", schema=schema, format=format, **config)


def arrive(spark: SparkSession, base: Path, format: str, name: str, query: str) -> None:
    """A folder of files, as another Spark leaves them."""
    spark.sql(query).coalesce(1).write.format(format).save(str(base / "orders" / name))


@pytest.mark.parametrize("format", ["json", "parquet"])
@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["declared", "of the table"])
@pytest.mark.parametrize(
    ("query", "column"),
    [("select 2 as id, 2.5d as price", "name"), ("select 2 as id, 'b' as nom, 2.5d as price", "name")],
    ids=["missing", "renamed"],
)
def test_a_column_that_is_missing_from_a_file_is_an_error_that_names_both(
    sqlite_lake: Ledger, spark: SparkSession, base: Path, format: str, schema: str | None, query: str, column: str
) -> None:
    arrive(spark, base, format, "1", WHOLE)
    assert only(run(sqlite_lake, declared(format, schema), base)).error is None
    arrive(spark, base, format, "2", WHOLE)
    arrive(spark, base, format, "3", query)
    error = error_of(sqlite_lake, run(sqlite_lake, declared(format, schema), base))
    assert "/orders/3/part-" in error
    assert f"lacks the column {column}: it has " in error
    assert "optional_columns" in error
    assert sqlite_lake.read("orders").count() == 1


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_a_column_that_is_declared_optional_may_be_missing(sqlite_lake: Ledger, spark: SparkSession, base: Path, format: str) -> None:
    document = declared(format).replace("          format:", '          optional_columns: ["Name"]\n          format:')
    arrive(spark, base, format, "1", "select 2 as id, 2.5d as price")
    assert only(run(sqlite_lake, document, base)).error is None
    assert rows(sqlite_lake.read("orders")) == [(2, None, 2.5)]
    arrive(spark, base, format, "2", "select 3 as id, 'c' as name")
    assert "lacks the column price" in error_of(sqlite_lake, run(sqlite_lake, document, base))
    misspelt = document.replace('["Name"]', "[nmae]")
    assert "optional_columns of orders/*/*." in error_of(sqlite_lake, run(sqlite_lake, misspelt, base))


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ('{"id": 1, "name": "a"}\n{"id": 2, "price": 2.5}\n', None),
        ('{"id": 1, "name": null, "price": null}\n', None),
        ('\n{"id": 1, "name": "a", "price": 1.5, "more": {"name": 1}}\n\n', None),
        ('[{"id": 1, "name": "a"}, {"id": 2, "price": 2.5}]\n', None),
        ("", None),
        ('{"id": 1, "NAME": "a", "price": 1.5}\n', "name"),
        ('{"id": 1, "more": {"name": 1}, "price": 1.5}\n', "name"),
        ('[{"id": 1}, {"id": 2, "price": 2.5}]\n', "name"),
        ("{}\n", "id, name, price"),
    ],
    ids=["in some rows", "null", "blank lines", "arrays", "no rows", "other case", "deeper", "arrays without", "empty"],
)
def test_a_json_column_is_missing_if_no_row_has_it(sqlite_lake: Ledger, base: Path, text: str, missing: str | None) -> None:
    put(base / "orders/a/1.json", text)
    put(base / "orders/a/2.json", '{"id": 7, "name": "g", "price": 7.5}\n')
    result = run(sqlite_lake, declared("json"), base)
    if missing is None:
        assert only(result).error is None
    else:
        assert f"/orders/a/1.json lacks the column {missing}: " in error_of(sqlite_lake, result)


def test_json_documents_of_many_lines_are_looked_at_as_a_whole(sqlite_lake: Ledger, base: Path) -> None:
    document = declared("json").replace("          format:", "          options: {multiLine: true}\n          format:")
    put(base / "orders/a/1.json", '[\n  {"id": 1,\n   "name": "a"},\n  {"id": 2, "price": 2.5}\n]\n')
    assert run(sqlite_lake, document, base).rows == 2
    put(base / "orders/a/2.json", '{\n  "id": 1,\n  "name": "a"\n}\n')
    assert "/orders/a/2.json lacks the column price" in error_of(sqlite_lake, run(sqlite_lake, document, base))


def with_options(document: str, **options: str) -> str:
    return document.replace("          format:", f"          options: {options}\n          format:")


@pytest.mark.parametrize("name", ["multiline", "MultiLine"])
def test_the_names_of_options_may_be_written_in_any_case(sqlite_lake: Ledger, base: Path, name: str) -> None:
    put(base / "orders/a/1.json", '[\n  {"id": 1,\n   "name": "a"}\n]\n')
    assert "/1.json lacks the column price" in error_of(
        sqlite_lake, run(sqlite_lake, with_options(declared("json"), **{name: "true"}), base)
    )


@pytest.mark.parametrize(
    "text",
    ['{"id": 1, "name": "a"}\nbroken\n', '{"id": 1, "name": "a"}\n{"id": 2, "price":\n', 'null\n{"id": 1, "name": "a"}\n'],
    ids=["no JSON", "cut off", "no object"],
)
def test_a_broken_row_does_not_hide_what_the_others_lack(sqlite_lake: Ledger, base: Path, text: str) -> None:
    document = with_options(declared("json"), mode="PERMISSIVE")
    put(base / "orders/a/1.json", text)
    assert "/1.json lacks the column price" in error_of(sqlite_lake, run(sqlite_lake, document, base))


@pytest.mark.parametrize(
    ("row", "options"),
    [
        ("{id: 2, price: 2.5}", {"allowUnquotedFieldNames": "true"}),
        ('{"id": 2, /* cheap */ "price": 2.5}', {"AllowComments": "true"}),
        ('{"id": 2, "price": NaN}', {}),
    ],
    ids=["unquoted", "comments", "no number"],
)
def test_a_row_that_only_the_options_make_readable_counts(sqlite_lake: Ledger, base: Path, row: str, options: dict[str, str]) -> None:
    put(base / "orders/a/1.json", f'{{"id": 1, "name": "a"}}\n{row}\n')
    assert run(sqlite_lake, with_options(declared("json"), **options), base).rows == 2


def test_what_spark_puts_broken_rows_into_is_no_column_of_a_file(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "orders/a/1.json", '{"id": 1}\nbroken\n')
    document = with_options(declared("json", "id int, why string"), mode="PERMISSIVE", columnNameOfCorruptRecord="why")
    assert run(sqlite_lake, document, base).rows == 2
    assert rows(sqlite_lake.read("orders")) == [(1, None), (None, "broken")]


@pytest.mark.parametrize("option", ["basePath", "basepath"])
def test_columns_that_stand_in_the_folders_are_not_missing(sqlite_lake: Ledger, spark: SparkSession, base: Path, option: str) -> None:
    spark.sql("select 1 as id, 'a' as name, 1 as day").write.partitionBy("day").parquet(str(base / "orders"))
    document = declared("parquet", "id int, name string, day int")
    assert "lacks the column day" in error_of(sqlite_lake, run(sqlite_lake, document, base))
    assert only(run(sqlite_lake, with_options(document, **{option: f"{base}/orders"}), base)).error is None
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 1)]


@pytest.mark.parametrize(
    ("found", "read_as"),
    [("int", "bigint"), ("smallint", "int"), ("float", "double"), ("decimal(5,2)", "decimal(10,2)"), ("decimal(5,2)", "decimal(38,6)")],
)
def test_a_column_may_be_narrower_in_a_file(sqlite_lake: Ledger, spark: SparkSession, base: Path, found: str, read_as: str) -> None:
    arrive(spark, base, "parquet", "1", f"select cast(7 as {found}) as n")
    assert only(run(sqlite_lake, declared("parquet", f"n {read_as}"), base)).error is None
    assert [float(row.n) for row in sqlite_lake.read("orders").collect()] == [7.0]


@pytest.mark.parametrize(
    ("found", "read_as"), [("bigint", "int"), ("int", "smallint"), ("decimal(10,2)", "decimal(5,2)"), ("decimal(10,4)", "decimal(10,2)")]
)
def test_a_column_may_not_be_wider_in_a_file(sqlite_lake: Ledger, spark: SparkSession, base: Path, found: str, read_as: str) -> None:
    arrive(spark, base, "parquet", "1", f"select cast(70000 as {found}) as n")
    error = error_of(sqlite_lake, run(sqlite_lake, declared("parquet", f"n {read_as}"), base))
    assert "/orders/1/part-" in error
    assert "has the column n as " in error


def parquet_file(base: Path, name: str, **columns: pa.Array) -> None:
    (base / "orders" / name).mkdir(parents=True)
    parquet.write_table(pa.table(columns), base / "orders" / name / "part-0.parquet")


@pytest.mark.parametrize(("bits", "too_narrow", "wide"), [(8, "byte", "short"), (16, "short", "int"), (32, "int", "bigint")])
def test_a_column_without_a_sign_needs_one_bit_more(sqlite_lake: Ledger, base: Path, bits: int, too_narrow: str, wide: str) -> None:
    unsigned = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32()}[bits]
    parquet_file(base, "1", n=pa.array([2**bits - 1], unsigned))
    error = error_of(sqlite_lake, run(sqlite_lake, declared("parquet", f"n {too_narrow}"), base))
    assert f"has the column n as uint{bits}, which " in error
    assert only(run(sqlite_lake, declared("parquet", f"n {wide}"), base)).error is None
    assert rows(sqlite_lake.read("orders")) == [(2**bits - 1,)]


# Fields of structs

NESTED = "id int, s struct<a: int, b: int>"
IN_ARRAY = "id int, s array<struct<a: int, b: int>>"
IN_MAP = "id int, s map<string, struct<a: int, b: int>>"
DEEP = "id int, s struct<a: int, t: array<struct<a: int, b: int>>>"


@pytest.mark.parametrize("format", ["json", "parquet"])
@pytest.mark.parametrize(
    ("schema", "value", "lacks"),
    [
        (NESTED, "named_struct('a', 1)", "s.b: it has s.a;"),
        (NESTED, "named_struct('a', 1, 'bb', 2)", "s.b: it has s.a, s.bb;"),
        (IN_ARRAY, "array(named_struct('a', 1, 'bb', 2))", "s.b: it has s.a, s.bb;"),
        (IN_MAP, "map('k', named_struct('a', 1))", "s.b: it has s.a;"),
        (DEEP, "named_struct('a', 1, 't', array(named_struct('b', 1), named_struct('b', 2)))", "s.t.a: it has s.t.b;"),
    ],
    ids=["missing", "renamed", "in an array", "in a map", "deep"],
)
def test_a_field_that_is_missing_from_a_struct_is_an_error_that_names_it(
    sqlite_lake: Ledger, spark: SparkSession, base: Path, format: str, schema: str, value: str, lacks: str
) -> None:
    arrive(spark, base, format, "1", f"select 1 as id, {value} as s")
    assert f"lacks the column {lacks}" in error_of(sqlite_lake, run(sqlite_lake, declared(format, schema), base))


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_a_field_that_is_declared_optional_may_be_missing(sqlite_lake: Ledger, spark: SparkSession, base: Path, format: str) -> None:
    document = declared(format, IN_ARRAY).replace("          format:", '          optional_columns: ["S.b"]\n          format:')
    arrive(spark, base, format, "1", "select 1 as id, array(named_struct('a', 1)) as s")
    misspelt = document.replace("S.b", "s.c")
    assert "has 's.c', which is no column: there is id, s, s.a, s.b" in error_of(sqlite_lake, run(sqlite_lake, misspelt, base))
    assert only(run(sqlite_lake, document, base)).error is None
    assert rows(sqlite_lake.read("orders").selectExpr("s[0].a", "s[0].b")) == [(1, None)]


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_a_field_that_the_table_does_not_have_is_refused(sqlite_lake: Ledger, spark: SparkSession, base: Path, format: str) -> None:
    arrive(spark, base, format, "1", "select 1 as id, named_struct('a', 1, 'b', 2) as s")
    assert only(run(sqlite_lake, declared(format, NESTED), base)).error is None
    arrive(spark, base, format, "2", "select 2 as id, named_struct('a', 1, 'b', 2, 'c', 3) as s")
    assert "new columns that the table does not have: s.c" in error_of(sqlite_lake, run(sqlite_lake, declared(format, None), base))
    assert only(run(sqlite_lake, declared(format, NESTED), base)).error is None


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (NESTED, '{"id": 1, "s": {"a": 1}}\n{"id": 2, "s": {"b": null}}\n'),
        (NESTED, '{"id": 1, "s": null}\n{"id": 2}\n'),
        (IN_ARRAY, '{"id": 1, "s": []}\n{"id": 2, "s": [null, {"a": 1}, {"b": 1}]}\n'),
        (IN_MAP, '{"id": 1, "s": {"x": {"a": 1}, "y": {"b": 1}, "z": null}}\n'),
        ("`a.b` struct<`c'd`: int>", '{"a.b": {"c\'d": 1}}\n'),
        ("s string", '{"s": {"a": 1}}\n'),
    ],
    ids=["in some rows", "no struct", "in some elements", "in some values", "odd names", "read as text"],
)
def test_a_json_field_is_missing_if_no_struct_has_it(sqlite_lake: Ledger, base: Path, schema: str, text: str) -> None:
    put(base / "orders/a/1.json", text)
    assert only(run(sqlite_lake, declared("json", schema), base)).error is None


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ("s struct<a: byte>", pa.array([{"a": 255}], pa.struct([("a", pa.uint8())]))),
        ("s array<byte>", pa.array([[255]], pa.list_(pa.uint8()))),
        ("s map<string, byte>", pa.array([[("k", 255)]], pa.map_(pa.string(), pa.uint8()))),
    ],
    ids=["struct", "array", "map"],
)
def test_a_value_inside_another_may_not_be_wider_in_a_file(sqlite_lake: Ledger, base: Path, schema: str, values: pa.Array) -> None:
    parquet_file(base, "1", s=values)
    assert "as uint8, which byte cannot hold" in error_of(sqlite_lake, run(sqlite_lake, declared("parquet", schema), base))
