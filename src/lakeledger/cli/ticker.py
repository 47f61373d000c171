"""How far long work is, on stderr: one line that changes on a terminal, a line now and then elsewhere, nothing for scripts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from lakeledger.cli import show

EVERY_SECONDS = 2.0

Tick = Callable[[str, int], None]


@contextmanager
def ticking(verb: str, *, silent: bool) -> Iterator[Tick]:
    """Tell how many of what were dealt with so far."""
    console = show.console(stderr=True)
    if silent:
        yield lambda _what, _count: None
    elif console.is_terminal and not console.is_dumb_terminal:
        with console.status(f"{verb}…") as status:
            yield lambda what, count: status.update(_line(verb, what, count))
    else:
        yield Lines(verb)


class Lines:
    """A line when something else begins, and then every few seconds."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._what = ""
        self._said_at = 0.0

    def __call__(self, what: str, count: int) -> None:
        if what == self._what and time.monotonic() - self._said_at < EVERY_SECONDS:
            return
        self._what, self._said_at = what, time.monotonic()
        click.echo(_line(self._verb, what, count), err=True)


def _line(verb: str, what: str, count: int) -> str:
    return show.safe(f"{verb} {what}: {count:,}")
