"""In whose name commands act, and what becomes of each when they act on several things at once."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import click

from lakeledger.cli import BAD_INPUT, DONE, FAILED, PARTLY_FAILED, exit_code, show
from lakeledger.errors import LakeledgerError
from lakeledger.runs import user_name

ACTED = '{"applied": …, "ids": […], "failed": [{"id", "error": {"type", "message", "retryable"}}]}'


@dataclass(frozen=True)
class Acted:
    """To which it was done, or would be, and why not to the others."""

    ids: list[str]
    failed: list[tuple[str, LakeledgerError]]

    @property
    def code(self) -> int:
        if not self.failed:
            return DONE
        if self.ids:
            return PARTLY_FAILED
        return BAD_INPUT if all(exit_code(error) == BAD_INPUT for _, error in self.failed) else FAILED

    def document(self, *, applied: bool = True) -> dict[str, Any]:
        """As scripts read it."""
        failed = [{"id": each, "error": error_document(error)} for each, error in self.failed]
        return {"applied": applied, "ids": self.ids, "failed": failed}


def operator() -> str:
    """Who is at the keyboard, and where. Unlike a worker, the same from one command to the next, so that it can hold a letter."""
    return f"{user_name()}@{socket.gethostname()}"


def act_on(ids: Iterable[str], act: Callable[[str], str], tick: Callable[[int], None] = lambda _count: None) -> Acted:
    """Do it to each, whatever becomes of the others; `act` gives the whole id. With only one, its error is the command's."""
    wanted = list(dict.fromkeys(ids))
    acted = Acted([], [])
    for each in wanted:
        try:
            acted.ids.append(act(each))
        except LakeledgerError as error:
            if len(wanted) == 1:
                raise
            acted.failed.append((each, error))
        tick(len(acted.ids) + len(acted.failed))
    return acted


def error_document(error: LakeledgerError) -> dict[str, Any]:
    """An error as scripts read it."""
    return show.error_object(type(error).__name__, str(error), retryable=error.retryable)


def print_acted(acted: Acted, noun: str, verb: str) -> None:
    """How many it was, and on stderr a line for each that failed."""
    if acted.ids:
        click.echo(f"{show.plural(len(acted.ids), noun)} {verb}")
    for _, error in acted.failed:
        show.print_error(str(error))
