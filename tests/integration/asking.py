"""Telling a process on another Spark what to do, and hearing how it went."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.children import Child, start

SCRIPT = Path(__file__).parent / "elsewhere.py"
# What is said at once, on a machine that has much else to do.
SECONDS = 20.0


@dataclass(frozen=True)
class Refused:
    """An error of ours that came back."""

    error: str
    message: str
    retryable: bool
    seconds: float


@dataclass(frozen=True)
class Asked:
    """The process, and how to ask it."""

    child: Child

    def ask(self, do: str, **arguments: Any) -> Any:
        """What it answers. An error of ours, or any other, is one of the test."""
        self.child.tell(do, **arguments)
        return self.answer()

    def answer(self) -> Any:
        heard = self.child.hear()
        assert "value" in heard, heard.get("traceback") or heard
        return heard["value"]

    def refused(self, do: str | None = None, **arguments: Any) -> Refused:
        """The error with which it ends; without a command, what was asked before. It comes within seconds, in one line."""
        if do:
            self.child.tell(do, **arguments)
        heard = self.child.hear()
        assert "error" in heard, heard.get("traceback") or heard
        found = Refused(**heard)
        assert found.seconds < SECONDS, found
        assert "\n" not in found.message
        return found


@contextmanager
def asking(folder: Path, **spark: Any) -> Iterator[Asked]:
    """A process whose ledgers are on that Spark. It works in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    child = start(folder / "child.log", json.dumps(spark), script=SCRIPT, folder=folder)
    try:
        yield Asked(child)
    finally:
        child.end()
