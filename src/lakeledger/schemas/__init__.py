"""What is written where, for others to check: `kinds/` has a JSON Schema for the payload of each kind of record.

`tables/` has the columns of the lake's own tables, as BigQuery declares them.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from lakeledger.errors import NotFound

KINDS = ("ingestion_volume", "ingestion_runtime", "dq_result", "recon_result")


def kind(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of the payload of a kind of record; its `version` is the one that records carry. Raises NotFound."""
    if name not in KINDS:
        raise NotFound(f"no schema of the kind {name!r}: there are {', '.join(KINDS)}")
    found: dict[str, Any] = json.loads(files("lakeledger.schemas").joinpath("kinds", f"{name}.json").read_text(encoding="utf-8"))
    return found
