"""A Delta table, by its log: the files of its current version."""

from __future__ import annotations

import json
from urllib.parse import unquote

from lakeledger.adoption.found import Found, present
from lakeledger.config import S3Settings
from lakeledger.errors import Invalid
from lakeledger.locations import is_url
from lakeledger.pipelines.sources.delta import open_table

NOTE = "do not run VACUUM or write with Delta any more: it would not know the files that the ledger adds, and delete them"


def look(location: str, s3: S3Settings) -> Found:
    """The table as it is now. Raises Invalid for what only Delta's own reader can read."""
    table = open_table(location)
    if list(table.deletion_vectors()):
        raise Invalid(f"{location} has deletion vectors, which need Delta's own reader: run `reorg table … apply (purge)` on it first")
    if partitioned := table.metadata().partition_columns:
        raise Invalid(
            f"{location} is partitioned by {', '.join(partitioned)}, which stand in the names of its folders and not in its files: "
            f"load it with source_type delta, or rewrite it without partitions first"
        )
    paths = [unquote(path) for path in table.get_add_actions(flatten=True).column("path").to_pylist()]
    if outside := [path for path in paths if is_url(path) or path.startswith("/")]:
        raise Invalid(f"{location} has files elsewhere ({outside[0]}), as a shallow clone does: rewrite it first")
    fields = json.loads(table.schema().to_json())["fields"]
    summary = {"delta_version": table.version()}
    return Found("delta", location, present(location, paths, s3), fields, notes=(NOTE,), summary=summary)
