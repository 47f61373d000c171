"""What is expected of data, and what came of looking: expectations, suites of them, results, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

from lakeledger import codec
from lakeledger.errors import Failed, Invalid
from lakeledger.quality import catalogue, declaring
from lakeledger.quality.catalogue import Kind

Severity = Literal["critical", "warning", "info"]
# What NULL is: not looked at, unexpected, or as good as any value. What a kind has by default is that of Great Expectations.
Nulls = Literal["ignore", "fail", "pass"]
Action = Literal["report", "quarantine"]

LONGEST_NAME = 200


class Verdict(StrEnum):
    """The outcome of a suite: a critical expectation failed, only warnings did, or none."""

    PASS = "PASS"  # noqa: S105 - a verdict
    WARNING = "WARNING"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Expectation:
    """What is expected of rows or columns; made by `expect` or `Expectation.of`, which check it.

    Of what counts rows, a share (`mostly`, of those looked at) or a number (`max_unexpected`) may be tolerated. `where` is a SQL condition:
    other rows are not looked at. `parameters` are those of the kind, see `catalogue`.
    """

    kind: str
    columns: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "critical"
    mostly: float | None = None
    max_unexpected: int | None = None
    where: str | None = None
    nulls: Nulls | None = None
    action: Action = "report"
    name: str | None = None
    description: str | None = None

    @classmethod
    def of(cls, declared: Mapping[str, Any] | Expectation) -> Expectation:
        """As YAML or JSON declares it: `{in_set: {column: status, values: [a, b]}, severity: warning}`. Raises Invalid."""
        return declared if isinstance(declared, Expectation) else cls(**declaring.read(declared))

    def __post_init__(self) -> None:
        declaring.check(self.kind, {name: getattr(self, name) for name in declaring.FIELDS})

    @cached_property
    def spec(self) -> Kind:
        """What its kind is."""
        return catalogue.BY_NAME[self.kind]

    @property
    def label(self) -> str:
        """Its name, or what it says in short."""
        return self.name or self.summary

    @cached_property
    def summary(self) -> str:
        """What it says in short: `between(amount, min=0)`."""
        if self.kind == "valid":
            text = f"valid({self.parameters['condition']})"
        else:
            given = [f"{name}={_short(value)}" for name, value in sorted(self.parameters.items())]
            text = f"{self.kind}({', '.join([*self.columns, *given])})"
        text = f"{text} where {self.where}" if self.where else text
        text = " ".join(text.split())
        return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"

    @property
    def reason(self) -> str:
        """Why a row that breaks it is set aside."""
        return f"breaks {self.label}"

    @property
    def document(self) -> dict[str, Any]:
        """As it is declared, from which it can be made again."""
        return declaring.written(self.kind, {name: getattr(self, name) for name in declaring.FIELDS})


def expect(kind: str, *columns: str, **given: Any) -> Expectation:
    """An expectation: `expect("between", "amount", min=0, severity="warning")`. Raises Invalid."""
    named = {"columns": list(columns)} if columns else {}
    return Expectation.of({kind: {**named, **given}})


@dataclass(frozen=True)
class Suite:
    """Expectations that are checked together, under the name that their results are kept by.

    With `fail_on_error`, rows of which a critical expectation fails do not become visible.
    """

    dq_config_id: str
    expectations: tuple[Expectation, ...] = ()
    fail_on_error: bool = False
    description: str | None = None

    @classmethod
    def of(cls, dq_config_id: str, expectations: Sequence[Mapping[str, Any] | Expectation], *, fail_on_error: bool = False) -> Suite:
        """A suite of what is declared in Python, YAML or JSON. Raises Invalid, which names the expectation by its number."""
        made = []
        for number, each in enumerate(expectations, 1):
            try:
                made.append(Expectation.of(each))
            except Invalid as error:
                raise Invalid(f"expectation {number} of {dq_config_id}: {error}") from error
        return cls(dq_config_id, tuple(made), fail_on_error)

    def __post_init__(self) -> None:
        if not self.dq_config_id.strip() or not self.dq_config_id.isprintable():
            raise Invalid("a suite needs a dq_config_id, the name that its results are kept by")

    @property
    def rules(self) -> tuple[Expectation, ...]:
        """Those by which rows are set aside."""
        return tuple(each for each in self.expectations if each.action == "quarantine")

    @property
    def document(self) -> dict[str, Any]:
        """As a suite file has it."""
        about = {"description": self.description, "fail_on_error": self.fail_on_error or None}
        return {
            "dq_config_id": self.dq_config_id,
            **{name: value for name, value in about.items() if value is not None},
            "expectations": [each.document for each in self.expectations],
        }


@dataclass(frozen=True)
class CheckResult:
    """What came of one expectation. `error` says why it could not be evaluated; then it failed.

    `element_count` are the rows that were looked at, with NULLs; `unexpected_percent` is of those that have a value. `observed` holds what
    was seen, `sample` some of the unexpected values, masked.
    """

    expectation: Expectation
    success: bool
    observed: Mapping[str, Any] = field(default_factory=dict)
    element_count: int | None = None
    unexpected_count: int | None = None
    unexpected_percent: float | None = None
    sample: tuple[Any, ...] = ()
    error: str | None = None

    @property
    def column(self) -> str | None:
        return ", ".join(self.expectation.columns) or None

    @property
    def message(self) -> str:
        """What is wrong, in a few words."""
        label = self.expectation.label
        if self.error:
            return f"{label} could not be evaluated: {self.error}"
        if self.unexpected_count is not None:
            return f"{label}: {self.unexpected_count:,} of {self.element_count or 0:,} rows are unexpected"
        seen = ", ".join(f"{name} {_short(value)}" for name, value in self.observed.items())
        return f"{label}: observed {seen or 'nothing'}"

    @property
    def document(self) -> dict[str, Any]:
        """As it is kept among `failed_expectations`."""
        return {
            "expectation": self.expectation.kind,
            "name": self.expectation.label,
            "column": self.column,
            "severity": self.expectation.severity,
            "observed": dict(self.observed),
            "element_count": self.element_count,
            "unexpected_count": self.unexpected_count,
            "unexpected_percent": self.unexpected_percent,
            "message": self.message,
        }


@dataclass(frozen=True)
class SuiteResult:
    """What came of a suite: one result for each of its expectations, in their order."""

    suite: Suite
    target_table: str
    checks: tuple[CheckResult, ...]
    id: str
    scope: Mapping[str, Any] = field(default_factory=dict)
    executed_at: datetime | None = None
    run_id: str | None = None

    @cached_property
    def status(self) -> Verdict:
        """FAIL if a critical expectation failed, WARNING if only warnings did, else PASS; info changes nothing."""
        failed = {each.expectation.severity for each in self.failed}
        return Verdict.FAIL if "critical" in failed else Verdict.WARNING if "warning" in failed else Verdict.PASS

    @cached_property
    def failed(self) -> tuple[CheckResult, ...]:
        return tuple(each for each in self.checks if not each.success)

    @property
    def passed(self) -> int:
        return len(self.checks) - len(self.failed)

    @property
    def success(self) -> bool:
        """Whether nothing critical failed."""
        return self.status != Verdict.FAIL

    @property
    def message(self) -> str:
        """The outcome in one sentence."""
        counted = f"quality {self.status}: {self.passed} of {len(self.checks)} expectations passed"
        ranked = sorted(self.failed, key=lambda each: ("critical", "warning", "info").index(each.expectation.severity))
        told = [each.message for each in ranked[:3]]
        more = [f"{len(ranked) - 3} more"] if len(ranked) > 3 else []
        return "; ".join([counted, *told, *more])


class QualityFailed(Failed):
    """A critical expectation failed, and the suite says that it must not. `result` is what was found, which is kept all the same."""

    def __init__(self, message: str, result: SuiteResult) -> None:
        super().__init__(message)
        self.result = result


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else codec.to_json(codec.to_plain(value))
    return text if len(text) <= 60 else f"{text[:59]}…"
