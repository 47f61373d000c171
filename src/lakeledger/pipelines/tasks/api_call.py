"""A request over HTTP, tried again while nobody answers; every attempt carries the same idempotency key."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from lakeledger import clock
from lakeledger.control.tasks import ApiCallTask
from lakeledger.errors import Failed, Invalid, Unavailable
from lakeledger.redaction import scrub
from lakeledger.sync.masking import excerpt

if TYPE_CHECKING:
    from lakeledger.pipelines import Context

KEPT_CHARACTERS = 2_000
MOST_BYTES = 10_000_000
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
TRANSIENT = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Answer:
    """What came back: a status, the text, and after how many seconds to ask again, if it says so."""

    status: int
    text: str
    retry_after: float | None = None


def run(context: Context, task: ApiCallTask) -> dict[str, Any]:
    """Send the request until it is answered as expected. Raises Failed, Unavailable if nobody answers, or Invalid."""
    request = _request(context, task)
    where = f"{task.method} {scrub(task.url)}"
    began, pause = time.monotonic(), FIRST_PAUSE_SECONDS
    for attempt in range(1, task.retries + 2):
        answer, problem = _send(request, task.timeout_seconds)
        if answer and _is_expected(answer.status, task):
            took = round((time.monotonic() - began) * 1000)
            return {
                "status": answer.status,
                "attempts": attempt,
                "duration_ms": took,
                "answer": excerpt(answer.text, KEPT_CHARACTERS, _sent(task)),
            }
        if answer and answer.status not in TRANSIENT:
            raise Failed(f"{where} was answered with {answer.status}: {_first_line(answer.text)}")
        wait = (answer.retry_after if answer else None) or pause * random.uniform(0.5, 1)  # noqa: S311 - jitter, no secret
        if attempt <= task.retries and context.stop.wait(min(wait, LONGEST_PAUSE_SECONDS)):
            raise Failed(f"{where} was cancelled")
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    tried = f"after {task.retries + 1} attempts" if task.retries else "and is not tried again"
    if answer:
        raise Failed(f"{where} is still answered with {answer.status} {tried}: {_first_line(answer.text)}")
    raise Unavailable(f"{where} is not answered {tried}: {problem}; check the address and the network")


def _request(context: Context, task: ApiCallTask) -> Request:
    headers = {"User-Agent": "lakeledger", "Idempotency-Key": f"{context.run.id}:{context.step.name}"}
    body: bytes | None = None
    if isinstance(task.body, str):
        body = task.body.encode()
        headers["Content-Type"] = "text/plain; charset=utf-8"
    elif task.body is not None:
        body = json.dumps(task.body).encode()
        headers["Content-Type"] = "application/json"
    known = {name.lower() for name in task.headers}
    headers = {**{name: value for name, value in headers.items() if name.lower() not in known}, **task.headers}
    try:
        return Request(task.url, data=body, headers=headers, method=task.method)  # noqa: S310 - the document allows only http and https
    except ValueError as error:
        raise Invalid(f"cannot call {scrub(task.url)}: {error}; correct api_call_task.url") from error


class _Stay(HTTPRedirectHandler):
    """Follows no redirect: another host would be given the headers, and with them the secrets."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _send(request: Request, seconds: int) -> tuple[Answer | None, str]:
    """The answer, or why there is none. Raises Invalid for what cannot be sent."""
    try:
        with build_opener(_Stay).open(request, timeout=seconds) as response:
            return Answer(response.status, _text(response)), ""
    except HTTPError as error:
        with error:
            return Answer(error.code, _text(error) or error.headers.get("Location", ""), _seconds(error.headers.get("Retry-After"))), ""
    except URLError as error:
        return None, scrub(str(error.reason))
    except ValueError as error:
        raise Invalid(f"cannot send the request: {scrub(str(error))}; correct api_call_task.headers") from error
    except (OSError, HTTPException) as error:
        return None, scrub(str(error) or type(error).__name__)


def _text(response: Any) -> str:
    return str(response.read(MOST_BYTES).decode("utf-8", errors="replace"))


def _is_expected(status: int, task: ApiCallTask) -> bool:
    return status in task.expected_status if task.expected_status else 200 <= status < 300


def _seconds(retry_after: str | None) -> float | None:
    """`120`, or a date."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - clock.now()).total_seconds())
    except (ValueError, TypeError):
        return None


def _sent(task: ApiCallTask) -> list[str]:
    """What may be secret in the headers: a server may echo it."""
    return [word for value in task.headers.values() for word in value.split() if len(word) >= 8]


def _first_line(text: str) -> str:
    return scrub(next((line for line in text.splitlines() if line.strip()), "no text"))[:300]
