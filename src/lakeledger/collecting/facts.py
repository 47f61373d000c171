"""What a collector has seen of a table, told as records; a schema that is no news is not told again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from lakeledger import clock
from lakeledger.collecting.differences import catalog_diff
from lakeledger.db.pages import Page
from lakeledger.insights.gate import DIFF, gate
from lakeledger.records import MetadataRecord, MetadataTarget
from lakeledger.records.model import Target
from lakeledger.records.producing import MetadataRequest
from lakeledger.sync.schemas import SchemaDefinition
from lakeledger.sync.schemas.definition import Column

SNAPSHOT, STATISTICS = "schema_snapshot", "statistics_snapshot"
KINDS = frozenset({SNAPSHOT, DIFF, STATISTICS})
# The version of what is written: schemas/kinds has its JSON Schema.
SCHEMA_VERSION = "1"
_TEXTS = ("char", "varchar", "binary", "varbinary")


class Known(Protocol):
    """What is known already: `ledger.records`, or any repository."""

    def latest(self, target: Target | None = None, kind: str | None = None) -> MetadataRecord | None: ...

    def history(
        self,
        target: Target | None = None,
        kind: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = 100,
        after: str | None = None,
    ) -> Page[MetadataRecord]: ...


@dataclass(frozen=True)
class Seen:
    """What a catalog says of a table. `statistics` None are not known; `extras` are what only this catalog knows."""

    catalog: str
    definition: SchemaDefinition
    statistics: Mapping[str, Any] | None = None
    partitioned_by: Sequence[str] | None = None
    table_version: int | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)


def facts(request: MetadataRequest, producer_id: str, seen: Seen, known: Known) -> Iterator[MetadataRecord]:
    """The facts of what was seen: the schema and what changed in it if it is new, and the statistics."""
    at, target = clock.now(), request.target
    before = known.latest(target, SNAPSHOT)
    snapshot = _record(request, producer_id, SNAPSHOT, schema_payload(seen), seen, at)
    if before is None or before.payload["fingerprint"] != snapshot.payload["fingerprint"]:
        yield snapshot
        if before is not None:
            yield _record(request, producer_id, DIFF, catalog_diff(base_of(target, before, known), snapshot), seen, at)
    if seen.statistics is not None:
        yield _record(request, producer_id, STATISTICS, _statistics(seen), seen, at)


def base_of(target: MetadataTarget, before: MetadataRecord, known: Known) -> MetadataRecord:
    """What a new snapshot is compared with: the one before, or, while a breaking change is not accepted, what was there before it.

    So a harmless change that follows does not hide the breaking one, and one that is taken back opens the gate by itself.
    """
    last = known.latest(target, DIFF)
    if last is None or gate(known, target).is_open:
        return before
    asked = last.payload.get("from_record_id")
    return next((each for each in known.history(target, SNAPSHOT, limit=None) if each.record_id == asked), before)


def schema_payload(seen: Seen) -> dict[str, Any]:
    """The columns as a `schema_snapshot` has them, with precision, scale and length."""
    definition = seen.definition
    given = [column.get("default") for column in definition.columns]
    return {
        "columns": [_column(column, place, default) for place, (column, default) in enumerate(zip(definition.fields, given, strict=True))],
        "primary_key": list(definition.keys) or None,
        "partitioned_by": None if seen.partitioned_by is None else list(seen.partitioned_by),
        "fingerprint": definition.ordinal_hash,
        "catalog": seen.catalog,
        "table_version": seen.table_version,
    }


def _statistics(seen: Seen) -> dict[str, Any]:
    return {**(seen.statistics or {}), "catalog": seen.catalog, "table_version": seen.table_version}


def _column(column: Column, place: int, default: Any) -> dict[str, Any]:
    type_ = column.data_type
    sized = dict(zip(("precision", "scale"), type_.arguments, strict=False)) if type_.name not in _TEXTS else {}
    length = {"length": type_.arguments[0]} if type_.name in _TEXTS and type_.arguments else {}
    told = {"default": default, "comment": column.comment}
    return {
        "name": column.name,
        "type": column.type,
        "nullable": column.nullable,
        "position": place,
        **sized,
        **length,
        **{name: value for name, value in told.items() if value is not None},
    }


def _record(request: MetadataRequest, producer_id: str, kind: str, payload: dict[str, Any], seen: Seen, at: datetime) -> MetadataRecord:
    extras = dict(seen.extras)
    return MetadataRecord(request.target, request.context, kind, payload, producer_id, SCHEMA_VERSION, extras=extras, produced_at=at)
