"""What a task prints and logs, kept beside its step: the beginning and the end of it, without secrets.

Tasks run side by side in threads of one process, so what is printed is told apart by the thread that prints it. It is still shown where it
would be without us.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from lakeledger.sync.masking import storable

HEAD, TAIL = 16_384, 49_152
# More than is kept is held, so that a secret is whole when it is looked for, on whichever side of a cut it is.
HELD = 4

_current: ContextVar[Output | None] = ContextVar("output of a task", default=None)
_lock = threading.Lock()
_open = 0
_installed: list[tuple[str, _Router]] = []
_handler: _Handler | None = None


class Output:
    """What one task printed so far."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head_size, self._tail_size = head, tail
        self._lock = threading.Lock()
        self._head: list[str] = []
        self._head_length = 0
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self._length = 0

    def write(self, text: str) -> None:
        """Take what was printed."""
        with self._lock:
            self._length += len(text)
            room = HELD * self._head_size - self._head_length
            if room > 0:
                self._head.append(text[:room])
                self._head_length += len(text[:room])
                text = text[room:]
            if text := text[-HELD * self._tail_size :]:
                self._tail.append(text)
                self._tail_length += len(text)
                while self._tail_length - len(self._tail[0]) >= HELD * self._tail_size:
                    self._tail_length -= len(self._tail.popleft())

    def kept(self, known: Iterable[str] = ()) -> tuple[str, int]:
        """What is kept of it, without secrets, and how many characters were left out of its middle."""
        with self._lock:
            head, tail, length = "".join(self._head), "".join(self._tail), self._length
        known = list(known)
        if len(head) + len(tail) == length:
            text = storable(head + tail, known)
            if len(text) <= self._head_size + self._tail_size:
                return text, 0
            return _joined(text[: self._head_size], text[-self._tail_size :], len(text) - self._head_size - self._tail_size)
        # What is left of a line may be half a secret.
        head, tail = head.rpartition("\n" if "\n" in head else " ")[0], tail.partition("\n" if "\n" in tail else " ")[2]
        first, last = storable(head, known)[: self._head_size], storable(tail, known)[-self._tail_size :]
        return _joined(first, last, length - len(first) - len(last))

    @contextmanager
    def capturing(self) -> Iterator[None]:
        """Take what this thread prints and logs inside the block."""
        _install()
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)
            _uninstall()


def current() -> Output | None:
    """The output of the task that this thread is at, if any."""
    return _current.get()


def _joined(first: str, last: str, left_out: int) -> tuple[str, int]:
    return f"{first}\n… {left_out:,} characters left out …\n{last}", left_out


class _Router:
    """A standard stream that also gives what a task prints to its output."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        written = int(self._stream.write(text) or 0)  # first: whoever tries whether it takes bytes is refused here
        if output := _current.get():
            output.write(text)
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Handler(logging.Handler):
    """Gives what a task logs to its output, where logging goes to a stream that was there before."""

    def emit(self, record: logging.LogRecord) -> None:
        if output := _current.get():
            output.write(f"{self.format(record)}\n")


def _install() -> None:
    global _open, _handler  # noqa: PLW0603 - the standard streams are global, too
    with _lock:
        _open += 1
        if _open > 1:
            return
        root = logging.getLogger()
        # Without handlers, logging goes to sys.stderr; and one that a task sets up writes to the stream that it finds there.
        if root.handlers and not any(isinstance(getattr(each, "stream", None), _Router) for each in root.handlers):
            _handler = _Handler()
            _handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
            root.addHandler(_handler)
        for name in ("stdout", "stderr"):
            router = _Router(getattr(sys, name))
            _installed.append((name, router))
            setattr(sys, name, router)


def _uninstall() -> None:
    global _open, _handler  # noqa: PLW0603 - the standard streams are global, too
    with _lock:
        _open -= 1
        if _open:
            return
        for name, router in _installed:
            if getattr(sys, name) is router:
                setattr(sys, name, router._stream)  # noqa: SLF001 - ours
        _installed.clear()
        if _handler:
            logging.getLogger().removeHandler(_handler)
            _handler = None
