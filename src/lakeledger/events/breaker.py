"""When to try again, and when to stop trying: pauses that grow, and a circuit breaker."""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import StrEnum

from lakeledger.config import AsthaSettings

# How much of a pause is left to chance, so that what failed together is not tried again together.
JITTER = 0.25


def pause_before(retry: int, settings: AsthaSettings, chance: Callable[[], float] = random.random) -> float:
    """How long to wait before that retry (the first is 1): twice as long each time, up to the longest, less up to a quarter by chance."""
    whole: float = min(settings.longest_pause_seconds, settings.first_pause_seconds * 2 ** min(retry - 1, 60))
    return whole * (1 - JITTER * chance())


class State(StrEnum):
    """Closed: events are delivered. Open: none are. Half-open: it is being asked whether it is well."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    """Opens after so many failures in a row. Then `on_health` decides, at once and again after pauses that grow."""

    def __init__(self, settings: AsthaSettings, chance: Callable[[], float] = random.random) -> None:
        self._settings = settings
        self._chance = chance
        self.state = State.CLOSED
        self.failures = 0
        self.unwell = 0
        self.probe_at = 0.0

    def worked(self) -> None:
        """An event was handled."""
        self.failures = 0

    def failed(self, now: float) -> bool:
        """One more event failed; whether that opened it."""
        self.failures += 1
        if self.state != State.CLOSED or self.failures < self._settings.breaker_failures:
            return False
        self.open(now)
        return True

    def open(self, now: float) -> None:
        """Deliver nothing until it is well."""
        self.state, self.unwell, self.probe_at = State.OPEN, 0, now

    def may_probe(self, now: float) -> bool:
        """Whether it is time to ask; if so, it is half-open until it is known."""
        if self.state != State.OPEN or now < self.probe_at:
            return False
        self.state = State.HALF_OPEN
        return True

    def close(self) -> None:
        """It is well."""
        self.state, self.failures, self.unwell = State.CLOSED, 0, 0

    def stay_open(self, now: float) -> None:
        """It is not well: ask again later."""
        self.unwell += 1
        self.state, self.probe_at = State.OPEN, now + pause_before(self.unwell, self._settings, self._chance)
