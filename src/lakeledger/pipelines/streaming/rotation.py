"""One rotation: what was gathered becomes files, and with them, bad rows, facts and letters one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakeledger import failpoints
from lakeledger.errors import Conflict, Invalid
from lakeledger.lake import Storage
from lakeledger.pipelines import Context, aside, bad_rows, quarantine
from lakeledger.pipelines.apply import Outcome, Saved, Target, Write
from lakeledger.pipelines.effects import Stopwatch
from lakeledger.pipelines.load import replanned
from lakeledger.pipelines.streaming import files
from lakeledger.pipelines.streaming.columns import grown
from lakeledger.pipelines.streaming.rows import BadRow, Fitted, Piece, fit_rows
from lakeledger.pipelines.write import Planned, change_of, facts_of, find_target, fit, put_files
from lakeledger.runs import Counters, Fence
from lakeledger.tables import Change, Committed, Layout
from lakeledger.tables.schema import HISTORY, Schema, column_names, normalise

if TYPE_CHECKING:
    import pyarrow as pa

_QUARANTINE = normalise(
    {
        "fields": [
            {"name": quarantine.ROW, "type": "string"},
            {"name": quarantine.REASONS, "type": {"type": "array", "elementType": "string", "containsNull": True}},
            {"name": quarantine.SOURCE_FILE, "type": "string"},
            {"name": quarantine.RUN_ID, "type": "string"},
            {"name": quarantine.FORMAT, "type": "string"},
        ]
    }
)


@dataclass(frozen=True)
class Stream:
    """What a stream writer writes where. Columns that are `declared` are those of rows that say nothing else."""

    spec: Write
    limit: bad_rows.Limit
    declared: Schema | None = None

    @property
    def table(self) -> str:
        return str(self.spec.table)


def look(context: Context, stream: Stream) -> Schema | None:
    """The columns that the table has, with those that are declared; None if nobody knows any. Raises Invalid for what cannot be written."""
    target, _ = find_target(context, stream.spec)
    if target.layout.format != "parquet":
        raise Invalid(f"{stream.table} is {target.layout.format}, and a stream writer makes Parquet files: use ledger.append")
    known = target.metadata.schema if target.metadata else None
    if known and (kept := [name for name in column_names(known) if name in HISTORY]):
        raise Invalid(f"{stream.table} keeps the history of its rows ({', '.join(kept)}): write it with scd2, not row by row")
    if stream.declared is None:
        return known
    return grown(stream.table, known, stream.declared, stream.spec.drift)


def rotate(context: Context, stream: Stream, pieces: Sequence[Piece], fence: Fence) -> Committed:
    """Commit all that was gathered, or nothing. If others change the table meanwhile, it is planned again. Raises as `write`."""

    def once() -> Committed:
        target, _ = find_target(context, stream.spec)
        try:
            return _rotate(context, stream, pieces, target, fence)
        except Invalid as error:
            if target.table is None and context.ledger.tables.find(stream.table):
                raise Conflict(f"{stream.table} was made meanwhile: retry ({error})", retryable=True) from error
            raise

    return replanned(once)


def _rotate(context: Context, stream: Stream, pieces: Sequence[Piece], target: Target, fence: Fence) -> Committed:
    watch = Stopwatch()
    known = target.metadata.schema if target.metadata else None
    fitted = fit_rows(stream.table, pieces, known, stream.declared, stream.spec.drift, stream.limit.required)
    reasons, measured = _measured(fitted)
    grows = stream.spec.drift in ("evolve", "rescue")
    spec = replace(stream.spec, evolve=grows, guardrails=lambda _: bad_rows.summary(stream.limit, reasons, measured))
    shape = fit(column_names(fitted.schema), fitted.schema, spec, target)
    files.check_partitions(stream.table, shape.schema, target.layout.partition_by)
    named = fitted.table.rename_columns([shape.columns[name] for name in fitted.table.column_names])
    own = files.Part(named, shape.schema, target.layout.partition_by, shape.keys)
    bad = _quarantined(context, spec, fitted.bad, target, fence.run_id) if fitted.bad else None

    def save(storage: Storage, folder: str) -> Saved:
        failpoints.reach(failpoints.BEFORE_WRITE)
        asides = (Saved(files.save(storage, f"{folder}/{aside.MARK}=1", bad)),) if bad else ()
        saved = Saved(files.save(storage, folder, own), asides=asides)
        failpoints.reach(failpoints.AFTER_WRITE)
        return saved

    def changes(saved: Saved) -> Planned:
        part = next((file.path.split("/")[2] for each in (saved, *saved.asides) for file in each.files), "")
        letters = bad_rows.judge_bad_rows(context, spec, stream.limit, reasons, measured, fence.run_id, part)
        watch.lap("write_ms")
        outcome = Outcome(None, Counters(processed=saved.rows, inserted=saved.rows))
        made = [change_of(spec, target, shape.schema, outcome, saved)]
        made += [_set_aside(spec, target, bad, each) for each in saved.asides if bad]
        return Planned(made, (), [*letters, facts_of(context, spec, watch, outcome, saved)], watch)

    return put_files(context, fence, target, save, changes).tables[0]


def _measured(fitted: Fitted) -> tuple[list[str], dict[str, Any]]:
    """The reasons for which rows are bad, and what is measured of them."""
    counts = Counter(reason for bad in fitted.bad for reason in bad.reasons)
    measured: dict[str, Any] = {bad_rows.ALL: len(fitted.table) + len(fitted.bad), bad_rows.BAD: len(fitted.bad)}
    for number, (reason, count) in enumerate(counts.items()):
        sample = next(bad.text for bad in fitted.bad if reason in bad.reasons)
        measured[bad_rows.COUNT.format(number)] = count
        measured[bad_rows.SAMPLE.format(number)] = sample[: bad_rows.SAMPLE_CHARACTERS]
    return list(counts), measured


def _quarantined(context: Context, spec: Write, bad: Sequence[BadRow], target: Target, run_id: str) -> files.Part:
    """The bad rows as their table has them."""
    import pyarrow as pa

    _, schema = aside.schema_of(context.store, quarantine.table_of(spec.table), _QUARANTINE, target)
    columns: dict[str, pa.Array] = {
        quarantine.ROW: pa.array([each.text for each in bad], pa.string()),
        quarantine.REASONS: pa.array([list(each.reasons) for each in bad], pa.list_(pa.string())),
        quarantine.SOURCE_FILE: pa.nulls(len(bad), pa.string()),
        quarantine.RUN_ID: pa.array([run_id] * len(bad), pa.string()),
        quarantine.FORMAT: pa.array([quarantine.COLUMNS] * len(bad), pa.string()),
    }
    physical = {field["name"]: field["physical_name"] for field in schema["fields"]}
    return files.Part(pa.table({physical[name]: column for name, column in columns.items()}), schema)


def _set_aside(spec: Write, target: Target, part: files.Part, saved: Saved) -> Change:
    """What becomes of the quarantine: it follows the table."""
    return Change(
        table=quarantine.table_of(spec.table),
        location=target.location,
        operation="append",
        schema=part.schema,
        layout=Layout(target.layout.format),
        files=saved.files,
        evolve=True,
        counters=Counters(processed=saved.rows, failed=saved.rows),
    )
