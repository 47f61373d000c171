"""A history: every version of each row, from `__START_AT` until `__END_AT`, in whatever order the events come.

A version is shown by a row; what rows do not show is kept in `<table>__events`: deletes, and events that made no version of their own. The
events of a key from the first new one on are put in order again, and make the versions anew; what ended before stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from lakeledger import codec
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Given, Rewrite
from lakeledger.pipelines.apply.batch import DELETE, TRUNCATE, Batch, columns_of, staged
from lakeledger.pipelines.apply.counting import counts, outcome
from lakeledger.pipelines.apply.incoming import (
    CURRENT,
    END_AT,
    KEPT_DELETED,
    KEPT_SEQUENCE,
    KEPT_TRUNCATE,
    KEPT_UNSET,
    START_AT,
    changes_of,
    events_of,
    tracked,
)
from lakeledger.pipelines.apply.matching import Known, as_table, beside, candidates, look, look_at, on_keys, part
from lakeledger.pipelines.apply.resolving import KEEP, NEW, SAME, UPDATE, VERDICT
from lakeledger.pipelines.apply.values import in_order, nothing, same
from lakeledger.pipelines.aside import MARK, Other, unmarked
from lakeledger.pipelines.partitions import quote
from lakeledger.tables import DataFile

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Where an event is known from: a row of the table, what is kept beside it, what deletes every key, or the batch.
ROW, KEPT, CUT, COME = "row", "kept", "cut", "come"


@contextmanager
def scd2(context: Context, given: Given) -> Iterator[Rewrite]:
    """Each event makes a version of its row, or ends one."""
    session = context.sessions.to_merge(given.frame.sparkSession)
    known, kept = look(context, given), look_at(context, events_of(given.spec.table))
    whole = known.whole(columns_of(given))
    with staged(context, given, session, whole, by_sequence=True) as batch:
        plan = _Plan(given, session, known, kept, given.others[-1], batch)
        files = known.files if batch.truncates else plan.open_files(candidates(known.files, batch, whole))
        yield plan.rewrite(plan.touched(files))


@dataclass(frozen=True)
class _Plan:
    """A history in the making. Keys are `b0` …, sequences `s`, and values `v0` …."""

    given: Given
    session: SparkSession
    known: Known
    kept: Known | None
    other: Other
    batch: Batch

    @property
    def keys(self) -> list[str]:
        return [f"b{place}" for place in self.batch.columns.keys]

    def place(self, name: str) -> int:
        return self.batch.columns.names.index(name)

    def open_files(self, files: Sequence[DataFile]) -> list[DataFile]:
        """Those that may have a version that had not ended before the first event."""
        first, end = self.batch.first, self.batch.columns.physical[self.place(END_AT)]
        if first is None or self.batch.columns.is_partial:
            return list(files)

        def may_be_open(file: DataFile) -> bool:
            bounds = file.column_bounds.get(end, {})
            if bounds.get("nulls", 1) or "max" not in bounds:
                return True
            last = Decimal(bounds["max"]) if isinstance(first, Decimal) else bounds["max"]
            try:
                return bool(last >= (first if isinstance(first, Decimal) else codec.to_plain(first)))
            except TypeError:
                return True

        return [file for file in files if may_be_open(file)]

    def touched(self, files: Sequence[DataFile]) -> list[DataFile]:
        """Those of the files that have versions which the events may change."""
        from pyspark.sql import functions as F

        if not files or not (self.batch.keys or self.batch.truncates):
            return []
        columns = self.batch.columns
        places = [*columns.keys, self.place(END_AT)]
        rows = as_table(self.known.rows(self.session, files), columns, places, F.col("_metadata.file_path").alias("t_file"))
        joined = rows.join(self.batch.spread(self.firsts), on_keys(columns))
        hits = joined.where(self._is_open()).select("t_file").distinct().collect()
        return list(self.known.find(row[0] for row in hits).values())

    @property
    def firsts(self) -> DataFrame:
        """The first event of each key."""
        from pyspark.sql import functions as F

        rows, kind = self.batch.frame, F.col("b_kind")
        found = rows.where(kind != TRUNCATE).select(*self.keys, F.col("b_sequence").alias("first"))
        if self.batch.truncates:
            cut = F.broadcast(rows.where(kind == TRUNCATE).agg(F.min("b_sequence").alias("first")))
            known = [self.batch.columns.physical[place] for place in self.batch.columns.keys]
            sides = [(self.known, known)] if self.known.files else []
            sides += [(self.kept, [self._names[name] for name in known])] if self.kept and self.kept.files else []
            for side, names in sides:
                every = side.rows(self.session, side.files).select(
                    *(F.col(quote(n)).alias(k) for n, k in zip(names, self.keys, strict=True))
                )
                found = found.union(every.where(F.col(self.keys[0]).isNotNull()).distinct().crossJoin(cut))
        return found.groupBy(*self.keys).agg(F.min("first").alias("first"))

    def rewrite(self, touched: Sequence[DataFile]) -> Rewrite:
        """The versions of these files that stay, and those that the events make."""
        from pyspark.sql import functions as F

        columns, batch, others = self.batch.columns, self.batch, self.given.shape.others
        old = self._old(touched) if touched else None
        parts = [self._written(self._made(old))]
        if old is not None:
            kept = old.where(~self._is_open_there())
            named = [kept[f"t{place}"].alias(name) for place, name in enumerate(columns.names)]
            parts.insert(0, kept.select(*named, F.lit(KEEP).alias(VERDICT), *unmarked(others)))
        if batch.truncates:
            parts.append(self._truncates())
        if batch.bad is not None:
            parts.append(batch.bad)
        frame = parts[0]
        for each in parts[1:]:
            frame = frame.unionByName(each, allowMissingColumns=True)
        cuts = changes_of(self.given.spec).apply_as_truncates is not None
        read = part(batch, self.kept.files if self.kept else [], self._kept_keys) if self.kept else ("all" if batch.keys else None)
        return Rewrite(
            frame,
            lambda saved: outcome(touched, saved, batch, is_history=True),
            "all" if batch.truncates else part(batch, self.known.files),
            beside(events_of(self.given.spec.table), self.kept, "all" if cuts and read is not None else read),
            batch.measured,
            counts(),
            placed=True,
            keys=columns.key_names,
            bounded=(columns.physical[self.place(END_AT)],),
            touches=frozenset(file.file_path for file in touched),
        )

    def _is_open(self) -> Column:
        """Whether a version had not ended before the first event; all have to be made anew if rows may say less than all."""
        from pyspark.sql import functions as F

        if self.batch.columns.is_partial:
            return F.lit(True)
        end = F.col(f"t{self.place(END_AT)}")
        return end.isNull() | (end >= F.col("first"))

    def _is_open_there(self) -> Column:
        from pyspark.sql import functions as F

        return F.col("first").isNotNull() & F.coalesce(self._is_open(), F.lit(False))

    def _old(self, touched: Sequence[DataFile]) -> DataFrame:
        columns = self.batch.columns
        rows = as_table(self.known.rows(self.session, touched), columns, range(len(columns.names)))
        return rows.join(self.batch.spread(self.firsts), on_keys(columns), "left")

    @property
    def _names(self) -> dict[str, str]:
        return {field["name"]: field["physical_name"] for field in self.kept.schema["fields"]} if self.kept else {}

    @property
    def _kept_keys(self) -> dict[int, str]:
        columns = self.batch.columns
        return {place: self._names.get(columns.physical[place], "") for place in columns.keys}

    def _made(self, old: DataFrame | None) -> DataFrame:
        """The versions that the events make, and the events that have to be kept."""
        events = self._come()
        since = self.firsts.withColumnRenamed("first", "since")
        if old is not None:
            versions = old.where(self._is_open_there())
            events = events.unionByName(self._rows(versions))
            since = self._since(versions)
        kept = self._kept(since)
        for each in kept:
            events = events.unionByName(each)
        return self._versions(self._one_at_a_time(events))

    def _since(self, versions: DataFrame) -> DataFrame:
        """From where on the events of each key are put in order: the start of the version that the first of them meets."""
        from pyspark.sql import functions as F

        columns = self.batch.columns
        starts = versions.select(
            *(F.col(f"t{place}").alias(f"b{place}") for place in columns.keys), F.col(f"t{self.place(START_AT)}").alias("since")
        )
        first = self.firsts.select(*self.keys, F.col("first").alias("since"))
        return first.union(starts).groupBy(*self.keys).agg(F.min("since").alias("since"))

    def _event(
        self, rows: DataFrame, sequence: Column, deleted: Column, values: dict[int, Column], unset: Column, origin: str
    ) -> DataFrame:
        from pyspark.sql import functions as F

        columns = self.batch.columns
        shown = [place for place in range(len(columns.names)) if place in columns.values]
        old = F.struct(*(F.col(f"t{place}").alias(f"t{place}") for place in (*shown, self.place(END_AT)))) if origin == ROW else None
        types = [(f"t{place}", columns.types[place]) for place in (*shown, self.place(END_AT))]
        empty = F.when(F.lit(False), F.struct(*(nothing(type_).alias(name) for name, type_ in types)))
        return rows.select(
            *self.keys,
            sequence.alias("s"),
            deleted.alias("deleted"),
            *(values[place].alias(f"v{place}") for place in shown),
            unset.alias("unset"),
            F.lit(origin).alias("origin"),
            (old if old is not None else empty).alias("old"),
        )

    def _come(self) -> DataFrame:
        from pyspark.sql import functions as F

        rows = self.batch.frame.where(F.col("b_kind") != TRUNCATE)
        values = {place: F.col(f"b{place}") for place in self.batch.columns.values}
        unset = F.col("b_unset") if self.batch.columns.is_partial else _no_names()
        return self._event(rows, F.col("b_sequence"), F.col("b_kind") == DELETE, values, unset, COME)

    def _rows(self, versions: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        rows = versions.withColumns({f"b{place}": F.col(f"t{place}") for place in self.batch.columns.keys})
        values = {place: F.col(f"t{place}") for place in self.batch.columns.values}
        return self._event(rows, F.col(f"t{self.place(START_AT)}"), F.lit(False), values, _no_names(), ROW)

    def _kept(self, since: DataFrame) -> list[DataFrame]:
        """What is kept of the keys, and what deleted every key, before and now."""
        from pyspark.sql import functions as F

        columns, kind = self.batch.columns, F.col("b_kind")
        nulls = {place: nothing(columns.types[place]) for place in columns.values}
        cuts = [self.batch.frame.where(kind == TRUNCATE).select(F.col("b_sequence").alias("s"))] if self.batch.truncates else []
        made = []
        if self.kept and self.kept.files:
            sequence, truncate = (F.col(quote(self._names[name])) for name in (KEPT_SEQUENCE, KEPT_TRUNCATE))
            if any(file.column_bounds.get(self._names[KEPT_TRUNCATE], {}).get("max", True) for file in self.kept.files):
                cuts.append(self.kept.rows(self.session, self.kept.files).where(truncate).select(sequence.alias("s")))
            named = self._kept_keys
            files = self.kept.files if self.batch.truncates else candidates(self.kept.files, self.batch, {}, named)
            if files:
                rows = self.kept.rows(self.session, files).where(~truncate)
                rows = rows.withColumns({f"b{place}": F.col(quote(named[place])) for place in columns.keys})
                rows = rows.join(self.batch.spread(since), self.keys).where(F.lit(columns.is_partial) | (sequence >= F.col("since")))
                there = {place: self._names.get(columns.physical[place]) for place in columns.values}
                values = {place: F.col(quote(name)) if name else nulls[place] for place, name in there.items()}
                deleted, unset = (F.col(quote(self._names[name])) for name in (KEPT_DELETED, KEPT_UNSET))
                made.append(self._event(rows, sequence, deleted, values, unset, KEPT))
        for cut in cuts:
            rows = since.crossJoin(F.broadcast(cut)).where(F.lit(columns.is_partial) | (F.col("s") >= F.col("since")))
            made.append(self._event(rows, F.col("s"), F.lit(True), nulls, _no_names(), CUT))
        return made

    def _one_at_a_time(self, events: DataFrame) -> DataFrame:
        """One event of each key and sequence: a delete before a row, and of two rows the one that is greater.

        What is kept says more than the row that shows it, which then does not count.
        """
        from pyspark.sql import functions as F

        columns = self.batch.columns
        values = [f"v{place}" for place in columns.values]
        said = in_order((F.col(f"v{place}"), columns.types[place]) for place in columns.values)
        order = F.struct(F.col("deleted").alias("d"), said.alias("v"), F.col("unset").alias("u"))
        event = F.struct("deleted", *values, "unset", "origin")
        ranked = events.withColumns({"o": order, "e": event})
        is_row, is_kept = F.col("origin") == ROW, F.col("origin") == KEPT
        found = ranked.groupBy(*self.keys, "s").agg(
            F.max(F.when(~is_row, F.col("o"))).alias("other_o"),
            F.max_by(F.when(~is_row, F.col("e")), F.when(~is_row, F.col("o"))).alias("other"),
            F.max(F.when(is_row, F.col("o"))).alias("row_o"),
            F.max_by(F.when(is_row, F.col("e")), F.when(is_row, F.col("o"))).alias("row"),
            F.max(F.when(is_kept, F.col("o"))).alias("kept_o"),
            F.any_value(F.col("old"), F.lit(True)).alias("old"),
        )
        is_kept_one = F.col("kept_o").isNotNull()
        wins = F.col("other").isNotNull() & (is_kept_one | F.col("row").isNull() | (F.col("other_o") >= F.col("row_o")))
        chosen = F.when(wins, F.col("other")).otherwise(F.col("row"))
        chosen_o = F.when(wins, F.col("other_o")).otherwise(F.col("row_o"))
        return found.select(
            *self.keys, "s", chosen.alias("e"), "old", is_kept_one.alias("was_kept"), chosen_o.eqNullSafe(F.col("kept_o")).alias("is_kept")
        ).select(*self.keys, "s", "old", "was_kept", "is_kept", "e.*")

    def _versions(self, events: DataFrame) -> DataFrame:
        """The events in their order, each as the version that ends with it, as one that is to be kept, or as both."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        columns = self.batch.columns
        in_turn = Window.partitionBy(*self.keys).orderBy("s")
        so_far = in_turn.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        if columns.is_partial:
            events = self._filled(events)
        folded = [codec.fold(name) for name in columns.names]
        fields = [{"name": name} for place, name in enumerate(columns.names) if place in (*columns.keys, *columns.values)]
        wanted = [folded.index(name) for name in tracked(fields, changes_of(self.given.spec))]
        state = F.struct(F.col("deleted").alias("d"), in_order([(F.col(f"v{place}"), columns.types[place]) for place in wanted]).alias("v"))
        events = events.withColumn("state", state).withColumn("before", F.lag("state").over(in_turn))
        begins = F.col("deleted") | F.col("before").isNull() | F.col("before.d") | ~F.col("state").eqNullSafe(F.col("before"))
        events = events.withColumn("begins", begins)
        is_head = F.col("begins") & ~F.col("deleted")
        events = events.withColumns(
            {
                "is_head": is_head,
                "is_last": F.coalesce(F.lead("begins").over(in_turn), F.lit(True)),
                "start": F.last(F.when(is_head, F.col("s")), ignorenulls=True).over(so_far),
                "end": F.lead("s").over(in_turn),
                "head": F.last(F.when(is_head, F.struct(F.col("old").alias("old"))), ignorenulls=True).over(so_far),
            }
        )
        own_delete = F.col("deleted") & (F.col("origin") != CUT)
        says_less = F.col("was_kept") | own_delete | (~F.col("deleted") & (~(F.col("is_head") & F.col("is_last")) | (F.size("unset") > 0)))
        outputs = F.array(
            F.when(~F.col("deleted") & F.col("is_last"), F.lit("0")),
            F.when(~F.col("is_kept") & says_less & (F.col("origin") != CUT), F.lit(str(self.other.number))),
        )
        return events.withColumn("output", F.explode(F.filter(outputs, lambda each: each.isNotNull())))

    def _filled(self, events: DataFrame) -> DataFrame:
        """Of each column the last value that an event carried since the row was deleted."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        columns = self.batch.columns
        in_turn = Window.partitionBy(*self.keys).orderBy("s")
        events = events.withColumn("life", F.count_if("deleted").over(in_turn))
        living = Window.partitionBy(*self.keys, "life").orderBy("s").rowsBetween(Window.unboundedPreceding, Window.currentRow)
        filled, carried = {}, {}
        for place in columns.values:
            is_there = ~F.col("deleted") & ~F.array_contains("unset", columns.physical[place])
            carried[f"w{place}"] = F.col(f"v{place}")
            filled[f"v{place}"] = F.last(F.when(is_there, F.struct(F.col(f"v{place}").alias("v"))), ignorenulls=True).over(living)["v"]
        return events.withColumns(carried).withColumns(filled) if columns.values else events  # Connect refuses to add none

    def _written(self, made: DataFrame) -> DataFrame:
        """Versions and events under the names that they are written by."""
        from pyspark.sql import functions as F

        columns = self.batch.columns
        ends = {END_AT: F.col("end"), START_AT: F.col("start"), CURRENT: F.col("end").isNull()}
        shown = {place: F.col(f"v{place}") for place in columns.values} | {place: F.col(f"b{place}") for place in columns.keys}
        old = F.col("head.old")
        pairs = [(F.col(f"v{place}"), old[f"t{place}"], columns.types[place]) for place in columns.values]
        is_same = same([*pairs, (F.col("end"), old[f"t{self.place(END_AT)}"], columns.types[self.place(END_AT)])])
        is_row = F.col("output") == "0"
        verdict = F.when(is_row, F.when(old.isNull(), NEW).when(is_same, SAME).otherwise(UPDATE))
        own = [F.when(is_row, shown[place] if place in shown else ends[name]).alias(name) for place, name in enumerate(columns.names)]
        said = {columns.physical[place]: F.col(f"w{place}" if columns.is_partial else f"v{place}") for place in columns.values}
        said |= {columns.physical[place]: F.col(f"b{place}") for place in columns.keys}
        said |= {KEPT_SEQUENCE: F.col("s"), KEPT_DELETED: F.col("deleted"), KEPT_TRUNCATE: F.lit(False), KEPT_UNSET: F.col("unset")}
        theirs = [F.when(~is_row, said[name]).alias(self.other.named(name)) for name in self.other.aside.columns]
        rest = unmarked([other for other in self.given.shape.others if other is not self.other])[1:]
        found = made.select(*own, verdict.alias(VERDICT), F.col("output").alias(MARK), *theirs, *rest)
        keys = [F.col(quote(columns.names[place])) for place in columns.keys]
        return found.coalesce(1).sortWithinPartitions(MARK, *keys, START_AT)

    def _truncates(self) -> DataFrame:
        """What deletes every key, to be kept."""
        from pyspark.sql import functions as F

        rows = self.batch.frame.where(F.col("b_kind") == TRUNCATE).select(F.col("b_sequence").alias("s"))
        if self.kept and self.kept.files:
            sequence, truncate = (F.col(quote(self._names[name])) for name in (KEPT_SEQUENCE, KEPT_TRUNCATE))
            there = self.kept.rows(self.session, self.kept.files).where(truncate).select(sequence.alias("s")).distinct()
            rows = rows.join(there, "s", "left_anti")
        return rows.select(
            F.lit(str(self.other.number)).alias(MARK),
            F.col("s").alias(self.other.named(KEPT_SEQUENCE)),
            F.lit(True).alias(self.other.named(KEPT_DELETED)),
            F.lit(True).alias(self.other.named(KEPT_TRUNCATE)),
        )


def _no_names() -> Column:
    from pyspark.sql import functions as F

    return F.array().cast("array<string>")
