"""What people see (tables, sizes, times, colours on a terminal) and what scripts read (JSON)."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from lakeledger import codec
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

# Wide enough that nothing is cut: whoever reads a pipe wants whole lines.
PIPE_WIDTH = 10_000
SHORT_ID = 18

STATUS = {
    "COMPLETED": ("✓", "green"),
    "FAILED": ("✗", "red"),
    "RUNNING": ("●", "cyan"),
    "CANCELLED": ("■", "yellow"),
    "SKIPPED": ("–", "dim"),
    "PENDING": ("·", "dim"),
    "PASS": ("✓", "green"),
    "WARNING": ("!", "yellow"),
    "FAIL": ("✗", "red"),
    "ok": ("✓", "green"),
    "warn": ("!", "yellow"),
    "fail": ("✗", "red"),
    "error": ("✗", "red"),
    "timeout": ("■", "yellow"),
    "skipped": ("–", "dim"),
    "scheduled_skip": ("–", "dim"),
    "open": ("●", "yellow"),
    "resolved": ("✓", "green"),
    "ignored": ("–", "dim"),
    "pending": ("·", "yellow"),
    "processing": ("●", "cyan"),
    "discarded": ("✗", "dim"),
    "imported": ("✓", "green"),
    "unchanged": ("–", "dim"),
    "refused": ("✗", "red"),
    "passes": ("✓", "green"),
    "pass": ("✓", "green"),
    "learning": ("·", "dim"),
    "fresh": ("✓", "green"),
    "silent": ("!", "yellow"),
    "late": ("✗", "red"),
}

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

Cell: TypeAlias = "str | Text"


def print_json(payload: Mapping[str, Any]) -> None:
    """One JSON object on stdout. Rows keep the names and the order of their columns."""
    click.echo(json.dumps(payload, default=_plain, indent=2, ensure_ascii=False))


def error_object(kind: str, message: str, *, retryable: bool) -> dict[str, Any]:
    """An error as scripts read it."""
    return {"type": kind, "message": scrub(message), "retryable": retryable}


@contextmanager
def answering(as_json: bool) -> Iterator[None]:
    """Keep stdout for the answer that a script reads: what tasks print meanwhile goes to stderr."""
    if not as_json:
        yield
        return
    with redirect_stdout(sys.stderr):
        yield


def print_event(text: str) -> None:
    """A line of a log, with the time, on stderr."""
    click.echo(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {scrubbed(text)}", err=True)


def print_error(message: str) -> None:
    """An error on stderr, each of its lines with its own `error:`."""
    _print_labelled(click.style("error:", fg="red", bold=True), message)


def print_warning(message: str) -> None:
    """What is not wrong but worth a look, on stderr."""
    _print_labelled(click.style("warning:", fg="yellow", bold=True), message)


def _print_labelled(label: str, message: str) -> None:
    for line in scrubbed(message).splitlines() or [""]:
        click.echo(f"{label} {line}", err=True, color=_wants_colour(sys.stderr))


def scrubbed(text: str) -> str:
    """Text without secrets and without characters that would drive the terminal."""
    return safe(scrub(text))


def safe(text: str) -> str:
    """Text whose control characters are shown, not obeyed."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def console(*, stderr: bool = False) -> Console:
    """Where to print: coloured on a terminal unless NO_COLOR is set, and as wide as needed in a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    system: Any = "auto" if _wants_colour(stream) else None
    return Console(file=stream, width=width, color_system=system, highlight=False, markup=False, emoji=False)


def print_text(text: str, style: str = "") -> None:
    """A line or a paragraph."""
    from rich.text import Text

    console().print(Text(safe(text), style=style))


def print_next(command: str) -> None:
    """What to type next."""
    click.secho(f"next: {safe(command)}", dim=True, color=_wants_colour(sys.stdout))


def print_more(next: str | None) -> None:
    """That a listing goes on, and how to see the rest of it."""
    if next is not None:
        click.secho(f"more: give --after {shlex.quote(safe(next))} as well", dim=True, color=_wants_colour(sys.stdout))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], title: str | None = None, *, keep_empty: bool = False) -> None:
    """A table, without its empty columns. When a line is too long, `~error` is cut and `+file` is folded; `>rows` is aligned right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [[cell if not isinstance(cell, str) else _cell(cell, name) for cell, name in zip(row, columns, strict=True)] for row in rows]
    kept = [index for index in range(len(columns)) if keep_empty or any(row[index].plain for row in cells)]
    # Under the head of a table in a pipe, a line would be as long as the longest error.
    made = Table(
        box=box.SIMPLE_HEAD if console().is_terminal else None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0), show_edge=False
    )
    for name in (columns[index] for index in kept):
        gives_way = name.startswith(("~", "+"))
        head = Text(name.lstrip(">~+"), no_wrap=True, overflow="ellipsis")
        made.add_column(head, justify="right" if name.startswith(">") else "left", no_wrap=not gives_way, overflow="fold")
    for row in cells:
        made.add_row(*(row[index] for index in kept))
    if title:
        print_title(title)
    _print(made)


