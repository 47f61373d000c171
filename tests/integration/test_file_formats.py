"""What files may look like: their formats, compression, separators and marks."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from jars import MissingJars, fetch
from lakeledger.errors import Invalid
from lakeledger.lake import StoredFile
from lakeledger.pipelines.sources import files
from lakeledger.pipelines.sources.files import Files, Where
from needs import missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id int, name string"
TWO = [(1, "a"), (2, "b")]


def read(spark: SparkSession, folder: Path, source: Files) -> list[tuple[Any, ...]]:
    """The rows of all files that the source finds."""
    where = Where(folder)
    found: list[StoredFile] = files.discover(source.path, folder)
    frame = files.read(spark, source, files.identify(found, where), None, where)
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.parametrize(
    ("name", "data", "source"),
    [
        ("1.csv.gz", gzip.compress(b"id,name\n1,a\n2,b\n"), Files("*.gz", schema=SCHEMA)),
        ("1.csv", b"\xef\xbb\xbfid,name\n1,a\n2,b\n", Files("*.csv", schema=SCHEMA)),
        ("1.csv", b"id;name\r\n1;a\r\n2;b\r\n", Files("*.csv", schema=SCHEMA, options={"sep": ";"})),
        ("1.tsv", b"id\tname\n1\ta\n2\tb\n", Files("*.tsv", schema=SCHEMA, options={"sep": "\t"})),
        ("1.json.gz", gzip.compress(b'{"id": 1, "name": "a"}\n{"id": 2, "name": "b"}\n'), Files("*.gz", "json", SCHEMA)),
        ("1.json", b'\xef\xbb\xbf{"id": 1, "name": "a"}\n{"id": 2, "name": "b"}\n', Files("*.json", "json", SCHEMA)),
        ("1.json", b'[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]\n', Files("*.json", "json", SCHEMA)),
        ("1.json", b'[\n{"id": 1, "name": "a"},\n{"id": 2, "name": "b"}\n]', Files("*.json", "json", SCHEMA, {"multiLine": "true"})),
    ],
    ids=["csv gzip", "csv mark", "semicolons", "tabs", "json gzip", "json mark", "json array", "json array over lines"],
)
def test_two_rows_are_the_same_in_every_form(spark: SparkSession, tmp_path: Path, name: str, data: bytes, source: Files) -> None:
    (tmp_path / name).write_bytes(data)
    assert read(spark, tmp_path, source) == TWO


def test_quoted_values_may_have_line_breaks_separators_and_quotes(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_bytes(b'id,name\n1,"a\nb, ""c"""\n2,b\n')
    options = {"multiLine": "true", "escape": '"'}
    assert read(spark, tmp_path, Files("*.csv", schema=SCHEMA, options=options)) == [(1, 'a\nb, "c"'), (2, "b")]


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_columnar_files_have_all_columns_or_are_refused(spark: SparkSession, tmp_path: Path, format: str) -> None:
    spark.createDataFrame(TWO, SCHEMA).coalesce(1).write.format(format).save(str(tmp_path / "a"))
    source = Files(f"*/*.{format}", format, SCHEMA)
    assert read(spark, tmp_path, source) == TWO
    assert read(spark, tmp_path, Files(f"*/*.{format}", format)) == TWO
    spark.sql("select 3 as id").coalesce(1).write.format(format).save(str(tmp_path / "b"))
    with pytest.raises(Invalid, match=r"/b/part-.* lacks the column name: it has id"):
        read(spark, tmp_path, source)
    assert read(spark, tmp_path, Files(f"*/*.{format}", format, SCHEMA, optional_columns=("name",)))[-1] == (3, None)
    spark.sql("select 4L as id, 'd' as name").coalesce(1).write.format(format).save(str(tmp_path / "c"))
    with pytest.raises(Invalid, match=r"has the column id as int64, which integer cannot hold"):
        read(spark, tmp_path, Files("c/*", format, SCHEMA))


def test_lines_of_text_are_rows(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.log").write_text("one\ntwo, three\n", encoding="utf-8")
    assert read(spark, tmp_path, Files("*.log", "text")) == [("one",), ("two, three",)]


def test_csv_files_are_read_each_by_its_own_header(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("id,name\n1,a\n", encoding="utf-8")
    (tmp_path / "2.csv").write_bytes(b'\xef\xbb\xbf"name","id"\nb,2\n')
    (tmp_path / "3.csv.gz").write_bytes(gzip.compress(b"id\n3\n"))
    (tmp_path / "4.csv").write_text("", encoding="utf-8")
    assert read(spark, tmp_path, Files("*", schema=SCHEMA, optional_columns=("NAME",))) == [*TWO, (3, None)]
    assert read(spark, tmp_path, Files("*")) == [*TWO, (3, None)]
    with pytest.raises(Invalid, match=r"/3\.csv\.gz lacks the column name: it has id"):
        read(spark, tmp_path, Files("*", schema=SCHEMA))


def test_avro_files_are_read_each_by_the_schema_that_it_carries(spark: SparkSession, tmp_path: Path) -> None:
    try:
        fetch("avro")
    except MissingJars as error:
        missing(str(error))

    def put(file_name: str, rows: list[dict[str, Any]], **types: str) -> None:
        fields = [{"name": column, "type": type_} for column, type_ in types.items()]
        with (tmp_path / file_name).open("wb") as file:
            fastavro.writer(file, {"type": "record", "name": "row", "fields": fields}, rows)

    put("1.avro", [{"id": 1, "name": "a"}], id="int", name="string")
    put("2.avro", [{"name": "b", "id": 2}], name="string", id="int")
    assert read(spark, tmp_path, Files("*.avro", "avro")) == read(spark, tmp_path, Files("*.avro", "avro", SCHEMA)) == TWO
    put("3.avro", [{"id": 2**40}], id="long")
    assert read(spark, tmp_path, Files("*.avro", "avro"))[-1] == (2**40, None)
    with pytest.raises(Invalid, match=r"/3\.avro lacks the column name"):
        read(spark, tmp_path, Files("*.avro", "avro", "id bigint, name string"))
    with pytest.raises(Invalid, match=r"/3\.avro has the column id as long, which integer cannot hold"):
        read(spark, tmp_path, Files("*.avro", "avro", SCHEMA, optional_columns=("name",)))
    (tmp_path / "4.avro").write_bytes(b"no avro")
    with pytest.raises(Invalid, match=r"/4\.avro is no Avro file"):
        read(spark, tmp_path, Files("*.avro", "avro"))
