"""Another process that claims `letters` or due `errors` when it is told to: python claiming.py URL WHAT WORKER BATCH.

It says "ready" and waits for a line; says what its first claim gave and waits again; then says what it got until nothing was left.
"""

from __future__ import annotations

import json
import sys

import lakeledger


def main(url: str, what: str, worker: str, batch: str) -> None:
    with lakeledger.open(url, warehouse="/warehouse") as ledger:

        def claim() -> list[str]:
            if what == "errors":
                return [error.id for error in ledger.errors.due(int(batch))]
            return [letter.id for letter in ledger.dead_letters.claim(int(batch), worker=worker)]

        say("ready")
        sys.stdin.readline()
        say(claim())
        sys.stdin.readline()
        rest: list[str] = []
        while got := claim():
            rest += got
        say(rest)


def say(answer: object) -> None:
    sys.stdout.write(f"{json.dumps(answer)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
