"""From a name to a control table with its jobs: what the seed's classes and the command line open."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lakeledger import config
from lakeledger.background import Failures
from lakeledger.config import Settings
from lakeledger.control import table as tables
from lakeledger.db import Store, migrate
from lakeledger.errors import Invalid
from lakeledger.jobs import JobBackend, open_backend
from lakeledger.runs import Worker, this_worker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakeledger.control.deployment import Deployment


class OpenLedger(Protocol):
    """An open ledger, as far as it matters here."""

    @property
    def store(self) -> Store: ...
    @property
    def worker(self) -> Worker: ...
    @property
    def settings(self) -> Settings: ...


@dataclass(frozen=True)
class Opened:
    """A control table with its jobs, and the store behind it; `close` closes what was opened for it."""

    deployment: Deployment
    store: Store
    worker: Worker
    settings: Settings
    owns_store: bool

    @cached_property
    def background(self) -> Callable[[str, str], Failures]:
        """Gives a part of the background, and what it works at, the place where it reports what fails."""
        from lakeledger.sync.capture import Capture

        return Capture(self.store, self.worker, self.settings.lease_seconds, self.settings.capture).background

    def close(self) -> None:
        """Close the store, if it was opened here."""
        if self.owns_store:
            self.store.database.close()


def open_control(
    control_table: str | None = None,
    ledger: OpenLedger | str | None = None,
    backend: JobBackend | str | None = None,
    spark: SparkSession | None = None,
) -> Opened:
    """The control table with that name, or the one in the settings. The ledger may be open, a URL, or the one in the settings."""
    from lakeledger.control.deployment import Deployment
    from lakeledger.control.settings import HERE, Program

    for name, value in (("control_table", control_table), ("backend", backend)):
        if isinstance(value, str) and not value.strip():
            raise Invalid(f"{name} cannot be empty: name one, or leave it out for the one in the settings")
    if ledger is None or isinstance(ledger, str):
        settings, worker = config.load(url=ledger), this_worker()
        store = migrate.open_store(settings)
    elif not isinstance(getattr(ledger, "store", None), Store):
        raise Invalid(f"ledger is a {type(ledger).__name__}, which is neither the URL of a ledger nor an open one")
    else:
        settings, worker, store = ledger.settings, ledger.worker, ledger.store
    location = locate_table(control_table or settings.control.table, settings.base)
    table = tables.open(location, spark, place_of(location, settings))
    chosen = (
        backend
        if backend is not None and not isinstance(backend, str)
        else open_backend(backend or settings.control.backend, store, worker)
    )
    program = HERE if chosen.name == "local" else Program(settings.control.package, settings.control.settings)
    deployment = Deployment(store, worker, table, chosen, str(base_of(location, settings)), settings.lease_seconds, program)
    return Opened(deployment, store, worker, settings, owns_store=ledger is None or isinstance(ledger, str))


def locate(location: str, base: Path) -> str:
    """A relative path is meant from the settings' folder; URLs and names of a catalog are what they are, unless there is such a path."""
    if "://" in location or (tables.is_catalog_name(location) and not (base / location).exists()):
        return location
    return os.path.normpath(base / Path(location).expanduser())


def locate_table(location: str, base: Path) -> str:
    """Where a control table is. Raises Invalid for an empty name, and for a folder that the settings themselves are in."""
    if not location.strip():
        raise Invalid("control.table is empty in the settings: name a control table, for example control/etl_control, or leave it out")
    found = locate(location, base)
    if base.is_relative_to(found):
        raise Invalid(
            f"{location!r} is no control table but the folder of the project: name one within it, for example control/etl_control"
        )
    return found


def place_of(location: str, settings: Settings) -> str:
    """Where a control table is within its project; its location, if it is in none.

    The project is the folder of the nearest settings file above the table, or without one that of a SQLite ledger: the same from wherever
    it is opened.
    """
    if not tables.is_local_path(location):
        return location
    folder = _settings_above(location)
    if folder is None and settings.url.startswith("sqlite:///"):
        folder = Path(settings.database_url.removeprefix("sqlite:///")).parent
    is_inside = folder is not None and folder in Path(location).parents
    return Path(location).relative_to(folder).as_posix() if folder and is_inside else location


def base_of(location: str, settings: Settings) -> Path:
    """Where the relative paths in a control table begin: at the settings, and without a file of them at that of the table's project."""
    above = _settings_above(location) if settings.file is None and tables.is_local_path(location) else None
    return above or settings.base


def _settings_above(location: str) -> Path | None:
    found = config.find_file(Path(location).parent)
    return found.parent if found else None
