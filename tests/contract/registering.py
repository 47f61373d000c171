"""Another process that registers one schema when it is told to: python registering.py URL TABLE COLUMN.

It says "ready", waits for a line, and says which version it was given.
"""

from __future__ import annotations

import sys

import lakeledger
from lakeledger.sync.schemas import SchemaDefinition, Schemas


def main(url: str, table: str, column: str) -> None:
    with lakeledger.open(url, warehouse="/warehouse") as ledger:
        schemas = Schemas(ledger.store, column)
        say("ready")
        sys.stdin.readline()
        say(schemas.register(table, SchemaDefinition([{"name": column, "type": "int"}])).version)


def say(answer: object) -> None:
    sys.stdout.write(f"{answer}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
