"""A table of PostgreSQL under constant writes, loaded by its watermark again and again, killed at any moment: in the end all is there."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from integration import children
from integration.source_database import Shop, need_driver, shop_on
from lakeledger import Ledger
from postgres_server import Server

WRITERS = 3
KILLS = 2
LOADS_BEFORE_A_KILL = 2
LONGEST_SECONDS = 1.5


@contextmanager
def written_to(shop: Shop, seed: int) -> Iterator[None]:
    """Several connections at once insert rows, in transactions that end in any order, and some of them in vain."""
    over = threading.Event()

    def write(number: int) -> None:
        chance = random.Random(seed + number)
        with shop.connect() as connection:
            while not over.is_set():
                for _ in range(chance.randint(1, 5)):
                    connection.execute("insert into orders (at, name) values (clock_timestamp(), %s)", [f"writer {number}"])
                    over.wait(chance.uniform(0, 0.01))
                connection.rollback() if chance.random() < 0.2 else connection.commit()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(30)


# With updates of rows the table must be merged into, not appended to.
@pytest.mark.parametrize("mode", ["append"])
def test_a_loader_that_is_killed_at_random_moments_brings_every_row_once(
    lake: Ledger, url: str, postgres: Server, tmp_path: Path, mode: str
) -> None:
    need_driver()
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    warehouse = str(Path(lake.warehouse).parent)
    with shop_on(postgres) as shop:
        with written_to(shop, seed):
            for kill in range(KILLS):
                place = f"{shop.schema}.orders"
                child = children.start(tmp_path / f"child{kill}.log", "follow", url, warehouse, shop.url, place, mode)
                try:
                    for _ in range(LOADS_BEFORE_A_KILL):
                        child.hear()
                    with pytest.raises(subprocess.TimeoutExpired):
                        child.process.wait(chance.uniform(0, LONGEST_SECONDS))
                finally:
                    child.end()
                assert child.process.returncode == -signal.SIGKILL, child.errors
        source = shop.source()
        lake.load(source, "orders", mode=mode)  # type: ignore[arg-type]  # as it is parametrised
        assert lake.load(source, "orders", mode=mode).committed is None  # type: ignore[arg-type]
        loaded = Counter((row.id, row.name) for row in lake.read("orders").collect())
        expected = Counter(shop.rows("select id, name from orders"))
        assert loaded == expected, f"seed {seed}: {len(expected - loaded)} lost, {len(loaded - expected)} too many"
        assert len(expected) > 100
        assert lake.positions.get(source.name).position_data["value"] == max(number for number, _ in expected)
        lake.tables.sweep(timedelta(0), delete=True)  # what a kill between writing and committing left
        assert lake.tables.verify("orders").ok
