"""Every error lakeledger raises on purpose, and whose fault it is.

LakeledgerError
├── Invalid        the caller's input is wrong; the same call fails again
├── NotFound       the named thing does not exist
├── Conflict       somebody else was there first; `retryable` says whether trying again can help
│   └── Fenced     the run no longer holds its lease: stop working
├── Forbidden      not allowed
├── NotInstalled   an optional part is missing; the message says what to install
├── Failed         the work itself failed
└── Unavailable    a service cannot be reached now; trying again later can help
"""

from __future__ import annotations


class LakeledgerError(Exception):
    """The root: a one-line message that names the thing, the value and the next step."""

    retryable = False

    def __init__(self, message: str, *, retryable: bool | None = None) -> None:
        super().__init__(message)
        if retryable is not None:
            self.retryable = retryable


class Invalid(LakeledgerError):
    """The caller's input is wrong."""


class NotFound(LakeledgerError):
    """The named thing does not exist."""


class Conflict(LakeledgerError):
    """Somebody else was there first."""


class Fenced(Conflict):
    """The run no longer holds its lease."""


class Forbidden(LakeledgerError):
    """Not allowed."""


class NotInstalled(LakeledgerError):
    """An optional part is missing."""


class Failed(LakeledgerError):
    """The work itself failed."""


class Unavailable(LakeledgerError):
    """A service cannot be reached now."""

    retryable = True
