"""The rows that are matched with the table's: one for each key, staged so that they can be read again, and what is known of them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lakeledger import clock, codec
from lakeledger.errors import Failed, Invalid, Unavailable
from lakeledger.lake import Storage
from lakeledger.lake.parquet import Parquet
from lakeledger.locations import for_spark
from lakeledger.pipelines import Context, observe
from lakeledger.pipelines.apply import Changes, Given, partial
from lakeledger.pipelines.apply.incoming import CARRIED, DELETES, SEQUENCE, START_AT, TRUNCATES, changes_of, visible_sequence
from lakeledger.pipelines.apply.pruning import Range, position
from lakeledger.pipelines.apply.values import in_order, is_orderable
from lakeledger.pipelines.aside import MARK
from lakeledger.pipelines.own_session import moved
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.read import literal
from lakeledger.pipelines.save import WRITE_OPTIONS
from lakeledger.tables.schema import HISTORY
from lakeledger.tables.verify import DATA

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# What a row of the batch is: one to be in the table, one that deletes, or one that deletes all that is older.
UPSERT, DELETE, TRUNCATE = "u", "d", "t"
# So many rows, or bytes of them in files, are sent to every task; more are brought to where the table's rows of their keys are.
BROADCAST_ROWS = 1_500_000
BROADCAST_BYTES = 100_000_000


@dataclass(frozen=True)
class Columns:
    """The columns of the table by their place: as `t0` in its rows, as `b0` in those of the batch; and what they are for."""

    names: list[str]
    physical: list[str]
    types: list[Any]
    keys: list[int]
    computed: frozenset[int]
    sequence: int | None
    sequence_type: Any
    carried: int | None
    is_partial: bool

    @property
    def values(self) -> list[int]:
        """Those that rows are given with, beside the keys."""
        return [place for place in range(len(self.names)) if place not in self.keys and place not in self.computed]

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        return tuple(self.physical[place] for place in self.keys)


@dataclass(frozen=True)
class Batch:
    """One row for each key (of a history: for each key and sequence), as `b0`, `b1` …, `b_sequence` and `b_kind`.

    `rows` are how many were given, `ranges` where the keys lie, by their places. `bad` are the rows that are set aside, with their marks.
    """

    frame: DataFrame
    columns: Columns
    rows: int
    keys: int
    truncates: int
    deletes: int
    ranges: Mapping[int, Range]
    bad: DataFrame | None
    measured: Mapping[str, Any]
    is_small: bool
    first: Any = None

    def spread(self, frame: DataFrame) -> DataFrame:
        """A frame of the batch, ready to be joined with many rows."""
        from pyspark.sql import functions as F

        return F.broadcast(frame) if self.is_small else frame


def columns_of(given: Given) -> Columns:
    """The table's columns, with what the rows have in the order of their shape."""
    changes = changes_of(given.spec)
    fields = {codec.fold(field["name"]): field for field in given.shape.schema["fields"]}
    names = list(given.shape.columns)
    folded = [codec.fold(name) for name in names]
    own = visible_sequence([fields[name] for name in folded], changes) or (SEQUENCE if SEQUENCE in names else None)
    is_history = given.spec.mode == "scd2"
    ordered = START_AT if is_history else own
    return Columns(
        names,
        list(given.shape.columns.values()),
        [fields[name]["type"] for name in folded],
        [folded.index(codec.fold(key)) for key in changes.keys],
        frozenset(place for place, name in enumerate(names) if fields[folded[place]].get("hidden") or (is_history and name in HISTORY)),
        names.index(own) if own else None,
        fields[codec.fold(ordered)]["type"] if ordered and changes.sequence_by is not None else None,
        names.index(CARRIED) if CARRIED in names else None,
        is_partial=CARRIED in names or (is_history and (changes.ignore_null_updates or _has_unset(given, changes))),
    )


def _has_unset(given: Given, changes: Changes) -> bool:
    return changes.unset is not None and codec.fold(changes.unset) in map(codec.fold, given.frame.columns)


@contextmanager
def staged(
    context: Context, given: Given, session: SparkSession, whole: Mapping[int, Range], *, by_sequence: bool = False
) -> Iterator[Batch]:
    """The batch, for as long as the block. `whole` is where the table's keys lie. Raises Invalid for rows that have no key or sequence."""
    columns, changes = columns_of(given), changes_of(given.spec)
    with moved(given.frame, session) as placed:
        is_stable = changes.unique and not given.shape.others and not given.measures and not by_sequence and not columns.is_partial
        if is_stable:
            unique = placed.select(*_as_batch(columns, changes, ()))
            seen = _fetch(unique.agg(*_measures(columns, whole, unique.columns)).collect()[0].asDict(), columns)
            yield _batch(unique, columns, changes, given, seen, {}, None)
            return
        storage = context.storage(given.target.location)
        folder = f"{DATA}/{given.run_id}/stage-{clock.new_id()[-12:]}"
        path = for_spark(f"{storage.root}/{folder}")
        try:
            measured, seen, schema = _stage(placed, given, columns, changes, whole, path, by_sequence=by_sequence)
            files = [file for file in storage.files(folder) if not file.is_bookkeeping]
            size, rows = sum(file.size for file in files), sum(_rows_in(storage, file.path) for file in files)
            reader = session.read.schema(schema)
            kept = reader.parquet(literal(f"{storage.root}/{folder}")) if rows else session.createDataFrame([], schema)
            if seen["rows"] != rows:  # What was observed was lost on the way, or is of a task that was repeated.
                seen = _fetch(kept.agg(*_measures(columns, whole, schema.names)).collect()[0].asDict(), columns)
            yield _batch(kept, columns, changes, given, seen, measured, size)
        finally:
            with suppress(Failed, Unavailable):  # then the sweeper finds it
                storage.remove_folder(folder)


