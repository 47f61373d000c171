"""Entries of raw sources put together as records: what several of them say of the same run is one fact, with where it came from.

Nothing here reads or writes anything. The same entries, in any order, make the same records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lakeledger import clock, codec
from lakeledger.backfilling.raw import SURROUNDINGS, Entry
from lakeledger.backfilling.readers import GUARDRAILS, RECON, RUNTIME, SNAPSHOT, VOLUME
from lakeledger.records import MetadataContext, MetadataRecord, MetadataTarget

UNSAID = "backfill"
SCHEMA_VERSION = "1"
# So many places of a source are named; of more, how many there are.
MOST_LINES = 20


@dataclass
class Merged:
    """What came of entries: records, how many entries they are made of, and what is wrong or left over."""

    records: list[MetadataRecord] = field(default_factory=list)
    entries: int = 0
    problems: list[str] = field(default_factory=list)


def merge(entries: Iterable[Entry], tenant: str, producer_id: str) -> Merged:
    """The records that entries are. Slices of a run are summed, each once; a schema that is no news is left out."""
    made = Merged()
    groups: defaultdict[tuple[str, ...], list[Entry]] = defaultdict(list)
    guardrails: defaultdict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry in entries:
        made.entries += 1
        if entry.kind == GUARDRAILS:
            guardrails[_key(entry, VOLUME)].append(entry)
        else:
            groups[_key(entry, entry.kind)].append(entry)
    for key, found in sorted(groups.items()):
        found.sort(key=_order)
        if found[0].kind == VOLUME:
            made.records += _of_load(found, guardrails.pop(key, []), made.problems, tenant, producer_id)
        elif found[0].kind == SNAPSHOT:
            made.records += (_record(each[0].facts, each, tenant, producer_id, SNAPSHOT) for each in _news(found, made.problems))
        else:
            made.records += _of_one(found, made.problems, tenant, producer_id)
    for left in guardrails.values():
        told = f"run {left[0].run_id} of {left[0].target.name}" if left[0].run_id else left[0].target.name
        made.problems.append(f"{_place(left[0])}: a guardrail report of {told}, of which no load is known")
    return made


def _key(entry: Entry, kind: str) -> tuple[str, ...]:
    """Which entries are about the same fact: those of one run, or of one time where no run is named."""
    about = entry.target.name_key or entry.target.key
    if kind == SNAPSHOT:
        return kind, about
    when = entry.run_id or (codec.to_text(entry.at) if entry.at else "")
    return (kind, about, when) if kind == VOLUME else (kind, about, when, entry.slice_id or "")


def _order(entry: Entry) -> tuple[str, str, str, int]:
    at = codec.to_text(entry.at) if entry.at else ""
    return at, entry.origin.reader, entry.origin.path, entry.origin.line or 0


def _of_load(
    found: Sequence[Entry], guardrails: Sequence[Entry], problems: list[str], tenant: str, producer_id: str
) -> Iterator[MetadataRecord]:
    """The volume of a run, and how long it took if several of its moments, or its duration, are known."""
    counted = [each for each in found if each.facts.get("rows") is not None]
    if not counted:
        problems.append(f"{_place(found[0])}: run {found[0].run_id} of {found[0].target.name} loaded nothing that is told: left out")
        return
    parts = _parts([each for each in counted if each.is_part], problems)
    totals = [each for each in counted if not each.is_part]
    chosen = parts or totals[-1:]
    rows = sum(int(each.facts["rows"]) for each in chosen)
    if wrong := next((each for each in totals if int(each.facts["rows"]) != rows), None):
        whole = "its slices have" if parts else "another source says"
        problems.append(f"{_place(wrong)}: run {wrong.run_id} of {wrong.target.name} has {wrong.facts['rows']} rows, but {whole} {rows}")
    extras = {"guardrails": [each for entry in guardrails for each in _list(entry.facts["guardrails"])]} if guardrails else {}
    every = [*found, *guardrails]
    yield _record({**_volume(chosen, rows), **_beside(found)}, every, tenant, producer_id, VOLUME, extras, unknown=_unknown(chosen))
    runtime = _runtime(found)
    if runtime is not None:
        yield _record(runtime, found, tenant, producer_id, RUNTIME)


def _parts(parts: Sequence[Entry], problems: list[str]) -> list[Entry]:
    """Each slice once, as it was told last; one without a name is told apart by all that it says."""
    found: dict[str, Entry] = {}
    for each in parts:
        name = each.slice_id or codec.digest([codec.to_plain(dict(each.facts)), codec.to_text(each.at) if each.at else None])
        before = found.get(name)
        if before and before.facts["rows"] != each.facts["rows"]:
            told = f"slice {name} of run {each.run_id} has {each.facts['rows']} rows, and {before.facts['rows']} in {_place(before)}"
            problems.append(f"{_place(each)}: {told}; the later one counts")
        found[name] = Entry(**{**vars(each), "facts": {**(before.facts if before else {}), **each.facts}})
    return list(found.values())


def _volume(chosen: Sequence[Entry], rows: int) -> dict[str, Any]:
    """The payload of `ingestion_volume`, as loads of today have it. What nobody told is named in the extras."""
    last = chosen[-1].facts
    bounds = {
        "window_start": _end([each.facts.get("window_start") for each in chosen], min),
        "window_end": _end([each.facts.get("window_end") for each in chosen], max),
    }
    filters = {each.facts.get("filter") for each in chosen}
    return {
        "load": "ordinary",
        "rows": rows,
        "bytes": sum(int(each.facts.get("bytes") or 0) for each in chosen),
        "files": sum(int(each.facts.get("files") or 0) for each in chosen),
        "operation": last.get("operation") or "unknown",
        "table_version": None,
        "watermark": next((each.facts["watermark"] for each in reversed(chosen) if each.facts.get("watermark")), None),
        "source_files": 0,
        "slices": len(chosen),
        "filter": filters.pop() if len(filters) == 1 else None,
        **{name: value for name, value in bounds.items() if value is not None},
    }


def _beside(found: Sequence[Entry]) -> dict[str, Any]:
    """What only rows of CSV and SQL say, beside what every load does."""
    known = {"rows", "bytes", "files", "duration_ms", "retries", "filter", "watermark", "operation", "event", "window_start", "window_end"}
    return {name: value for each in found for name, value in each.facts.items() if name not in known}


def _unknown(chosen: Sequence[Entry]) -> list[str]:
    return [name for name in ("bytes", "files", "operation") if all(each.facts.get(name) is None for each in chosen)]


def _end(values: Sequence[Any], pick: Any) -> Any:
    told = [each for each in values if each is not None]
    try:
        return pick(told) if told else None
    except TypeError:  # Windows of different kinds have no order.
        return None


def _runtime(found: Sequence[Entry]) -> dict[str, Any] | None:
    said = [int(each.facts["duration_ms"]) for each in found if each.facts.get("duration_ms") is not None and not each.is_part]
    times = [each.at for each in found if each.at]
    span = round((max(times) - min(times)).total_seconds() * 1000) if times else 0
    duration = said[-1] if said else span or sum(int(each.facts.get("duration_ms") or 0) for each in found)
    if not duration and not said:
        return None
    events = sum("retry" in str(each.facts.get("event") or "") for each in found)
    told = max((int(each.facts.get("retries") or 0) for each in found), default=0)
    return {"duration_ms": duration, "retries": max(events, told), "table_version": None}


def _news(found: Sequence[Entry], problems: list[str]) -> Iterator[list[Entry]]:
    """Snapshots that are not the one before: with all that say the same."""
    current: list[Entry] = []
    for each in found:
        if each.at is None:
            problems.append(f"{_place(each)}: a snapshot of {each.target.name} without a time")
        elif current and current[0].facts["fingerprint"] == each.facts["fingerprint"]:
            current.append(each)
        else:
            if current:
                yield current
            current = [each]
    if current:
        yield current


def _of_one(found: Sequence[Entry], problems: list[str], tenant: str, producer_id: str) -> Iterator[MetadataRecord]:
    """What is one fact already; told several times, as it was told last."""
    last = found[-1]
    if last.at is None:
        problems.append(f"{_place(last)}: a {last.kind} of {last.target.name} without a time")
        return
    if other := next((each for each in found if each.facts.get("status") != last.facts.get("status")), None):
        about = f"{last.kind} of {last.target.name}, run {last.run_id},"
        problems.append(f"{_place(other)}: the {about} is told with other facts in {_place(last)}; the later one counts")
    quality = {"status": last.facts["status"]} if last.kind == RECON and last.facts["status"] in ("pass", "warn", "fail") else None
    yield _record(last.facts, found, tenant, producer_id, last.kind, quality=quality)


def _record(
    payload: Mapping[str, Any],
    found: Sequence[Entry],
    tenant: str,
    producer_id: str,
    kind: str,
    extras: Mapping[str, Any] | None = None,
    *,
    unknown: Sequence[str] = (),
    quality: dict[str, Any] | None = None,
) -> MetadataRecord:
    target, run_id = _target(found), found[-1].run_id
    times = [each.at for each in found if each.at]
    at = min(times) if kind == SNAPSHOT else max(times, default=None)
    said = {name: value for each in found for name, value in each.surroundings.items() if value is not None}
    context = {**dict.fromkeys(SURROUNDINGS), **said, "tenant": tenant}
    own = {name: value for each in found for name, value in each.extras.items()}
    provenance = {"original_source": sources_of(found), **({"unknown": list(unknown)} if unknown else {})}
    when = run_id or (codec.to_text(at) if at else "")
    return MetadataRecord(
        target,
        MetadataContext(next((each.job_id for each in found if each.job_id), None), run_id, tenant, context),
        kind,
        dict(payload),
        producer_id,
        SCHEMA_VERSION,
        quality,
        {**own, **(extras or {}), **provenance},
        at or clock.now(),
        codec.digest(
            ["backfill", kind, target.name_key or target.key, when, found[-1].slice_id if kind not in (VOLUME, RUNTIME) else None]
        ),
    )


def _target(found: Sequence[Entry]) -> MetadataTarget:
    """Which source it is about: the first that an entry names."""
    return next((each.target for each in found if each.target.source_id != UNSAID), found[0].target)


def sources_of(found: Sequence[Entry]) -> list[dict[str, Any]]:
    """Where a fact came from: the files, or queries, and their lines."""
    places: dict[tuple[str, str], list[int]] = {}
    for each in found:
        lines = places.setdefault((each.origin.reader, each.origin.path), [])
        if each.origin.line is not None:
            lines.append(each.origin.line)
    return [
        {"reader": reader, "path": path, **({"lines": sorted(set(lines))[:MOST_LINES], "entries": len(lines)} if lines else {})}
        for (reader, path), lines in sorted(places.items())
    ]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _place(entry: Entry) -> str:
    return f"{entry.origin.path}:{entry.origin.line}" if entry.origin.line else entry.origin.path


def days_of(records: Iterable[MetadataRecord]) -> Iterator[tuple[str, datetime, int]]:
    """The volumes among records: table, time and rows."""
    for each in records:
        if each.kind == VOLUME:
            yield each.target.name, each.produced_at, int(each.payload["rows"])
