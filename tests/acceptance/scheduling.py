"""A scheduler as a process of its own: `python scheduling.py URL WAREHOUSE LEASE_SECONDS`. It runs until it is killed, or gets SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading

import lakeledger
from lakeledger import Settings
from lakeledger.jobs.scheduler import Scheduler


def main(url: str, warehouse: str, lease_seconds: str) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with lakeledger.open(Settings(url, warehouse, lease_seconds=float(lease_seconds))) as ledger:
        scheduler = Scheduler(ledger.store, ledger.worker, ledger.run_job, lease_seconds=ledger.settings.lease_seconds)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        scheduler.run(stop)


if __name__ == "__main__":
    main(*sys.argv[1:])
