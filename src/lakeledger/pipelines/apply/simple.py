"""Ways of writing that do not look at the table's rows: append, overwrite, overwrite by partition."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Given, Incoming, Outcome, Rewrite, Saved, Target, Write
from lakeledger.pipelines.quarantine import own_columns
from lakeledger.runs import Counters
from lakeledger.tables import Partitions
from lakeledger.tables.model import Part
from lakeledger.tables.schema import SOURCE_FILE, normalise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def as_given(frame: DataFrame, spec: Write, target: Target) -> Incoming:  # noqa: ARG001 - whatever is to be written
    """The rows as they are; if bad ones are set aside, without what only says why one is bad. What tells their files apart is hidden."""
    given = normalise(frame.schema.jsonValue())
    own = own_columns(given) if spec.sets_bad_rows_aside else given
    known = [{**field, "hidden": True} for field in given["fields"] if field["name"] == SOURCE_FILE]
    return Incoming(frame, {**own, "fields": [*(field for field in own["fields"] if field["name"] != SOURCE_FILE), *known]})


def append(context: Context, given: Given) -> AbstractContextManager[Rewrite]:  # noqa: ARG001 - nothing is read
    """Every row is new."""
    return nullcontext(Rewrite(given.frame, lambda saved: Outcome(None, _inserted(saved)), _computed_from(given.spec)))


def overwrite(context: Context, given: Given) -> AbstractContextManager[Rewrite]:  # noqa: ARG001 - nothing is read
    """The rows are all that the table has."""
    return nullcontext(Rewrite(given.frame, lambda saved: Outcome("all", _inserted(saved))))


def overwrite_partitions(context: Context, given: Given) -> AbstractContextManager[Rewrite]:  # noqa: ARG001 - nothing is read
    """The rows are all that the table has in the partitions that they are in."""

    def outcome(saved: Saved) -> Outcome:
        return Outcome(Partitions(frozenset(file.partition_path for file in saved.files)), _inserted(saved))

    return nullcontext(Rewrite(given.frame, outcome))


def _computed_from(spec: Write) -> Part | None:
    """Rows depend on the table only if they were computed from it."""
    return "all" if spec.base_version is not None else None


def _inserted(saved: Saved) -> Counters:
    return Counters(processed=saved.rows, inserted=saved.rows)
