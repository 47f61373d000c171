"""A Python function as a source: DataFrames and Arrow, with a position and without one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lakeledger
from integration.frames import rows
from integration.test_source_contract import OnTheTestsSpark
from lakeledger import Invalid, Ledger, NumberPosition
from lakeledger.pipelines import Context
from lakeledger.pipelines.sources import Source
from lakeledger.pipelines.sources.callable import CallableSource
from lakeledger.sync import Source as SourceName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = SourceName("shop", "prices")


def lines_since(path: str, position: dict[str, Any] | None) -> tuple[pa.Table, int] | None:
    lines = Path(path).read_text(encoding="utf-8").split()
    first = position["value"] if position else 0
    return (pa.table({"number": [int(line) for line in lines[first:]]}), len(lines)) if lines[first:] else None


class TestCallable(OnTheTestsSpark):
    def make(self, folder: Path) -> Source:
        with self.open_ledger(folder) as ledger:
            context = ledger.context()
        return CallableSource(NAME, lines_since, context, {"path": str(folder / "lines.txt")})

    def add_rows(self, folder: Path) -> None:
        with (folder / "lines.txt").open("a", encoding="utf-8") as lines:
            lines.write("1 2 3 ")

    def rows(self, folder: Path) -> list[tuple[Any, ...]]:
        return [(int(line),) for line in (folder / "lines.txt").read_text(encoding="utf-8").split()]


def source(ledger: Ledger, function: str | Callable[..., Any], **options: Any) -> CallableSource:
    return CallableSource(NAME, function, ledger.context(), **options)


def frame(context: Context) -> DataFrame:
    return context.spark.sql("select 1 as price")


BATCH = pa.RecordBatch.from_pydict({"price": [1]})
SHAPES: dict[str, Callable[..., Any]] = {
    "a DataFrame": frame,
    "a table": lambda: pa.table({"price": [1]}),
    "a batch": lambda: BATCH,
    "batches": lambda: iter([BATCH]),
    "a reader": lambda: pa.RecordBatchReader.from_batches(BATCH.schema, [BATCH]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_function_gives_its_rows_as_a_frame_or_as_arrow(sqlite_lake: Ledger, shape: str) -> None:
    assert sqlite_lake.load(source(sqlite_lake, SHAPES[shape]), "prices", mode="overwrite").rows == 1
    assert rows(sqlite_lake.read("prices")) == [(1,)]


def test_without_a_position_rows_may_not_be_appended(sqlite_lake: Ledger) -> None:
    with pytest.raises(Invalid, match="frame gives no position, so nobody knows which rows are new; use merge with keys, or overwrite"):
        sqlite_lake.load(source(sqlite_lake, frame), "prices")
    assert sqlite_lake.tables.find("prices") is None


def test_a_function_is_named_by_its_module_and_gets_its_parameters(sqlite_lake: Ledger, tmp_path: Path) -> None:
    (tmp_path / "shop_prices.py").write_text(
        "import pyarrow as pa\ndef since(position, currency):\n"
        "    first = position['value'] if position else 0\n"
        "    return pa.table({'price': [first + 1], 'currency': [currency]}), first + 1\n",
        encoding="utf-8",
    )
    from dataclasses import replace

    context = replace(sqlite_lake.context(), base=tmp_path)
    named = CallableSource(NAME, "shop_prices:since", context, {"currency": "EUR"})
    for _ in range(2):
        sqlite_lake.load(named, "prices")
    assert rows(sqlite_lake.read("prices")) == [(1, "EUR"), (2, "EUR")]
    assert sqlite_lake.positions.get(NAME).position == NumberPosition(2)
    with pytest.raises(Invalid, match="shop_prices has no function 'sinc'; did you mean 'since'"):
        sqlite_lake.load(CallableSource(NAME, "shop_prices:sinc", context), "prices")


def test_what_came_since_does_not_replace_a_table_but_everything_may(sqlite_lake: Ledger) -> None:
    def listed() -> tuple[pa.Table, int]:
        return pa.table({"price": [1]}), 7

    with pytest.raises(Invalid, match="gives only a part of its rows, and overwrite would remove all others"):
        sqlite_lake.load(source(sqlite_lake, listed), "prices", mode="overwrite")
    whole = source(sqlite_lake, listed, is_whole=True)
    assert sqlite_lake.load(whole, "prices", mode="overwrite").committed is not None
    assert sqlite_lake.load(whole, "prices", mode="overwrite").committed is None


def test_a_window_is_given_to_a_function_that_takes_one_and_moves_nothing(sqlite_lake: Ledger) -> None:
    def daily(position: Any, window: Any) -> tuple[pa.Table, int]:
        return pa.table({"day": list(window) if window else [position["value"] + 1 if position else 1]}), 1

    sqlite_lake.load(source(sqlite_lake, daily), "prices")
    with pytest.raises(Invalid, match="use merge with keys"):
        sqlite_lake.load(source(sqlite_lake, daily), "prices", window=(5, 6))
    with pytest.raises(Invalid, match="frame takes no 'window'"):
        sqlite_lake.load(source(sqlite_lake, frame), "prices", window=(5, 6))
    assert sqlite_lake.positions.get(NAME).version == 1


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("text", "gives str: give a Spark DataFrame, an Arrow table, or Arrow batches"),
        ([1, 2], "a list of int: give Arrow batches"),
        ([], "no batch at all, so that its columns are unknown"),
        ((1, 2, 3), r"returned tuple: give data, \(data, position\), or None"),
    ],
)
def test_what_is_no_data_is_refused(sqlite_lake: Ledger, returned: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        sqlite_lake.load(source(sqlite_lake, lambda: returned), "prices", mode="overwrite")


def test_a_function_that_gives_arrow_plans_without_spark(tmp_path: Path) -> None:
    with lakeledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        assert ledger.load(source(ledger, lambda: None), "prices").committed is None
