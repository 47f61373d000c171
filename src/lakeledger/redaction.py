"""Keeping secrets out of what is stored, logged and shown."""

from __future__ import annotations

import re
from typing import Any

_NAMES = r"(?:password|passwd|passphrase|pwd|secret|token|credential|authorization|api_?key|access_?key|account_?key|private_?key)"
# A password that should have been percent-encoded may hold anything but a space; what looks like a port is none.
_URL_PASSWORD = re.compile(r"(?P<head>\b[a-z][a-z0-9+.-]*://[^\s:/@]*):(?!\d+(?:[/?#\s]|$))[^\s'\"<>]*@", re.IGNORECASE)
_NAMED_SECRET = re.compile(
    rf"(?P<head>{_NAMES}[\w.-]*(?:\s*=(?!=)\s*|['\"]\s*[:,]\s*))"
    r"(?:'[^']*'|\"[^\"]*\"|['\"]?[^\s&;,'\"]+)",
    re.IGNORECASE,
)


def scrub(text: str) -> str:
    """The text without passwords inside URLs and without `password=…` values."""
    return _NAMED_SECRET.sub(r"\g<head>***", _URL_PASSWORD.sub(r"\g<head>:***@", text))


def scrub_value(value: Any, name: str = "") -> Any:
    """The value with every text in it scrubbed, and without what is called a secret; a reference such as `${env:PASSWORD}` is none."""
    secret = bool(re.search(_NAMES, name, re.IGNORECASE))
    match value:
        case dict():
            return {key: scrub_value(item, name if secret else str(key)) for key, item in value.items()}
        case list() | tuple():
            return [scrub_value(item, name) for item in value]
        case str() if secret:
            return value if value.startswith("${") else "***"
        case str():
            return scrub(value)
        case bool() | None:
            return value
        case _:
            return "***" if secret else value
