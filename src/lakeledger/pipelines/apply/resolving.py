"""What becomes of a row of the table and the one of the batch with its key: which counts, and whether anything changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakeledger.pipelines.apply import partial
from lakeledger.pipelines.apply.batch import DELETE, UPSERT, Columns
from lakeledger.pipelines.apply.values import comparable, in_order, same

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# What was found of each row that is written: the table's stays, or is the same again, or is another one, or came.
VERDICT = "verdict"
KEEP, SAME, UPDATE, NEW, GONE = "keep", "same", "update", "new", "gone"
# The same again, but the ledger keeps another sequence of it.
TOUCHED = "touched"
# All that is older was deleted.
FLOOR, TRUNCATED = "b_floor", "t_truncated"


class Sides:
    """The table's row (`t0` …) and the batch's (`b0` …), one of which may be missing, as columns of a joined frame."""

    def __init__(self, columns: Columns, frame: DataFrame) -> None:
        from pyspark.sql import functions as F

        names = set(frame.columns)
        self.columns = columns
        self._has_floor, self._is_cut = FLOOR in names, TRUNCATED in names
        self.has_batch = F.col("b_kind").isNotNull()
        self.has_table = F.coalesce(F.col("t_there"), F.lit(False))

    @property
    def is_ordered(self) -> bool:
        return self.columns.sequence_type is not None

    def table(self, place: int) -> Column:
        from pyspark.sql import functions as F

        return F.col(f"t{place}")

    @property
    def sequence(self) -> Column:
        """The sequence of the table's row."""
        return self.table(self.columns.sequence or 0)

    @property
    def floor(self) -> Column:
        """Up to where all was deleted that has this key; NULL if nothing was."""
        from pyspark.sql import functions as F

        batch = F.col("b_sequence")
        kind = F.col("b_deleted") if self.columns.is_partial else F.when(F.col("b_kind") == DELETE, batch)
        floors = [kind, *([F.col(FLOOR)] if self._has_floor else []), *([F.col(TRUNCATED)] if self._is_cut else [])]
        return F.greatest(*floors) if len(floors) > 1 else floors[0]

    @property
    def table_lives(self) -> Column:
        """Whether the table's row is newer than whatever deletes it."""
        from pyspark.sql import functions as F

        if not self.is_ordered:
            return self.has_table
        return self.has_table & F.coalesce(self.sequence > self.floor, self.floor.isNull())

    @property
    def batch_lives(self) -> Column:
        """Whether the batch has a row that is newer than whatever deletes it."""
        from pyspark.sql import functions as F

        if not self.is_ordered:
            return self.has_batch
        is_row = F.coalesce(F.col("b_kind") == UPSERT, F.lit(False))
        return is_row & F.coalesce(F.col("b_sequence") > self.floor, self.floor.isNull())

    @property
    def may_change(self) -> Column:
        """Whether the table's row may become another one or go, as far as keys and sequences tell."""
        from pyspark.sql import functions as F

        if not self.is_ordered:
            return self.has_batch
        if self.columns.is_partial:
            return ~self.table_lives | self.batch_lives
        newer = F.coalesce(F.col("b_sequence") >= self.sequence, F.lit(True))
        return ~self.table_lives | (self.batch_lives & newer)


def resolve(sides: Sides, joined: DataFrame) -> DataFrame:
    """The rows that are left, as `c0`, `c1` …, each with its verdict."""
    from pyspark.sql import functions as F

    columns, places = sides.columns, range(len(sides.columns.names))
    if not sides.is_ordered and not columns.is_partial:  # The batch's row counts wherever there is one, and none goes.
        chosen = _whole(sides, sides.has_batch)
        verdict = F.when(~sides.has_table, NEW).when(~sides.has_batch, KEEP).when(_is_same(columns, "b"), _still(columns)).otherwise(UPDATE)
        return joined.select(*(chosen[place].alias(f"c{place}") for place in places), verdict.alias(VERDICT))
    lives = joined.withColumns({"t_lives": sides.table_lives, "b_lives": sides.batch_lives})
    lives = lives.where(F.col("t_lives") | F.col("b_lives"))
    if columns.is_partial:
        settled, chosen = lives, _by_column(sides)
    else:
        settled, chosen = lives.withColumn("b_wins", _wins(sides)), _whole(sides, F.col("b_wins"))
    verdict = (
        F.when(~F.col("t_lives") & ~sides.has_table, NEW)
        .when(~F.col("b_lives"), KEEP)
        .when(_is_same(columns, "c"), _still(columns, "c"))
        .otherwise(UPDATE)
    )
    made = settled.withColumns({f"c{place}": chosen[place] for place in places})
    return made.select(*(f"c{place}" for place in places), verdict.alias(VERDICT))


