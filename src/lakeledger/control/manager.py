"""`MetadataManager` and `JobOrchestrator`: the control table by the names that its users know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lakeledger import codec
from lakeledger.control import changes, rows
from lakeledger.control import sql as control_sql
from lakeledger.control.deployment import Applied, Deployment
from lakeledger.control.export import export
from lakeledger.control.fields import Side
from lakeledger.control.imports import Import, Importer
from lakeledger.control.merge import Choice
from lakeledger.control.opening import Opened, OpenLedger, open_control
from lakeledger.control.plan import Plan
from lakeledger.control.sql import SqlResult
from lakeledger.errors import Conflict, Invalid, NotFound
from lakeledger.jobs import JobBackend
from lakeledger.runs import user_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _Facade:
    """What both classes are opened with: the control table, and optionally a ledger, a backend and a Spark session."""

    def __init__(
        self,
        control_table: str | None = None,
        *,
        ledger: OpenLedger | str | None = None,
        backend: JobBackend | str | None = None,
        spark: SparkSession | None = None,
    ) -> None:
        self._opened: Opened = open_control(control_table, ledger, backend, spark)

    @property
    def deployment(self) -> Deployment:
        """The control table and its jobs."""
        return self._opened.deployment

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened."""
        self._opened.close()

    def create(self) -> None:
        """Make the control table if it is not there."""
        self.deployment.table.create()

    def load_yaml(
        self,
        path: str | Path,
        variables: Mapping[str, Any] | None = None,
        *,
        prune: bool = False,
        choose: Choice | None = None,
        strict: bool = True,
    ) -> Import:
        """Bring what YAML files say into the control table. What was edited there by hand since is a conflict, not overwritten.

        Raises Invalid if a file is wrong, and Conflict if a row was changed on both sides; what is neither was taken over all the same.
        If not `strict`, the result only says so in its `problems` and `conflicts`.
        """
        importer = Importer(self._opened.store, user_name(), self.deployment.table, Path(self.deployment.base))
        found = importer.load(path, variables, prune=prune, choose=choose)
        told = [*found.problems, *(line for conflict in found.conflicts for line in conflict.words())]
        if told and strict:
            raise Invalid("\n".join(told)) if found.problems else Conflict("\n".join(told))
        return found


class MetadataManager(_Facade):
    """The control table: what should run."""

    def detect_changes(self, last_check_timestamp: datetime | str | None = None, *, since_version: int | None = None) -> dict[str, Any]:
        """What changed since a time (with its zone, also as text) or a version of the control table; everything, without either.

        Raises Invalid or NotFound.
        """
        version = since_version
        if last_check_timestamp is not None and since_version is None:
            version = self._version_at(codec.to_moment(last_check_timestamp))
        found = self.deployment.changes_since(version)
        return {**found.to_dict(), "version": found.version}

    def changes_since(self, version: int | None) -> changes.Changes:
        """The same with the rows themselves."""
        return self.deployment.changes_since(version)

    def sql(self, statement: str) -> SqlResult:
        """Run one SELECT, INSERT, UPDATE or DELETE on the control table, its `_modules` or, to read, its `_jobs`. A write is one commit.

        Raises Invalid with everything that is wrong, NotFound or Conflict.
        """
        return control_sql.run(self.deployment.table, statement, user_name(), jobs=self.deployment.jobs())

    def export_yaml(self, path: str | Path | None = None, *, modules: Sequence[str] | None = None) -> str:
        """The modules as YAML, which says the same when it is loaded again; also written to a file, if one is given.

        Raises Invalid for a module that cannot be read: a backup with a part missing is none.
        """
        found = rows.modules_of(self.deployment.table.read())
        if problems := [str(problem) for name, bad in found.bad.items() if modules is None or name in modules for problem in bad]:
            raise Invalid("\n".join(problems))
        text = export([module for name, module in found.good.items() if modules is None or name in modules])
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def _version_at(self, at: datetime) -> int | None:
        """The version that was current then, or None if the table was not there yet."""
        mine = [commit for commit in self.deployment.table.history(limit=100_000) if commit.table in ("", self.deployment.table.name)]
        # Delta's times are whole milliseconds: what was committed in the same one is told again rather than missed.
        moment = at.replace(microsecond=at.microsecond // 1000 * 1000)
        earlier = [commit.version for commit in mine if commit.at < moment]
        if not earlier and mine and mine[-1].version > 0:
            raise NotFound(f"what the table said at {at.isoformat()} is no longer known: its history begins at {mine[-1].at.isoformat()}")
        return max(earlier, default=None)


class JobOrchestrator(_Facade):
    """The jobs that follow from the control table: created, and updated in place."""

    def plan(self, *, prefer: Side | None = None, prune: bool = False) -> Plan:
        """What would happen to which job."""
        return self.deployment.plan(prefer=prefer, prune=prune)

    def run_all_modules(
        self,
        yaml_path: str | Path | None = None,
        sync_yaml: bool = False,
        *,
        variables: Mapping[str, Any] | None = None,
        prefer: Side | None = None,
        prune: bool = False,
    ) -> Sequence[Applied]:
        """Bring every module's job to what the control table says, after importing the YAML if that is wanted.

        One bad module does not stop the others: its last good job stays, and its result says why. So does one that was changed here and
        by hand, unless `prefer` says whose side holds. Raises Invalid or Conflict, and touches no job, if the YAML
        cannot be taken over as a whole.
        """
        if yaml_path is not None and sync_yaml:
            self.load_yaml(yaml_path, variables)
        return self.deployment.bring(prefer=prefer, prune=prune)
