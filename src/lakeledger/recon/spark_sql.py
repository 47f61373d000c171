"""The SQL of Spark that makes canonical texts, digests and parts of rows, with the functions that it has itself. ANSI mode, UTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lakeledger.pipelines.partitions import quote
from lakeledger.recon.canonical import EPOCH_DAYS, EPOCH_MICROS, WINDOWS, Column, Pair
from lakeledger.recon.splits import ByHash, ByPeriod, ByRange, Inside, Split, period_ends, runs

# Sums of halves of digests: those of whole ones would not fit into 64 bits.
HALF = 32


@dataclass(frozen=True)
class SparkSql:
    """For the source or the target of a reconciliation."""

    role: Literal["source", "target"]

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
                return _float(x if column.type == "double" else f"cast({x} as double)")
            case "boolean":
                return f"cast(cast({x} as int) as string)"
            case "binary":
                return f"lower(hex({x}))"
            case "date":
                return f"lower(right(lpad(hex(cast(unix_date({x}) - {EPOCH_DAYS} as bigint)), 16, '0'), 8))"
            case "timestamp" | "timestamp_ntz":
                return f"lower(lpad(hex({_micros(pair.kind, x)} - {EPOCH_MICROS}), 16, '0'))"
            case _:
                return f"rtrim(' ', {x})" if pair.trims else x

    def row(self, pairs: Sequence[Pair]) -> str:
        """The text of a whole row. `concat_ws`, which would leave NULL out by itself, takes twice as long."""
        parts: list[str] = []
        for each in pairs:
            text = self.canonical(each)
            if each.kind == "text":
                parts += [f"coalesce(cast(octet_length({text}) as string), '')", "':'"]
            parts += [f"coalesce({text}, '')", "'|'"]
        return f"concat({', '.join(parts)})"

    def digest(self, pairs: Sequence[Pair]) -> str:
        """60 bits of a row, as a whole number."""
        return f"cast(conv(left(md5({self.row(pairs)}), 15), 16, 10) as bigint)"

    def digest_sums(self, pairs: Sequence[Pair]) -> list[str]:
        """What the digests of rows add up to, as columns of which `digest_sum` makes one number."""
        digest = self.digest(pairs)
        return [f"sum(shiftright({digest}, {HALF}))", f"sum({digest} & {2**HALF - 1}L)"]

    def hash_sums(self, pairs: Sequence[Pair]) -> list[str]:
        """The same of hashes of Spark's own, which no other engine has. They leave NULL out, so which values are NULL is hashed, too."""
        digest = f"xxhash64({', '.join(f'{self.canonical(each)}, isnull({self.name(each)})' for each in pairs)})"
        return [f"sum(shiftright({digest}, {HALF}))", f"sum({digest} & {2**HALF - 1}L)"]

    def hashed_values(self, pairs: Sequence[Pair]) -> list[str]:
        """The values of a row as those that PostgreSQL hashes, see `record_hash`."""
        return [self._hashed(each) for each in pairs]

    def _hashed(self, pair: Pair) -> str:
        x = self.name(pair)
        match pair.kind:
            case "number" if pair.is_integer:
                return f"cast({x} as bigint)"
            case "float":
                return f"cast({x} as double)"
            case "boolean":
                return f"cast(cast({x} as int) as bigint)"
            case "timestamp" | "timestamp_ntz":
                return f"{_micros(pair.kind, x)} - {EPOCH_MICROS}L"
            case _:
                return self.canonical(pair)

    def split(self, split: Split) -> str:
        """The part that a row is in."""
        match split:
            case ByRange():
                x = f"cast({self.name(split.key)} as bigint)"
                clamped = f"greatest(least({x}, {split.top}L), {split.bottom}L)"
                return f"(case when {x} is null then null else ({clamped} - {split.bottom}L) div {split.width}L end)"
            case ByHash():
                return f"(cast(conv(left(md5({self.row(split.keys)}), 8), 16, 10) as bigint) % {split.count}L)"
            case ByPeriod():
                x = self.name(split.column)
                if split.column.kind == "timestamp":  # whatever the session's time zone is
                    x = f"date_from_unix_date(cast(floor(unix_micros({x}) / 86400000000) as int))"
                return f"left(cast(cast({x} as date) as string), {split.length})"

    def where(self, scope: Sequence[Inside]) -> str:
        """The condition that a row is inside of all of these."""
        return "".join(f" {'and' if at else 'where'} ({self._inside(each)})" for at, each in enumerate(scope))

    def _inside(self, inside: Inside) -> str:
        split, null = inside.split, None in inside.parts
        parts = [part for part in inside.parts if part is not None]
        match split:
            case ByRange():
                x = self.name(split.key)
                found = [_between(x, low, high) for low, high in runs(split, parts)]
                found += [f"{x} is null"] if null else []
            case ByPeriod():
                x, kind = self.name(split.column), split.column.kind
                found = [self._period(split, part, x, kind) for part in parts] + ([f"{x} is null"] if null else [])
            case _:
                found = [f"{self.split(split)} in ({', '.join(str(part) for part in parts)})"]
        return " or ".join(f"({each})" for each in found) or "false"

    def _period(self, split: ByPeriod, part: str, x: str, kind: str) -> str:
        ends = period_ends(part)
        if ends is None:
            return f"{self.split(split)} = '{part}'"
        type_, at, zone = {"timestamp": ("timestamp", " 00:00:00", "Z"), "date": ("date", "", "")}.get(
            kind, ("timestamp_ntz", " 00:00:00", "")
        )
        return f"{x} >= {type_} '{ends[0]}{at}{zone}' and {x} < {type_} '{ends[1]}{at}{zone}'"

    def sum(self, pair: Pair) -> str:
        """The sum of a column, as text."""
        column, x = self.column(pair), self.name(pair)
        whole = f"cast({x} as decimal(38, {column.scale or 0}))" if pair.kind == "number" else x
        return f"cast(sum({whole}) as string)"


