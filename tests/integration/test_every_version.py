"""Whatever happens to a table, each version that is promised reads as it was made: in the ledger, through Iceberg and through Delta.

The oracle is a list of rows in Python. What happens is drawn by chance, from numbers that a failure names.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakeledger
from delta_readers import seen
from iceberg_readers import plain, with_pyiceberg
from integration.compacting import compact
from lakeledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "shop.orders"
STEPS = 14
NAMES = ("note", "remark", "comment")
Row = dict[str, Any]
Seen = tuple[list[str], list[str]]


@pytest.fixture
def lake(url: str, tmp_path: Path, spark: SparkSession) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync", spark=spark) as opened:
        opened.snapshots.set_policy("", keep_versions=1, keep_for=timedelta(0), grace=timedelta(0))
        yield opened


@dataclass
class Model:
    """A table as it should be, what it was at each version, and the steps that led there."""

    ledger: Ledger
    spark: SparkSession
    chance: random.Random
    text: str = "note"
    rows: list[Row] = field(default_factory=list)
    versions: dict[int, Seen] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    kept: int = 1_000

    def step(self, name: str) -> None:
        getattr(self, name)()
        self.steps.append(name)
        now = self.ledger.tables.get(TABLE).current_version
        if now not in self.versions:
            self.versions[now] = self.expected()

    def expected(self) -> Seen:
        names = ["id", "region", self.text]
        return names, sorted(repr({name: row[key] for name, key in zip(names, ("id", "region", "text"), strict=True)}) for row in self.rows)

    def fresh(self, ids: list[int]) -> list[Row]:
        return [{"id": each, "region": self.chance.choice(["eu", "us"]), "text": f"t{self.chance.randrange(9)}"} for each in ids]

    def frame(self, rows: list[Row]) -> Any:
        given = [(row["id"], row["region"], row["text"]) for row in rows]
        return self.spark.createDataFrame(given, f"id int, region string, {self.text} string").repartition(2)

    def append(self) -> None:
        top = max((row["id"] for row in self.rows), default=0)
        new = self.fresh([top + 1 + each for each in range(self.chance.randrange(1, 5))])
        self.ledger.append(self.frame(new), TABLE, partition_by=["region"])
        self.rows = [*self.rows, *new]

    def stream(self) -> None:
        top = max((row["id"] for row in self.rows), default=0)
        (new,) = self.fresh([top + 1])
        with self.ledger.stream_writer(TABLE) as writer:
            writer.write({"id": new["id"], "region": new["region"], self.text: new["text"]})
        self.rows = [*self.rows, new]

    def merge(self) -> None:
        known = [row["id"] for row in self.rows]
        ids = {*self.chance.sample(known, min(len(known), 3)), max(known, default=0) + 1}
        new = {row["id"]: row for row in self.fresh(sorted(ids))}
        self.ledger.merge(self.frame(list(new.values())), TABLE, keys=["id"])
        self.rows = [row for row in self.rows if row["id"] not in new] + list(new.values())

    def delete(self) -> None:
        rest = self.chance.randrange(4)
        self.ledger.delete(TABLE, f"id % 4 = {rest}")
        self.rows = [row for row in self.rows if row["id"] % 4 != rest]

    def overwrite(self) -> None:
        self.rows = self.fresh([*range(1, self.chance.randrange(2, 9))])
        self.ledger.overwrite(self.frame(self.rows), TABLE)

    def rename(self) -> None:
        name = self.chance.choice([each for each in NAMES if each != self.text])
        self.ledger.columns.rename(TABLE, self.text, name)
        self.text = name

    def compact(self) -> None:
        compact(self.ledger, TABLE)

    def expire(self) -> None:
        self.ledger.publish(TABLE)
        self.kept = self.chance.randrange(2, 5)
        self.ledger.snapshots.set_policy(TABLE, keep_versions=self.kept, keep_for=timedelta(0), grace=timedelta(0))
        self.ledger.maintenance.maintain(apply=True)
        self.ledger.maintenance.maintain(apply=True)  # what expired is removed once nobody may read it any more
        now = self.ledger.tables.get(TABLE).current_version
        found = {each.version for each in self.ledger.tables.history(TABLE, None)}
        assert found == {version for version in self.versions if version > now - self.kept}
        self.versions = {version: rows for version, rows in self.versions.items() if version in found}

    def check(self) -> None:
        """Every version that is kept, through every door."""
        self.ledger.publish(TABLE)
        history = {each.version: each for each in self.ledger.tables.history(TABLE, None)}
        assert history.keys() == self.versions.keys()
        for version, expected in self.versions.items():
            snapshot = history[version]
            doors: dict[str, Callable[[], Seen]] = {
                "ledger": lambda version=version: plain(self.ledger.read(TABLE, version).toArrow()),  # type: ignore[misc]
                "iceberg": lambda id_=snapshot.iceberg_snapshot_id: plain(with_pyiceberg(self.ledger, TABLE, id_ or 0)),  # type: ignore[misc]
            }
            if snapshot.delta_version is not None:
                doors["delta"] = lambda version=version: seen(self.ledger, version, name=TABLE)  # type: ignore[misc]
            for door, read in doors.items():
                assert read() == expected, (door, version, self.steps)
        assert history[max(history)].delta_version is not None, "Delta has caught up"
        assert self.ledger.tables.verify(TABLE).ok


@pytest.mark.parametrize("seed", [1, 2])
def test_every_promised_version_is_what_it_was_for_everybody(lake: Ledger, spark: SparkSession, seed: int) -> None:
    model = Model(lake, spark, random.Random(f"{seed} {lake.database.dialect}"))
    model.step("append")
    lake.publisher.set_formats(TABLE, ["iceberg", "delta"])
    must = ["append", "stream", "merge", "overwrite", "delete", "rename", "compact", "expire"]
    drawn = must + model.chance.choices(["append", "merge", "compact", "rename", "stream", "expire"], k=STEPS - len(must))
    model.chance.shuffle(drawn)
    for name in drawn:
        model.step(name)
        if name in ("expire", "compact"):
            model.check()
    model.check()
