"""The words for what failed: which kind of failure, and what was to be done."""

from __future__ import annotations

from enum import StrEnum


class ErrorType(StrEnum):
    """What kind of failure it was. It decides how often the work is tried again."""

    CONNECTION = "connection"
    TRANSFORMATION = "transformation"
    CONSTRAINT = "constraint"
    SCHEMA = "schema"
    TIMEOUT = "timeout"
    PERMISSION = "permission"
    VALIDATION = "validation"
    UNKNOWN = "unknown"


class OperationType(StrEnum):
    """What was to be done with the record."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
