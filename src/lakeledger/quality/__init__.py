"""Can it be trusted: what is expected of data, what came of looking, and what is kept of it."""

from lakeledger.quality.model import CheckResult, Expectation, QualityFailed, Suite, SuiteResult, Verdict, expect

__all__ = ["CheckResult", "Expectation", "QualityFailed", "Suite", "SuiteResult", "Verdict", "expect"]
