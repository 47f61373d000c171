"""Secrets in URLs: passwords and tokens before the host, and the parameters of Spark Connect."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lakeledger.redaction.assigned import named
from lakeledger.redaction.found import REFERENCE, Found
from lakeledger.redaction.lazy import lazy
from lakeledger.redaction.names import Grade, grade

_URL = lazy(r"://(?P<rest>[^\s<>]++)")
_USER = lazy(r"[^\s:/@'\"]{0,256}+:")
_WEB = lazy(r"(?:https?|wss?|ftps?)$", re.IGNORECASE)
_PORT = lazy(r"\d{1,5}[/?#]")
_LIST_MARKS = lazy(r"[,;{}\[\]()]")
_USER_TOKEN = lazy(r"(?P<secret>[\w-]{20,256})@")
_LONGEST_PASSWORD = 2_048

_CONNECT = lazy(r"(?<![a-z])sc://[^\s;'\"<>]{1,512}(?P<parameters>;[^\s'\"<>]++)", re.IGNORECASE)
_CONNECT_PARAMETER = lazy(r";(?P<name>[^;=]{1,128})=(?P<secret>[^;]+)")
_HARMLESS_PARAMETERS = frozenset(("use_ssl", "user_id", "user_agent", "session_id", "grpc_max_message_size", "x-databricks-cluster-id"))


def in_urls(text: str) -> Iterator[Found]:
    """Passwords and tokens before the host. One that should have been percent-encoded may hold anything but a space."""
    for url in _URL.finditer(text):
        rest, begin = url["rest"], url.start("rest")
        if "@" not in rest:
            continue
        at, web = 0, _WEB.search(text, max(0, url.start() - 6), url.start())
        while True:
            if span := _password_span(rest, at, web=bool(web)):
                if not REFERENCE.fullmatch(rest, *span):
                    yield Found(begin + span[0], begin + span[1], is_password=True)
                break
            if web and (token := _USER_TOKEN.match(rest, at)):
                yield Found(begin + token.start("secret"), begin + token.end("secret"))
            at = rest.find("://", at) + 3
            if at < 3:
                break
            web = _WEB.search(rest, max(0, at - 9), at - 3)


def _password_span(rest: str, at: int, *, web: bool) -> tuple[int, int] | None:
    user = _USER.match(rest, at)
    if user is None:
        return None
    start = user.end()
    last = min(len(rest), start + _LONGEST_PASSWORD)
    quotes = [found for quote in "'\"" if (found := rest.find(quote, start, last)) >= 0]
    end = rest.rfind("@", start, min(quotes, default=last))
    if end < 0 and quotes and rest.find("@", start, last) >= 0:
        # A quote inside a password; what follows one that ends the URL is another item of a list.
        mark = _LIST_MARKS.search(rest, start, last)
        end = rest.rfind("@", start, mark.start() if mark else last)
    if end < 0 or (_PORT.match(rest, start, end) and (web or "?" in rest[start:end])):
        return None
    return start, end


def in_connect_urls(text: str) -> Iterator[Found]:
    """Parameters of a Spark Connect URL: they are sent as headers, so any of them may be a credential."""
    for url in _CONNECT.finditer(text):
        for parameter in _CONNECT_PARAMETER.finditer(text, *url.span("parameters")):
            if parameter["name"].lower() not in _HARMLESS_PARAMETERS:
                yield Found(*parameter.span("secret"))


def in_named_url_parts(text: str) -> Iterator[Found]:
    """What is surely called a secret inside a URL: `jdbc:mysql://db/shop?password=…`."""
    for url in _URL.finditer(text):
        offset = url.start("rest")
        for found in named(url["rest"]):
            if grade(found.name) is Grade.SECRET:
                yield Found(found.start + offset, found.end + offset)
