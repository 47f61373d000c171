"""What is written where, for others to check: `kinds/` has a JSON Schema for the payload of each kind of record.

`tables/` has the columns of the lake's own tables, as BigQuery declares them.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from lakeledger.errors import NotFound

KINDS = (
    "ingestion_volume",
    "ingestion_runtime",
    "dq_result",
    "recon_result",
    "schema_snapshot",
    "statistics_snapshot",
    "catalog_diff",
    "schema_acceptance",
    "sla_adherence",
    "lineage",
    "custom",
)


def kind(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of the payload of a kind of record; its `version` is the one that records carry. Raises NotFound.

    Beside what JSON Schema knows it says how long records are kept (`retention`: rolling or forever) and when one is made (`frequency`).
    """
    if name not in KINDS:
        raise NotFound(f"no schema of the kind {name!r}: there are {', '.join(KINDS)}")
    return _read(name)


def is_kept_for_good(name: str) -> bool:
    """Whether records of a kind are kept however old they are: what changes seldom is needed for audits."""
    return name in KINDS and _read(name).get("retention") == "forever"


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_text(name))
    return found


@cache
def _text(name: str) -> str:
    return files("lakeledger.schemas").joinpath("kinds", f"{name}.json").read_text(encoding="utf-8")
