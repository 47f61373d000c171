"""Another process that delivers to the components and a fifth subscriber until it dies at a fail-point.

python updating.py URL WAREHOUSE FILE POINT: the fifth writes to the file what it has handled.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import lakeledger
from lakeledger import Settings
from lakeledger.config import AsthaSettings
from lakeledger.events import Event, TableSnapshots
from lakeledger.testing import kill_at

QUICK = AsthaSettings(retries=1, first_pause_seconds=0.005, longest_pause_seconds=0.01, lease_seconds=2.0)


class Fifth:
    """A subscriber that writes down what it has handled, and never handles an odd version."""

    def __init__(self, handled: Path) -> None:
        self._handled = handled

    def on_event(self, event: Event[TableSnapshots]) -> None:
        if event.data.version % 2:
            raise ValueError("an odd version")
        with self._handled.open("a") as lines:
            lines.write(f"{event.seq}\n")

    def on_health(self) -> None:
        """It is well."""

    def on_refresh(self) -> None:
        """There is nothing to do."""

    def subscribed_tables(self) -> list[str]:
        return ["table_snapshots"]


def main(url: str, warehouse: str, handled: str, point: str) -> None:
    kill_at(point)
    settings = Settings(url, warehouse, astha=QUICK)
    with lakeledger.open(settings) as ledger, ledger.astha({"fifth": lambda _: Fifth(Path(handled))}):
        threading.Event().wait(30)


if __name__ == "__main__":
    main(*sys.argv[1:])
