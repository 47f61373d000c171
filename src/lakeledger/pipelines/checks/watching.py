"""A write that is checked: what can be counted rides on its one pass, the rest reads the files just written, all before the commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakeledger import clock
from lakeledger.commit import Effect
from lakeledger.errors import Invalid
from lakeledger.lake import open_format
from lakeledger.pipelines import Context, bad_rows, observe
from lakeledger.pipelines.apply import AS_GIVEN, Look, Refused, Saved, Write
from lakeledger.pipelines.checks import samples, whole
from lakeledger.pipelines.checks.conditions import Rows
from lakeledger.pipelines.checks.counting import Plan, count, plan, probed, settled
from lakeledger.pipelines.checks.proving import Facts
from lakeledger.pipelines.checks.rules import rows_of
from lakeledger.quality import Suite, SuiteResult
from lakeledger.quality.store import found
from lakeledger.quality.verdict import Seen, judge
from lakeledger.sync.masking import Masking
from lakeledger.tables import Layout, store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Tell = Callable[[SuiteResult], None]

_log = logging.getLogger(__name__)


def masking_of(context: Context) -> Masking:
    """How samples are masked."""
    capture = context.ledger.settings.capture
    return Masking(capture.mask, capture.record_bytes, capture.unmask)


def checked(context: Context, spec: Write, suite: Suite, limit: bad_rows.Limit | None, run_id: str, tell: Tell = lambda _: None) -> Write:
    """The same write, of which rows are checked by a suite, and those that break its rules set aside.

    Without a `limit`, rows that are bad otherwise are not set aside. `tell` is given the result before the commit.
    """
    return _Watch(context, spec, suite, limit, run_id, tell).write


def watched(context: Context, request: Write, run_id: str, quality: Suite | None, tell: Tell | None = None) -> Write:
    """A write that Python asks for: rows without a key or a sequence are set aside if its changes say so, and a suite checks them all."""
    limit = bad_rows.Limit() if request.changes is not None and request.changes.quarantine else None
    if quality is not None:
        return checked(context, request, quality, limit, run_id, tell or _warn)
    return bad_rows.watched(context, request, limit, run_id) if limit else request


def _warn(found: SuiteResult) -> None:
    """Whoever writes rows is given a version, not a verdict."""
    if not found.success:
        _log.warning("%s: %s", found.target_table, found.message)


class _Watch:
    """What is known between the look at rows, which plans, and the judgement, which has seen them."""

    def __init__(self, context: Context, spec: Write, suite: Suite, limit: bad_rows.Limit | None, run_id: str, tell: Tell) -> None:
        if spec.mode == "sync" and suite.rules:
            raise Invalid(
                f"{suite.rules[0].label} sets rows aside, and {spec.table} would lose them, as they are missing from the others: "
                f"use action report"
            )
        self._context, self._suite, self._run_id, self._tell = context, suite, run_id, tell
        self._limit, self._spec = limit, spec
        self._problems: dict[int, str] = {}
        self._plan = Plan(Rows({"type": "struct", "fields": []}))
        self._inner = self._with_rules()

    @property
    def write(self) -> Write:
        """The write that is watched."""
        return replace(self._inner, look=self.look, judge=self.judge, guardrails=self._guardrails if self._inner.guardrails else None)

    def _guardrails(self, saved: Saved) -> Mapping[str, Any]:
        return self._inner.guardrails(saved) if self._inner.guardrails else {}

    def _with_rules(self) -> Write:
        """The write with what is set aside, but for rules that have failed Spark."""
        places = enumerate(self._suite.expectations)
        rules = tuple(each for place, each in places if each.action == "quarantine" and place not in self._problems)
        limit = self._limit or (bad_rows.Limit(only_rules=True) if self._suite.rules else None)
        return bad_rows.watched(self._context, self._spec, replace(limit, rules=rules), self._run_id) if limit else self._spec

    @property
    def _is_as_given(self) -> bool:
        return self._spec.mode in AS_GIVEN

    @property
    def _are_all_in_files(self) -> bool:
        """Whether the files just written hold the rows that expectations are about, all of them and no others."""
        return self._is_as_given and not self._suite.rules

    def _told_of(self, rows: Rows) -> Collection[str]:
        """The columns of which the files will tell something."""
        if not self._are_all_in_files:
            return ()
        with self._context.store.read() as tx:
            table = store.find(tx, self._spec.table)
            known = store.metadata(tx, table) if table else None
        format_ = self._spec.format or (store.layout_of(known).format if known else Layout().format)
        return () if open_format(format_).needs_observed_bounds else observe.bounded(rows.schema, ())

    def look(self, frame: DataFrame) -> Look:
        """What is to be measured, and set aside."""
        inner = self._inner.look(frame) if self._inner.look else Look()
        rows, helpers = rows_of(frame, self._spec)
        whole_frame = frame.withColumns(helpers) if helpers else frame
        self._plan = settled(whole_frame, plan(self._suite, rows, self._told_of(rows)).without(self._problems))
        # Rows that are set aside, and those of a merge, cannot be found in the table's files again.
        sampled = {
            place: each
            for place, each in enumerate(self._suite.expectations)
            if place in self._plan.counted and each.spec.level == "row" and (each.action == "quarantine" or not self._is_as_given)
        }
        measures = {**inner.measures, **self._plan.measures(), **samples.on_the_way(sampled, rows)}
        return Look(measures, inner.asides, {**inner.helpers, **helpers}, lambda: self._without(frame, whole_frame))

    def _without(self, frame: DataFrame, whole_frame: DataFrame) -> Look | None:
        """The look without expectations by which Spark fails; None if it fails by none of them."""
        left = probed(whole_frame, self._plan, self._suite)
        if left is self._plan:
            return None
        self._problems |= {place: each.error for place, each in left.known.items() if each.error and place in self._plan.counted}
        self._inner = self._with_rules()
        return self.look(frame)

    def judge(self, saved: Saved) -> Sequence[Effect]:
        """The results, which become visible with the rows. Raises Refused, which carries them, if those must not."""
        result = self._result(saved)
        self._tell(result)
        source = self._spec.source.name if self._spec.source else None
        refused = found(result, is_visible=False, source=source)
        try:
            judged = self._inner.judge(saved) if self._inner.judge else ()
        except Refused as error:
            raise Refused(str(error), (*error.effects, refused)) from error
        if failing := [each for each in result.failed if each.error and each.expectation.action == "quarantine"]:
            # Nobody can tell which rows must not reach the table.
            raise Refused(f"rows for {self._spec.table} are to be set aside by a rule, but {failing[0].message}", (refused,))
        if self._suite.fail_on_error and not result.success:
            raise Refused(f"{self._spec.table} stays as it is: {result.message}", (refused,))
        return [*judged, found(result, source=source)]

    def _result(self, saved: Saved) -> SuiteResult:
        rows = replace(self._plan.rows, looked=None, unset=None) if self._is_as_given else self._plan.rows
        again = _Once(saved.read)
        seen = self._seen(saved, again, rows)
        if any(each.spec.level == "whole" for each in self._suite.expectations):
            seen |= whole.look(self._context, self._suite, again(), rows, seen)
        sampled = self._samples(seen, saved.measured, again, rows)
        return made(self._context, self._suite, str(self._spec.table), seen, sampled, {"rows": "load"})

    def _seen(self, saved: Saved, again: _Once, rows: Rows) -> dict[int, Seen]:
        """What was measured on the way, what the files say, and what has to be counted in them because they do not."""
        values = self._plan.measured(saved.measured)
        if self._are_all_in_files:
            values |= self._plan.told(Facts([(file.rows, file.bounds) for file in saved.files], saved.columns))
        seen, left = self._plan.seen(values), self._plan.open(values)
        if saved.files and left.counted and (frame := again()) is not None:
            anew = settled(frame, plan(self._suite, rows).only(left.counted))
            anew, counted = count(frame, anew, self._suite, {})
            seen |= anew.seen(counted)
        return seen

    def _samples(self, seen: Mapping[int, Seen], measured: Mapping[str, Any], again: _Once, rows: Rows) -> dict[int, tuple[str, ...]]:
        """Some unexpected values: of the pass if it kept one, else out of the files, which only that which failed is looked up in."""
        failing = {place: self._suite.expectations[place] for place, each in seen.items() if each.unexpected and not each.sample}
        kept: dict[int, tuple[str, ...]] = {place: (str(value),) for place in failing if (value := measured.get(samples.name_of(place)))}
        wanted = {place: each for place, each in failing.items() if place not in kept and each.action == "report"}
        if not wanted or not self._is_as_given or (frame := again()) is None:
            return kept
        return {**kept, **samples.taken(frame, wanted, rows)}


class _Once:
    """A frame that is made at most once."""

    def __init__(self, make: Callable[[], DataFrame | None]) -> None:
        self._make, self._made = make, False
        self._frame: DataFrame | None = None

    def __call__(self) -> DataFrame | None:
        if not self._made:
            self._frame, self._made = self._make(), True
        return self._frame


def made(
    context: Context,
    suite: Suite,
    table: str,
    seen: Mapping[int, Seen],
    sampled: Mapping[int, Sequence[str]],
    scope: Mapping[str, Any],
    now: datetime | None = None,
) -> SuiteResult:
    """The result of a suite, one check for each expectation, of what was seen, as of now or of another time."""
    masking, now = masking_of(context), now or clock.now()
    checks = []
    for place, expectation in enumerate(suite.expectations):
        each = seen.get(place, Seen(error="nothing was measured"))
        shown = samples.masked(each.sample or sampled.get(place, ()), masking)
        checks.append(judge(expectation, replace(each, sample=shown), now))
    return SuiteResult(suite, table, tuple(checks), clock.new_id(), scope, now)
