"""Another process that registers schemas at once when it is told to, one for each column: python registering.py URL TABLE COLUMN….

It says "ready", waits for a line, and says which versions it was given, in the order of the columns.
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import lakeledger
from lakeledger.sync.schemas import SchemaDefinition, Schemas


def main(url: str, table: str, *columns: str) -> None:
    begin = threading.Event()
    with ExitStack() as opened, ThreadPoolExecutor(len(columns)) as threads:
        # A ledger each: nothing of this process puts them in order.
        ledgers = [opened.enter_context(lakeledger.open(url, warehouse="/warehouse")) for _ in columns]

        def register(ledger: lakeledger.Ledger, column: str) -> int:
            begin.wait()
            return Schemas(ledger.store, column).register(table, SchemaDefinition([{"name": column, "type": "int"}])).version

        waiting = threads.map(register, ledgers, columns)
        say("ready")
        sys.stdin.readline()
        begin.set()
        say(*waiting)


def say(*answers: object) -> None:
    sys.stdout.write(f"{' '.join(map(str, answers))}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
