"""Benchmarks run on a session as users have it, not on the one tuned for tests, and print instead of asserting."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    from lakeledger.config import SparkSettings
    from lakeledger.pipelines.session import open_session

    return open_session(SparkSettings(master="local[2]", conf={"spark.driver.memory": "4g"}))


@pytest.fixture(autouse=True)
def _new_line() -> None:
    """pytest -q prints dots; figures start on a line of their own."""
    print()


def seconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def alternate(first: Callable[[], object], second: Callable[[], object], rounds: int, warm_up: int = 2) -> tuple[list[float], list[float]]:
    """The times of two actions, taken in turns so that whatever else the machine does hits both alike."""
    for _ in range(warm_up):
        first(), second()
    pairs = [(seconds(first), seconds(second)) if turn % 2 else (seconds(second), seconds(first))[::-1] for turn in range(rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def median_ms(times: list[float]) -> float:
    """The median in milliseconds."""
    return statistics.median(times) * 1000