def _between(x: str, low: int | None, high: int | None) -> str:
    ends = [*([f"{x} >= {low}"] if low is not None else []), *([f"{x} < {high}"] if high is not None else [])]
    return " and ".join(ends) or f"{x} is not null"


def _micros(kind: str, x: str) -> str:
    """Microseconds since 1970; of a time without a zone by its parts, so that no session's time zone matters."""
    if kind == "timestamp":
        return f"unix_micros({x})"
    day = f"cast(unix_date(cast({x} as date)) as bigint) * 86400000000L"
    seconds = f"cast(extract(second from {x}) * 1000000 as bigint)"
    return f"({day} + hour({x}) * 3600000000L + minute({x}) * 60000000L + {seconds})"


def _number(column: Column, pair: Pair, x: str) -> str:
    if pair.scale is None:
        text = f"cast({x} as string)"
        return text if not column.scale else f"trim(trailing '.' from trim(trailing '0' from {text}))"
    if column.scale == pair.scale:
        return f"cast({x} as string)"
    return f"cast(cast({x} as decimal(38, {pair.scale})) as string)"


def _float(x: str) -> str:
    cases = "".join(
        f" when abs({x}) >= {2.0**low!r}D and abs({x}) < {2.0**high!r}D"
        f" then concat('{letter}', cast(cast({x} * {2.0**power:.0f}D as bigint) as string))"
        for low, high, letter, power in WINDOWS
    )
    names = "".join(f" when {x} = double('{name}') then '{name}'" for name in ("NaN", "Infinity", "-Infinity"))
    return f"case when {x} is null then null when {x} = 0 then '0'{cases}{names} else concat('h', {_bits(x)}) end"


def _bits(x: str) -> str:
    """The bits of a double, hexadecimal, from how Java writes it (0x1.8p3): Spark has no function that gives them."""
    text = f"format_string('%a', abs({x}))"
    mantissa = f"rpad(substring_index(substring_index({text}, 'p', 1), '.', -1), 13, '0')"
    power = f"cast(substring_index({text}, 'p', -1) as bigint)"
    exponent = f"(case when substring({text}, 3, 1) = '1' then {power} + 1023 else 0 end + case when {x} < 0 then 2048 else 0 end)"
    return f"concat(lower(lpad(hex({exponent}), 3, '0')), {mantissa})"
