"""Patterns that are compiled when they are first used: most programs never need most of them."""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._source), name)
        setattr(self, name, found)
        return found


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, not yet compiled."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
