"""What was deleted is remembered in a table beside, so that a row that comes late does not come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Given, Read
from lakeledger.pipelines.apply.batch import DELETE, TRUNCATE, Batch
from lakeledger.pipelines.apply.incoming import KEPT_SEQUENCE, KEPT_TRUNCATE, changes_of, tombstones_of
from lakeledger.pipelines.apply.matching import Known, beside, candidates, look_at, part
from lakeledger.pipelines.apply.resolving import FLOOR, TRUNCATED
from lakeledger.pipelines.aside import MARK, Other
from lakeledger.pipelines.partitions import quote
from lakeledger.tables.model import Part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Remembered:
    """The table of what was deleted, if rows may delete: as it is, and as it is written."""

    other: Other | None
    known: Known | None

    @property
    def names(self) -> dict[str, str]:
        """The physical names of its columns."""
        return {field["name"]: field["physical_name"] for field in self.known.schema["fields"]} if self.known else {}

    def floors(self, session: SparkSession, batch: Batch) -> DataFrame | None:
        """Up to where each key of the batch was deleted before, as the batch's keys and a floor; None if nothing was."""
        from pyspark.sql import functions as F

        named = self._keys(batch)
        if self.known is None or not batch.keys or not (files := candidates(self.known.files, batch, {}, named)):
            return None
        keys = [f"b{place}" for place in batch.columns.keys]
        rows = self.known.rows(session, files).where(~F.col(quote(self.names[KEPT_TRUNCATE])))
        there = rows.select(
            *(F.col(quote(named[place])).alias(f"b{place}") for place in batch.columns.keys),
            F.col(quote(self.names[KEPT_SEQUENCE])).alias("kept"),
        )
        wanted = there.join(batch.spread(batch.frame.select(*keys)), keys, "left_semi")
        return wanted.groupBy(*keys).agg(F.max("kept").alias("kept"))

    def cut(self, session: SparkSession) -> DataFrame | None:
        """Up to where all was deleted before, as one row; None if that never happened."""
        from pyspark.sql import functions as F

        if self.known is None:
            return None
        truncate = self.names[KEPT_TRUNCATE]
        files = [file for file in self.known.files if file.column_bounds.get(truncate, {}).get("max", True)]
        if not files:
            return None
        rows = self.known.rows(session, files).where(F.col(quote(truncate)))
        return rows.agg(F.max(F.col(quote(self.names[KEPT_SEQUENCE]))).alias(TRUNCATED))

    def reads(self, given: Given, batch: Batch) -> tuple[Read, ...]:
        """The part of it that the rows depend on."""
        if self.other is None and self.known is None:
            return ()
        files = self.known.files if self.known else []
        found: Part | None = part(batch, files, self._keys(batch)) if self.known else "all"
        cuts = changes_of(given.spec).apply_as_truncates is not None
        return beside(tombstones_of(given.spec.table), self.known, "all" if cuts and found is not None else found)

    def rows(self, given: Given, batch: Batch, frame: DataFrame) -> DataFrame | None:
        """What is to be remembered of a batch with its floors, as rows of a marked frame."""
        from pyspark.sql import functions as F

        if self.other is None or not (batch.deletes or batch.truncates):
            return None
        deletes = F.col("b_deleted") if batch.columns.is_partial else F.when(F.col("b_kind") == DELETE, F.col("b_sequence"))
        until = F.when(F.col("b_kind") == TRUNCATE, F.col("b_sequence")).otherwise(deletes)
        is_new = until.isNotNull() & (F.coalesce(until > F.col(FLOOR), F.lit(True)) if FLOOR in frame.columns else F.lit(True))
        keys = changes_of(given.spec).keys
        named = zip(list(self.other.aside.columns)[: len(keys)], batch.columns.keys, strict=True)
        return frame.where(is_new).select(
            F.lit(str(self.other.number)).alias(MARK),
            *(F.col(f"b{place}").alias(self.other.named(name)) for name, place in named),
            until.alias(self.other.named(KEPT_SEQUENCE)),
            (F.col("b_kind") == TRUNCATE).alias(self.other.named(KEPT_TRUNCATE)),
        )

    def _keys(self, batch: Batch) -> dict[int, str]:
        """The physical names that the keys have there."""
        return {place: self.names.get(batch.columns.physical[place], "") for place in batch.columns.keys}


def recall(context: Context, given: Given) -> Remembered:
    """What is remembered of the table."""
    name = tombstones_of(given.spec.table)
    other = next((each for each in given.others if each.aside.table == name), None)
    is_asked = given.spec.mode == "merge" and changes_of(given.spec).sequence_by is not None
    return Remembered(other, look_at(context, name) if is_asked else None)
