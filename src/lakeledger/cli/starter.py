"""`lakeledger init --from`: a document that loads what is there, with what could not be known said in its comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.pipelines.sources.discovery import Candidate

# Where the document finds the credentials of a database.
USER, PASSWORD = "SOURCE_USER", "SOURCE_PASSWORD"


@dataclass(frozen=True)
class Starter:
    """A document that was written for somebody, and what it leaves out, with the reason."""

    text: str = ""
    left_out: Sequence[str] = ()


def document(origin: str, root: Path) -> Starter:
    """A document for a folder or a database, with paths as they are written from `root`. Raises Invalid."""
    from lakeledger.control.export import export
    from lakeledger.control.modules import Module
    from lakeledger.pipelines.sources import discovery

    if "://" in origin or origin.startswith("jdbc:"):
        found, name = discovery.in_database(origin, USER, PASSWORD), origin.partition("?")[0].rpartition("/")[2]
    else:
        found, name = discovery.in_folder(Path(origin).expanduser(), root), Path(origin).expanduser().resolve().name
    readable = [each for each in found if each.columns]
    if not readable:
        raise Invalid("\n".join(f"{each.name}: {reason}" for each in found for reason in each.unknown))
    name = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_").lower() or "main"
    module = Module.model_validate({"module_name": name, "sources": [_source(each) for each in readable]})
    left_out = [reason for each in found if not each.columns for reason in each.unknown]
    return Starter(_comments(found) + export([module]), left_out)


def _source(each: Candidate) -> dict[str, Any]:
    target: dict[str, Any] = {"schema": "bronze", "table": each.name}
    work: dict[str, Any] = {}
    if each.source_type == "jdbc":
        work = {"load_type": "incremental", "watermark_column": list(each.watermarks)} if each.watermarks else {"load_type": "full"}
        target |= {"keys": list(each.keys)} if each.keys and each.watermarks else {}
    return {
        "source_id": each.name,
        "source_type": each.source_type,
        "source_config": dict(each.config),
        "transformation_config": work,
        "target_config": target,
    }


def _comments(found: Sequence[Candidate]) -> str:
    """What a person has to decide, per source."""
    if any(each.source_type == "jdbc" for each in found):
        lines = [f"What `lakeledger run` loads. User and password come from the environment: {USER} and {PASSWORD}.", ""]
    else:
        lines = ["What `lakeledger run` loads: every file once, as it is. Types come from a sample; check them."]
        lines += ["To keep one row per key, add keys: [...] to target_config.", ""]
    for each in found:
        lines.append(f"{each.name}: {each.config.get('path') or each.config.get('table')}{'' if each.columns else ' (left out)'}")
        if each.keys:
            lines.append(f"  may be the key: {', '.join(each.keys)}")
        if each.watermarks:
            lines.append(f"  may order changes: {', '.join(each.watermarks)}")
        lines += [f"  not known: {reason}" for reason in each.unknown]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines) + "\n"
