"""A stream writer in a process of its own, without Spark.

python streaming_child.py crash URL WAREHOUSE POINT          acknowledges one rotation and dies by SIGKILL at the point of the next
python streaming_child.py write URL WAREHOUSE FIRST LAST     writes so many rows, a few at a time, and says which are acknowledged
"""

from __future__ import annotations

import os
import signal
import sys

import lakeledger
from lakeledger import Settings, failpoints

EVENTS = "bronze.events"
FEW = 5


def crash(url: str, warehouse: str, point: str) -> None:
    with lakeledger.open(Settings(url, warehouse, metadata="sync")) as ledger:
        writer = ledger.stream_writer(EVENTS, every=3600, partition_by=["day"])
        writer.write([{"id": 1, "day": "mon"}, {"id": 2, "day": "tue"}, {"id": "x", "day": "tue"}])
        say(f"acknowledged {writer.flush()}")
        failpoints.armed[point] = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        writer.write([{"id": 3, "day": "mon"}, {"id": 4, "day": "wed"}, {"id": "y", "day": "wed"}])
        say(f"acknowledged {writer.flush()}")
    sys.exit(f"{point} was never reached")


def write(url: str, warehouse: str, first: str, last: str) -> None:
    with lakeledger.open(Settings(url, warehouse)) as ledger, ledger.stream_writer(EVENTS, every=0.02) as writer:
        for start in range(int(first), int(last), FEW):
            ticket = writer.write([{"id": number, "day": "mon"} for number in range(start, start + FEW)])
            if start % (4 * FEW) == 0:
                say(f"{start} {ticket.result()}")
    assert "pyspark" not in sys.modules


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    {"crash": crash, "write": write}[sys.argv[1]](*sys.argv[2:])  # type: ignore[operator]  # each takes its own
