"""Waiting for a condition instead of for a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

DEADLINE_SECONDS = 60.0
POLL_SECONDS = 0.01


def until(condition: Callable[[], T | None], what: str, deadline_seconds: float = DEADLINE_SECONDS) -> T:
    """The first true value of the condition. Raises AssertionError that says what did not happen in time."""
    pause, ends = threading.Event(), time.monotonic() + deadline_seconds
    while not (value := condition()):
        assert time.monotonic() < ends, f"waited {deadline_seconds:.0f} s in vain: {what}"
        pause.wait(POLL_SECONDS)
    return value
