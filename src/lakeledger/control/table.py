"""The control table as everything else sees it: one port, over Delta files (delta-rs) and over a catalog (Spark SQL)."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lakeledger.control.model import Commit, Edit, JobRow, Snapshot
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PART = r"(?:[A-Za-z_][\w$-]*|`[^`]+`)"
_CATALOG_NAME = re.compile(rf"{_PART}(?:\.{_PART}){{1,2}}")


class ControlTable(Protocol):
    """What should run: a table of sources, and one of the settings of their modules beside it (`<name>_modules`)."""

    @property
    def name(self) -> str:
        """The last part of its name, as it is said in SQL: `etl_control`."""
        ...

    @property
    def location(self) -> str:
        """Where it is: a path, a URL, or its name in the catalog."""
        ...

    @property
    def place(self) -> str:
        """Where it is within its project, as people know it: `control/etl_control`. Its location, if it is in none."""
        ...

    @property
    def identity(self) -> str:
        """By what the ledger knows it, wherever it is moved and from wherever it is opened; no other table has it. Raises NotFound."""
        ...

    def exists(self) -> bool: ...
    def create(self) -> None:
        """Make both tables if they are not there; calling it twice, or twice at once, does nothing more."""
        ...

    def read(self, version: int | None = None) -> Snapshot:
        """Both tables now, or as they were at that version. Raises NotFound, also for a version that was cleaned up."""
        ...

    def read_changed(self, version: int) -> tuple[Snapshot, Snapshot]:
        """The table at that version and now, with at least all rows of those modules that are not the same in both. Raises NotFound."""
        ...

    def commit(self, edit: Edit, base: Snapshot, by: str, reason: str = "") -> Snapshot:
        """Put and delete rows, which were read at `base`, in one commit; what changes nothing makes none.

        Raises Conflict, retryable, if somebody changed one of these rows since; changes of other rows are kept.
        """
        ...

    def history(self, limit: int = 50) -> list[Commit]:
        """The newest commits first, whoever made them: also those of the modules table that were not made by us."""
        ...

    def restore(self, version: int, by: str) -> Snapshot:
        """Let all rows say again what they said at that version, in a new commit. Raises NotFound and Conflict."""
        ...

    def put_jobs(self, backend: str, rows: Sequence[JobRow]) -> None:
        """Let `<name>_jobs` say which jobs there are on that backend, and leave those on others; what says so already is not written."""
        ...


def open(location: str, spark: SparkSession | None = None, place: str | None = None) -> ControlTable:
    """The control table at a path or URL, or, with a Spark session (by default the active one), `catalog.schema.table`. Raises Invalid."""
    if is_catalog_name(location):
        spark = spark or _active_session()
        if spark is None:
            raise Invalid(f"{location} is a table of a catalog: open it with a Spark session, or give its path as ./{location}")
        from lakeledger.control.catalog import CatalogControlTable

        return CatalogControlTable(location, spark)
    if not location.strip("/. "):
        raise Invalid(f"{scrub(location)!r} is no place for a control table: give a path, a URL or catalog.schema.table")
    from lakeledger.control.delta import DeltaControlTable

    return DeltaControlTable(location, place=place)


def _active_session() -> SparkSession | None:
    """The session of a notebook, for example. Whoever has one has imported Spark."""
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkException:
        return None


def run_name(table: ControlTable) -> str:
    """Under which name the run log knows what was done to the jobs of a control table."""
    return f"apply:{table.name}"


def project_of(table: ControlTable) -> Path | None:
    """The folder that the control table moves with, if it is in one."""
    folder = table.location.removesuffix(table.place)
    return Path(folder) if folder else None


def is_local_path(location: str) -> bool:
    """Whether only this machine has it; the folders of a Databricks workspace are the same on all of its machines."""
    return "://" not in location and not is_catalog_name(location) and not location.startswith(("/Volumes/", "/Workspace/", "/dbfs/"))


def is_catalog_name(location: str) -> bool:
    """Whether this is `schema.table` or `catalog.schema.table`; a path has a slash."""
    return _CATALOG_NAME.fullmatch(location) is not None
