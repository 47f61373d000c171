"""What becomes of rows that a load cannot write: set aside with their reasons, counted, and with too many of them the load is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from lakeledger.commit import Commit, Effect
from lakeledger.db import Transaction
from lakeledger.errors import Invalid
from lakeledger.pipelines import Context, quarantine
from lakeledger.pipelines.apply import Look, Refused, Saved, Write
from lakeledger.pipelines.checks.rules import Rules, broken_rules
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.quarantine import RAW
from lakeledger.quality import Expectation
from lakeledger.sync.dead_letters import NewLetter
from lakeledger.sync.dead_letters import store as letters
from lakeledger.sync.dead_letters.model import Draft
from lakeledger.sync.failures import ErrorType, OperationType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

UNREADABLE = "it cannot be read by the schema"
SAMPLE_CHARACTERS = 2_000
# What is measured: how many rows there are, how many of them are bad, how many of those not only by rules, and for each reason how many,
# and one of them.
ALL, BAD, LIMITED, COUNT, SAMPLE = "bad_rows_of", "bad_rows", "bad_rows_limited", "bad_{}", "sample_{}"


@dataclass(frozen=True)
class Limit:
    """How many bad rows stop a load, as a count and as a share of its rows; columns that are `required` must not be NULL.

    Rows that break one of the `rules` are set aside, too, but no limit counts them: an expectation says itself how many it tolerates.
    With `only_rules`, what is bad otherwise is not set aside: then whatever meets it fails.
    """

    most: int | None = None
    most_rate: float | None = None
    required: tuple[str, ...] = ()
    rules: tuple[Expectation, ...] = ()
    only_rules: bool = False

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 0:
            raise Invalid(f"max_bad_rows={self.most} is no number of rows: give 0 or more")
        if self.most_rate is not None and not 0 <= self.most_rate <= 1:
            raise Invalid(f"max_bad_rate={self.most_rate} is no share of rows: give 0 to 1")

    def broken_by(self, bad: int, rows: int) -> str | None:
        """The limit that so many bad rows are beyond, in words."""
        if self.most is not None and bad > self.most:
            return f"more than max_bad_rows {self.most:,}"
        if self.most_rate is not None and rows and bad > self.most_rate * rows:
            return f"more than max_bad_rate {self.most_rate:g}"
        return None


@dataclass(frozen=True)
class Letters:
    """An effect: one dead letter for each reason, which names how many rows it has, one of them, and the table where all are."""

    drafts: tuple[Draft, ...]

    def write(self, tx: Transaction, committed: Commit) -> None:
        if committed.applied:
            for draft in self.drafts:
                letters.put(tx, draft)


def watched(context: Context, spec: Write, limit: Limit, run_id: str) -> Write:
    """The same write, of which bad rows are set aside. A row is bad if it cannot be read, has NULL where it must not, or breaks a rule."""
    made = replace(spec, changes=replace(spec.changes, quarantine=False) if spec.changes else None)
    names: list[str] = []  # of the reasons, which are known once there is a frame
    problems: list[str] = []  # of the rules, likewise

    def look(frame: DataFrame) -> Look:
        reasons = {} if limit.only_rules else _reasons(frame, made, limit)
        rules = broken_rules(frame, made, limit.rules)
        names[:], problems[:] = [*reasons, *rules.conditions], rules.problems
        return _look(frame, made, reasons, rules, run_id)

    def judge(saved: Saved) -> Sequence[Effect]:
        if problems:  # Nobody can tell which rows must not reach the table.
            raise Refused(f"rows for {made.table} are to be set aside by a rule, but {'; '.join(problems)}")
        return judge_bad_rows(context, made, limit, names, saved.measured, run_id)

    def guardrails(saved: Saved) -> dict[str, Any]:
        return summary(limit, names, saved.measured)

    return replace(made, look=look, judge=judge, guardrails=guardrails, sets_bad_rows_aside=True)


def _reasons(frame: DataFrame, spec: Write, limit: Limit) -> dict[str, Column]:
    """Why a row of the frame is bad: conditions, by their words, none of which is ever NULL."""
    from pyspark.sql import functions as F

    is_unread = F.col(RAW).isNotNull() if RAW in frame.columns else F.lit(False)
    reasons = {UNREADABLE: is_unread} if RAW in frame.columns else {}
    # What could not be read has NULL everywhere, and that is no reason of its own.
    required = list(dict.fromkeys((*(spec.changes.keys if spec.changes else ()), *limit.required)))
    truncates = spec.changes.apply_as_truncates if spec.changes else None
    is_row = ~is_unread if truncates is None else ~is_unread & ~F.coalesce(_column(truncates), F.lit(False))
    reasons |= {f"{name} is NULL": is_row & F.col(quote(name)).isNull() for name in required}
    if spec.changes and spec.changes.sequence_by is not None:
        reasons["the sequence is NULL"] = ~is_unread & _column(spec.changes.sequence_by).isNull()
    return reasons


def _column(expression: str | Column) -> Column:
    from pyspark.sql import functions as F

    return F.expr(expression) if isinstance(expression, str) else expression


def _look(frame: DataFrame, spec: Write, reasons: Mapping[str, Column], rules: Rules, run_id: str) -> Look:
    from pyspark.sql import functions as F

    every = {**reasons, **rules.conditions}
    if not every:
        return Look()
    aside = quarantine.bad_rows(spec.table, frame.columns, every, run_id)
    row = F.substring(quarantine.text_of(frame.columns), 1, SAMPLE_CHARACTERS)
    measures = {ALL: F.count(F.lit(1)), BAD: F.count_if(aside.when)}
    if rules.conditions:
        measures[LIMITED] = F.count_if(reduce(or_, reasons.values(), F.lit(False)))
    for number, condition in enumerate(every.values()):
        measures[COUNT.format(number)] = F.count_if(condition)
        measures[SAMPLE.format(number)] = F.min(F.when(condition, row))
    return Look(measures, (aside,), rules.helpers)


def judge_bad_rows(
    context: Context, spec: Write, limit: Limit, reasons: Sequence[str], measured: Mapping[str, Any], run_id: str, part: str = ""
) -> Sequence[Effect]:
    """The letters of what was set aside, one for each reason. Raises Refused if that is too much.

    A run that writes a table again and again tells the letters of each `part` apart.
    """
    bad = int(measured.get(BAD) or 0)
    if not bad:
        return ()
    counts, rows, limited = _counts(reasons, measured), int(measured[ALL]), int(measured.get(LIMITED, bad) or 0)
    told = ", ".join(f"{count:,} × {reason}" for reason, count in counts.items())
    if broken := limit.broken_by(limited, rows):
        raise Refused(f"{limited:,} of {rows:,} rows for {spec.table} are bad, {broken}: {told}; correct the source, or raise the limit")
    samples = {reason: measured[SAMPLE.format(number)] for number, reason in enumerate(reasons)}
    made = [_letter(spec, reason, count, samples[reason], run_id, part) for reason, count in counts.items()]
    return (Letters(tuple(context.ledger.dead_letters.draft(each) for each in made)),)


def _counts(reasons: Sequence[str], measured: Mapping[str, Any]) -> dict[str, int]:
    """How many rows are bad for each reason that one has."""
    counts = {reason: int(measured.get(COUNT.format(number)) or 0) for number, reason in enumerate(reasons)}
    return {reason: count for reason, count in counts.items() if count}


def summary(limit: Limit, reasons: Sequence[str], measured: Mapping[str, Any]) -> dict[str, Any]:
    """What is told with the volume of a load: how many rows there were, how many of them were bad, why, and what the limits were."""
    return {
        "rows": int(measured.get(ALL) or 0),
        "bad_rows": int(measured.get(BAD) or 0),
        "reasons": _counts(reasons, measured),
        "max_bad_rows": limit.most,
        "max_bad_rate": limit.most_rate,
    }


def _letter(spec: Write, reason: str, count: int, sample: str | None, run_id: str, part: str) -> NewLetter:
    source = spec.source.name if spec.source else None
    where = str(quarantine.table_of(spec.table))
    kept = {"reason": reason, "rows": count, "sample": sample, "quarantine": where, "run_id": run_id, "source": source}
    return NewLetter(
        spec.table.schema,
        spec.table.table,
        OperationType.INSERT,
        kept,
        sync_run_id=run_id,
        source_record_id="/".join([source or str(spec.table), run_id, *([part] if part else []), reason]),
        error_message=f"{reason}: {count:,} {'row' if count == 1 else 'rows'} set aside in {where}",
        error_type=ErrorType.VALIDATION,
        quarantine_table=where,
    )
