"""ORC, which is only read: the footer knows the columns."""

from __future__ import annotations

from typing import Any

from lakeledger.lake import Storage
from lakeledger.lake.parquet import shape_of


def orc_types(storage: Storage, path: str) -> dict[str, Any] | None:
    """The columns of a file as `parquet.footer_types` gives them; None if it is no ORC, or not there."""
    from pyarrow import ArrowInvalid, orc

    try:
        with storage.filesystem.open_input_file(storage.inner(path)) as file:
            return shape_of(orc.ORCFile(file).schema)
    except (ArrowInvalid, OSError):
        return None
