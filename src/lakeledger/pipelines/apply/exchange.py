"""Rows that take the place of those of their files: files of the table that have such rows are written again without them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lakeledger.errors import Failed
from lakeledger.pipelines import Context, observe
from lakeledger.pipelines.apply import Given, Incoming, Outcome, Rewrite, Saved, Target, Write
from lakeledger.pipelines.apply.matching import Known, look
from lakeledger.pipelines.apply.simple import as_given
from lakeledger.pipelines.apply.values import nothing
from lakeledger.pipelines.aside import MARK, unmarked
from lakeledger.pipelines.partitions import quote
from lakeledger.runs import Counters
from lakeledger.tables import DataFile, Files
from lakeledger.tables.schema import SOURCE_FILE, shown

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def prepare(frame: DataFrame, spec: Write, target: Target) -> Incoming:
    """The rows, with NULL in the other columns that only the ledger reads: rows that stay keep what they have there."""
    incoming = as_given(frame, spec, target)
    there = {field["name"] for field in incoming.schema["fields"]}
    known = target.metadata.schema["fields"] if target.metadata else []
    more = [field for field in known if field.get("hidden") and field["name"] not in there]
    if not more:
        return incoming
    fields = [*incoming.schema["fields"], *({key: field[key] for key in field if key not in ("id", "physical_name")} for field in more)]
    filled = incoming.frame.withColumns({field["name"]: nothing(field["type"]) for field in more})
    return Incoming(filled, {**incoming.schema, "fields": fields}, incoming.asides)


@contextmanager
def exchange(context: Context, given: Given) -> Iterator[Rewrite]:
    """Rows of files that changed leave the table, and those that the files have now are in it."""
    from pyspark.sql import functions as F

    keys, column = sorted(given.spec.replaces), given.shape.columns[SOURCE_FILE]
    known, session = look(context, given), given.frame.sparkSession
    leaves = F.coalesce(F.col(quote(column)).isin(keys), F.lit(False))
    hits: dict[str, int] = {}
    files: list[DataFile] = []
    if wanted := candidates(known.files, column, keys):
        found = known.rows(session, wanted).where(leaves).groupBy(F.col("_metadata.file_path").alias("t_file")).count().collect()
        by_name = known.find(row[0] for row in found)
        files, hits = list(by_name.values()), {by_name[row[0]].file_path: row[1] for row in found}
    gone = sum(hits.values())
    kept = sum(file.row_count for file in files) - gone
    same = _same(given, known, files, leaves) if files else 0
    frame = given.frame
    if kept:
        frame = frame.unionByName(_named(known.rows(session, files).where(~leaves), given), allowMissingColumns=True)

    def outcome(saved: Saved) -> Outcome:
        came = saved.rows - kept
        if came < 0:
            raise Failed(f"{saved.rows} rows of {given.spec.table} were written, fewer than the {kept} that stay: nothing was exchanged")
        inserted, deleted = max(came - same, 0), max(gone - same, 0)
        counters = Counters(processed=came, inserted=inserted, deleted=deleted)
        summary = {"inserted": inserted, "deleted": deleted, "unchanged": gone - deleted, "exchanged_files": len(keys)}
        return Outcome(Files(frozenset(hits)) if hits else None, counters, summary)

    yield Rewrite(frame, outcome, measured=_measured(given) if given.measures else None, touches=frozenset(hits))


def candidates(files: Sequence[DataFile], column: str, keys: Sequence[str]) -> list[DataFile]:
    """The files that may have rows of these keys, which are in order; one that says nothing of the column may."""

    def may_have(bounds: Mapping[str, Any]) -> bool:
        if "min" not in bounds or "max" not in bounds:
            return True
        place = bisect_left(keys, bounds["min"])
        return place < len(keys) and keys[place] <= bounds["max"]

    return [file for file in files if may_have(file.column_bounds.get(column, {}))]


def _named(rows: DataFrame, given: Given) -> DataFrame:
    """Rows of the table under the names that the new ones have, none of which is set aside."""
    from pyspark.sql import functions as F

    named = [F.col(quote(physical)).alias(name) for name, physical in given.shape.columns.items()]
    return rows.select(*named, *unmarked(given.shape.others))


def _same(given: Given, known: Known, files: Sequence[DataFile], leaves: Column) -> int:
    """How many of the rows that leave come back as they were: a file that only grew changes nothing of what it had."""
    from pyspark.sql import functions as F

    visible = {field["physical_name"] for field in shown(given.shape.schema)["fields"]}
    names = [name for name, physical in given.shape.columns.items() if physical in visible]
    row = F.xxhash64(F.to_json(F.struct(*(F.col(quote(name)) for name in names)), {"ignoreNullFields": "false"})).alias("row")
    came = given.frame.where(F.col(MARK) == "0") if given.shape.others else given.frame
    old = _named(known.rows(given.frame.sparkSession, files).where(leaves), given).groupBy(row).agg(F.count(F.lit(1)).alias("gone"))
    new = came.groupBy(row).agg(F.count(F.lit(1)).alias("came"))
    found = old.join(new, "row").agg(F.sum(F.least("gone", "came"))).first()
    return int(found[0] or 0) if found else 0


def _measured(given: Given) -> Mapping[str, Any]:
    """What is to be measured of the new rows alone."""
    types = observe.types(given.frame, given.measures)
    found = given.frame.agg(*observe.measures(given.measures, types)).first()
    seen = found.asDict() if found else {}
    return observe.measured(seen, types, seen.get("rows", 0))
