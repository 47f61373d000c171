"""Keeping secrets out of what is stored, logged and shown."""

from __future__ import annotations

import re

# A password that should have been percent-encoded may hold anything but a space; what looks like a port is none.
_URL_PASSWORD = re.compile(r"(?P<head>\b[a-z][a-z0-9+.-]*://[^\s:/@]*):(?!\d+(?:[/?#\s]|$))[^\s'\"<>]*@", re.IGNORECASE)
_NAMED_SECRET = re.compile(
    r"(?P<head>(?:password|passwd|pwd|secret|token|api_?key|access_?key)[\w.-]*(?:\s*=(?!=)\s*|['\"]\s*:\s*))"
    r"(?:'[^']*'|\"[^\"]*\"|['\"]?[^\s&;,'\"]+)",
    re.IGNORECASE,
)


def scrub(text: str) -> str:
    """The text without passwords inside URLs and without `password=…` values."""
    return _NAMED_SECRET.sub(r"\g<head>***", _URL_PASSWORD.sub(r"\g<head>:***@", text))
