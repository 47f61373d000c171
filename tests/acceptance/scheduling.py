"""A scheduler as a process of its own: `python scheduling.py URL WAREHOUSE LEASE_SECONDS`. It runs until it is killed, or gets SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading

import lakeledger
from lakeledger import Ledger, Settings, Unavailable
from lakeledger.jobs.scheduler import Scheduler


def main(url: str, warehouse: str, lease_seconds: str) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with open_when_there(Settings(url, warehouse, lease_seconds=float(lease_seconds)), stop) as ledger:
        scheduler = Scheduler(ledger.store, ledger.worker, ledger.run_job, lease_seconds=ledger.settings.lease_seconds)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        scheduler.run(stop)


def open_when_there(settings: Settings, stop: threading.Event) -> Ledger:
    """The ledger, as soon as its server is up, as a supervisor that starts a process again and again has it."""
    while True:
        try:
            return lakeledger.open(settings)
        except Unavailable:
            if stop.wait(0.2):
                raise


if __name__ == "__main__":
    main(*sys.argv[1:])
