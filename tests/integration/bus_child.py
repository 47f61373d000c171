"""An emitter, a subscriber or a receiver of records in a process of its own, which dies by SIGKILL the third time it gets to a point.

python bus_child.py emit URL WAREHOUSE REPOSITORY POINT          emits by the queue for ever, and says up to where it is acknowledged
python bus_child.py subscribe URL WAREHOUSE REPOSITORY POINT     writes what it is given to WAREHOUSE/heard
python bus_child.py receive URL WAREHOUSE REPOSITORY POINT TOPIC
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from contract.repositories import fact, numbers
from lakeledger import Ledger, MetadataRecord, Settings, failpoints
from lakeledger.bus import kafka, subscribing
from lakeledger.config import RecordSettings

SMALL = 20


def kill_at_the_third(point: str) -> None:
    left = count(2, -1)
    failpoints.armed[point] = lambda _: os.kill(os.getpid(), signal.SIGKILL) if next(left) == 0 else None


def emit(ledger: Ledger) -> None:
    for number in count():
        ledger.records.emit(fact(number))
        sys.stdout.write(f"{number + 1}\n")
        sys.stdout.flush()


def subscribe(ledger: Ledger, warehouse: str) -> None:
    def hear(found: Sequence[MetadataRecord]) -> None:
        with (Path(warehouse) / "heard").open("a", encoding="utf-8") as file:
            file.write("".join(f"{number}\n" for number in numbers(found)))

    subscribing.PAGE = SMALL
    ledger.bus.subscribe("alerts", hear, threading.Event(), once=True, start=0)


if __name__ == "__main__":
    action, url, warehouse, repository, point, *rest = sys.argv[1:]
    with Ledger(Settings(url, warehouse, records=RecordSettings(repository, "queue"))) as opened:
        kill_at_the_third(point)
        if action == "emit":
            emit(opened)
        elif action == "subscribe":
            subscribe(opened, warehouse)
        else:
            kafka.BATCH = SMALL
            opened.bus.receive(rest[0], threading.Event())
