"""The suite that every source keeps, run on ours and on one as somebody else would write it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakeledger
from lakeledger import Ledger, NumberPosition
from lakeledger.control.documents import FilesSource
from lakeledger.pipelines.sources import Reading, Seen, Source
from lakeledger.pipelines.sources.debezium import Debezium, DebeziumFiles
from lakeledger.pipelines.sources.declared import DeclaredFiles
from lakeledger.pipelines.sources.files import Where
from lakeledger.sync import Advance
from lakeledger.sync import Source as SourceName
from lakeledger.testing.sources import SourceContract

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DECLARED = {
    "source_id": "orders",
    "source_type": "files",
    "source_config": {"path": "in/*.csv", "format": "csv", "schema": "id int, name string", "options": {"header": "true"}},
    "target_config": {"table": "orders"},
    "transformation_config": {"task_type": "ingest", "load_type": "incremental"},
}

LOG = SourceName("lines", "log")


class OnTheTestsSpark(SourceContract):
    @pytest.fixture(autouse=True)
    def _session(self, spark: SparkSession) -> None:
        self.spark = spark

    def open_ledger(self, folder: Path) -> Ledger:
        return lakeledger.open(f"sqlite:///{folder}/ledger.db", warehouse=str(folder / "warehouse"), spark=self.spark)


class TestFiles(OnTheTestsSpark):
    def make(self, folder: Path) -> Source:
        return DeclaredFiles(SourceName("shop", "orders"), FilesSource.model_validate(DECLARED), Where(folder))

    def add_rows(self, folder: Path) -> None:
        (folder / "in").mkdir(exist_ok=True)
        number = len(list((folder / "in").iterdir())) + 1
        (folder / f"in/{number}.csv").write_text(f"id,name\n{number},a\n{number},b\n", encoding="utf-8")

    def rows(self, folder: Path) -> list[tuple[Any, ...]]:
        return [(int(path.stem), name) for path in (folder / "in").iterdir() for name in "ab"]

    def test_a_full_refresh_reads_every_file_again(self, tmp_path: Path) -> None:
        self.add_rows(tmp_path)
        with self.open_ledger(tmp_path) as ledger:
            ledger.load(self.make(tmp_path), "loaded")
            self.add_rows(tmp_path)
            assert ledger.load(self.make(tmp_path), "loaded", full_refresh=True).rows == 4
            assert ledger.load(self.make(tmp_path), "loaded").committed is None
            assert ledger.read("loaded").count() == 4


class TestDebeziumFiles(OnTheTestsSpark):
    """One file with two events for each call."""

    def make(self, folder: Path) -> Source:
        return DebeziumFiles.at(SourceName("shop", "orders"), "in/*.json", Debezium(schema="id int"), base=folder)

    def add_rows(self, folder: Path) -> None:
        (folder / "in").mkdir(exist_ok=True)
        number = len(list((folder / "in").iterdir())) + 1
        events = ({"op": "c", "after": {"id": id}, "source": {"lsn": number}} for id in (1, 2))
        (folder / f"in/{number}.json").write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")

    def rows(self, folder: Path) -> list[tuple[Any, ...]]:
        numbers = [int(path.stem) for path in (folder / "in").iterdir()]
        return [(id, "insert", [number, 0, number - 1, 0, 0, id - 1, 0], None, None, None) for number in numbers for id in (1, 2)]


@dataclass(frozen=True)
class Lines:
    """A source of somebody else's: the lines of a growing file, each with its number."""

    path: Path
    name: SourceName = LOG

    def plan(self, seen: Seen) -> Reading | None:
        first = int(seen.marker.position_data["value"]) if seen.marker else 0
        lines = self.path.read_text(encoding="utf-8").splitlines()
        if len(lines) == first:
            return None
        move = Advance(self.name, NumberPosition(len(lines)), seen.marker.version if seen.marker else 0)
        return Reading(lambda spark: self._frame(spark, lines[first:]), f"lines:{first}-{len(lines)}", move)

    @contextmanager
    def _frame(self, spark: SparkSession, lines: list[str]) -> Iterator[DataFrame]:
        yield spark.createDataFrame([tuple(json.loads(line)) for line in lines], "number int, text string")


class TestLines(OnTheTestsSpark):
    def make(self, folder: Path) -> Source:
        return Lines(folder / "log.jsonl")

    def add_rows(self, folder: Path) -> None:
        with (folder / "log.jsonl").open("a", encoding="utf-8") as log:
            for number in range(3):
                log.write(json.dumps([number, "text"]) + "\n")

    def rows(self, folder: Path) -> list[tuple[Any, ...]]:
        return [tuple(json.loads(line)) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
