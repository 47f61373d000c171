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

_COUNTED = (NEW, SAME, TOUCHED, UPDATE)


def counts() -> dict[str, Column]:
    """How often each verdict is found."""
    from pyspark.sql import functions as F

    return {verdict: F.count_if(F.col(VERDICT) == verdict) for verdict in _COUNTED}


def outcome(touched: Sequence[DataFile], saved: Saved, rows: int) -> Outcome:
    """What so many rows did, once the touched files were written again."""
    seen = {verdict: int(saved.measured.get(verdict) or 0) for verdict in _COUNTED}
    inserted, updated, unchanged = seen[NEW], seen[UPDATE], seen[SAME] + seen[TOUCHED]
    deleted = sum(file.row_count for file in touched) - (saved.rows - inserted)
    counters = Counters(processed=rows, inserted=inserted, updated=updated, deleted=deleted)
    summary = {"inserted": inserted, "updated": updated, "deleted": deleted, "unchanged": unchanged}
    if not (inserted or updated or deleted or seen[TOUCHED]):
        return Outcome(None, counters, summary, changes_nothing=True)
    return Outcome(Files(frozenset(file.file_path for file in touched)) if touched else None, counters, summary)
