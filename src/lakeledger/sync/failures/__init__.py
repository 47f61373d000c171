"""What kind of failure an exception is, and which failures share a cause: what errors and dead letters both ask."""

from __future__ import annotations

from lakeledger.sync.failures.classify import classify, error_code, fingerprint
from lakeledger.sync.failures.kinds import ErrorType, OperationType

__all__ = ["ErrorType", "OperationType", "classify", "error_code", "fingerprint"]
