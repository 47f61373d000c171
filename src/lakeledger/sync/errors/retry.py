"""When an error is tried again, and how often."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from lakeledger.errors import Invalid
from lakeledger.sync.failures import ErrorType

# What is not here fails again however often it is tried.
ATTEMPTS = {ErrorType.CONNECTION: 5, ErrorType.TIMEOUT: 5, ErrorType.CONSTRAINT: 3, ErrorType.UNKNOWN: 3}


@dataclass(frozen=True)
class RetryPolicy:
    """Pauses that grow by a factor, up to a cap."""

    base_seconds: float = 30
    factor: float = 2
    cap_seconds: float = 3_600

    def __post_init__(self) -> None:
        if not (0 < self.base_seconds <= self.cap_seconds and self.factor >= 1):
            raise Invalid(
                f"retries cannot wait {self.base_seconds} s, growing by {self.factor} up to {self.cap_seconds} s: "
                "the base must be positive and at most the cap, the factor at least 1"
            )

    def delay(self, attempt: int) -> timedelta:
        """The pause before the first, second, … attempt."""
        with suppress(OverflowError):
            return timedelta(seconds=min(self.cap_seconds, self.base_seconds * float(self.factor) ** (attempt - 1)))
        return timedelta(seconds=self.cap_seconds)

    def attempts(self, error_type: ErrorType, max_retries: int | None) -> int:
        """How often an error is tried again: as often as asked for, or as its type allows. Raises Invalid."""
        if max_retries is None:
            return ATTEMPTS.get(error_type, 0)
        if max_retries < 0:
            raise Invalid(f"max_retries cannot be {max_retries}: 0 means never")
        return max_retries
