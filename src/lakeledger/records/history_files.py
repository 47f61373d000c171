"""History that was moved to Parquet: found beside what is in the ledger, as if it were still there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lakeledger.db import Row
from lakeledger.lake.storage import Storage
from lakeledger.records import parquet
from lakeledger.records.model import MetadataRecord
from lakeledger.records.query import MetadataQuery
from lakeledger.records.store import about, of_row

Place = tuple[datetime, int]


@dataclass(frozen=True)
class HistoryFiles:
    """The files of one tenant, below that folder."""

    _storage: Callable[[], Storage]

    def of_kind(
        self, files: Iterable[Row], wanted: MetadataQuery, after: Place | None, found: list[MetadataRecord]
    ) -> list[MetadataRecord]:
        """What was found of a kind with what files have of it, newest first: as many as a page needs, and one more."""
        limit = None if wanted.limit is None else wanted.limit + 1
        known = {record.sequence for record in found}
        merged = list(found)
        for file in files:  # newest first: once the page is full with what is newer than all of a file, the rest is older still
            if limit is not None and len(merged) >= limit and merged[limit - 1].produced_at > file["last_at"]:
                break
            for record in self._matching(file, wanted, after):
                if record.sequence not in known:
                    known.add(record.sequence)
                    merged.append(record)
            merged.sort(key=_place, reverse=True)
        return merged if limit is None else merged[:limit]

    def logged(
        self, files: Iterable[Row], after: int, limit: int | None, kind: str | None, found: list[MetadataRecord]
    ) -> list[MetadataRecord]:
        """What was found behind a place of the log with what files have, in the order of the log."""
        last = found[-1].sequence if limit is not None and len(found) >= limit else None
        known = {record.sequence for record in found}
        merged = list(found)
        for file in files:
            if last is not None and file["first_seq"] > last:
                continue
            for row in parquet.read_log(self._storage(), file["file_path"], after, last):
                if row["seq"] not in known and kind in (None, row["kind"]):
                    known.add(row["seq"])
                    merged.append(of_row(row))
        merged.sort(key=lambda record: record.sequence or 0)
        return merged if limit is None else merged[:limit]

    def _matching(self, file: Row, wanted: MetadataQuery, after: Place | None) -> Iterator[MetadataRecord]:
        chosen: dict[str, Any] = {name: value for name, value in about(wanted.target).items() if value is not None}
        for name in ("run_id", "job_id", "producer_id"):
            if (value := getattr(wanted, name)) is not None:
                chosen[name] = value
        until: Any = wanted.until
        if after is not None:
            behind = after[0] + timedelta(microseconds=1)
            until = behind if until is None else min(until, behind)
        for row in parquet.read(self._storage(), file["file_path"], chosen, wanted.since, until):  # type: ignore[arg-type]
            record = of_row(row)
            if (after is None or _place(record) < after) and wanted.matches(record):
                yield record


def _place(record: MetadataRecord) -> Place:
    return record.produced_at, record.sequence or 0
