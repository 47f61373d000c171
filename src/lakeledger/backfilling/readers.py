"""The formats in which history lies, each read as entries: what one line, file or row says of a load, a check or a table."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from glob import glob
from pathlib import Path
from typing import Any

from lakeledger import codec
from lakeledger.backfilling import raw
from lakeledger.backfilling.inventory import Inventory, RawSource
from lakeledger.backfilling.raw import Entry, Origin, Unreadable, first, moment, moment_text, number, text
from lakeledger.backfilling.sql_rows import rows_of
from lakeledger.errors import Invalid
from lakeledger.names import parse_name
from lakeledger.records import MetadataTarget
from lakeledger.sync.schemas import SchemaDefinition

VOLUME, RUNTIME, RECON = "ingestion_volume", "ingestion_runtime", "recon_result"
SNAPSHOT, STATISTICS, GUARDRAILS = "schema_snapshot", "statistics_snapshot", "guardrails"
_STATUSES = {
    "pass": "pass", "passed": "pass", "ok": "pass", "success": "pass", "matched": "pass",
    "warn": "warn", "warning": "warn", "fail": "fail", "failed": "fail", "mismatch": "fail", "mismatched": "fail",
    "error": "error", "timeout": "timeout", "timed_out": "timeout", "skipped": "skipped", "skip": "skipped",
}  # fmt: skip
# Words of events that are about a part of a run, and that say that it came to nothing.
_PARTS = ("slice", "chunk", "batch", "part")
_LOST = ("failed", "error", "aborted", "cancelled", "skipped")

Found = tuple[Origin, Mapping[str, Any]]
Problem = Callable[[Origin, str], None]


def read(inventory: Inventory, source: RawSource, problem: Problem) -> Iterator[Entry]:
    """The entries of a raw source; what cannot be read is told, and passed over. Raises Invalid if nothing is there."""
    make = _MAKERS[source.reader]
    for origin, given in _documents(inventory.base, source, problem):
        try:
            yield from make(source, origin, given)
        except (Unreadable, Invalid) as error:
            problem(origin, str(error))
        except (KeyError, TypeError, AttributeError) as error:
            problem(origin, f"it has another shape than a {source.reader.replace('_', ' ')}: {error}")


def rows(base: Path, source: RawSource) -> Iterator[Found]:
    """The rows of a CSV file or of a query, as they are. Raises Invalid."""
    if source.reader == "sql":
        for line, row in enumerate(rows_of(base, source), 1):
            yield Origin("sql", source.name, line), row
        return
    for path in _files(base, source):
        with path.open(newline="", encoding="utf-8-sig") as file:
            for line, row in enumerate(csv.DictReader(file), 2):
                yield Origin("csv", _shown(base, path), line), row


def _documents(base: Path, source: RawSource, problem: Problem) -> Iterator[Found]:
    if source.reader in ("csv", "sql"):
        yield from rows(base, source)
        return
    for path in _files(base, source):
        origin = Origin(source.reader, _shown(base, path))
        try:
            if source.reader == "progress_log" or path.suffix == ".jsonl":
                yield from _lines(path, origin, problem)
            else:
                yield origin, {"document": json.loads(path.read_text(encoding="utf-8-sig"))}
        except (ValueError, OSError) as error:
            problem(origin, f"it cannot be read: {error}")


def _lines(path: Path, origin: Origin, problem: Problem) -> Iterator[Found]:
    with path.open(encoding="utf-8-sig") as file:
        for place, line in enumerate(file, 1):
            if not line.strip():
                continue
            here = Origin(origin.reader, origin.path, place)
            try:
                yield here, {"document": json.loads(line)}
            except ValueError as error:
                problem(here, f"it is not JSON: {error}")


def _files(base: Path, source: RawSource) -> list[Path]:
    pattern = str(base / Path(source.path or "").expanduser())
    found = sorted(Path(each) for each in glob(pattern, recursive=True))  # noqa: PTH207 - a pattern may be absolute
    if not found:
        raise Invalid(f"{source.name}: no file is there by {pattern}")
    return [each for each in found if each.is_file()]


def _shown(base: Path, path: Path) -> str:
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)


def target_of(source: RawSource, given: Mapping[str, Any]) -> MetadataTarget:
    """Which table an entry is about. Raises Unreadable."""
    table, schema = text(given, ("table", "table_name")) or source.table, text(given, ("schema", "schema_name")) or source.schema
    if table is None:
        raise Unreadable("it names no table: give table, or `table` with the source in the inventory")
    if "." in table:
        name = parse_name(table)
        schema, table = name.schema, name.table
    return MetadataTarget(text(given, ("source_id", "source_name")) or source.source_id or "backfill", schema, table)


def _entry(source: RawSource, origin: Origin, kind: str, given: Mapping[str, Any], facts: Mapping[str, Any], **more: Any) -> Entry:
    return Entry(
        kind,
        target_of(source, given),
        more.pop("at", None) or moment(first(given, raw.TIMES)),
        text(given, raw.RUNS),
        text(given, raw.JOBS) or source.job_id,
        facts,
        origin,
        surroundings=raw.surroundings(given),
        **more,
    )


def _load_facts(given: Mapping[str, Any]) -> dict[str, Any]:
    """What an entry says of a load, or of a part of it."""
    window = {name: moment_text(given[name]) for name in ("window_start", "window_end") if given.get(name) is not None}
    told = {
        "rows": number(first(given, raw.ROWS)),
        "bytes": number(first(given, raw.BYTES)),
        "files": number(given.get("files")),
        "duration_ms": number(given.get("duration_ms")),
        "retries": number(given.get("retries")),
        "filter": given.get("filter"),
        "watermark": given.get("watermark") if isinstance(given.get("watermark"), Mapping) else None,
        "operation": given.get("operation"),
    }
    return {**{name: value for name, value in told.items() if value is not None}, **window}


def _slice(given: Mapping[str, Any], names: tuple[str, ...] = raw.SLICES) -> str | None:
    """By which a part of a run is known again, in whichever source it is told."""
    if (said := text(given, names)) is not None:
        return said
    bounds = [moment_text(given.get(name)) for name in ("window_start", "window_end")]
    return codec.to_json(bounds) if any(each is not None for each in bounds) else None


def _progress(source: RawSource, origin: Origin, given: Mapping[str, Any]) -> Iterable[Entry]:
    """One event of a log: a slice that is done, or anything else that says when the run was at work."""
    event = given["document"]
    word = str(event.get("event") or event.get("type") or event.get("status") or "").lower()
    facts, slice_id = {**_load_facts(event), "event": word}, _slice(event)
    if any(lost in word for lost in _LOST):
        facts.pop("rows", None)
    is_part = slice_id is not None or any(part in word for part in _PARTS)
    yield _entry(source, origin, VOLUME, event, facts, slice_id=slice_id, is_part=is_part)


def _manifest(source: RawSource, origin: Origin, given: Mapping[str, Any]) -> Iterable[Entry]:
    for each in raw.entries_of(given["document"], ("slices", "parts")):
        if str(each.get("status") or "").lower() not in _LOST:
            yield _entry(source, origin, VOLUME, each, _load_facts(each), slice_id=_slice(each, (*raw.SLICES, "id")), is_part=True)


def _guardrails(source: RawSource, origin: Origin, given: Mapping[str, Any]) -> Iterable[Entry]:
    for each in raw.entries_of(given["document"], ("reports", "tables")):
        said = first(each, ("guardrails", "actions", "checks", "violations"))
        yield _entry(source, origin, GUARDRAILS, each, {"guardrails": said if said is not None else []})


def _recon(source: RawSource, origin: Origin, given: Mapping[str, Any]) -> Iterable[Entry]:
    for each in raw.entries_of(given["document"], ("results", "checks")):
        metrics = each.get("metrics") if isinstance(each.get("metrics"), Mapping) else {}
        pair = {
            "source": first(each, ("source_metric", "source_count", "observed")),
            "target": first(each, ("target_metric", "target_count")),
        }
        numbers = {
            **{name: _float(value) for name, value in pair.items()},
            **{name: _float(value) for name, value in (metrics or {}).items()},
        }
        check = text(each, ("check", "check_name", "name")) or "check"
        yield _entry(
            source,
            origin,
            RECON,
            each,
            {
                "check": check,
                "check_type": text(each, ("check_type", "type")) or "count",
                "status": _status(each),
                "source": each.get("source"),
                "target": each.get("target"),
                "metrics": numbers,
                "thresholds": each.get("thresholds"),
                "scopes": list(each.get("scopes") or each.get("drill_down") or []),
                "ingestion_run_ids": [str(run) for run in each.get("ingestion_run_ids") or []],
                "message": each.get("message"),
                "duration_ms": number(each.get("duration_ms")),
                **{name: moment_text(each[name]) for name in ("window_start", "window_end") if each.get(name) is not None},
            },
            slice_id=check,
        )


def _status(given: Mapping[str, Any]) -> str:
    """What came of a check, in the words of reconciliation. Raises Unreadable."""
    word = str(first(given, ("status", "outcome", "result")) or "").lower()
    if word not in _STATUSES:
        raise Unreadable(f"status {word!r} is not known: use {', '.join(dict.fromkeys(_STATUSES.values()))}")
    return _STATUSES[word]


def _catalog(source: RawSource, origin: Origin, given: Mapping[str, Any]) -> Iterable[Entry]:
    for each in raw.entries_of(given["document"], ("tables", "snapshots")):
        parts = ("name", "type", "nullable", "precision", "scale", "length", "default", "comment")
        columns = [{name: column[name] for name in parts if column.get(name) is not None} for column in each["columns"]]
        key = [str(name) for name in each.get("primary_key") or []]
        definition = SchemaDefinition([{"name": c["name"], "type": c["type"], "nullable": c.get("nullable", True)} for c in columns], key)
        facts = {"columns": columns, "primary_key": key or None, "fingerprint": definition.ordinal_hash, "catalog": each.get("catalog")}
        yield _entry(source, origin, SNAPSHOT, each, facts)
        if (count := number(first(each, ("row_count", "rows")))) is not None:
            sizes = {"row_count": count, "total_bytes": number(first(each, ("total_bytes", "bytes"))), "catalog": each.get("catalog")}
            yield _entry(source, origin, STATISTICS, each, sizes)


def _mapped(source: RawSource, origin: Origin, given: Mapping[str, Any]) -> Iterable[Entry]:
    """A row of a CSV file or of a query, by the columns that the inventory names."""
    if missing := [column for column in source.columns.values() if column not in given]:
        raise Unreadable(f"it has no column {missing[0]!r}: it has {', '.join(map(str, given))}")
    said = {part: _value(given[column]) for part, column in source.columns.items() if given[column] not in (None, "")}
    payload, extras = (_nested(said, root) for root in ("payload", "extras"))
    kind = source.kind or VOLUME
    facts = payload
    if kind == VOLUME:
        facts = {**{name: value for name, value in payload.items() if name not in (*raw.ROWS, *raw.BYTES)}, **_load_facts(payload)}
    elif kind == RECON:
        facts = {"check_type": "count", "source": None, "target": None, "metrics": {}, **payload, "status": _status(payload)}
    about = {name: value for name, value in said.items() if "." not in name}
    slice_id = text(about, ("slice",)) or (text(payload, ("check",)) if kind == RECON else None)
    is_part = kind == VOLUME and slice_id is not None
    yield _entry(source, origin, kind, about, facts, slice_id=slice_id, is_part=is_part, extras=extras)


def _nested(said: Mapping[str, Any], root: str) -> dict[str, Any]:
    """What columns that are called `payload.metrics.source` say, as the document that they are parts of."""
    found: dict[str, Any] = {}
    for part, value in said.items():
        head, *names = part.split(".")
        if head == root and names:
            inside = found
            for name in names[:-1]:
                inside = inside.setdefault(name, {})
            inside[names[-1]] = value
    return found


def _value(value: Any) -> Any:
    """What reads as JSON is that value; a text that does not is one, and so is one that only looks like a number."""
    if not isinstance(value, str):
        return codec.to_plain(value)
    if value[:1] in "-0123456789{[" or value in ("true", "false", "null"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _float(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None


_MAKERS: dict[str, Callable[[RawSource, Origin, Mapping[str, Any]], Iterable[Entry]]] = {
    "progress_log": _progress,
    "slice_manifest": _manifest,
    "guardrail_report": _guardrails,
    "recon_output": _recon,
    "catalog_snapshot": _catalog,
    "csv": _mapped,
    "sql": _mapped,
}
