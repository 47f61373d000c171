"""Random histories of a real table, loaded after each piece of them: whatever ties and whatever has no watermark, each row comes once."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from integration.source_database import Shop
from lakeledger import Ledger
from lakeledger.pipelines.sources.watermark import Watermark

ROUNDS = 6
BEGIN = datetime(2026, 3, 29, tzinfo=UTC)  # when clocks change in Europe


@pytest.mark.parametrize("columns", [("at", "id"), ("day", "at", "id"), ("code", "id")])
def test_each_row_with_a_watermark_comes_once(sqlite_lake: Ledger, shop: Shop, columns: tuple[str, ...]) -> None:
    shop.do("create table history (id bigint primary key, at timestamp, day date, code text)")
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    clock = BEGIN
    number = 0
    for _ in range(ROUNDS):
        for _ in range(chance.randint(0, 6)):
            clock += timedelta(minutes=chance.choice([0, 0, 1, 700]))
            number += 1
            at = None if chance.random() < 0.2 else clock.replace(tzinfo=None)
            code = f"{(clock - BEGIN) // timedelta(minutes=1):06d}'é"
            shop.do("insert into history values (%s, %s, %s, %s)", number, at, clock.date(), code)
        parts = chance.randint(1, 3)
        source = shop.source("history", watermark=Watermark(columns, nulls="skip"), partition_column="id", partitions=parts)
        sqlite_lake.load(source, "history")
        assert sqlite_lake.load(source, "history").committed is None, f"seed {seed}"
    present = " and ".join(f"{column} is not null" for column in columns)
    expected = [row[0] for row in shop.rows(f"select id from history where {present}")]
    table = sqlite_lake.tables.find("history")
    loaded = [row.id for row in sqlite_lake.read("history").collect()] if table else []
    assert sorted(loaded) == sorted(expected), f"seed {seed}"
