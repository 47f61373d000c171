"""The threads that call one subscriber: a few, started when they are needed, and relieved when a call does not come back."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

# A thread that has been at one thing for so long is not counted on while others wait, and how many of them another one is started for.
SLOW_SECONDS = 2.0
MOST_SLOW = 16


class Workers:
    """Does one thing after the other on each of at most `size` threads. `is_full` is called when something has to wait for one."""

    def __init__(self, name: str, size: int, report: Callable[[BaseException], None], is_full: Callable[[], None]) -> None:
        self._name = name
        self._size = size
        self._report = report
        self._is_full = is_full
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._started: dict[threading.Thread, float] = {}
        self._slow: set[threading.Thread] = set()
        self._waiting = 0
        self._closed = False

    def submit(self, job: Callable[[], None]) -> None:
        """Do it as soon as a thread is free."""
        with self._lock:
            if self._closed:
                return
            self._waiting += 1
            lacks = len(self._threads) - len(self._started) < self._waiting
            if lacks and len(self._threads) < self._size:
                self._start()
            elif lacks:
                self._is_full()
        self._jobs.put(job)

    def relieve(self) -> float | None:
        """Start others in place of threads that are slow, or hang, if something waits; in how long to look again, if something does.

        A thread that was replaced ends when what it does is done.
        """
        with self._lock:
            if not self._waiting:
                return None
            now = time.monotonic()
            for thread, began in list(self._started.items()):
                if self._waiting and now - began >= SLOW_SECONDS and len(self._slow) < MOST_SLOW:
                    self._slow.add(thread)
                    self._threads.discard(thread)
                    del self._started[thread]
                    self._start()
            return SLOW_SECONDS / 2

    def stop(self) -> None:
        """Begin nothing more."""
        with self._lock:
            self._closed = True
            for _ in self._threads:
                self._jobs.put(None)

    def join(self, seconds: float) -> None:
        """Let what is under way end, for at most so long."""
        with self._lock:
            threads = list(self._threads)
        ends = time.monotonic() + seconds
        for thread in threads:
            thread.join(max(0.0, ends - time.monotonic()))

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name=f"astha-{self._name}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self) -> None:
        me = threading.current_thread()
        while (job := self._jobs.get()) is not None:
            with self._lock:
                if self._closed:
                    return
                self._waiting -= 1
                self._started[me] = time.monotonic()
            try:
                job()
            except Exception as error:  # noqa: BLE001 - the outermost loop of the thread
                self._report(error)
            with self._lock:
                self._started.pop(me, None)
                if me in self._slow:
                    self._slow.discard(me)
                    return
