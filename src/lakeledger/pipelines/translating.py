"""Spark's own errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def translating() -> Iterator[None]:
    """Raise Invalid or Failed for what Spark raises inside the block, and anything else as it is."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        from lakeledger.pipelines.load import translated

        raise translated(error) from error
