"""An emitter of records in a process of its own.

python recording_child.py store URL WAREHOUSE REPOSITORY          stores batches for ever, and says up to where they are acknowledged
python recording_child.py crash URL WAREHOUSE REPOSITORY POINT    compacts, or stores another batch, and dies by SIGKILL at the point
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

from contract.repositories import START, fact
from lakeledger import Ledger, MetadataRecord, Settings, failpoints
from lakeledger.config import RecordSettings

BATCH = 50


def batch(first: int) -> list[MetadataRecord]:
    return [fact(number) for number in range(first, first + BATCH)]


def opened(url: str, warehouse: str, repository: str) -> Ledger:
    return Ledger(Settings(url, warehouse, records=RecordSettings(repository)))


def store(url: str, warehouse: str, repository: str) -> None:
    with opened(url, warehouse, repository) as ledger:
        for first in count(0, BATCH):
            ledger.records.bulk_store(batch(first))
            say(str(first + BATCH))


def crash(url: str, warehouse: str, repository: str, point: str) -> None:
    with opened(url, warehouse, repository) as ledger:
        ledger.records.bulk_store(batch(0))
        say(str(BATCH))
        failpoints.armed[point] = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        if point in (failpoints.COMPACTED_FILE, failpoints.COMPACTED_KNOWN):
            ledger.records.repository.compact(START.replace(year=2027), dry_run=False)
        ledger.records.bulk_store(batch(BATCH))
    sys.exit(f"{point} was never reached")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    {"store": store, "crash": crash}[sys.argv[1]](*sys.argv[2:])  # type: ignore[operator]  # each takes its own