def _rows_in(storage: Storage, path: str) -> int:
    return Parquet().inspect(storage, path, {}, ()).rows


def _stage(
    placed: DataFrame, given: Given, columns: Columns, changes: Changes, whole: Mapping[int, Range], path: str, *, by_sequence: bool
) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Write the batch, in one pass over the rows: what was measured of them, what was seen of the batch, and its schema."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    measured, seen = Observation(), Observation()
    types = observe.types(placed, given.measures)
    watched = placed.observe(measured, *observe.measures(given.measures, types)) if given.measures else placed
    marks = _marks(given)
    names = {codec.fold(name) for name in placed.columns}
    rows = watched.select(*_as_batch(columns, changes, names), *(F.col(quote(name)) for name in marks))
    reduced = (
        rows
        if changes.unique and not by_sequence and not columns.is_partial
        else _one_per_key(rows, columns, marks, by_sequence=by_sequence)
    )
    schema = reduced.schema
    wanted = _measures(columns, whole, schema.names)
    reduced.observe(seen, *wanted).write.options(**WRITE_OPTIONS).parquet(path)
    found = _fetch(dict(seen.get), columns)
    return observe.measured(dict(measured.get), types, found["events"]) if given.measures else {}, found, schema


def _batch(
    frame: DataFrame,
    columns: Columns,
    changes: Changes,
    given: Given,
    seen: Mapping[str, Any],
    measured: Mapping[str, Any],
    size: int | None,
) -> Batch:
    from pyspark.sql import functions as F

    is_marked = bool(given.shape.others)
    table, lost = given.spec.table, seen["lost"]
    if lost:
        needed = ", ".join([*changes.keys, *(["the sequence"] if changes.sequence_by is not None else [])])
        raise Invalid(f"{lost:,} rows for {table} have NULL in {needed}: leave them out, or correct the source")
    return Batch(
        frame=frame.where(F.col(MARK) == "0").drop(*_marks(given)) if is_marked else frame,
        columns=columns,
        rows=seen["events"] - seen["bad"],
        keys=seen["rows"] - seen["truncates"] - seen["bad"],
        truncates=seen["truncates"],
        deletes=seen["deletes"],
        ranges={place: Range(seen[f"low_{place}"], seen[f"high_{place}"], seen.get(f"bits_{place}")) for place in columns.keys},
        bad=frame.where(F.col(MARK) != "0") if is_marked and seen["bad"] else None,
        measured=measured,
        is_small=seen["rows"] <= BROADCAST_ROWS and (size or 0) <= BROADCAST_BYTES,
        first=seen.get("first"),
    )


def _marks(given: Given) -> list[str]:
    """The columns of a marked frame that are not the table's."""
    return [MARK, *(other.named(name) for other in given.shape.others for name in other.aside.columns)] if given.shape.others else []


def _as_batch(columns: Columns, changes: Changes, names: Container[str]) -> list[Column]:
    """The rows under the names that they have here."""
    from pyspark.sql import functions as F

    has_sequence = changes.sequence_by is not None
    made = [F.col(quote(columns.names[place])).alias(f"b{place}") for place in (*columns.keys, *columns.values)]
    kind = F.when(F.col(TRUNCATES), TRUNCATE).when(F.col(DELETES), DELETE).otherwise(UPSERT) if has_sequence else F.lit(UPSERT)
    sequence = [F.col(SEQUENCE).alias("b_sequence")] if has_sequence else []
    return [*made, *sequence, kind.alias("b_kind"), *([_unset(columns, changes, names)] if columns.is_partial else [])]


def _unset(columns: Columns, changes: Changes, names: Container[str]) -> Column:
    """The physical names of the columns that a row says nothing of."""
    from pyspark.sql import functions as F

    listed = F.transform(F.col(quote(changes.unset)), F.lower) if changes.unset and codec.fold(changes.unset) in names else None
    made = []
    for place in columns.values:
        absent = F.lit(False)
        if listed is not None:
            absent = absent | F.coalesce(F.array_contains(listed, columns.names[place].lower()), F.lit(False))
        if changes.ignore_null_updates:
            absent = absent | F.col(quote(columns.names[place])).isNull()
        made.append(F.when(absent, F.lit(columns.physical[place])))
    return F.filter(F.array(*made), lambda each: each.isNotNull()).alias("b_unset")


