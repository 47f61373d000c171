"""Whether tables and DataFrames can be trusted, as people ask: a suite of expectations, checked as a run of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from lakeledger.errors import Invalid
from lakeledger.names import parse_name
from lakeledger.runs import ActiveRun, ActiveStep
from lakeledger.slices import Slices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lakeledger.pipelines import Context
    from lakeledger.quality import Suite, SuiteResult
    from lakeledger.quality.store import Quality

KIND = "quality"


class Checking(Slices):
    """Checks of what is there, and what came of earlier ones."""

    context: Callable[[], Context]

    @property
    def quality(self) -> Quality:
        """What came of checks: results of suites, and of each expectation."""
        from lakeledger.quality.store import Quality

        return Quality(self.store)

    def check(
        self,
        target: str | DataFrame,
        suite: Suite,
        *,
        version: int | str | None = None,
        at: datetime | str | None = None,
        table: str | None = None,
        run: ActiveRun | ActiveStep | None = None,
        keep: bool = True,
    ) -> SuiteResult:
        """Check a ledger table, now or at a version, or any DataFrame by a suite. What is found is kept, as the work of a quality run.

        `table` is what the results of a DataFrame are kept under; by default `frames.<dq_config_id>`. With `keep=False` nothing is kept,
        and no run begins. Raises NotFound, Invalid or Failed; and QualityFailed if a critical expectation fails and the suite says
        `fail_on_error`, once the results are kept.
        """
        from lakeledger.pipelines.checks import standalone
        from lakeledger.pipelines.translating import translating

        context = self.context()
        if isinstance(target, str):
            if table is not None:
                raise Invalid(f"a check of {target} is kept under its own name: leave table out, or give a DataFrame")
            view = self.tables.view(target, version, at)
            name, checked_version = str(view.table.name), view.version
        else:
            if version is not None or at is not None:
                raise Invalid("a DataFrame has no versions: name the table, or leave version and at out")
            own_name = re.sub(r"\W+", "_", suite.dq_config_id)
            name, checked_version = str(parse_name(table or f"frames.{own_name}")), None

        def evaluate() -> SuiteResult:
            with translating():
                if isinstance(target, str):
                    return standalone.check_view(context, view, suite)
                return standalone.evaluate(context, target, suite, name)

        if not keep:
            return evaluate()
        if fence := self._fence(run):
            return standalone.keep(context, evaluate(), fence, checked_version)
        about = {"dq_config_id": suite.dq_config_id, **({"version": checked_version} if checked_version is not None else {})}
        with self.run(name, trigger="api", kind=KIND, parameters=about) as own:
            return standalone.keep(context, evaluate(), own.fence, checked_version)
