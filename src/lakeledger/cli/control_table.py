"""The control table and its jobs as commands open them, and what people give as `name=value`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import show
from lakeledger.cli.options import Options
from lakeledger.config import suggest
from lakeledger.errors import Invalid, NotFound
from lakeledger.redaction import scrub, scrub_value

if TYPE_CHECKING:
    from lakeledger import Ledger
    from lakeledger.config import Settings
    from lakeledger.control.deployment import Deployment
    from lakeledger.control.documents import Module
    from lakeledger.control.model import Snapshot, SourceRow
    from lakeledger.control.table import ControlTable
    from lakeledger.jobs.tracking import TrackedJob

CONTROL = click.option("--control", "control_table", metavar="TABLE", help="The control table; by default control.table of the settings.")
VARIABLES = click.option("--var", "variables", metavar="NAME=VALUE", multiple=True, help="The value of a ${var.NAME}; may be repeated.")


@dataclass(frozen=True)
class Control:
    """An open ledger and the control table that belongs to it."""

    ledger: Ledger
    table: ControlTable

    def jobs(self) -> dict[str, TrackedJob]:
        """What is noted of the modules' jobs, by module."""
        from lakeledger.jobs import tracking

        with self.ledger.store.read() as tx:
            tracked = tracking.list_all(tx, self.table.identity)
        backend = self.ledger.settings.control.backend
        return {job.module_name: job for job in tracked if job.backend.partition(":")[0] == backend}


@contextmanager
def open_table(options: Options, name: str | None, *, must_exist: bool = True) -> Iterator[Control]:
    """The ledger with the control table of that name, or of the settings. Raises NotFound if it must be there and is not."""
    from lakeledger.control import table as tables
    from lakeledger.control.opening import locate_table, place_of

    with options.open() as ledger:
        location = locate_table(given(name) or ledger.settings.control.table, ledger.settings.base)
        spark = ledger.spark if tables.is_catalog_name(location) else None
        table = tables.open(location, spark, place_of(location, ledger.settings))
        if must_exist:
            require(table)
        yield Control(ledger, table)


def read_table(settings: Settings, name: str | None) -> Snapshot:
    """What a control table says now, without a ledger. Raises NotFound."""
    from lakeledger.control import table as tables
    from lakeledger.control.opening import locate_table
    from lakeledger.pipelines.reach import spark_settings
    from lakeledger.pipelines.session import open_session

    location = locate_table(name or settings.control.table, settings.base)
    table = tables.open(location, open_session(spark_settings(settings)) if tables.is_catalog_name(location) else None)
    require(table)
    return table.read()


@contextmanager
def open_deployment(options: Options, name: str | None) -> Iterator[Deployment]:
    """The same with the jobs of its modules. Raises NotFound if there is no such table."""
    from lakeledger.control.opening import open_control

    with open_table(options, name) as control:
        spark = control.ledger.spark if _is_in_catalog(control.table) else None
        yield open_control(control.table.location, control.ledger, spark=spark).deployment


def next_command(options: Options, words: str, control_table: str | None) -> str:
    """A command to suggest, with the options that lead to the same control table."""
    return options.command(words if control_table is None else f"{words} --control {shlex.quote(control_table)}")


def given(name: str | None) -> str | None:
    """The name of a control table. Raises Invalid for an empty one, which is a variable that somebody forgot to set."""
    if name is not None and not name.strip():
        raise Invalid("--control is empty: give a value or leave the option out")
    return name


def require(table: ControlTable) -> None:
    """Raises NotFound if the table is not there."""
    if not table.exists():
        raise NotFound(
            f"no control table at {scrub(table.location)}: `lakeledger control create` or `control load FILE` makes one, "
            "or give another --control"
        )


def sources_of(snapshot: Snapshot, module: str) -> list[SourceRow]:
    """The rows of a module, in the order of execution. Raises NotFound if it has none, readable or not."""
    found = [row for row in snapshot.sources.values() if row.module_name == module]
    known = module_names(snapshot)
    if module not in known:
        has = f"it has {', '.join(known)}" if known else "it is empty"
        raise NotFound(f"no module {module!r} in the control table: {has}{suggest(module, known)}")
    return sorted(found, key=lambda row: (row.execution_order, row.source_id))


def module_of(snapshot: Snapshot, name: str | None, source: str | None = None) -> Module:
    """A module of the control table, or one source of it, which then waits for no other and is tried once: retries are its job's affair.

    Raises NotFound or Invalid.
    """
    from lakeledger.control import rows

    if name is None:
        raise Invalid("say with --module which module of the control table to run")
    sources_of(snapshot, name)
    found = rows.modules_of(snapshot)
    if name not in found.good:
        raise Invalid("\n".join(map(str, found.bad.get(name, []))) or f"the module {name} has no sources")
    return found.good[name] if source is None else found.good[name].alone(source)


def module_names(snapshot: Snapshot) -> list[str]:
    """Every module that a row speaks of."""
    unreadable = {problem.key[0] for problem in snapshot.problems if problem.key[0]}
    return sorted({module for module, _ in snapshot.sources} | set(snapshot.modules) | unreadable)


def pairs(words: Sequence[str], what: str) -> dict[str, str]:
    """`name=value`, each. Raises Invalid."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise Invalid(f"{scrub(word)!r} is no {what}: write it as NAME=VALUE")
        if name.strip() in found:
            raise Invalid(f"the {what} {name.strip()!r} is given twice")
        found[name.strip()] = value
    return found


def print_problems(problems: Sequence[str]) -> None:
    """On stderr, a line each."""
    for problem in problems:
        show.print_error(problem)


def scrubbed(document: Mapping[str, Any]) -> Any:
    """What scripts read, without secrets."""
    return scrub_value(dict(document))


def _is_in_catalog(table: ControlTable) -> bool:
    from lakeledger.control.table import is_catalog_name

    return is_catalog_name(table.location)
