"""What each check asks both sides, and what follows from the answers."""

# ruff: noqa: S608 - SQL of quoted names and of expressions of our own
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.recon import judging
from lakeledger.recon.canonical import Column, Pair, agree, decode, find, pair, shown
from lakeledger.recon.digests import Drilled, both, drill
from lakeledger.recon.model import Check, Outcome, Reconciliation, Status
from lakeledger.recon.sides import Side
from lakeledger.sync.masking import Masking

MOST_GROUPS = 100_000
# How many groups, columns or keys a result names.
MOST_NAMED = 50


@dataclass(frozen=True)
class Sides:
    """Both sides, open, with their columns."""

    source: Side
    target: Side
    columns: tuple[Sequence[Column], Sequence[Column]]
    reconciliation: Reconciliation
    masking: Masking

    @property
    def both(self) -> tuple[Side, Side]:
        return self.source, self.target

    def pair(self, name: str) -> Pair:
        """The column by that name of both. Raises Invalid."""
        return pair(find(self.columns[0], name, "the source"), find(self.columns[1], name, "the target"))

    def keys(self) -> list[Pair]:
        """The keys. Raises Invalid."""
        if not self.reconciliation.keys:
            raise Invalid("this check needs `keys`: the columns that identify a row")
        return [self.pair(name) for name in self.reconciliation.keys]


# One number of each side


@dataclass(frozen=True)
class Measure:
    """What is asked for one check: SQL by side, and what the answers mean. `rows` is the number of all rows."""

    check: Check
    asks: Callable[[Side], list[str]]
    value: Callable[[Sequence[Any], int], Any]
    kind: str = "number"


def measure(check: Check, sides: Sides) -> Measure:
    """What a check with one number asks. Raises Invalid for a column that is not there or has no such number."""
    if check.type == "count":
        return Measure(check, lambda _: [], lambda _, rows: rows)
    name = check.column or ""
    if check.type == "null_rate":
        names = [quoted(side, columns, name) for side, columns in zip(sides.both, sides.columns, strict=True)]
        return Measure(
            check,
            lambda side: [f"count({names[0 if side is sides.source else 1]})"],
            lambda got, rows: (rows - int(got[0])) / rows if rows else 0.0,
            "float",
        )
    by = sides.pair(name)
    if check.type in ("sum", "avg") and by.kind not in ("number", "float"):
        raise Invalid(f"{check.type} of {name}: it is {by.source.type}, not a number")
    if check.type == "freshness" and by.kind not in ("date", "timestamp", "timestamp_ntz"):
        raise Invalid(f"freshness of {name}: it is {by.source.type}, not a date or a time")
    number = float if by.kind == "float" else Decimal
    match check.type:
        case "sum":
            zero = number(0)
            return Measure(check, lambda side: [side.sql.sum(by)], lambda got, rows: zero if not rows else _of(number, got[0]), by.kind)
        case "avg":
            return Measure(
                check,
                lambda side: [side.sql.sum(by), f"count({side.sql.name(by)})"],
                lambda got, _: number(got[0]) / int(got[1]) if int(got[1]) else None,
                "float",
            )
        case _:
            function = "min" if check.type == "min" else "max"
            asks = lambda side: [side.sql.canonical(by, f"{function}({side.sql.name(by)})")]  # noqa: E731
            return Measure(check, asks, lambda got, _: decode(by.kind, got[0]), by.kind)


def quoted(side: Side, columns: Sequence[Column], name: str) -> str:
    """A column of one side, whatever its type. Raises Invalid."""
    column = find(columns, name, f"the {side.sql.role}")
    return side.sql.name(Pair(column.name, column, column, column.kind or "text"))