def _is_same(columns: Columns, side: str) -> Column:
    """Whether the row of that side has the values of the table's."""
    from pyspark.sql import functions as F

    return same((F.col(f"{side}{place}"), F.col(f"t{place}"), columns.types[place]) for place in columns.values)


def _still(columns: Columns, side: str | None = None) -> Column:
    """The verdict on a row with the same values: what the ledger keeps of it is that of a side now, or nothing."""
    from pyspark.sql import functions as F

    kept = (
        (F.col(f"{side}{place}") if side else F.lit(None), F.col(f"t{place}"), columns.types[place]) for place in sorted(columns.computed)
    )
    return F.when(same(kept), SAME).otherwise(TOUCHED)


def _wins(sides: Sides) -> Column:
    """Whether the batch's row is the one that counts. Of two of one sequence the remaining columns decide."""
    from pyspark.sql import functions as F

    columns, batch = sides.columns, F.col("b_sequence")
    theirs = in_order((F.col(f"b{place}"), columns.types[place]) for place in columns.values)
    ours = in_order((F.col(f"t{place}"), columns.types[place]) for place in columns.values)
    newer = F.coalesce(batch > sides.sequence, F.lit(True)) | (F.coalesce(batch == sides.sequence, F.lit(False)) & (theirs > ours))
    return F.col("b_lives") & (~F.col("t_lives") | newer)


def _whole(sides: Sides, b_wins: Column) -> dict[int, Column]:
    from pyspark.sql import functions as F

    columns = sides.columns
    chosen = {place: F.when(b_wins, F.col(f"b{place}")).otherwise(F.col(f"t{place}")) for place in (*columns.keys, *columns.values)}
    for place in sorted(columns.computed):
        mine = F.col("b_sequence") if place == columns.sequence and sides.is_ordered else F.lit(None)
        chosen[place] = F.when(b_wins, mine).otherwise(F.col(f"t{place}"))
    return chosen


def _by_column(sides: Sides) -> dict[int, Column]:
    """Of each column the newest value that is newer than whatever deleted the row."""
    from pyspark.sql import functions as F

    columns, floor = sides.columns, sides.floor
    carried = F.col(f"t{columns.carried}")
    chosen = {place: F.coalesce(F.col(f"b{place}"), F.col(f"t{place}")) for place in columns.keys}
    row = F.greatest(F.when(F.col("t_lives"), sides.sequence), F.when(F.col("b_lives"), F.col("b_sequence")))
    newest = []
    for place in columns.values:
        pair, type_ = F.col(f"p{place}"), columns.types[place]
        since, was_carried = partial.known_since(carried, columns.physical[place], sides.sequence)
        has_old = F.col("t_lives") & was_carried & F.coalesce(since > floor, floor.isNull())
        has_new = F.coalesce(pair["s"] > floor, pair.isNotNull() & floor.isNull())
        later = F.coalesce(pair["s"] > since, F.lit(True)) | (
            F.coalesce(pair["s"] == since, F.lit(False))
            & (F.struct(comparable(pair["v"], type_).alias("v")) > F.struct(comparable(F.col(f"t{place}"), type_).alias("v")))
        )
        wins = has_new & (~has_old | later)
        chosen[place] = F.when(wins, pair["v"]).when(has_old, F.col(f"t{place}"))
        newest.append((columns.physical[place], F.when(wins, pair["s"]).when(has_old, since)))
    if columns.sequence is not None:
        chosen[columns.sequence] = row
    known = [each for each in newest if each[0] != columns.physical[columns.sequence or 0]]
    chosen[columns.carried or 0] = partial.to_carried(known, row)
    for place in sorted(columns.computed - {columns.sequence, columns.carried}):
        chosen[place] = F.col(f"t{place}")
    return chosen