def print_title(text: str) -> None:
    """A heading."""
    print_text(text, "bold")


def print_facts(facts: Mapping[str, Cell | None]) -> None:
    """Names and values, one per line; those without a value are left out."""
    from rich.text import Text

    print_grid((Text(name, style="dim"), value) for name, value in facts.items() if value is not None)


def print_grid(rows: Iterable[Sequence[Cell]]) -> None:
    """Rows without a head. The last cell is folded where the line ends, never cut."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        cells = [cell if isinstance(cell, Text) else Text(safe(cell)) for cell in row]
        while len(grid.columns) < len(cells):
            grid.add_column(no_wrap=len(grid.columns) < len(cells) - 1, overflow="fold")
        grid.add_row(*cells)
    _print(grid)


def status(word: str) -> Text:
    """A status with its sign and its colour."""
    from rich.text import Text

    sign, style = STATUS.get(word, ("", ""))
    return Text(f"{sign} {word}", style=style)


def short_ids(ids: Sequence[str]) -> list[str]:
    """Ids as they fit: whole where the line is long, else the shortest beginnings that tell them apart and find them again."""
    if console().width >= 140:
        return list(ids)
    length = next((size for size in range(SHORT_ID, 36) if len({each[:size] for each in ids}) == len(set(ids))), 36)
    return [each[:length] for each in ids]


def count(number: int | None) -> str:
    """12,345, or nothing."""
    return "" if number is None else f"{number:,}"


def plural(number: int, noun: str) -> str:
    """1 file, 2 files."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(number: int | None) -> str:
    """1.2 MB."""
    return "" if number is None else codec.size_text(number)


def duration(milliseconds: float | None) -> str:
    """340 ms, 2.4 s, 3 min 5 s, 2 h 10 min, 3 d 4 h."""
    if milliseconds is None:
        return ""
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{milliseconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3_600} h {whole % 3_600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3_600} h"


def ago(at: datetime | None) -> str:
    """How long ago that was; the date after two weeks."""
    if at is None:
        return ""
    seconds = (datetime.now(UTC) - at).total_seconds()
    if seconds < 0:
        return "just now" if seconds > -5 else f"in {duration(-seconds * 1000)}"
    for limit, unit, length in ((1, "", 1), (60, "s", 1), (3_600, "min", 60), (86_400, "h", 3_600)):
        if seconds < limit:
            return f"{int(seconds // length)} {unit} ago" if unit else "just now"
    days = int(seconds // 86_400)
    return f"{days} day{'s' if days > 1 else ''} ago" if days < 14 else f"{at:%Y-%m-%d}"


def moment(at: datetime | None) -> str | None:
    """The time itself, and how long ago it was."""
    return None if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC ({ago(at)})"


def _print(what: RenderableType) -> None:
    """Print it and an empty line. In a pipe, lines end where their text does."""
    where = console()
    if where.is_terminal:
        where.print(what)
        where.print()
        return
    with where.capture() as captured:
        where.print(what)
    click.echo("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _cell(value: str, column: str) -> Text:
    from rich.text import Text

    text = safe(" ".join(value.splitlines()))
    return Text(text, overflow="fold") if column.startswith("+") else Text(text, no_wrap=True, overflow="ellipsis")


def _wants_colour(stream: Any) -> bool:
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR")


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else codec.to_plain(value)
