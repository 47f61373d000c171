"""History from before: raw sources read by an inventory, put together as records, and stored as any other; twice adds nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger.backfilling import baselines, merging, readers
from lakeledger.backfilling.inventory import Inventory, RawSource, load
from lakeledger.backfilling.raw import Entry, Origin
from lakeledger.db import Store
from lakeledger.names import table_key
from lakeledger.records import MetadataQuery, MetadataRecord, registry
from lakeledger.tables import store as tables

if TYPE_CHECKING:
    from lakeledger.records.slice import Records

__all__ = ["Backfill", "Inventory", "Report", "load"]

# Of so many problems a report tells; of more, how many there are.
MOST_PROBLEMS = 100


@dataclass
class Read:
    """What was read of a raw source."""

    name: str
    reader: str
    entries: int = 0
    problems: int = 0


@dataclass
class KindReport:
    """What became of the records of one kind: those that are known already are left as they are, also where they say something else."""

    found: int = 0
    new: int = 0
    known: int = 0
    differ: int = 0
    invalid: int = 0
    stored: int = 0


@dataclass
class Report:
    """What a backfill did, or would do."""

    dry_run: bool
    sources: list[Read] = field(default_factory=list)
    kinds: dict[str, KindReport] = field(default_factory=dict)
    entries: int = 0
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    quarantined: int = 0
    baselines: list[baselines.Checked] = field(default_factory=list)
    without_history: list[str] = field(default_factory=list)

    def problem(self, text: str) -> None:
        """Note what is wrong, of the first so many in words."""
        self.problem_count += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)

    @property
    def is_clean(self) -> bool:
        """Whether everything was read, is valid, and agrees with the baselines."""
        return not self.problem_count and not any(each.mismatches for each in self.baselines)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Backfill:
    """Brings history to the records of one tenant."""

    _store: Store
    _records: Callable[[], Records]

    def run(self, inventory: Inventory | Path | str, *, dry_run: bool = True) -> Report:
        """Read an inventory, and store what is not known yet, unless it is a dry run. Raises Invalid for what cannot be read at all."""
        wanted = inventory if isinstance(inventory, Inventory) else load(inventory)
        report = Report(dry_run)
        made = merging.merge(self._entries(wanted, report), self._store.tenant_id, wanted.producer_id)
        report.entries = made.entries
        for each in made.problems:
            report.problem(each)
        new = self._sorted_out(made.records, report)
        if not dry_run:
            self._keep(new, report)
        rows_of = self._kept_rows if not dry_run else _rows_of(made.records)
        report.baselines = [baselines.check(wanted.base, each, rows_of) for each in wanted.baselines]
        report.without_history = self._without_history(wanted, made.records)
        return report

    def _entries(self, inventory: Inventory, report: Report) -> Iterator[Entry]:
        for source in inventory.sources:
            read = Read(source.name, source.reader)
            report.sources.append(read)
            for entry in readers.read(inventory, source, _noting(report, read, source)):
                read.entries += 1
                yield entry

    def _sorted_out(self, made: Sequence[MetadataRecord], report: Report) -> list[MetadataRecord]:
        """Those that are valid, and that nobody has stored yet: neither a backfill before, nor the load itself."""
        new, known_kinds = list[MetadataRecord](), dict[Any, Any]()
        for record in made:
            told = report.kinds.setdefault(record.kind, KindReport())
            told.found += 1
            with self._store.read() as tx:
                wrong = registry.problems(tx, record, known_kinds)
            if wrong:
                told.invalid += 1
                report.problem(f"the {record.kind} of {record.target.name}, {_origin(record)}, is not valid: {wrong}")
            elif same := self._same(record):
                told.known += 1
                told.differ += _says_else(record, same)
            else:
                told.new += 1
                new.append(record)
        return new

    def _same(self, record: MetadataRecord) -> list[MetadataRecord]:
        """What is known of the same run and check, or of the same moment where no run is named."""
        run, at = record.context.run_id, record.produced_at
        when: dict[str, Any] = {"run_id": run} if run else {"since": at, "until": at + datetime.resolution}
        found = self._records().query(MetadataQuery(record.target.name, [record.kind], limit=None, **when))
        check = record.payload.get("check") if record.kind == readers.RECON else None
        return [each for each in found if each.payload.get("check") == check or check is None]

    def _keep(self, new: Sequence[MetadataRecord], report: Report) -> None:
        emitted = self._records().bulk_store(new)
        report.quarantined = emitted.quarantined
        for kind, number in Counter(each.kind for each in new).items():
            report.kinds[kind].stored = number
        if emitted.duplicates or emitted.quarantined:  # Somebody else was faster, or the policy of the tenant sets them aside.
            report.problem(f"{emitted.duplicates} records were stored by somebody else meanwhile, {emitted.quarantined} were set aside")

    def _kept_rows(self, table: str, period: tuple[datetime, datetime] | None, run_id: str | None) -> int | None:
        since, until = period or (None, None)
        query = MetadataQuery(table, [readers.VOLUME], since=since, until=until, run_id=run_id, limit=None)
        found = [int(each.payload["rows"]) for each in self._records().query(query) if each.payload.get("load") != "refused"]
        return sum(found) if found else None

    def _without_history(self, inventory: Inventory, made: Sequence[MetadataRecord]) -> list[str]:
        """Tables whose loads nothing is known of: bands of these begin with what is allowed without history."""
        names = list(inventory.tables) if inventory.tables is not None else self._tables()
        found = {each.target.name_key for each in made if each.kind == readers.VOLUME}
        return [name for name in names if table_key(name) not in found and self._records().latest(name, readers.VOLUME) is None]

    def _tables(self) -> list[str]:
        with self._store.read() as tx:
            return [str(each.name) for each in tables.list_page(tx)]


def _noting(report: Report, read: Read, source: RawSource) -> Callable[[Origin, str], None]:
    def note(origin: Origin, text: str) -> None:
        read.problems += 1
        place = f"{origin.path}:{origin.line}" if origin.line else origin.path
        report.problem(f"{source.name}: {place}: {text}")

    return note


def _rows_of(made: Sequence[MetadataRecord]) -> baselines.Rows:
    volumes = [each for each in made if each.kind == readers.VOLUME]

    def rows_of(table: str, period: tuple[datetime, datetime] | None, run_id: str | None) -> int | None:
        key = table_key(table)
        found = [
            int(each.payload["rows"])
            for each in volumes
            if each.target.name_key == key
            and (run_id is None or each.context.run_id == run_id)
            and (period is None or period[0] <= each.produced_at < period[1])
        ]
        return sum(found) if found else None

    return rows_of


def _origin(record: MetadataRecord) -> str:
    return ", ".join(each["path"] for each in record.extras["original_source"])


def _says_else(record: MetadataRecord, same: Sequence[MetadataRecord]) -> bool:
    compared = ("rows", "status", "fingerprint", "row_count", "duration_ms")
    said = {name: record.payload[name] for name in compared if name in record.payload}
    return not any(all(each.payload.get(name) == value for name, value in said.items()) for each in same)
