"""Commands that go on until they are told to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def when_told(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` when somebody presses Ctrl-C or ends the process. Whoever does it again does not wait for what is under way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told = threading.Event()

    def handle(*_: object) -> None:
        if told.is_set():
            raise KeyboardInterrupt
        told.set()
        stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
