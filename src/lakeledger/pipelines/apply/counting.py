"""What rows changed in their table: counted as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakeledger.pipelines.apply import Outcome, Saved
from lakeledger.pipelines.apply.resolving import NEW, SAME, TOUCHED, UPDATE, VERDICT
from lakeledger.runs import Counters
from lakeledger.tables import DataFile, Files

if TYPE_CHECKING:
    from pyspark.sql import Column

    from lakeledger.pipelines.apply.batch import Batch

_COUNTED = (NEW, SAME, TOUCHED, UPDATE)


def counts() -> dict[str, Column]:
    """How often each verdict is found."""
    from pyspark.sql import functions as F

    return {verdict: F.count_if(F.col(VERDICT) == verdict) for verdict in _COUNTED}


def outcome(touched: Sequence[DataFile], saved: Saved, batch: Batch, *, is_history: bool = False) -> Outcome:
    """What the rows of a batch did, once the touched files were written again."""
    seen = {verdict: int(saved.measured.get(verdict) or 0) for verdict in _COUNTED}
    inserted, updated, unchanged = seen[NEW], seen[UPDATE], seen[SAME] + seen[TOUCHED]
    deleted = sum(file.row_count for file in touched) - (saved.rows - inserted)
    counters = Counters(processed=batch.rows, inserted=inserted, updated=updated, deleted=deleted)
    summary = {"inserted": inserted, "updated": updated, "deleted": deleted, "unchanged": unchanged}
    told = deduplication(batch, None if is_history else inserted + updated + deleted)
    if not (inserted or updated or deleted or seen[TOUCHED]):
        return Outcome(None, counters, summary, changes_nothing=True, deduplication=told)
    return Outcome(Files(frozenset(file.file_path for file in touched)) if touched else None, counters, summary, deduplication=told)


def deduplication(batch: Batch, changed: int | None) -> dict[str, int]:
    """How many rows were given and how many were left when there was one for each key (of a history: for each key and sequence).

    Those `without_effect` came late, or are what the table has already; of a history it is not told.
    """
    left = batch.keys + batch.truncates
    told = {"rows": batch.rows, "kept": left, "duplicates": max(batch.rows - left, 0)}
    return told if changed is None else {**told, "without_effect": max(batch.keys - changed, 0)}
