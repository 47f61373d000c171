"""What changed from one `schema_snapshot` to another, and whether it breaks readers: by the rules of the schema registry, and no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lakeledger import codec
from lakeledger.records import MetadataRecord
from lakeledger.sync.schemas import Change, EvolutionType, SchemaDefinition, diff
from lakeledger.sync.schemas.compatibility import assess

_ASPECTS = {"type": "type_changed", "nullable": "nullability_changed", "default": "default_changed"}
_PARTS = ("name", "type", "nullable", "default", "comment")


def catalog_diff(before: MetadataRecord, after: MetadataRecord) -> dict[str, Any]:
    """The payload of a `catalog_diff` between two snapshots of one table. A change of which nobody knows what it does is breaking."""
    changes = differences(before.payload, after.payload)
    return {
        "changes": changes,
        "breaking": any(each["breaking"] for each in changes),
        "from_record_id": before.record_id,
        "to_record_id": after.record_id,
        "from_fingerprint": before.payload.get("fingerprint"),
        "to_fingerprint": after.payload.get("fingerprint"),
    }


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What changed from one payload of a `schema_snapshot` to another."""
    old, new = definition_of(before), definition_of(after)
    found = [told for change in diff(old, new).changes for told in _of(change)]
    found += _moved(old, new)
    found += [
        _told("comment_changed", name, was, now)
        for name, was, now in _pairs(_comments(old), _comments(new))
        if (was or None) != (now or None)
    ]
    parts = [payload.get("partitioned_by") for payload in (before, after)]
    if None not in parts and _folded(parts[0]) != _folded(parts[1]):
        found.append(_told("partitioning_changed", None, parts[0], parts[1]))
    return found


def definition_of(payload: Mapping[str, Any]) -> SchemaDefinition:
    """The definition that a `schema_snapshot` says. Raises Invalid."""
    columns = [{name: column[name] for name in _PARTS if column.get(name) is not None} for column in payload["columns"]]
    return SchemaDefinition(columns, list(payload.get("primary_key") or []))


def _of(change: Change) -> Iterator[dict[str, Any]]:
    match change.kind:
        case EvolutionType.ADD_COLUMN:
            yield _judged("column_added", change, None, change.after)
        case EvolutionType.DROP_COLUMN:
            yield _judged("column_removed", change, change.before, None)
        case EvolutionType.RENAME_COLUMN:
            # What looks like another name is a column that is gone and one that is new: nobody said that they are the same.
            name = (change.after or {}).get("name")
            yield {**_judged("column_removed", change, change.before, None), "renamed_to": name}
            yield {**_told("column_added", name, None, change.after), "renamed_from": change.subject}
        case EvolutionType.MODIFY_COLUMN:
            yield from (_aspect(change, aspect) for aspect in _ASPECTS if aspect in (change.after or {}))
        case EvolutionType.CHANGE_KEY:
            before, after = (change.before or {}).get("columns"), (change.after or {}).get("columns")
            yield {**_judged("key_changed", change, before, after), "column": None}


def _aspect(change: Change, aspect: str) -> dict[str, Any]:
    """One of the things that changed of a column, judged by itself."""
    before, after = ({aspect: each[aspect]} for each in (change.before or {}, change.after or {}))
    one = Change(change.kind, change.subject, before, after, change.relation if aspect == "type" else None)
    return _judged(_ASPECTS[aspect], one, before[aspect], after[aspect])


def _judged(what: str, change: Change, before: Any, after: Any) -> dict[str, Any]:
    impact = assess(change)
    told = _told(what, change.subject, before, after, breaking=impact.status != "compatible")
    return {**told, "status": impact.status, "reason": impact.why, "fix": impact.fix, "words": change.words()}


def _told(what: str, column: str | None, before: Any, after: Any, *, breaking: bool = False) -> dict[str, Any]:
    return {"change": what, "column": column, "before": before, "after": after, "breaking": breaking}


def _moved(old: SchemaDefinition, new: SchemaDefinition) -> list[dict[str, Any]]:
    """Columns that stand elsewhere among those that both have."""
    names = [column.key for column in old.fields]
    both = [column for column in new.fields if column.key in names]
    was = [name for name in names if name in {column.key for column in both}]
    return [
        _told("position_changed", column.name, was.index(column.key), place)
        for place, column in enumerate(both)
        if was.index(column.key) != place
    ]


def _comments(definition: SchemaDefinition) -> dict[str, tuple[str, str | None]]:
    return {column.key: (column.name, column.comment) for column in definition.fields}


def _pairs(
    old: Mapping[str, tuple[str, str | None]], new: Mapping[str, tuple[str, str | None]]
) -> Iterator[tuple[str, str | None, str | None]]:
    yield from ((new[key][0], old[key][1], new[key][1]) for key in old if key in new)


def _folded(names: Sequence[str] | None) -> list[str]:
    return [codec.fold(name) for name in names or ()]
