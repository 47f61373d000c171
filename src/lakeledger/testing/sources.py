"""What every source keeps: a suite that whoever writes one runs against it.

    class TestMySource(SourceContract):
        def make(self, folder: Path) -> Source: ...
        def add_rows(self, folder: Path) -> None: ...
        def rows(self, folder: Path) -> list[tuple[Any, ...]]: ...

pytest then runs every test of the suite. The rows are those that the table must hold once everything was loaded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NoReturn

import lakeledger
from lakeledger import Ledger
from lakeledger.config import SparkSettings
from lakeledger.errors import Failed
from lakeledger.pipelines.sources import Reading, Source, look
from lakeledger.tables import parse_name
from lakeledger.testing import raise_at

TABLE = "contract.loaded"


class SourceContract(ABC):
    """Give `make`, `add_rows` and `rows`; the tests come with it. A source that asks Spark to plan says so."""

    plans_without_spark = True

    @abstractmethod
    def make(self, folder: Path) -> Source:
        """The source. What it reads is below the folder, or is known by it; at the first call there are some rows, or none."""

    @abstractmethod
    def add_rows(self, folder: Path) -> None:
        """Bring some more rows into what the source reads."""

    @abstractmethod
    def rows(self, folder: Path) -> list[tuple[Any, ...]]:
        """Every row that the source has ever had, as they are in the table."""

    def open_ledger(self, folder: Path) -> Ledger:
        """The ledger to load into; by default one on SQLite, with whatever Spark there is."""
        return lakeledger.open(f"sqlite:///{folder}/ledger.db", warehouse=str(folder / "warehouse"))

    def test_planning_starts_no_spark_and_changes_nothing(self, tmp_path: Path) -> None:
        self.add_rows(tmp_path)
        with self.open_ledger(tmp_path) as opened:
            settings = opened.settings
        with Ledger(settings, start_spark=_no_spark if self.plans_without_spark else None) as ledger:
            assert self._plan(ledger, tmp_path) is not None
            assert not ledger.positions.list()
            assert ledger.tables.find(TABLE) is None

    def test_the_same_state_is_the_same_plan(self, tmp_path: Path) -> None:
        self.add_rows(tmp_path)
        with self.open_ledger(tmp_path) as ledger:
            first, second = self._plan(ledger, tmp_path), self._plan(ledger, tmp_path)
            assert first is not None
            assert second is not None
            assert (first.batch_id, first.move) == (second.batch_id, second.move)
            assert first.batch_id or first.move, "without a batch or a position the same rows come twice"

    def test_rows_come_once(self, tmp_path: Path) -> None:
        self.add_rows(tmp_path)
        with self.open_ledger(tmp_path) as ledger:
            assert ledger.load(self.make(tmp_path), TABLE).committed is not None
            assert ledger.load(self.make(tmp_path), TABLE).committed is None
            assert self._loaded(ledger) == sorted(self.rows(tmp_path), key=repr)

    def test_only_what_is_new_comes_later(self, tmp_path: Path) -> None:
        self.add_rows(tmp_path)
        with self.open_ledger(tmp_path) as ledger:
            ledger.load(self.make(tmp_path), TABLE)
            before = len(self.rows(tmp_path))
            self.add_rows(tmp_path)
            assert ledger.load(self.make(tmp_path), TABLE).rows == len(self.rows(tmp_path)) - before
            assert self._loaded(ledger) == sorted(self.rows(tmp_path), key=repr)

    def test_a_load_that_fails_moves_nothing_and_is_made_up_for(self, tmp_path: Path) -> None:
        self.add_rows(tmp_path)
        with self.open_ledger(tmp_path) as ledger:
            for point in ("after_write", "in_transaction"):
                try:
                    with raise_at(point, Failed("the contract says so")):
                        ledger.load(self.make(tmp_path), TABLE)
                except Failed:
                    pass
                assert not ledger.positions.list()
                assert ledger.tables.find(TABLE) is None
            ledger.load(self.make(tmp_path), TABLE)
            assert self._loaded(ledger) == sorted(self.rows(tmp_path), key=repr)

    def _plan(self, ledger: Ledger, folder: Path) -> Reading | None:
        source = self.make(folder)
        return source.plan(look(ledger.store, source.name, parse_name(TABLE)))

    def _loaded(self, ledger: Ledger) -> list[tuple[Any, ...]]:
        return sorted((tuple(row) for row in ledger.read(TABLE).collect()), key=repr)


def _no_spark(_: SparkSettings) -> NoReturn:
    raise AssertionError("planning must not start Spark")
