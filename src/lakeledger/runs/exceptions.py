"""Exceptions in words, whatever they are: one whose `__str__` raises, or that is its own cause, must not hide that something failed."""

from __future__ import annotations

import traceback
from collections.abc import Iterator


def describe(error: BaseException) -> str:
    """An exception in one line: `ValueError: bad date`."""
    text = " ".join(text_of(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def trace_of(error: BaseException) -> str:
    """Where it came from, and what caused it: places only, because lines of source may hold secrets."""
    return "\n\n".join("\n".join([*_places(link), describe(link)]) for link in reversed(list(chain(error))))


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and everything it was raised from or groups, nearest first, each once."""
    pending, seen = [error], set[int]()
    while pending:
        link = pending.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        cause = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
        grouped = link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        pending += [*grouped, *([cause] if cause else [])]


def text_of(error: BaseException) -> str:
    """Its message; if it cannot give one, what it was made with."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a failure to describe a failure must not hide it
        return " ".join(filter(None, map(_repr, error.args)))


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - as above
        return ""


def _places(error: BaseException) -> list[str]:
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
