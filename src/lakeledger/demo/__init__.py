"""`lakeledger demo`: a small shop, loaded day by day and checked against what its generator made.

with demo.open(Path("lakeledger-demo"), days=30) as shop:
    for done in shop.load():
        print(done.day, done.run.records_processed)
    shop.check()
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger import config
from lakeledger.config import Settings
from lakeledger.demo import crm, landing, oracle, shop
from lakeledger.demo.folder import YAML, prepare
from lakeledger.errors import Failed, Invalid
from lakeledger.ledger import Ledger
from lakeledger.ledger import open as open_ledger
from lakeledger.runs import Run, Status
from lakeledger.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakeledger.control import documents
    from lakeledger.maintenance.compaction import Compacted

MAX_DAYS = 365
DAILY, WEEKLY = "shop", "shop_reports"
SUNDAY = 6
ORDERS = "bronze.orders"
# Of records about compactions.
KIND = "compaction"


@dataclass(frozen=True)
class Done:
    """One run of the demo, which brought the shop up to that day."""

    day: date
    run: Run


@dataclass(frozen=True)
class Caught:
    """Something that went wrong in the shop: what, what noticed it, and what became of it."""

    what: str
    noticed_by: str
    became: str


@dataclass(frozen=True)
class Demo:
    """An open shop and the days it is to have."""

    ledger: Ledger
    folder: Path
    document: documents.Document
    days: list[date]

    def missing(self) -> list[date]:
        """The days that are not in the ledger yet. The last one that is counts only if its run was completed."""
        read = _read_files(self.ledger)
        absent = [day for day in self.days if not read.issuperset(_paths(day))]
        last = self.ledger.runs.list(DAILY, limit=1)
        return absent or ([] if last and last[0].status == Status.COMPLETED else self.days[-1:])

    def reports_are_current(self) -> bool:
        """Whether every report was made from the tables as they are now."""
        versions = {str(table.name): table.content_version for table in self.ledger.tables.list()}
        made = {source.target: source for source in self._module(WEEKLY).sources}
        return versions.keys() >= made.keys() and all(
            self._has_read_events(source.source_id)
            if source.source_type == "files"
            else all(versions.get(each, 0) <= version for each, version in self._inputs(name).items())
            for name, source in made.items()
        )

    def tables(self) -> list[Table]:
        """The shop's tables, from raw to refined, each with its bad rows if it has any."""
        names = [name for target in self.targets for name in (target, f"{target}__quarantine")]
        return [table for name in names if (table := self.ledger.tables.find(name))]

    @property
    def targets(self) -> list[str]:
        """The tables that the document declares: that of an earlier release may have fewer."""
        return [source.target for module in self.document.modules for source in module.sources]

    def customer_events(self) -> crm.Tally | None:
        """What became of the change events of customers; None in a shop that has none."""
        return crm.tally(self.days) if oracle.CUSTOMERS in self.targets else None

    def caught(self) -> list[Caught]:
        """What went wrong on the days that were loaded, as the ledger knows it."""
        wrong, found = self.ledger.tables.find(oracle.WRONG_LINES), []
        if wrong:
            set_aside = f"set aside in {oracle.WRONG_LINES}, each with its reasons: lakeledger dlq groups"
            found.append(Caught(f"{wrong.row_count} order lines that cannot be right", "rules with action quarantine", set_aside))
        for refused in self.ledger.quality.history(ORDERS, status="FAIL"):
            day, why = self._day(refused.pipeline_logging_id), refused.failed_expectations[0]["message"]
            found.append(
                Caught(f"{day}: orders exported twice", why, "the run failed and nothing was visible; the corrected file was loaded")
            )
        for volume in self.ledger.records.history(ORDERS, "ingestion_volume"):
            judged = volume.quality or {}
            if judged.get("status") == "warn" and judged["band"]["state"] == "ACTIVE":
                what, became = f"{volume.payload['logical_date']}: the site was down", "committed, with a warning: lakeledger bands show"
                found.append(Caught(what, judged["message"], f"{became} {ORDERS}"))
        return found

    def _day(self, run_id: str) -> str:
        return str(self.ledger.runs.get(run_id).parameters["logical_date"])

    def load(self) -> Iterator[Done]:
        """Load what is missing, one run a day, and make the reports every week and at the end. Raises Failed.

        A day whose orders were exported twice is refused, and loaded once they are exported again. Change events of customers, which take
        longer than all the rest, are loaded at the end only.
        """
        reports = [source.source_id for source in self._module(WEEKLY).sources if source.source_type != "files"]
        for day in self.missing():
            landing.land(self.folder, day)
            if not landing.is_right(self.folder, day):
                yield self._refused(day)
                landing.correct(self.folder, day)
            yield self._run(DAILY, day)
            if day.weekday() == SUNDAY:
                yield self._run(WEEKLY, day, reports)
        if not self.reports_are_current():
            yield self._run(WEEKLY, self.days[-1])

    def compact(self) -> list[Compacted]:
        """Write the small files of the daily loads together, where they are enough to be worth it."""
        return [done for done in self.ledger.compact(apply=True, now=True) if done.run_id]

    def compacted(self) -> dict[str, tuple[int, int]]:
        """How many files each table that was compacted had before and after it, the last time."""
        found = [(f"{each.target.schema}.{each.target.table}", each.payload) for each in self.ledger.records.history(kind=KIND)]
        return {name: (known["files_before"], known["files_after"]) for name, known in reversed(found)}

    def check(self) -> oracle.Figures:
        """What was sold. Raises Failed if a table does not hold what the shop made."""
        return oracle.check(self.ledger, len(self.days), self.targets)

    def read(self, table: str) -> list[dict[str, Any]]:
        """A small table's rows, without Spark."""
        return oracle.read_rows(self.ledger, table)

    def _refused(self, day: date) -> Done:
        """A run whose orders are not let in. Raises Failed if they are."""
        result = self.ledger.run_module(self._module(DAILY), self.folder, parameters={"logical_date": str(day)})
        if [step.source_id for step in result.failed] != ["orders"]:
            raise Failed(f"the orders of {day} were exported twice, and nobody noticed: choose another --folder for a new shop")
        return Done(day, self.ledger.runs.get(result.run_id))

    def _run(self, name: str, day: date, only: list[str] | None = None) -> Done:
        result = self.ledger.run_module(self._module(name), self.folder, parameters={"logical_date": str(day)}, only=only)
        if result.failed:
            errors = "; ".join(f"{step.source_id}: {step.error}" for step in result.failed)
            raise Failed(f"{name} failed on {day}: {errors}; run the demo again, it continues")
        return Done(day, self.ledger.runs.get(result.run_id))

    def _module(self, name: str) -> documents.Module:
        for module in self.document.modules:
            if module.module_name == name:
                return module
        raise Invalid(f"{self.folder / YAML} has lost its module {name}: remove that file, and the demo writes it again")

    def _has_read_events(self, source_id: str) -> bool:
        read = {file.path for file in self.ledger.positions.files(f"{WEEKLY}.{source_id}")}
        return read.issuperset(landing.event_file(day) for day in self.days)

    def _inputs(self, report: str) -> dict[str, int]:
        """The versions that a report was made from. A compaction of it since then has the same rows."""
        known = (version.summary.get("inputs") for version in self.ledger.tables.history(report))
        found: dict[str, int] = next(inputs for inputs in known if inputs is not None)
        return found


