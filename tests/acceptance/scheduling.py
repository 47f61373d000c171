"""A scheduler as a process of its own: `python scheduling.py URL WAREHOUSE`. It runs until it is killed, or told to end by SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading

import lakeledger
from lakeledger import Settings
from lakeledger.jobs.scheduler import Scheduler


def main(url: str, warehouse: str) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with lakeledger.open(Settings(url, warehouse)) as ledger:
        scheduler = Scheduler(ledger.store, ledger.worker, ledger.run_job)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        scheduler.run(stop)


if __name__ == "__main__":
    main(*sys.argv[1:])
