"""What is counted of rows for a suite: as few aggregates as possible, each named once, and what follows from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid, Unavailable
from lakeledger.pipelines import observe
from lakeledger.pipelines.checks import proving
from lakeledger.pipelines.checks.columns import seen_of_columns
from lakeledger.pipelines.checks.conditions import Rows, condition, looked_at, told
from lakeledger.pipelines.checks.proving import Facts, Proof, Unproven
from lakeledger.pipelines.translating import explain, translated
from lakeledger.quality import Expectation, Suite
from lakeledger.quality.verdict import Seen

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ALL = "count(1)"
MEASURE = "quality_{}"


@dataclass(frozen=True)
class Counted:
    """Which aggregates tell of an expectation, by their SQL."""

    elements: str = ALL
    missing: str | None = None
    unexpected: str | None = None
    value: str | None = None
    present: str | None = None

    @property
    def texts(self) -> list[str]:
        return [text for text in (self.elements, self.missing, self.unexpected, self.value, self.present) if text]


@dataclass(frozen=True)
class Plan:
    """What is to be counted for the expectations of a suite, by their places; what is known without counting, and what cannot be known.

    `proofs` are of aggregates that files may tell, by their SQL: those are counted only if the files do not.
    """

    rows: Rows
    counted: Mapping[int, Counted] = field(default_factory=dict)
    known: Mapping[int, Seen] = field(default_factory=dict)
    proofs: Mapping[str, Proof] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """The aggregates, each once."""
        return list(dict.fromkeys(text for each in self.counted.values() for text in each.texts))

    def measures(self, told: Mapping[str, Any] | None = None) -> dict[str, Column]:
        """The aggregates as Spark takes them, but for those that are told, or that files may tell."""
        from pyspark.sql import functions as F

        left_out = self.proofs if told is None else told
        return {MEASURE.format(number): F.expr(text) for number, text in enumerate(self.texts) if text not in left_out}

    def told(self, facts: Facts) -> dict[str, Any]:
        """The aggregates that files tell."""
        found = {}
        for text in (text for text in self.texts if text in self.proofs):
            with suppress(Unproven):
                found[text] = self.proofs[text](facts)
        return found

    def measured(self, measured: Mapping[str, Any]) -> dict[str, Any]:
        """The aggregates that Spark was asked for, by their SQL."""
        names = {text: MEASURE.format(number) for number, text in enumerate(self.texts)}
        return {text: measured[name] for text, name in names.items() if name in measured}

    def seen(self, values: Mapping[str, Any]) -> dict[int, Seen]:
        """What was seen, by the places of the expectations; without any row nothing was measured."""
        return {**self.known, **{place: _seen(each, values) for place, each in self.counted.items()}}

    def open(self, values: Mapping[str, Any]) -> Plan:
        """The same of the expectations that these values do not tell of."""
        left = {place: each for place, each in self.counted.items() if any(text not in values for text in each.texts)}
        return self.only(left)

    def only(self, places: Container[int]) -> Plan:
        """The same of the expectations at these places."""
        counted = {place: each for place, each in self.counted.items() if place in places}
        return Plan(self.rows, counted, {place: each for place, each in self.known.items() if place in places}, self.proofs)

    def without(self, problems: Mapping[int, str]) -> Plan:
        """The same without expectations that cannot be evaluated, for these reasons."""
        left = {place: each for place, each in self.counted.items() if place not in problems}
        known = {**self.known, **{place: Seen(error=reason) for place, reason in problems.items()}}
        return Plan(self.rows, left, known, self.proofs)


def _seen(each: Counted, values: Mapping[str, Any]) -> Seen:
    elements = int(values.get(each.elements) or 0)
    if each.unexpected:
        missing = int(values.get(each.missing) or 0) if each.missing else 0
        return Seen(elements, missing, int(values.get(each.unexpected) or 0))
    if each.value is None:
        return Seen(elements, value=elements)
    value = values.get(each.value)
    if value is None and each.present and values.get(each.present):
        return Seen(error="the result is too large for its type")
    return Seen(elements, value=value)


def plan(suite: Suite, rows: Rows, told_of: Collection[str] = ()) -> Plan:
    """What is to be counted of rows. What no row is needed for is known at once; what needs all rows at once is not in it.

    `told_of` are columns of which files tell something that hold these rows, all of them and no others.
    """
    counted: dict[int, Counted] = {}
    known: dict[int, Seen] = {}
    proofs: dict[str, Proof] = {}
    for place, expectation in enumerate(suite.expectations):
        try:
            match expectation.spec.level:
                case "row":
                    counted[place] = _of_rows(expectation, rows)
                case "aggregate":
                    counted[place] = _of_aggregate(expectation, rows)
                case "schema":
                    known[place] = seen_of_columns(expectation, rows)
                case "whole":
                    for name in expectation.columns:
                        rows.column(name)
            if told_of and place in counted and proving.provable(expectation, rows, told_of):
                proofs |= _proofs(expectation, rows, counted[place])
        except Invalid as error:
            known[place] = Seen(error=str(error))
    return Plan(rows, counted, known, proofs)


def _proofs(expectation: Expectation, rows: Rows, counted: Counted) -> dict[str, Proof]:
    """How files may tell the aggregates of an expectation."""
    found = {
        counted.elements: lambda facts: facts.rows,
        counted.missing: proving.missing(expectation),
        counted.unexpected: proving.unexpected(expectation, rows) if counted.unexpected else None,
        counted.value: proving.value(expectation, rows) if counted.value else None,
    }
    return {text: proof for text, proof in found.items() if text and proof}


def _of_rows(expectation: Expectation, rows: Rows) -> Counted:
    made = condition(expectation, rows)
    return Counted(_count(made.looked), _count(made.missing) if made.missing else None, _count(made.counted or made.unexpected))


def _count(text: str | None) -> str:
    # Not count_if: Spark would compute its conditions as columns of rows that it has to copy twice for them.
    return f"count(if({text}\n, 1, null))" if text else ALL


def _of_aggregate(expectation: Expectation, rows: Rows) -> Counted:
    looked = looked_at(expectation, rows)
    if expectation.kind == "row_count":
        return Counted(_count(looked))
    column = rows.column(expectation.columns[0])
    allowed = _ALLOWED.get(expectation.kind)
    if column.family == "other" or (allowed and column.family not in allowed):
        raise Invalid(f"{column.sql} is {told(column.type)}, which has no {expectation.kind}")
    value = f"if({looked}, {column.sql}, null)" if looked else column.sql
    if column.family == "text" and expectation.kind not in ("min", "max"):
        value = f"try_cast({value} as double)"
    present = f"count({value})" if expectation.kind in ("sum", "mean") else None
    return Counted(_count(looked), value=_AGGREGATES[expectation.kind].format(value), present=present)


_NUMERIC = ("number", "decimal", "text")
_ALLOWED: Mapping[str, Collection[str]] = {
    **dict.fromkeys(("sum", "mean", "stdev"), _NUMERIC),
    "freshness": ("date", "timestamp", "timestamp_ntz"),
}
_AGGREGATES = {
    "min": "min({})",
    "max": "max({})",
    "freshness": "max({})",
    "sum": "try_sum({})",
    "mean": "try_avg({})",
    "stdev": "stddev_samp({})",
}


def settled(frame: DataFrame, made: Plan) -> Plan:
    """The plan without what Spark cannot make sense of. Raises what is not the fault of an expectation."""

    def analyse(texts: Sequence[str]) -> None:
        from pyspark.sql import functions as F

        _ = frame.agg(*(F.expr(text).alias(f"a{number}") for number, text in enumerate(texts))).schema

    if not made.counted or not reason_of(partial(analyse, made.texts)):
        return made
    found = {place: reason_of(partial(analyse, each.texts)) for place, each in made.counted.items()}
    left = made.without({place: reason for place, reason in found.items() if reason})
    if left.counted:
        analyse(left.texts)
    return left


def reason_of(attempt: Callable[[], object]) -> str | None:
    """Why Spark cannot do something, without the values of rows that it tells; None if it can. Raises Unavailable if Spark is gone."""
    from pyspark.errors import PySparkException

    try:
        attempt()
    except PySparkException as error:
        found = translated(error)
        if isinstance(found, Unavailable):
            raise found from error
        return re.sub(r"'[^']*'", "'…'", explain(error)) if _is_of_rows(error) else explain(error)
    return None


def _is_of_rows(error: Exception) -> bool:
    from pyspark.errors import AnalysisException, ParseException

    return not isinstance(error, AnalysisException | ParseException)


def probed(frame: DataFrame, made: Plan, suite: Suite) -> Plan:
    """The plan without expectations by which Spark fails when it computes them, as a division by zero; the same if none is to blame.

    Only free SQL can fail so. Whether the rows can be read at all is looked at first.
    """
    free = {place: each for place, each in made.counted.items() if _is_free(suite.expectations[place])}
    if not free or reason_of(lambda: frame.write.format("noop").mode("overwrite").save()):
        return made

    def compute(texts: Sequence[str]) -> None:
        from pyspark.sql import functions as F

        frame.agg(*(F.expr(text).alias(f"a{number}") for number, text in enumerate(texts))).collect()

    found = {place: reason_of(partial(compute, each.texts)) for place, each in free.items()}
    problems = {place: reason for place, reason in found.items() if reason}
    return made.without(problems) if problems else made


def count(frame: DataFrame, planned: Plan, suite: Suite, told: Mapping[str, Any]) -> tuple[Plan, dict[str, Any]]:
    """All aggregates that are not told, in one job; again without those by which Spark fails."""
    if not planned.open(told).counted:
        return planned, {}
    try:
        return planned, _aggregated(frame, planned, told)
    except Exception:
        left = probed(frame, planned, suite)
        if left is planned:
            raise
        return left, _aggregated(frame, left, told) if left.open(told).counted else {}


def _aggregated(frame: DataFrame, planned: Plan, told: Mapping[str, Any]) -> dict[str, Any]:
    wanted = planned.measures(told)
    types = observe.types(frame, wanted)
    row = frame.agg(*observe.measures(wanted, types)).collect()[0].asDict()
    return planned.measured(observe.measured(row, types, row["rows"]))


def _is_free(expectation: Expectation) -> bool:
    return expectation.kind == "valid" or expectation.where is not None


def names_in(text: str, rows: Rows) -> list[str]:
    """The columns that a condition seems to be about, for samples of them."""
    words = {codec.fold(word) for word in re.findall(r"[^\W\d]\w*", text)}
    return [name for name in rows.names if codec.fold(name) in words]
