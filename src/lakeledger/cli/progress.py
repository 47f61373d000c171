"""What a run shows while it works: a live list on a terminal, plain lines elsewhere, nothing for scripts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import click

from lakeledger.cli import show
from lakeledger.runs import Status

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.spinner import Spinner

    from lakeledger.control.documents import Module
    from lakeledger.pipelines.runner import StepResult

STOPPING = "stopping Spark; press Ctrl-C again to leave without it"


class Progress(Protocol):
    """Who is told, from any thread, what happens. Never raises: a load must not fail because nobody looks."""

    def expect(self, module: str, usual_ms: Mapping[str, float]) -> None: ...
    def step(self, module: str, result: StepResult) -> None: ...
    def spark_is_starting(self) -> None: ...
    def spark_has_started(self) -> None: ...
    def stopping(self) -> None: ...
    def leave(self) -> None: ...


@contextmanager
def watch(modules: Sequence[Module], *, silent: bool) -> Iterator[Progress]:
    """The progress that fits where stderr goes."""
    if silent:
        yield Silent()
    elif show.console(stderr=True).is_terminal and not show.console(stderr=True).is_dumb_terminal:
        with _live(modules) as board:
            yield board
    else:
        yield Lines()


class Silent:
    """Says nothing."""

    def expect(self, module: str, usual_ms: Mapping[str, float]) -> None: ...
    def step(self, module: str, result: StepResult) -> None: ...
    def spark_is_starting(self) -> None: ...
    def spark_has_started(self) -> None: ...
    def stopping(self) -> None: ...
    def leave(self) -> None: ...


class Lines:
    """One line on stderr for each thing that happens."""

    def expect(self, module: str, usual_ms: Mapping[str, float]) -> None: ...

    def step(self, module: str, result: StepResult) -> None:
        self._say(f"{module}.{result.source_id}{f' → {result.target}' if result.target else ''}: {outcome(result)}")

    def spark_is_starting(self) -> None:
        self._say("starting Spark…")

    def spark_has_started(self) -> None: ...

    def stopping(self) -> None:
        self._say(STOPPING)

    def leave(self) -> None: ...

    def _say(self, line: str) -> None:
        with suppress(OSError):
            click.echo(show.scrubbed(line), err=True)


@dataclass
class Row:
    """One source on the board."""

    target: str
    status: str = "PENDING"
    told: str = "waiting"
    started: float | None = None
    ended: float | None = None
    usual_ms: float | None = None

    @property
    def took(self) -> str:
        return "" if self.started is None else show.duration(((self.ended or time.monotonic()) - self.started) * 1000)

    @property
    def left(self) -> str:
        """How long it will still take, if it takes as long as it usually does."""
        if self.usual_ms is None or self.started is None or self.ended is not None:
            return ""
        left = self.usual_ms - (time.monotonic() - self.started) * 1000
        return f", about {show.duration(left)} left" if left >= 1_000 else f", usually {show.duration(self.usual_ms)}"


@dataclass
class Board:
    """Every source and how it stands, drawn again and again by rich."""

    rows: dict[tuple[str, str], Row]
    spinner: Spinner
    starting: bool = False
    stopped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def expect(self, module: str, usual_ms: Mapping[str, float]) -> None:
        with self.lock:
            for (name, source), row in self.rows.items():
                if name == module:
                    row.usual_ms = usual_ms.get(source)

    def step(self, module: str, result: StepResult) -> None:
        with self.lock:
            row = self.rows.setdefault((module, result.source_id), Row(result.target))
            row.status, row.told = str(result.status), outcome(result)
            if result.status == Status.RUNNING:
                row.started = time.monotonic()
            else:
                row.ended = time.monotonic()

    def spark_is_starting(self) -> None:
        self.starting = True

    def spark_has_started(self) -> None:
        self.starting = False

    def stopping(self) -> None:
        self.stopped = True

    def leave(self) -> None:
        show.console(stderr=True).show_cursor()

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=1)
        for justify in ("left", "left", "right"):
            grid.add_column(no_wrap=True, justify=justify)
        grid.add_column(overflow="ellipsis")
        with self.lock:
            for (module, source), row in self.rows.items():
                sign, style = show.STATUS[row.status]
                running = row.status == Status.RUNNING
                told = "starting Spark…" if running and self.starting else f"{show.scrubbed(row.told)}{row.left}"
                grid.add_row(
                    self.spinner if running else Text(sign, style=style),
                    Text(show.safe(f"{module}.{source}")),
                    Text(f"→ {row.target}" if row.target else "", style="dim"),
                    Text(row.took),
                    Text(told, style=style, no_wrap=True, overflow="ellipsis"),
                )
        return Group(grid, Text(STOPPING, style="yellow")) if self.stopped else grid


@contextmanager
def _live(modules: Sequence[Module]) -> Iterator[Progress]:
    from rich.live import Live
    from rich.spinner import Spinner

    rows = {
        (module.module_name, source.source_id): Row(source.target) for module in modules for level in module.levels() for source in level
    }
    board = Board(rows, Spinner("dots", style="cyan"))
    with Live(board, console=show.console(stderr=True), refresh_per_second=8, transient=True):
        yield board


def outcome(result: StepResult) -> str:
    """How a source went, or goes, in a few words."""
    if result.loaded:
        if not result.loaded.committed:
            return result.loaded.summary
        return ", ".join(filter(None, (show.plural(result.loaded.rows, "row"), _rate(result), result.loaded.summary)))
    if result.status in (Status.FAILED, Status.SKIPPED):
        return f"{str(result.status).lower()}: {result.error}"
    return str(result.status).lower()


def _rate(result: StepResult) -> str:
    """Rows per second; of what took less than a second, that says nothing."""
    rows, took = result.loaded.rows if result.loaded else 0, result.duration_ms or 0
    return f"{show.count(round(rows * 1000 / took))} rows/s" if rows and took >= 1_000 else ""