def ask_measures(measures: Sequence[Measure], sides: Sides, timeout: float | None) -> dict[str, Outcome]:
    """All of them, by one question to each side; how many rows a ledger table has is known."""

    def ask(side: Side) -> tuple[int, list[list[Any]]]:
        wanted = [each.asks(side) for each in measures]
        flat = [text for each in wanted for text in each]
        if not flat and side.about.rows is not None:
            return side.about.rows, [[] for _ in measures]
        listed = "".join(f", {text} as m{at}" for at, text in enumerate(flat))
        ((rows, *values),) = side.all(f"select count(*) as number{listed} from {side.relation}", timeout)
        found, place = [], 0
        for each in wanted:
            found.append(list(values[place : place + len(each)]))
            place += len(each)
        return int(rows), found

    source, target = both(sides.both, ask)
    return {
        each.check.name: _judged(each, each.value(source[1][at], source[0]), each.value(target[1][at], target[0]), (source[0], target[0]))
        for at, each in enumerate(measures)
    }


def _judged(measured: Measure, source: Any, target: Any, rows: tuple[int, int]) -> Outcome:
    check = measured.check
    if check.type == "freshness":
        return replace(_fresh(check, source, target), detail={"rows": list(rows)})
    if isinstance(source, date) and isinstance(target, date):
        apart = _seconds(target) - _seconds(source)
        status = judging.judge(apart, None, check.thresholds)
        told = f"both are {_text(source)}" if not apart else f"the source has {_text(source)}, the target {_text(target)}"
        return Outcome(status, _text(source), _text(target), apart, None, told, detail={"rows": list(rows)})
    made = judging.compare(source, target, check.thresholds, is_float=measured.kind == "float")
    unit = " rows" if check.type == "count" else ""
    if unit and made.difference is not None:
        made = replace(made, message=judging.words(source, target, made.difference, made.percent, unit))
    return replace(made, source=_text(source), target=_text(target), detail={"rows": list(rows)})


def _fresh(check: Check, source: Any, target: Any) -> Outcome:
    """How far the newest row of the target is behind the source's. A target that is ahead is not behind."""
    if not isinstance(source, date) or not isinstance(target, date):
        return replace(judging.compare(source, target, check.thresholds), source=_text(source), target=_text(target))
    lag = _seconds(source) - _seconds(target)
    status = judging.judge(max(0.0, lag), None, check.thresholds)
    told = (
        f"the newest row of the target is {judging.plain(lag)} s behind the source's" if lag > 0 else "the target is not behind the source"
    )
    return Outcome(status, _text(source), _text(target), lag, None, told)


def _seconds(value: date) -> float:
    if isinstance(value, datetime):
        return (value - datetime(2000, 1, 1, tzinfo=value.tzinfo)).total_seconds()
    return float((value - date(2000, 1, 1)).days * 86_400)


def _of(number: Callable[[Any], Any], text: Any) -> Any:
    return None if text is None else number(text)


def _text(value: Any) -> Any:
    """A metric as it is stored: a text that reads as the number where it is one."""
    match value:
        case None | str():
            return value
        case datetime() if value.tzinfo:
            return codec.to_text(value)
        case date():
            return value.isoformat()
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)


# Many numbers of each side


def group_count(check: Check, sides: Sides, timeout: float | None) -> Outcome:
    """Rows by the values of columns; NULL is a value like any other."""
    by = [sides.pair(name) for name in check.columns]

    def ask(side: Side) -> dict[tuple[str | None, ...], int]:
        texts = ", ".join(f"{side.sql.canonical(each)} as g{at}" for at, each in enumerate(by))
        places = ", ".join(str(at + 1) for at in range(len(by)))
        rows = side.all(f"select {texts}, count(*) as number from {side.relation} group by {places} limit {MOST_GROUPS + 1}", timeout)
        if len(rows) > MOST_GROUPS:
            raise Invalid(f"{', '.join(check.columns)} has more than {MOST_GROUPS:,} groups: group by fewer columns, or use key_set")
        return {tuple(row[:-1]): int(row[-1]) for row in rows}

    source, target = both(sides.both, ask)
    apart = {key: target.get(key, 0) - source.get(key, 0) for key in source.keys() | target.keys() if source.get(key) != target.get(key)}
    difference = float(sum(abs(each) for each in apart.values()))
    rows = sum(source.values())
    percent = judging.percent_of(difference, rows)
    order = sorted(apart, key=lambda key: (-abs(apart[key]), [(text is None, text or "") for text in key]))[:MOST_NAMED]
    named = [
        {
            "group": _masked(
                sides, dict(zip(check.columns, (shown(each.kind, text) for each, text in zip(by, key, strict=True)), strict=True))
            ),
            "source": source.get(key, 0),
            "target": target.get(key, 0),
        }
        for key in order
    ]
    told = f"{len(apart)} of {len(source.keys() | target.keys())} groups differ" if apart else f"{len(source)} groups are equal"
    detail = {"groups": named, "differing_groups": len(apart), "rows": [rows, sum(target.values())]}
    return Outcome(judging.judge(difference, percent, check.thresholds), len(source), len(target), difference, percent, told, detail=detail)


