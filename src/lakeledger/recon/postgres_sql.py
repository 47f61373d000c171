"""The SQL of PostgreSQL that makes canonical texts, digests and parts of rows. The connection's time zone is UTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lakeledger.recon.canonical import WINDOWS, Column, Pair
from lakeledger.recon.splits import ByHash, ByPeriod, ByRange, Inside, Split, period_ends, runs

# A function of PostgreSQL takes no more than a hundred arguments.
MOST_ARGUMENTS = 90


def quote(name: str) -> str:
    """A name in SQL."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def literal(text: str) -> str:
    """A text in SQL."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


@dataclass(frozen=True)
class PostgresSql:
    """For the source or the target of a reconciliation."""

    role: Literal["source", "target"]
    is_utf8: bool = True

    def column(self, pair: Pair) -> Column:
        found: Column = getattr(pair, self.role)
        return found

    def name(self, pair: Pair) -> str:
        return quote(self.column(pair).name)

    def canonical(self, pair: Pair, value: str | None = None) -> str:  # noqa: PLR0911 - one for each kind
        """The text of a value: of the column, or of an expression of the same type."""
        column, x = self.column(pair), value or self.name(pair)
        match pair.kind:
            case "number":
                return _number(column, pair, x)
            case "float":
                return _float(x if column.type == "double precision" else f"({x})::float8")
            case "boolean":
                return f"({x})::int::text"
            case "binary":
                return f"encode({x}, 'hex')"
            case "date":
                return f"encode(date_send({x}), 'hex')"
            case "timestamp":
                return f"encode(timestamptz_send({x}), 'hex')"
            case "timestamp_ntz":
                return f"encode(timestamp_send({x}), 'hex')"
            case _:
                return f"rtrim(({x})::text, ' ')" if pair.trims else x if column.type == "text" else f"({x})::text"

    def row(self, pairs: Sequence[Pair]) -> str:
        """The text of a whole row."""
        parts: list[str] = []
        for each in pairs:
            text = self.canonical(each)
            if each.kind == "text":
                parts += [f"octet_length({text if self.is_utf8 else f'convert_to({text}, {chr(39)}UTF8{chr(39)})'})", "':'"]
            parts += [text, "'|'"]
        whole = [f"concat({', '.join(parts[at : at + MOST_ARGUMENTS])})" for at in range(0, len(parts), MOST_ARGUMENTS)]
        return whole[0] if len(whole) == 1 else f"concat({', '.join(whole)})"

    def digest(self, pairs: Sequence[Pair]) -> str:
        """60 bits of a row, as a whole number."""
        return f"('x' || left({self._md5(pairs)}, 15))::bit(60)::bigint"

    def digest_sums(self, pairs: Sequence[Pair]) -> list[str]:
        """What the digests of rows add up to, as columns of which `digest_sum` makes one number."""
        return [f"sum({self.digest(pairs)})::text"]

    def hash_sums(self, pairs: Sequence[Pair]) -> list[str]:
        """The same of hashes of PostgreSQL's own."""
        return [f"sum({self.hash(pairs)})::text"]

    def hash(self, pairs: Sequence[Pair]) -> str:
        """64 bits of a row, see `record_hash`."""
        return " # ".join(f"coalesce({self._hash(each, place + 1)}, 0)" for place, each in enumerate(pairs))

    def _hash(self, pair: Pair, seed: int) -> str:
        x = self.name(pair)
        match pair.kind:
            case "number" if pair.is_integer:
                return f"hashint8extended({x}::int8, {seed})"
            case "float":
                return f"hashfloat8extended({x}::float8, {seed})"
            case "boolean":
                return f"hashint8extended({x}::int::int8, {seed})"
            case "timestamp":
                return f"timestamp_hash_extended({x} at time zone 'UTC', {seed})"
            case "timestamp_ntz":
                return f"timestamp_hash_extended({x}, {seed})"
            case _:
                return f'hashtextextended({self.canonical(pair)} collate "C", {seed})'

    def split(self, split: Split) -> str:
        """The part that a row is in."""
        match split:
            case ByRange():
                clamped = f"greatest(least({self.name(split.key)}::bigint, {split.top}), {split.bottom})"
                return f"(case when {self.name(split.key)} is null then null else ({clamped} - {split.bottom}) / {split.width} end)"
            case ByHash():
                return f"(('x' || left({self._md5(split.keys)}, 8))::bit(32)::bigint % {split.count})"
            case ByPeriod():
                x = self.name(split.column)
                day = f"({x} at time zone 'UTC')::date" if split.column.kind == "timestamp" else f"({x})::date"
                return f"left(({day})::text, {split.length})"

    def where(self, scope: Sequence[Inside]) -> str:
        """The condition that a row is inside of all of these."""
        return "".join(f" {'and' if at else 'where'} ({self._inside(each)})" for at, each in enumerate(scope))

    def _inside(self, inside: Inside) -> str:
        split, null = inside.split, None in inside.parts
        parts = [part for part in inside.parts if part is not None]
        match split:
            case ByRange():
                x = self.name(split.key)
                found = [_between(x, str(low) if low is not None else None, str(high) if high is not None else None)
                         for low, high in runs(split, parts)]  # fmt: skip
                found += [f"{x} is null"] if null else []
            case ByPeriod():
                x, zone = self.name(split.column), "Z" if split.column.kind == "timestamp" else ""
                ends = [(part, period_ends(part)) for part in parts]
                type_ = {"timestamp": "timestamptz", "date": "date"}.get(split.column.kind, "timestamp")
                at = " 00:00:00" if split.column.kind != "date" else ""
                found = [
                    f"{x} >= {type_} '{both[0]}{at}{zone}' and {x} < {type_} '{both[1]}{at}{zone}'" if both
                    else f"{self.split(split)} = {literal(part)}"
                    for part, both in ends
                ]  # fmt: skip
                found += [f"{x} is null"] if null else []
            case _:
                found = [f"{self.split(split)} in ({', '.join(str(part) for part in parts)})"]
        return " or ".join(f"({each})" for each in found) or "false"

    def sum(self, pair: Pair) -> str:
        """The sum of a column, as text."""
        return f"sum({self.name(pair)})::text"

    def _md5(self, pairs: Sequence[Pair]) -> str:
        text = self.row(pairs)
        return f"md5({text})" if self.is_utf8 else f"md5(convert_to({text}, 'UTF8'))"


def _between(x: str, low: str | None, high: str | None) -> str:
    ends = [*([f"{x} >= {low}"] if low is not None else []), *([f"{x} < {high}"] if high is not None else [])]
    return " and ".join(ends) or f"{x} is not null"


def _number(column: Column, pair: Pair, x: str) -> str:
    if pair.scale is None:
        return f"({x})::text" if column.is_integer else f"trim_scale({x})::text"
    if column.scale == pair.scale:
        return f"({x})::text"
    return f"round(({x})::numeric, {pair.scale})::text"


def _float(x: str) -> str:
    cases = "".join(
        f" when abs({x}) >= {2.0**low!r} and abs({x}) < {2.0**high!r} then '{letter}' || ({x} * {2**power}::float8)::bigint"
        for low, high, letter, power in WINDOWS
    )
    names = "".join(f" when {x} = '{name}'::float8 then '{name}'" for name in ("NaN", "Infinity", "-Infinity"))
    return f"case when {x} is null then null when {x} = 0 then '0'{cases}{names} else 'h' || encode(float8send({x}), 'hex') end"
