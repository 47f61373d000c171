"""What every command takes: where the ledger is, whose it is, and whether a person or a script reads the answer."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakeledger import clock, codec, config
from lakeledger.config import Settings
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from lakeledger.db import Database
    from lakeledger.db.migrate import Step
    from lakeledger.ledger import Ledger

SQLITE = "sqlite:///"
FILE = click.Path(path_type=Path)
MAX_PAGE = 1_000


Command = Callable[..., int | None]


@dataclass(frozen=True)
class Options:
    """The options that all commands share, as given."""

    url: str | None
    warehouse: str | None
    tenant: str | None
    as_json: bool
    file: Path | None = None

    def given(self) -> dict[str, str]:
        """The settings among them. Raises Invalid for an empty one, which is a variable that somebody forgot to set."""
        found = {"url": self.url, "warehouse": self.warehouse, "tenant": self.tenant}
        if empty := [name for name, value in found.items() if value is not None and not value.strip()]:
            raise Invalid(f"--{empty[0]} is empty: give a value or leave the option out")
        return {name: value for name, value in found.items() if value is not None}

    def settings(self, file: Path | None = None) -> Settings:
        """The settings of that file, or of the nearest one, with these options on top. Raises Invalid."""
        try:
            return config.load(file or self.file, None, **self.given())
        except RuntimeError as error:  # whose home ~name is, nobody knows
            raise Invalid(f"{error} Write the path without ~") from error

    def open(self) -> Ledger:
        """The ledger, which must be there: reading never makes one. Raises Invalid, Unavailable or NotInstalled."""
        from lakeledger.ledger import Ledger

        settings = self.settings()
        require_database(settings)
        return Ledger(settings, must_exist=True)

    def command(self, words: str) -> str:
        """A command to suggest, with the options that lead to the same ledger."""
        given = {**({"settings": str(self.file)} if self.file else {}), **self.given()}
        return " ".join(["lakeledger", words, *(f"--{name} {shlex.quote(scrub(value))}" for name, value in given.items())])


def shared(shape: str) -> Callable[[Command], Command]:
    """Give a command --settings, --url, --warehouse, --tenant and --json, as one `options` argument. `shape` is what --json prints."""

    def decorate(command: Command) -> Command:
        @click.option(
            "--settings", "settings_file", metavar="FILE", type=FILE, help="The settings; by default the nearest lakeledger.toml."
        )
        @click.option("--url", metavar="URL", help="The ledger: sqlite:///file.db or postgresql://user@host/database.")
        @click.option("--warehouse", metavar="FOLDER", help="Where the tables' files are: a folder or an object store URL.")
        @click.option("--tenant", metavar="NAME", help="Whose ledger it is.")
        @click.option("--json", "as_json", is_flag=True, help=f"Print only JSON: {shape}")
        @functools.wraps(command)
        def with_options(
            settings_file: Path | None, url: str | None, warehouse: str | None, tenant: str | None, as_json: bool, **rest: Any
        ) -> int | None:
            return command(Options(url, warehouse, tenant, as_json, settings_file), **rest)

        with_options.__doc__ = as_help(command.__doc__ or "")
        return with_options

    return decorate


def paged(shown: int = 20) -> Callable[[Command], Command]:
    """Give a listing --limit and --after. Its JSON has `next`: what to give as --after for the part behind it, or null."""

    def decorate(command: Command) -> Command:
        limit = click.option("--limit", type=click.IntRange(1, MAX_PAGE), default=shown, show_default=True, help="How many.")
        after = click.option("--after", metavar="NEXT", help="Those behind the page whose `next` this is.")
        return limit(after(command))

    return decorate


def as_help(docstring: str) -> str:
    """A docstring as click reads it. A paragraph of commands is kept line by line, because it is there to be copied."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(_verbatim(each) if each.lstrip().startswith("lakeledger ") else each for each in paragraphs)


def _verbatim(paragraph: str) -> str:
    return "\n".join(["\b", *(f"  {line.strip()}" for line in paragraph.splitlines())])


class Duration(click.ParamType[timedelta]):
    """A time span as people type it: 90s, 30m, 1h30m, 2d or 0."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        span = clock.parse_span(str(value))
        if span is None:
            self.fail(f"{value!r} is not a time span: write 90s, 30m, 1h, 2d (at most {clock.LONGEST_SPAN.days}d) or 0", param, ctx)
        return span


def moment_of(text: str | None) -> datetime | None:
    """A time as people type it: 2026-01-31T12:00:00Z, or 7d for seven days ago. Raises Invalid."""
    if text is None:
        return None
    span = clock.parse_span(text)
    return codec.to_moment(text) if span is None else clock.now() - span


def require_database(settings: Settings) -> None:
    """Raise Invalid if the SQLite file is not there; any other database has to be asked."""
    url = settings.database_url
    if not url.startswith(SQLITE) or url == SQLITE:
        return
    try:
        there = Path(url.removeprefix(SQLITE)).stat().st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        there = False
    except OSError as error:
        raise Invalid(f"cannot look at {url}: {error.strerror}; check the folder's permissions or give another --url") from error
    if not there:
        raise Invalid(f"no ledger at {url}: run `lakeledger init` or give --url")


def migrations(database: Database) -> list[Step]:
    """Every migration, applied or pending. Changes nothing. Raises Failed if the ledger is of a later release."""
    from lakeledger.db import migrate

    steps = migrate.status(database)
    if all(step.applied_at for step in steps):
        migrate.migrate(database)  # there is nothing to do, and so it only compares
    return steps
