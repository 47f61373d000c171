"""What the background logs while a command runs, as people see it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class Shown(logging.Handler):
    """On stderr, as errors and warnings of the command itself."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show one line."""
        from lakeledger.cli import show

        (show.print_error if record.levelno >= logging.ERROR else show.print_warning)(record.getMessage())


@contextmanager
def showing(as_json: bool) -> Iterator[None]:
    """Show what is logged meanwhile; scripts find it in the answer, and in the error log."""
    handler = logging.NullHandler() if as_json else Shown(logging.WARNING)
    logger = logging.getLogger("lakeledger")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
