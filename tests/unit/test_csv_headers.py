"""What the header of a CSV file says, and how files without types are read for a table that is there."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import pytest

from lakeledger.errors import Invalid
from lakeledger.lake.storage import Storage
from lakeledger.pipelines.naming import Naming
from lakeledger.pipelines.sources import fitting, headers
from lakeledger.pipelines.sources.csv_files import group


@pytest.mark.parametrize(
    ("name", "data", "options", "expected"),
    [
        ("a.csv", b"id,name\n1,a\n", {}, ("id", "name")),
        ("a.csv", b"\xef\xbb\xbfid,name\r\n1,a\r\n", {}, ("id", "name")),
        ("a.csv", b'id,"first, last","say ""hi"""\n', {}, ("id", "first, last", 'say "hi"')),
        ("a.csv", b"id;name", {"sep": ";"}, ("id", "name")),
        ("a.csv", b"id||name\n", {"delimiter": "||"}, ("id", "name")),
        ("a.csv", b"# made today\n\nid, name\n", {"comment": "#", "ignoreleadingwhitespace": "true"}, ("id", "name")),
        ("a.csv", "id,größe\n".encode("latin-1"), {"encoding": "ISO-8859-1"}, ("id", "größe")),
        ("a.csv", b"id,,name,\n", {}, ("id", "", "name", "")),
        ("a.csv.gz", gzip.compress(b"id,name\n" + b"1,a\n" * 100_000), {}, ("id", "name")),
        ("a.csv.bz2", bz2.compress(b"id,name\n1,a\n"), {}, ("id", "name")),
        ("a.csv", b"", {}, None),
        ("a.csv", b"\n\n", {}, None),
        ("a.csv", ",".join(f"column_{n}" for n in range(20_000)).encode() + b"\n1\n", {}, tuple(f"column_{n}" for n in range(20_000))),
    ],
)
def test_a_header_is_read_as_it_is_written(
    tmp_path: Path, name: str, data: bytes, options: dict[str, str], expected: tuple[str, ...] | None
) -> None:
    (tmp_path / name).write_bytes(data)
    assert headers.read_headers([f"{tmp_path}/{name}"], options, Storage) == [expected]


def test_a_file_whose_header_has_no_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x" * (headers.MOST_BYTES + 1))
    with pytest.raises(Invalid, match="has no end of its header in the first 1,048,576 bytes"):
        headers.read_headers([f"{tmp_path}/a.csv"], {}, Storage)


def test_files_of_one_header_are_read_together() -> None:
    found = group(["a", "b", "c", "d"], [("id", "name"), ("name", "id"), ("id", "name"), None], Naming())
    assert [(each.paths, each.names) for each in found] == [(["a", "c"], ["id", "name"]), (["b"], ["name", "id"])]
    with pytest.raises(Invalid, match=r"a has columns that differ only in case: Name, name"):
        group(["a"], [("Name", "name")], Naming())
    assert group(["a"], [("Name", "name", "")], Naming({"lower": "name"}))[0].names == ["Name", "lower", "_c2"]


@pytest.mark.parametrize(
    ("inferred", "known", "expected"),
    [
        ("integer", "double", "double"),
        ("long", "decimal(12,2)", "decimal(12,2)"),
        ("integer", "long", "long"),
        ("long", "integer", "long"),
        ("double", "long", "double"),
        ("date", "timestamp", "timestamp"),
        ("double", "string", "string"),
        ("string", "double", "string"),
        ("double", "decimal(12,2)", "double"),
    ],
)
def test_values_are_read_as_the_table_has_them_if_that_loses_nothing(inferred: Any, known: Any, expected: Any) -> None:
    assert fitting.read_as(inferred, known) == expected


def test_a_frozen_table_keeps_its_whole_numbers() -> None:
    assert fitting.read_as("long", "integer", frozen=True) == "integer"


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["integer", "integer"], "integer"),
        (["integer", "long"], "long"),
        (["long", "integer", "double"], "double"),
        (["date", "timestamp"], "timestamp"),
        (["integer", "date"], "string"),
        (["boolean", "string"], "string"),
    ],
)
def test_columns_of_several_files_get_the_type_that_takes_all(types: list[Any], expected: Any) -> None:
    assert fitting.common(types) == expected