def uniqueness(check: Check, sides: Sides, timeout: float | None) -> Outcome:
    """Keys that are there more than once, or NULL, on either side."""
    keys = sides.keys()

    def ask(side: Side) -> list[tuple[Any, ...]]:
        texts = ", ".join(f"{side.sql.canonical(each)} as k{at}" for at, each in enumerate(keys))
        names = ", ".join(side.sql.name(each) for each in keys)
        null = " or ".join(f"{side.sql.name(each)} is null" for each in keys)
        grouped = f"select {texts}, count(*) as number from {side.relation} group by {names} having count(*) > 1 or {null}"
        return side.all(
            f"select *, count(*) over () as groups_, sum(number) over () as rows_ from ({grouped}) k limit {check.samples}", timeout
        )

    source, target = both(sides.both, ask)
    numbers = [int(each[0][-2]) if each else 0 for each in (source, target)]
    samples = [
        {"side": side, "key": _masked(sides, _keyed(keys, row)), "rows": int(row[len(keys)])}
        for side, rows in (("source", source), ("target", target))
        for row in rows
    ]
    worst = float(max(numbers))
    told = (
        "keys are unique on both sides"
        if not worst
        else f"{numbers[0]} keys of the source and {numbers[1]} of the target are doubled or NULL"
    )
    return Outcome(judging.judge(worst, None, check.thresholds), numbers[0], numbers[1], worst, None, told, detail={"samples": samples})


def schema(check: Check, sides: Sides) -> Outcome:
    """Names and canonical types; the order of columns does not matter."""
    left_out = {codec.fold(name) for name in sides.reconciliation.exclude}
    source, target = ({codec.fold(each.name): each for each in side if codec.fold(each.name) not in left_out} for side in sides.columns)
    apart = []
    for key in sorted(source.keys() | target.keys()):
        ours, theirs = source.get(key), target.get(key)
        if ours and theirs and ours.canonical == theirs.canonical:
            continue
        apart.append(
            {
                "column": (ours or theirs or Column(key, "", None)).name,
                "source": ours.type if ours else None,
                "target": theirs.type if theirs else None,
            }
        )
    difference = float(len(apart))
    told = (
        f"{len(apart)} columns differ: {', '.join(each['column'] or '' for each in apart[:5])}"
        if apart
        else f"{len(source)} columns are equal"
    )
    percent = judging.percent_of(difference, len(source))
    status = judging.judge(difference, percent, check.thresholds)
    return Outcome(status, len(source), len(target), difference, percent, told, detail={"columns": apart[:MOST_NAMED]})


# Digests


