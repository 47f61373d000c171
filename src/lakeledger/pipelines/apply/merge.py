"""Rows that replace those of the table with the same keys: only the files that have such rows are written again.

First the rows become one for each key, then the keys of the files that may have them are read, and then those files that do are written
again, each by one task into one file, with the new rows beside them: what was near each other stays so, and the next merge finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lakeledger.errors import Invalid
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Given, Rewrite
from lakeledger.pipelines.apply.batch import UPSERT, Batch, columns_of, staged
from lakeledger.pipelines.apply.counting import counts, outcome
from lakeledger.pipelines.apply.incoming import changes_of
from lakeledger.pipelines.apply.matching import Known, as_table, candidates, look, on_keys, part
from lakeledger.pipelines.apply.pruning import Range
from lakeledger.pipelines.apply.remembering import Remembered, recall
from lakeledger.pipelines.apply.resolving import FLOOR, TRUNCATED, VERDICT, Sides, resolve
from lakeledger.pipelines.apply.values import nothing, same
from lakeledger.pipelines.aside import unmarked
from lakeledger.pipelines.partitions import brought_together
from lakeledger.tables import DataFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# New rows become files of at most about so many.
ROWS_PER_FILE = 1_000_000
# So many rows or files are searched for keys by one task.
ROWS_PER_LOOK = 500_000
FILES_PER_LOOK = 16


@contextmanager
def merge(context: Context, given: Given) -> Iterator[Rewrite]:
    """Rows of the table are replaced by newer ones of the same keys, or deleted; the others are new."""
    with _started(context, given) as plan:
        files = plan.known.files if plan.batch.truncates else candidates(plan.known.files, plan.batch, plan.whole)
        with plan.matched(files) as (touched, there):
            yield plan.rewrite(touched, there)


@contextmanager
def insert_only(context: Context, given: Given) -> Iterator[Rewrite]:
    """Rows whose keys the table has already are left out."""
    with _started(context, given) as plan:
        yield plan.rewrite([], plan.there(candidates(plan.known.files, plan.batch, plan.whole)))


@contextmanager
def sync(context: Context, given: Given) -> Iterator[Rewrite]:
    """The rows are all that the table is to have: what is not among them goes, and what is as it was stays where it is."""
    with _started(context, given) as plan:
        if not plan.batch.keys and plan.known.files and not changes_of(given.spec).allow_empty:
            raise Invalid(
                f"there are no rows to compare {given.spec.table} with, which would delete all that it has: "
                "check the source; allow_empty=True lets it be emptied"
            )
        yield plan.rewrite(plan.different(), plan.there(plan.known.files), is_whole=True)


@dataclass(frozen=True)
class _Plan:
    """A merge in the making."""

    given: Given
    session: SparkSession
    known: Known
    whole: Mapping[int, Range]
    batch: Batch
    memory: Remembered
    floors: DataFrame | None
    cut: DataFrame | None

    @cached_property
    def frame(self) -> DataFrame:
        """The batch, with what was deleted before."""
        from pyspark.sql import functions as F

        frame, keys = self.batch.frame, [f"b{place}" for place in self.batch.columns.keys]
        if self.floors is not None:
            frame = frame.join(self.batch.spread(self.floors), keys, "left").withColumnRenamed("kept", FLOOR)
        if self.cut is not None:
            before = F.col(FLOOR) if self.floors is not None else F.lit(None)
            frame = frame.crossJoin(F.broadcast(self.cut)).withColumn(FLOOR, F.greatest(before, F.col(TRUNCATED))).drop(TRUNCATED)
        return frame

    @contextmanager
    def matched(self, files: Sequence[DataFile]) -> Iterator[tuple[list[DataFile], DataFrame | None]]:
        """Those of the files in which a row changes or goes, as far as keys and sequences tell, and the keys that both sides have.

        The keys are kept for as long as the block, so that the files are read for them once.
        """
        from pyspark.sql import functions as F

        if not files or not (self.batch.keys or self.batch.truncates):
            yield [], None
            return
        columns, narrow = self.batch.columns, [name for name in self.frame.columns if name[0] == "b" and not name[1:].isdigit()]
        places = [*columns.keys, *([columns.sequence] if columns.sequence is not None and columns.sequence not in columns.keys else [])]
        rows = self._rows(files, places)
        batch = self.frame.select(*(f"b{place}" for place in columns.keys), *narrow)
        joined = rows.join(self.batch.spread(batch), on_keys(columns), "left" if self.batch.truncates else "inner")
        changes = Sides(columns, joined).may_change.alias("changes")
        pairs = joined.select(*(f"t{place}" for place in columns.keys), "t_file", changes)
        if not self.batch.truncates:  # They match every row.
            pairs = (pairs.coalesce(_tasks(files)) if self.batch.is_small else pairs).persist()
        try:
            found = pairs.groupBy("t_file").agg(F.bool_or("changes")).collect()
            hits = self.known.find(row[0] for row in found)
            there = self.there(list(hits.values())) if self.batch.truncates else pairs.drop("t_file", "changes") if hits else None
            yield [hits[row[0]] for row in found if row[1]], there
        finally:
            pairs.unpersist()

    def there(self, files: Sequence[DataFile]) -> DataFrame | None:
        """The keys of the batch that rows of these files have."""
        if not files:
            return None
        columns = self.batch.columns
        rows = as_table(self.known.rows(self.session, files), columns, columns.keys)
        keys = self.batch.frame.select(*(f"b{place}" for place in columns.keys))
        return rows.join(self.batch.spread(keys), on_keys(columns), "left_semi").drop("t_there")

    def different(self) -> list[DataFile]:
        """The files in which a row is not the same as that of the batch, or is not among them."""
        from pyspark.sql import functions as F

        if not self.known.files:
            return []
        columns = self.batch.columns
        shown = [place for place in range(len(columns.names)) if place not in columns.computed]
        joined = self._rows(self.known.files, shown).join(self.batch.spread(self.batch.frame), on_keys(columns), "left")
        is_same = same((F.col(f"t{place}"), F.col(f"b{place}"), columns.types[place]) for place in columns.values)
        hits = joined.where(F.col("b_kind").isNull() | ~is_same).select("t_file").distinct().collect()
        return list(self.known.find(row[0] for row in hits).values())

    def rewrite(self, touched: Sequence[DataFile], there: DataFrame | None, *, is_whole: bool = False) -> Rewrite:
        """The rows of these files and the new ones, whose keys are not `there`."""
        columns, batch = self.batch.columns, self.batch
        old = [self._kept(touched, is_whole=is_whole)] if touched else []
        new = self._new(there)
        parts = [self._written(each) for each in (*old, new)]
        if (remembered := self.memory.rows(self.given, batch, self.frame)) is not None:
            parts.append(remembered)
        if batch.bad is not None:
            parts.append(batch.bad)
        frame = parts[0]
        for each in parts[1:]:
            frame = frame.unionByName(each, allowMissingColumns=True)
        reads = "all" if is_whole or batch.truncates else part(batch, self.known.files)
        return Rewrite(
            frame,
            lambda saved: outcome(touched, saved, batch),
            reads,
            self.memory.reads(self.given, batch),
            batch.measured,
            counts(),
            placed=True,
            keys=columns.key_names,
            touches=frozenset(file.file_path for file in touched),
        )

    def _rows(self, files: Sequence[DataFile], places: Sequence[int]) -> DataFrame:
        """Rows of some files, with the files that they are in, and with what deletes all of them."""
        from pyspark.sql import functions as F

        rows = as_table(self.known.rows(self.session, files), self.batch.columns, places, F.col("_metadata.file_path").alias("t_file"))
        return self._cut(rows)

    def _cut(self, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        if not self.batch.truncates:
            return rows
        cuts = self.batch.frame.where(F.col("b_kind") == "t").agg(F.max("b_sequence").alias(TRUNCATED))
        return rows.crossJoin(F.broadcast(cuts))

    def _kept(self, touched: Sequence[DataFile], *, is_whole: bool) -> DataFrame:
        """The rows of the touched files as they are then."""
        from pyspark.sql import functions as F

        columns = self.batch.columns
        rows = self._cut(as_table(self.known.rows(self.session, touched), columns, range(len(columns.names))))
        joined = rows.join(self.batch.spread(self.frame.where(F.col("b_kind") != "t")), on_keys(columns), "inner" if is_whole else "left")
        kept = resolve(Sides(columns, joined), joined)
        return kept if self.batch.is_small else self._in_order(kept, len(touched))

    def _new(self, there: DataFrame | None) -> DataFrame:
        """The rows whose keys the table does not have."""
        from pyspark.sql import functions as F

        columns = self.batch.columns
        rows = self.frame.where(F.col("b_kind") == UPSERT)
        if there is not None:
            rows = rows.join(self.batch.spread(there), on_keys(columns), "left_anti")
        missing = {f"t{place}": nothing(type_) for place, type_ in enumerate(columns.types)}
        joined = rows.withColumns({**missing, "t_there": F.lit(False)})
        if self.batch.truncates:
            joined = self._cut(joined)
        return self._in_order(resolve(Sides(columns, joined), joined), -(-self.batch.keys // ROWS_PER_FILE))

    def _in_order(self, rows: DataFrame, files: int) -> DataFrame:
        """Rows brought into files by their keys; in a partitioned table by partition first."""
        from pyspark.sql import functions as F

        columns = self.batch.columns
        keys = [F.col(f"c{place}") for place in columns.keys]
        by = [F.col(f"c{self._place(name)}") for name in self.given.target.layout.partition_by]
        if by:
            return brought_together(rows, by).sortWithinPartitions(*by, *keys)
        spread = rows.repartitionByRange(files, *keys) if files > 1 else rows.coalesce(1)
        return spread.sortWithinPartitions(*keys)

    def _place(self, name: str) -> int:
        from lakeledger import codec

        return [codec.fold(each) for each in self.batch.columns.names].index(codec.fold(name))

    def _written(self, rows: DataFrame) -> DataFrame:
        """The rows under the names that they are written by, none of which is set aside."""
        from pyspark.sql import functions as F

        named = [F.col(f"c{place}").alias(name) for place, name in enumerate(self.batch.columns.names)]
        return rows.select(*named, VERDICT, *unmarked(self.given.shape.others))


def _tasks(files: Sequence[DataFile]) -> int:
    """How many tasks look for keys in files: few are enough, where one for each file would be longer in starting than in reading."""
    return max(1, sum(file.row_count for file in files) // ROWS_PER_LOOK, len(files) // FILES_PER_LOOK)


@contextmanager
def _started(context: Context, given: Given) -> Iterator[_Plan]:
    session = context.sessions.to_merge(given.frame.sparkSession)
    known, memory = look(context, given), recall(context, given)
    whole = known.whole(columns_of(given))
    with staged(context, given, session, whole) as batch:
        yield _Plan(given, session, known, whole, batch, memory, memory.floors(session, batch), memory.cut(session))
