"""Keeping secrets out of what is stored, logged and shown."""

from __future__ import annotations

import re

_URL_PASSWORD = re.compile(r"(?P<head>\b[a-z][a-z0-9+.-]*://[^\s:/@]*):[^\s@/]+@", re.IGNORECASE)
_NAMED_SECRET = re.compile(r"(?P<head>\b(?:password|passwd|pwd|secret|token|api_key)\s*=\s*)[^\s&;,'\"]+", re.IGNORECASE)


def scrub(text: str) -> str:
    """The text without passwords inside URLs and without `password=…` values."""
    return _NAMED_SECRET.sub(r"\g<head>***", _URL_PASSWORD.sub(r"\g<head>:***@", text))