@contextmanager
def open(folder: Path, days: int, spark: SparkSession | None = None, warehouse: str | None = None) -> Iterator[Demo]:
    """Open the shop in that folder, which is made if it is not there. One that has more days keeps them.

    Its tables are in the `warehouse`, by default within the folder. Raises Invalid for a folder that holds something else, or a shop with
    another warehouse. What the environment says of a ledger is not for the demo, but how S3 is reached is.
    """
    from lakeledger.control.documents import load

    if not 1 <= days <= MAX_DAYS:
        raise Invalid(f"--days must be from 1 to {MAX_DAYS}, not {days}")
    folder = folder.resolve()
    prepare(folder, warehouse)
    with open_ledger(_settings(folder, warehouse), spark=spark) as ledger:
        read = _read_files(ledger)
        loaded = sum(not read.isdisjoint(_paths(day)) for day in shop.dates(MAX_DAYS))
        yield Demo(ledger, folder, load(folder / YAML), shop.dates(max(days, loaded)))


def _settings(folder: Path, warehouse: str | None) -> Settings:
    settings = config.read_file(folder / config.FILE_NAME)
    if warehouse and config.Settings(warehouse=warehouse).warehouse_uri != settings.warehouse_uri:
        raise Invalid(f"the shop in {folder} has its tables in {settings.warehouse_uri}: choose another --folder for {warehouse}")
    # A month in a minute: what ran is shown at its end, and tables of it would only be in the way.
    return replace(settings, s3=config.s3_from(os.environ, settings.s3), mirror=replace(settings.mirror, enabled=False))


def _read_files(ledger: Ledger) -> set[str]:
    """The daily files that were read, of all sources."""
    markers = [marker for marker in ledger.positions.list() if marker.schema_name == DAILY]
    return {file.path for marker in markers for file in ledger.positions.files(marker.source)}


def _paths(day: date) -> list[str]:
    """A day's files as the positions know them: relative to the document."""
    return [str(name) for name in landing.daily_files(day).values()]
