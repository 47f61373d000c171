"""Keeping secrets out of what is stored, logged and shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

_NAMES = (
    r"(?:password|passwd|passphrase|pwd|secret|token|credential|authorization|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key)"
)
# A password that should have been percent-encoded may hold anything but a space; what looks like a port is none.
_URL_PASSWORD = re.compile(r"(?P<head>\b[a-z][a-z0-9+.-]*://[^\s:/@]*):(?!\d+(?:[/?#\s]|$))(?P<secret>[^\s'\"<>]*)@", re.IGNORECASE)
_NAMED_SECRET = re.compile(
    rf"(?P<head>{_NAMES}[\w.-]*(?:\s*=(?!=)\s*|['\"]\s*[:,]\s*))"
    r"(?P<secret>'[^']*'|\"[^\"]*\"|['\"]?[^\s&;,'\"]+)",
    re.IGNORECASE,
)
# As headers, YAML and prose write it. A `token:` in prose is more often a parser's than a secret.
_SPOKEN_SECRET = re.compile(
    r"(?P<head>\b(?:[\w-]*(?:password|passwd|passphrase|api[_-]?key|secret[_-]?key|client[_-]?secret|access[_-]?key|auth[_-]?token)|authorization):\s+"
    r"(?:(?:bearer|basic|digest)\s+)?)(?P<secret>[^\s,;'\"]+)",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?P<head>\b(?:bearer|basic)\s+)(?P<secret>[A-Za-z0-9+/_.=-]{16,})", re.IGNORECASE)
_SIGNATURE = re.compile(r"(?P<head>[?&](?:sig|signature|x-amz-signature|x-amz-credential)=)(?P<secret>[^\s&'\"]+)", re.IGNORECASE)
_BARE = re.compile(
    r"(?P<head>)(?P<secret>-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b)",
    re.DOTALL,
)
# Without one of these there is no secret to find: most texts are looked at only once.
_HINT = re.compile(r"[=:'\"]|\b(?:bearer|basic)\s|eyJ|AKIA|ASIA|-----BEGIN", re.IGNORECASE)
_PATTERNS = (_NAMED_SECRET, _SPOKEN_SECRET, _BEARER, _SIGNATURE, _BARE)

# Shorter values are words that turn up everywhere.
SHORTEST_KNOWN = 5


def scrub(text: str, known: Iterable[str] = ()) -> str:
    """The text without passwords inside URLs, without `password=…` values, keys and signatures, and without the known secrets."""
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, "***")
    if not _HINT.search(text):
        return text
    text = _URL_PASSWORD.sub(r"\g<head>:***@", text)
    for pattern in _PATTERNS:
        text = pattern.sub(r"\g<head>***", text)
    return text


def scrub_value(value: Any, name: str = "", known: Iterable[str] = ()) -> Any:
    """The value with every text in it scrubbed, and without what is called a secret; a reference such as `${env:PASSWORD}` is none."""
    secret = is_secret_name(name)
    match value:
        case dict():
            return {_scrubbed_key(key, known): scrub_value(item, name if secret else str(key), known) for key, item in value.items()}
        case list() | tuple():
            return [scrub_value(item, name, known) for item in value]
        case str() if secret:
            return value if value.startswith("${") else "***"
        case str():
            return scrub(value, known)
        case bool() | None:
            return value
        case _:
            return "***" if secret else value


def is_secret_name(name: str) -> bool:
    """Whether what is called so is a secret."""
    return bool(re.search(_NAMES, name, re.IGNORECASE))


def secrets_in(value: Any) -> frozenset[str]:
    """The secrets that a value gives away: what is called one, and passwords inside its URLs. They can then be found elsewhere, too."""
    return frozenset(found for found in _secrets(value, "") if len(found) >= SHORTEST_KNOWN and set(found) != {"*"})


def _secrets(value: Any, name: str) -> Iterator[str]:
    secret = is_secret_name(name)
    match value:
        case dict():
            for key, item in value.items():
                yield from _secrets(item, name if secret else str(key))
        case list() | tuple():
            for item in value:
                yield from _secrets(item, name)
        case str() if secret and not value.startswith("${"):
            yield value
        case str():
            for pattern in (_URL_PASSWORD, _NAMED_SECRET, _SPOKEN_SECRET, _BEARER):
                yield from (match["secret"].strip("'\"") for match in pattern.finditer(value))


def _scrubbed_key(key: Any, known: Iterable[str]) -> Any:
    return scrub(key, known) if isinstance(key, str) else key
