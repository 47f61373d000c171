"""What kind of failure an exception is, and which failures share a cause."""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lakeledger.runs.exceptions import chain, text_of
from lakeledger.sync.failures import known
from lakeledger.sync.failures.kinds import ErrorType


def classify(error: BaseException) -> ErrorType:
    """What kind of failure it is: by what it and its causes say of themselves, then by built-in classes, then by words."""
    links = list(chain(error))
    for judge in (_by_evidence, _by_built_in, _by_words):
        for link in links:
            if kind := judge(link):
                return kind
    return ErrorType.UNKNOWN


def error_code(error: BaseException) -> str | None:
    """The code that an exception or one of its causes carries: an SQLSTATE, a Spark condition, SQLite's name, an errno."""
    return next(filter(None, map(_code, chain(error))), None)


# Errors come in bursts of the same few messages.
@lru_cache(maxsize=256)
def fingerprint(error_type: str, code: str | None, message: str) -> str:
    """What errors with the same cause have in common: 16 hexadecimal digits of type, code and the message's template."""
    return hashlib.sha256("\0".join((error_type, code or "", template(message))).encode("utf-8", "replace")).hexdigest()[:16]


def template(message: str) -> str:
    """The message without what changes from one record to the next: quoted values, ids, times, addresses, numbers."""
    for pattern, instead in _CHANGING:
        message = pattern.sub(instead, message)
    return " ".join(message.split())


_CHANGING: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"(?<!\w)(['\"`]).*?\1(?!\w)", re.DOTALL), "?"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "#"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?\b"), "#"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"), "#"),
    (re.compile(r"(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])", re.IGNORECASE), "#"),
    (re.compile(r"\b(?:0x[0-9a-f]+|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,})\b", re.IGNORECASE), "#"),
    (re.compile(r"\S*[/\\]\S*"), lambda path: re.sub(r"\d+", "#", path[0])),
    (re.compile(r"(?<![A-Za-z\d])[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?", re.IGNORECASE), "#"),
)


def _by_evidence(error: BaseException) -> ErrorType | None:
    names = _class_names(error)
    return (
        _longest(known.SQL_STATES, _sql_state(error))
        or _by_sqlite(error)
        or _longest(known.SPARK_CONDITIONS, _ask(error, "getCondition"))
        or (known.MONGO_CODES.get(getattr(error, "code", None) or 0) if "PyMongoError" in names else None)
        or _longest(known.SERVICE_CODES, _service_code(error))
        or known.HTTP_STATUSES.get(_http_status(error))
        or _first(known.BY_CLASS, names)
        or (known.ERRNOS.get(error.errno or 0) if isinstance(error, OSError) else None)
        or (_by_operation(error) if "OperationalError" in names else None)
        or (_by_quoted_class(error) if {"PySparkException", "Py4JError"} & set(names) else None)
    )


def _by_built_in(error: BaseException) -> ErrorType | None:
    return _first(known.BUILT_IN, _class_names(error))


def _by_words(error: BaseException) -> ErrorType | None:
    text = text_of(error)
    return _by_quoted_class(error) or next((kind for kind, pattern in known.BY_WORDS.items() if pattern.search(text)), None)


def _by_quoted_class(error: BaseException) -> ErrorType | None:
    """By the first exception class that a message quotes, as those of Java and of Spark's Python workers do."""
    names = known.QUOTED_CLASS.findall(text_of(error))
    return _first(known.BY_CLASS, names) or _first(known.BUILT_IN, names)


def _by_sqlite(error: BaseException) -> ErrorType | None:
    return _longest(known.SQLITE_ERRORS, getattr(error, "sqlite_errorname", None))


def _by_operation(error: BaseException) -> ErrorType | None:
    """By the words of a driver's OperationalError: SQLite says so of wrong statements too, others of what they cannot reach."""
    return _by_words(error) or (None if type(error).__module__ == "sqlite3" else ErrorType.CONNECTION)


def _code(error: BaseException) -> str | None:
    found = _sql_state(error) or _ask(error, "getCondition") or getattr(error, "sqlite_errorname", None) or _service_code(error)
    if found:
        return str(found)
    return errno.errorcode.get(error.errno or 0) if isinstance(error, OSError) else None


def _class_names(error: BaseException) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__]


def _sql_state(error: BaseException) -> str | None:
    state = getattr(error, "sqlstate", None) or _ask(error, "getSqlState")
    return state if isinstance(state, str) else None


def _service_code(error: BaseException) -> str | None:
    """The code in the answer of a service, as botocore keeps it."""
    answer = getattr(error, "response", None)
    details = answer.get("Error") if isinstance(answer, dict) else None
    return str(details.get("Code")) if isinstance(details, dict) else None


def _http_status(error: BaseException) -> int:
    for holder in (getattr(error, "response", None), error):
        for name in ("status_code", "status", "code"):
            if isinstance(status := getattr(holder, name, None), int):
                return int(status)
    return 0


def _ask(error: BaseException, method: str) -> str | None:
    """What a method of Spark's exceptions answers; those from the JVM cannot answer once it is gone."""
    try:
        return getattr(error, method)()  # type: ignore[no-any-return]
    except Exception:  # noqa: BLE001 - a failure to describe a failure must not hide it
        return None


def _first(kinds: Mapping[str, ErrorType], names: list[str]) -> ErrorType | None:
    return next((kinds[name] for name in names if name in kinds), None)


def _longest(kinds: Mapping[str, ErrorType], code: str | None) -> ErrorType | None:
    """The kind of the longest key that the code begins with."""
    found = [key for key in kinds if code and code.startswith(key)]
    return kinds[max(found, key=len)] if found else None
