"""Benchmarks run on a session as users have it, not on the one tuned for tests, and print instead of asserting."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session", autouse=True)
def _java_as_users_have_it() -> Iterator[None]:
    """Without the options that start tests sooner: one compiler alone makes code that is three times slower."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SPARK_SUBMIT_OPTS", raising=False)
        yield


@pytest.fixture(scope="session")
def spark(_java_as_users_have_it: None) -> SparkSession:
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


def alternate(actions: Sequence[Callable[[], object]], rounds: int, settle: Callable[[], object], warm_up: int = 3) -> list[list[float]]:
    """The times of each action, taken in turns and in changing order, so that whatever else the machine does hits all alike.

    `settle` is called, untimed, before each: what one left to the background must not hit the next.
    """
    times: list[list[float]] = [[] for _ in actions]
    for turn in range(warm_up + rounds):
        order = list(enumerate(actions))
        for index, action in order if turn % 2 else reversed(order):
            settle()
            took = seconds(action)
            if turn >= warm_up:
                times[index].append(took)
    return times


def median_ms(times: list[float]) -> float:
    """The median in milliseconds."""
    return statistics.median(times) * 1000