def _one_per_key(rows: DataFrame, columns: Columns, marks: Sequence[str], *, by_sequence: bool) -> DataFrame:
    """Of the rows of each key the newest; what is set aside stays as it is."""
    from pyspark.sql import functions as F

    has_sequence = "b_sequence" in rows.columns
    by = [f"b{place}" for place in columns.keys]
    if has_sequence:  # All that delete everything are one, whatever their keys.
        rows = rows.withColumns(
            {name: F.when(F.col("b_kind") != TRUNCATE, F.col(name)) for name in by} | {"b_all": F.col("b_kind") == TRUNCATE}
        )
        by = [*by, "b_all", *(["b_sequence"] if by_sequence else [])]
    if marks:
        rows = rows.withColumn("b_own", F.when(F.col(MARK) != "0", F.monotonically_increasing_id()))
        by = [*by, "b_own"]
    kept = [F.count("*").alias("b_events"), *(F.any_value(F.col(quote(name))).alias(name) for name in marks)]
    reduce = columns.is_partial and not by_sequence
    gained = partial.newest(columns) if reduce else _newest(rows.columns, columns, by, marks)
    found = rows.groupBy(*by).agg(*gained, *kept)
    opened = partial.opened(columns) if reduce else ["winner.*"]
    return found.select(
        *(name for name in by if name not in ("b_all", "b_own")), *opened, "b_events", *(F.col(quote(name)) for name in marks)
    )


def _newest(names: Sequence[str], columns: Columns, by: Sequence[str], marks: Sequence[str]) -> list[Column]:
    from pyspark.sql import functions as F

    payload = [name for name in names if name not in by and name not in marks and name not in ("b_sequence", "b_kind")]
    first = [F.col(name) for name in ("b_sequence", "b_kind") if name in names and name not in by]
    # A delete comes after a row of the same sequence: `b_kind` is negated by its order, "d" < "u".
    types = {f"b{place}": columns.types[place] for place in columns.values} | {"b_unset": {"type": "array", "elementType": "string"}}
    deletes = (F.col("b_kind") == DELETE).alias("b_deletes")
    order = [each for name in ("b_sequence",) if name in names and name not in by for each in (F.col(name),)] + [deletes]
    if all(is_orderable(types[name]) for name in payload):
        return [F.max(F.struct(*order, *(F.col(name) for name in payload), "b_kind")).alias("winner")]
    ranked = F.struct(*order, in_order((F.col(name), types[name]) for name in payload).alias("rest"))
    return [F.max_by(F.struct(*first, *(F.col(name) for name in payload)), ranked).alias("winner")]


def _measures(columns: Columns, whole: Mapping[int, Range], names: Sequence[str]) -> list[Column]:
    """What is to be known of the batch: how many rows of which kind, and where the keys lie."""
    from pyspark.sql import functions as F

    keys = [F.col(f"b{place}") for place in columns.keys]
    good = F.col(MARK) == "0" if MARK in names else F.lit(True)
    lost = F.lit(False)
    for key in keys:
        lost = lost | (key.isNull() & (F.col("b_kind") != TRUNCATE))
    if "b_sequence" in names:
        lost = lost | F.col("b_sequence").isNull()
    wanted = {
        "events": F.sum("b_events") if "b_events" in names else F.count("*"),
        "bad": F.count_if(~good),
        "lost": F.count_if(good & lost),
        "deletes": F.count_if(good & (F.col("b_kind") == DELETE)),
        "truncates": F.count_if(good & (F.col("b_kind") == TRUNCATE)),
    }
    made = [F.expr(observe.ROWS), *(F.coalesce(column, F.lit(0)).alias(name) for name, column in wanted.items())]
    for place, key in zip(columns.keys, keys, strict=True):
        type_ = columns.types[place]
        if type_ != "binary":
            made += observe.range_of(F.when(good, key), type_, f"low_{place}", f"high_{place}")
        if place in whole:
            bits = F.call_function("bitmap_construct_agg", position(F.when(good, key), type_, whole[place]))
            made.append(bits.alias(f"bits_{place}"))
    if columns.sequence_type is not None and isinstance(columns.sequence_type, str):
        made += observe.range_of(F.when(good, F.col("b_sequence")), columns.sequence_type, "first", "last")
    return made


def _fetch(seen: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """What was seen, as Python has it. Spark sees nothing where it finds out on the way that there is nothing."""
    counts = dict.fromkeys(("rows", "events", "bad", "lost", "deletes", "truncates"), 0)
    found = {**counts, **seen}
    ranges = [(f"{side}_{place}", columns.types[place]) for place in columns.keys for side in ("low", "high")]
    ranges += [("first", columns.sequence_type), ("last", columns.sequence_type)]
    return {**found, **{name: observe.fetched(seen.get(name), type_) for name, type_ in ranges}}