def digests(check: Check, sides: Sides, timeout: float | None) -> Outcome:
    """All cells, or all keys, by digests, down to the rows that differ."""
    keys, declared = sides.keys(), sides.reconciliation
    if check.type == "key_set":
        pairs = sorted(keys, key=lambda each: each.name)
    else:
        pairs = agree(sides.columns[0], sides.columns[1], check.columns or declared.columns, declared.exclude)
    pairs = [*pairs, *(each for each in keys if each.name not in {one.name for one in pairs})]
    by_probe = [sides.pair(probe.column) for probe in check.probes]
    if wrong := [each for each in by_probe if each.kind not in ("date", "timestamp", "timestamp_ntz")]:
        raise Invalid(f"probe of {wrong[0].source.name}: it is {wrong[0].source.type}, not a date or a time")
    asked = [*keys, *(each for each in by_probe if each.name not in {one.name for one in pairs})]
    found = drill(sides.both, pairs, keys, check.probes, declared.max_rows, timeout, probed=asked)
    return _drilled(check, sides, keys, pairs, found)


def _drilled(check: Check, sides: Sides, keys: Sequence[Pair], pairs: Sequence[Pair], found: Drilled) -> Outcome:
    count = float(found.differences.count)
    percent = judging.percent_of(count, max(found.rows))
    status = judging.judge(count, percent, check.thresholds)
    if not found.is_complete and status != Status.FAIL:
        status = Status.FAIL  # more may differ than was counted
    missing, extra, changed = (len(each) for each in (found.differences.missing, found.differences.extra, found.differences.changed))
    detail = {
        "rows": list(found.rows),
        "missing": missing,
        "extra": extra,
        "changed": changed,
        "complete": found.is_complete,
        "parts": found.parts,
        "differing_parts": found.differing_parts,
        "digested_rows": list(found.digested),
        "fetched_rows": list(found.fetched),
        "fetched_percent": round(100 * max(found.fetched) / max(1, *found.rows), 4),
        "samples": _samples(check, sides, keys, pairs, found),
    }
    metrics = [f"{each % 2**64:016x}" for each in found.totals]
    return Outcome(status, metrics[0], metrics[1], count, percent, _told(found, missing, extra, changed), found.scope, detail)


def _told(found: Drilled, missing: int, extra: int, changed: int) -> str:
    if not found.differing_parts:
        return f"{found.rows[0]:,} rows have equal digests"
    parts = [f"{number:,} {what}" for number, what in ((missing, "missing"), (extra, "extra"), (changed, "changed")) if number]
    least = "" if found.is_complete else "at least "
    share = 100 * max(found.fetched) / max(1, *found.rows)
    return (
        f"{least}{', '.join(parts) or 'no row'} of {max(found.rows):,} rows; found by fetching {max(found.fetched):,} rows ({share:.2g} %)"
    )


def _samples(check: Check, sides: Sides, keys: Sequence[Pair], pairs: Sequence[Pair], found: Drilled) -> list[dict[str, Any]]:
    """Some of the rows that differ, side by side, masked as dead letters are: of a changed row only what differs."""
    made: list[dict[str, Any]] = []
    for ours, theirs in found.differences.changed[: check.samples]:
        names = [each.source.name for at, each in enumerate(pairs, len(keys)) if ours[at] != theirs[at]]
        left, right = (_masked(sides, _row(pairs, row[len(keys) :])) for row in (ours, theirs))
        made.append(
            {
                "kind": "changed",
                "key": _masked(sides, _keyed(keys, ours)),
                "columns": names,
                "source": {name: left.get(name) for name in names},
                "target": {name: right.get(name) for name in names},
            }
        )
    for kind, rows in (("missing", found.differences.missing), ("extra", found.differences.extra)):
        for row in rows[: max(0, check.samples - len(made))]:
            side = "source" if kind == "missing" else "target"
            made.append({"kind": kind, "key": _masked(sides, _keyed(keys, row)), side: _masked(sides, _row(pairs, row[len(keys) :]))})
    return made


def _row(pairs: Sequence[Pair], texts: Sequence[str | None]) -> dict[str, Any]:
    return {each.source.name: shown(each.kind, text) for each, text in zip(pairs, texts, strict=True)}


def _keyed(keys: Sequence[Pair], row: Sequence[Any]) -> dict[str, Any]:
    return _row(keys, row[: len(keys)])


def _masked(sides: Sides, row: Mapping[str, Any]) -> dict[str, Any]:
    return sides.masking.mask(dict(row)).data
