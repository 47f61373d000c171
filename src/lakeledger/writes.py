"""What is done to tables by hand, each as one commit: rows appended, replaced, merged, deleted and read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, get_args

from lakeledger import codec
from lakeledger.checking import Checking
from lakeledger.codec import Id
from lakeledger.errors import Invalid
from lakeledger.names import TableName, parse_name
from lakeledger.runs import ActiveRun, ActiveStep, Fence

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from lakeledger.pipelines import Context
    from lakeledger.pipelines.apply import Changes, Drift, Mode, Write
    from lakeledger.pipelines.load import Loaded
    from lakeledger.pipelines.replaying import Replayed
    from lakeledger.pipelines.sources import Source as DataSource
    from lakeledger.pipelines.streaming.writer import StreamWriter
    from lakeledger.quality import Suite, SuiteResult
    from lakeledger.sync import Advance, Source
    from lakeledger.sync.kinds import PositionLike
    from lakeledger.tables import Committed


class Writes(Checking):
    """Tables as people write and read them, in the name of a run."""

    context: Callable[[], Context]

    if TYPE_CHECKING:

        @property
        def spark(self) -> SparkSession: ...

    def append(
        self,
        frame: DataFrame,
        table: str,
        *,
        position: Advance | tuple[str | Source, PositionLike] | None = None,
        run: ActiveRun | ActiveStep | None = None,
        batch_id: Id | None = None,
        format: str | None = None,
        partition_by: Sequence[str] | None = None,
        sort_by: Sequence[str] | None = None,
        evolve: bool = False,
        base_version: int | None = None,
        metadata: str | None = None,
        quality: Suite | None = None,
    ) -> Committed:
        """Add rows to a table, which is made if it is not there. Rows, position, run and facts are one commit.

        With a `batch_id` the same batch is applied once, however often it is tried. With a `position`, rows that bring the
        source to where it already stands are the same batch. With a `base_version`, the version of the table that the rows were
        computed from, Conflict (retryable) is raised if the table has moved since. `metadata` says when other engines see the rows:
        `sync`, `async` or `off`; by default as the table says, or the ledger. `sort_by` is the order that compactions give the table's
        files from then on.
        With `quality`, the rows are checked by a suite in the same pass, and what is found is part of the commit; rows that break a rule
        with action `quarantine` go to `<table>__quarantine`. If the suite says `fail_on_error` and a critical expectation fails, Failed is
        raised, and only the results are kept.
        Raises Invalid, Conflict, Fenced or Failed; then nothing is visible, unless a Failed says that the outcome is unknown.
        """
        from lakeledger.pipelines.apply import Write
        from lakeledger.sync.model import as_advance

        request = Write(
            table=parse_name(table),
            format=format,
            partition_by=_names(partition_by),
            sort_by=_names(sort_by),
            evolve=evolve,
            base_version=base_version,
            batch_id=_text(batch_id),
            position=as_advance(position),
            metadata=metadata,
        )
        return self._write(frame, request, run, quality)

    def overwrite(
        self,
        frame: DataFrame,
        table: str,
        *,
        by_partition: bool = False,
        position: Advance | tuple[str | Source, PositionLike] | None = None,
        run: ActiveRun | ActiveStep | None = None,
        batch_id: Id | None = None,
        format: str | None = None,
        partition_by: Sequence[str] | None = None,
        sort_by: Sequence[str] | None = None,
        base_version: int | None = None,
        metadata: str | None = None,
        quality: Suite | None = None,
    ) -> Committed:
        """Replace a whole table, or with `by_partition` only the partitions that the rows are in.

        Raises Conflict (retryable) if somebody else committed to what is being replaced since `base_version`: give it the version
        that the rows were computed from; by default it is the one that is current when the write begins.
        """
        from lakeledger.pipelines.apply import Write
        from lakeledger.sync.model import as_advance

        request = Write(
            table=parse_name(table),
            mode="overwrite_partitions" if by_partition else "overwrite",
            base_version=base_version,
            format=format,
            partition_by=_names(partition_by),
            sort_by=_names(sort_by),
            batch_id=_text(batch_id),
            position=as_advance(position),
            metadata=metadata,
        )
        return self._write(frame, request, run, quality)

    def merge(
        self,
        frame: DataFrame,
        table: str,
        *,
        keys: Sequence[str],
        mode: Literal["merge", "insert_only", "sync"] = "merge",
        sequence_by: str | Column | None = None,
        unique: bool = False,
        allow_empty: bool = False,
        position: Advance | tuple[str | Source, PositionLike] | None = None,
        run: ActiveRun | ActiveStep | None = None,
        batch_id: Id | None = None,
        format: str | None = None,
        partition_by: Sequence[str] | None = None,
        sort_by: Sequence[str] | None = None,
        evolve: bool = False,
        metadata: str | None = None,
        quality: Suite | None = None,
    ) -> Committed:
        """Let rows replace those of the table with the same keys; the others are new. Only files that have such rows are written again.

        Of several rows with one key the newest by `sequence_by` counts, and one that is older than the table's does not; without it the
        remaining columns decide, always in the same way. Whoever promises that rows are `unique` by their keys, and the same whenever they
        are read, saves the work to make them so. `mode="insert_only"` leaves out rows whose keys the table has; `mode="sync"` also deletes
        what is not among the rows: without any row it is refused unless `allow_empty`. If somebody else writes rows of the same keys
        meanwhile, it is planned again. Raises as `append`, and Invalid for rows without a key.
        """
        from lakeledger.pipelines.apply import Changes

        changes = Changes(tuple(keys), sequence_by, unique=unique, allow_empty=allow_empty)
        return self._change(frame, table, mode, changes, position, run, batch_id, format, partition_by, sort_by, evolve, metadata, quality)

    def apply_changes(
        self,
        frame: DataFrame,
        table: str,
        *,
        keys: Sequence[str],
        sequence_by: str | Column,
        apply_as_deletes: str | Column | None = None,
        apply_as_truncates: str | Column | None = None,
        column_list: Sequence[str] | None = None,
        except_column_list: Sequence[str] | None = None,
        stored_as_scd_type: Literal[1, 2] = 1,
        track_history_column_list: Sequence[str] | None = None,
        track_history_except_column_list: Sequence[str] | None = None,
        ignore_null_updates: bool = False,
        unset: str | None = "_unset",
        position: Advance | tuple[str | Source, PositionLike] | None = None,
        run: ActiveRun | ActiveStep | None = None,
        batch_id: Id | None = None,
        format: str | None = None,
        partition_by: Sequence[str] | None = None,
        sort_by: Sequence[str] | None = None,
        evolve: bool = False,
        metadata: str | None = None,
        quality: Suite | None = None,
    ) -> Committed:
        """Apply change events, with the parameters and results of AUTO CDC, in whatever order and however often they come.

        A table of type 1 has the newest row of each key, one of type 2 every version of it, with `__START_AT`, `__END_AT` and `__CURRENT`.
        What was deleted is remembered beside it (`<table>__tombstones`, of type 2 `<table>__events`), so that late events do not bring it
        back. Events without a key or a sequence go to `<table>__quarantine`. Of the columns that an event names in its column `unset`, and
        with `ignore_null_updates` of those that are NULL, it says nothing: what the table has stays. Raises as `merge`.
        """
        from lakeledger.pipelines.apply import Changes

        changes = Changes(
            keys=tuple(keys),
            sequence_by=sequence_by,
            apply_as_deletes=apply_as_deletes,
            apply_as_truncates=apply_as_truncates,
            column_list=_names(column_list),
            except_column_list=_names(except_column_list),
            stored_as_scd_type=stored_as_scd_type,
            track_history_column_list=_names(track_history_column_list),
            track_history_except_column_list=_names(track_history_except_column_list),
            ignore_null_updates=ignore_null_updates,
            unset=unset,
            quarantine=True,
        )
        return self._change(
            frame, table, changes.mode, changes, position, run, batch_id, format, partition_by, sort_by, evolve, metadata, quality
        )

    def delete(self, table: str, where: str, *, run: ActiveRun | ActiveStep | None = None, metadata: str | None = None) -> Committed:
        """Delete the rows for which a condition in SQL is true. Files that have none of them are left as they are.

        Raises NotFound, Invalid, Conflict, Fenced or Failed; then nothing is deleted, unless a Failed says that the outcome is unknown.
        """
        from lakeledger.pipelines.apply.delete import delete
        from lakeledger.pipelines.load import replanned
        from lakeledger.pipelines.translating import translating

        name, context = parse_name(table), self.context()
        self.tables.get(table)  # no run for a table that is not there
        with self._right(name, run) as fence, translating():
            return replanned(lambda: delete(context, name, where, fence, metadata))

    def load(
        self,
        source: DataSource,
        table: str,
        *,
        mode: Mode = "append",
        changes: Changes | None = None,
        run: ActiveRun | ActiveStep | None = None,
        format: str | None = None,
        partition_by: Sequence[str] | None = None,
        sort_by: Sequence[str] | None = None,
        window: tuple[Any, Any] | None = None,
        full_refresh: bool = False,
        quality: Suite | None = None,
    ) -> Loaded:
        """Bring what is new in a source into a table: rows, position and facts are one commit. If nothing is, Spark is not started.

        A source is anything with `name` and `plan(seen)`, see `lakeledger.pipelines.sources`. `changes` says how rows are matched with
        those of the table, for the modes that do. With a `window`, the rows of a watermark between two values (without the second) are
        loaded again, and the source stays where it stands. With `full_refresh` everything is read again and replaces the table. Raises as
        `append`.
        """
        from lakeledger.pipelines.apply import Write
        from lakeledger.pipelines.checks.watching import watched
        from lakeledger.pipelines.load import load
        from lakeledger.pipelines.sources import Wanted

        by, order = _names(partition_by), _names(sort_by)
        into = Write(parse_name(table), mode, format=format, partition_by=by, sort_by=order, changes=changes, source=source.name)
        asked = codec.to_plain({"from": window[0], "to": window[1]}) if window else {}
        with self._right(into.table, run, "backfill" if window else "pipeline", asked) as fence:
            context = self.context()
            results: list[SuiteResult] = []
            loaded = load(
                context, source, watched(context, into, fence.run_id, quality, results.append), fence, Wanted(window, full_refresh)
            )
            loaded = loaded.judged(results[-1]) if results else loaded
        if isinstance(run, ActiveStep):
            run.metadata.update(loaded.detail)
        return loaded

    def replay_rows(
        self,
        table: str,
        function: Callable[[DataFrame], DataFrame],
        *,
        mode: Mode = "append",
        changes: Changes | None = None,
        letters: Sequence[Id] | None = None,
        dry_run: bool = True,
        quality: Suite | None = None,
    ) -> list[Replayed]:
        """Send quarantined rows of a table through a write again that Python made: all that letters stand for, or those of some letters.

        The function is given the rows as `<table>__quarantine` has them (`row`, the text; `reasons`; `source_file`; `run_id`) and returns
        those to write, with the columns that the write takes. `mode` and `changes` are as in `load`, and so are the rules of `quality`, by
        which rows are set aside again. Otherwise it is as `replay`, of
        which whatever the function leaves out leaves the quarantine, too. Raises as `load`.
        """
        from lakeledger.pipelines.apply import Write
        from lakeledger.pipelines.bad_rows import Limit
        from lakeledger.pipelines.replaying import Replayed, batches, replay_write, waiting
        from lakeledger.pipelines.replays import Way, carry_out
        from lakeledger.sync.dead_letters.model import Filter

        name, context = parse_name(table), self.context()
        limit = Limit(rules=quality.rules if quality else ())
        way = Way(replay_write(Write(name, mode, changes=changes), str(name)), limit, function)
        found = batches(waiting(self.store, Filter(name.schema, name.table), letters))
        if others := [each for each in found if each.table != name]:
            raise Invalid(f"dead letter {others[0].letters[0].id} stands for rows of {others[0].table}, not of {name}: leave it out")
        if dry_run:
            return [Replayed(each.source, str(name), tuple(letter.id for letter in each.letters), each.rows) for each in found]
        return [carry_out(context, each, str(name), lambda _: way) for each in found]

    def stream_writer(
        self,
        table: str,
        *,
        every: float | timedelta | str = 10.0,
        rows: int = 1_000_000,
        bytes: int = 128 << 20,
        wait: float | timedelta | str = 60.0,
        schema: pa.Schema | None = None,
        partition_by: Sequence[str] | None = None,
        schema_drift: Drift = "freeze",
        required_columns: Sequence[str] = (),
        max_bad_rows: int | None = None,
        max_bad_rate: float | None = None,
        metadata: str | None = None,
        run: ActiveRun | ActiveStep | None = None,
    ) -> StreamWriter:
        """What takes rows of Python and Arrow at any rate, without Spark, and makes one file and one commit of them per rotation.

        Rows are rotated, and so visible, at the latest after `every` seconds, and as soon as there are so many `rows` or `bytes` of them in
        memory. While one rotation is committed the next is gathered; whoever writes more waits at most `wait` seconds. The table is made
        if it is not there, with the columns of `schema` or of the first rows. `schema_drift`, `required_columns`, `max_bad_rows` and
        `max_bad_rate` are as in `target_config`; rows that do not fit go to `<table>__quarantine`. All rotations are one run, or the given
        one. Raises Invalid.
        """
        from lakeledger.pipelines import apply
        from lakeledger.pipelines.bad_rows import Limit
        from lakeledger.pipelines.streaming.columns import schema_of
        from lakeledger.pipelines.streaming.rotation import Stream
        from lakeledger.pipelines.streaming.writer import Limits, StreamWriter, seconds_of

        if schema_drift not in (known := get_args(apply.Drift)):
            raise Invalid(f"schema_drift={schema_drift!r} is none of {', '.join(known)}")
        declared = schema_of(schema) if schema is not None else None
        required = (*(_names(required_columns) or ()), *(each.name for each in schema or () if not each.nullable))
        limits = Limits(seconds_of("every", every), rows, bytes, seconds_of("wait", wait))
        into = apply.Write(parse_name(table), partition_by=_names(partition_by), metadata=metadata, drift=schema_drift)
        asked = {"stream_writer": {"every_seconds": limits.every_seconds, "rows": rows, "bytes": bytes}}

        def begin(right: ExitStack) -> Fence:
            return self._fence(run) or right.enter_context(self.run(str(into.table), trigger="api", parameters=asked)).fence

        writer = StreamWriter(self.context(), Stream(into, Limit(max_bad_rows, max_bad_rate, required), declared), limits, begin)
        self._threads.add(writer)
        self._writers.add(writer)
        return writer

    def read(self, table: str, version: int | str | None = None, at: datetime | str | None = None) -> DataFrame:
        """A table as a DataFrame: now, at a version, by its number or a tag, or as it was at a time. Raises NotFound, Invalid or Failed."""
        from lakeledger.pipelines.read import read
        from lakeledger.pipelines.translating import translating

        with translating():
            return read(self.spark, self.tables.view(table, version, at))

    def _change(
        self,
        frame: DataFrame,
        table: str,
        mode: Mode,
        changes: Changes,
        position: Advance | tuple[str | Source, PositionLike] | None,
        run: ActiveRun | ActiveStep | None,
        batch_id: Id | None,
        format: str | None,
        partition_by: Sequence[str] | None,
        sort_by: Sequence[str] | None,
        evolve: bool,
        metadata: str | None,
        quality: Suite | None,
    ) -> Committed:
        from lakeledger.pipelines.apply import Write
        from lakeledger.sync.model import as_advance

        request = Write(
            table=parse_name(table),
            mode=mode,
            format=format,
            partition_by=_names(partition_by),
            sort_by=_names(sort_by),
            evolve=evolve,
            batch_id=_text(batch_id),
            position=as_advance(position),
            metadata=metadata,
            changes=changes,
        )
        return self._write(frame, request, run, quality)

    def _write(self, frame: DataFrame, request: Write, run: ActiveRun | ActiveStep | None, quality: Suite | None) -> Committed:
        from lakeledger.pipelines.checks.watching import watched
        from lakeledger.pipelines.load import replanned
        from lakeledger.pipelines.remote import check_server
        from lakeledger.pipelines.translating import translating
        from lakeledger.pipelines.write import write

        _check_frame(frame, request.table)
        if request.position and request.batch_id is None and not request.position.force:
            request = replace(request, batch_id=_batch_of(request, request.position))
        check_server(frame.sparkSession)
        context = self.context()
        with self._right(request.table, run) as fence, translating():
            spec = watched(context, request, fence.run_id, quality)
            if request.changes is None:
                return write(context, frame, spec, fence)
            return replanned(lambda: write(context, frame, spec, fence))


def _check_frame(frame: object, table: TableName) -> None:
    """Raise Invalid for what is no DataFrame of Spark, classic or Connect; Spark need not be installed to tell."""
    kind = type(frame)
    if any(each.__name__ == "DataFrame" and each.__module__.startswith("pyspark.sql.") for each in kind.__mro__):
        return
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    raise Invalid(f"{table} takes a Spark DataFrame, not {name}: make one with spark.createDataFrame(frame)")


def _text(value: Id | None) -> str | None:
    return None if value is None else str(value)


def _names(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return (names,) if isinstance(names, str) else None if names is None else tuple(names)


def _batch_of(request: Write, move: Advance) -> str:
    """What makes a write the same batch again: it does the same to the table and brings its source to the same place."""
    return codec.digest(["position", request.mode, vars(move.source), move.to.kind, move.to.document()])
