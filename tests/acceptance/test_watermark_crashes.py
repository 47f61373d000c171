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

import examples
from integration import children
from integration.source_database import Shop, changes_of, followed, need_driver, shop_on
from lakeledger import Ledger
from postgres_server import Server

WRITERS = 3
KILLS = examples.rounds(1, 5)
LOADS_BEFORE_A_KILL = 2
LONGEST_SECONDS = 1.5


INSERT = "insert into orders (at, name) values (clock_timestamp(), %s)"
# Whoever finds a row locked takes another one, so that nobody waits for each other.
UPDATE = """update orders set at = clock_timestamp(), name = name || %s
             where id = (select id from orders order by random() limit 1 for update skip locked)"""


@contextmanager
def written_to(shop: Shop, seed: int, mode: str) -> Iterator[None]:
    """Several connections at once insert rows and, if they are merged, update some: in transactions that end in any order or in vain."""
    over = threading.Event()

    def write(number: int) -> None:
        chance = random.Random(seed + number)
        with shop.connect() as connection:
            while not over.is_set():
                for _ in range(chance.randint(1, 5)):
                    connection.execute(UPDATE if mode == "merge" and chance.random() < 0.5 else INSERT, [f"writer {number}"])
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


@pytest.mark.parametrize(("url", "mode"), [("sqlite", "append"), ("postgres", "merge")], indirect=["url"])
def test_a_loader_that_is_killed_at_random_moments_brings_every_row_once(
    lake: Ledger, url: str, postgres: Server, tmp_path: Path, mode: str
) -> None:
    need_driver()
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    warehouse = str(Path(lake.warehouse).parent)
    with shop_on(postgres) as shop:
        place = f"{shop.schema}.orders"
        with written_to(shop, seed, mode):
            for kill in range(KILLS):
                child = children.start(tmp_path / f"child{kill}.log", "follow", url, warehouse, shop.url, place, mode)
                try:
                    for _ in range(LOADS_BEFORE_A_KILL):
                        child.hear()
                    with pytest.raises(subprocess.TimeoutExpired):
                        child.process.wait(chance.uniform(0, LONGEST_SECONDS))
                finally:
                    child.end()
                assert child.process.returncode == -signal.SIGKILL, child.errors
        source = followed(shop.url, place, mode)
        lake.load(source, "orders", mode=mode, changes=changes_of(mode))  # type: ignore[arg-type]  # as it is parametrised
        assert lake.load(source, "orders", mode=mode, changes=changes_of(mode)).committed is None  # type: ignore[arg-type]
        loaded = Counter((row.id, row.name) for row in lake.read("orders").collect())
        expected = Counter(shop.rows("select id, name from orders"))
        assert loaded == expected, f"seed {seed}: {len(expected - loaded)} lost, {len(loaded - expected)} too many"
        assert len(expected) > 100
        assert any(name.count("writer") > 1 for _, name in expected) == (mode == "merge")
        lake.tables.sweep(timedelta(0), delete=True)  # what a kill between writing and committing left
        assert lake.tables.verify("orders").ok
        if mode == "append":
            assert lake.positions.get(source.name).position_data["value"] == max(number for number, _ in expected)
