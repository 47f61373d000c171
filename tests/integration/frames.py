"""Frames to write and ways to look at what became of them, shared by the tests of tables on Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakeledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ["parquet", "jsonl"]
ORDERS = "select * from values (1, 'a'), (2, 'b') as t(id, name)"

# Whatever people put into a partition column: each must stay itself.
WEIRD = [
    "", None, "_", "__", "a/b", "%", "%2F", "a%2Fb", "ü=;", "a=b", " ", ".", "..", ":", "\\", '"', "'", "*", "?", "{x}", "[x]", "#", "\n",
    "😀", "__HIVE_DEFAULT_PARTITION__", "null", "NULL", "a", "A", "\x01",
]  # fmt: skip


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def location(ledger: Ledger, table: str) -> Path:
    return Path(ledger.tables.get(table).location)


def stored(ledger: Ledger) -> set[Path]:
    """Every file in the warehouse, with what Hadoop keeps beside it."""
    return {path for path in Path(ledger.warehouse).rglob("*") if path.is_file()}


def data_files(ledger: Ledger, table: str) -> set[str]:
    folder = location(ledger, table)
    return {str(path.relative_to(folder)) for path in stored(ledger) if path.is_relative_to(folder) and not path.name.startswith(".")}


def bounds(ledger: Ledger, table: str, column: str) -> dict[str, Any]:
    (file,) = ledger.tables.files(table)
    return file.column_bounds[column]


class Boom(Exception):
    """What a test throws."""


@contextmanager
def conf(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)


@contextmanager
def timezone(name: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        yield
    time.tzset()


def all_have_checksums(ledger: Ledger, table: str) -> list[Any]:
    files = list(ledger.tables.files(table))
    return files if all(file.checksum for file in files) else []


def nulls_like(frame: DataFrame) -> str:
    return "select " + ", ".join(f"cast(null as {field.dataType.simpleString()}) as `{field.name}`" for field in frame.schema)
