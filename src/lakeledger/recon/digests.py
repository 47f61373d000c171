"""From digests to the rows that differ: one pass over both sides in parts, then only the parts whose digests differ are read."""

# ruff: noqa: S608 - SQL of quoted names and of expressions of our own
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lakeledger import codec
from lakeledger.recon.canonical import Pair
from lakeledger.recon.file_hash import Asked
from lakeledger.recon.model import Probe
from lakeledger.recon.sides import How, Side, SparkSide, both_hash
from lakeledger.recon.spark_sql import HALF
from lakeledger.recon.splits import ByHash, ByPeriod, ByRange, Inside, Split, count_parts

T = TypeVar("T")

# A part with more rows than this is split once more before its rows are fetched.
LARGE_PART = 20_000
# So many periods or parts are named in one scope.
MOST_NAMED = 50

Row = tuple[str | None, ...]
Digests = dict[Any, tuple[int, int]]


@dataclass(frozen=True)
class Differences:
    """Rows by what is wrong with them, as canonical texts: only in the source, only in the target, or different."""

    missing: list[Row] = field(default_factory=list)
    extra: list[Row] = field(default_factory=list)
    changed: list[tuple[Row, Row]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.missing) + len(self.extra) + len(self.changed)


@dataclass(frozen=True)
class Spot:
    """A part in which the sides differ, inside of others, with how many rows the larger side has there."""

    split: Split
    part: Any
    rows: int
    within: tuple[Inside, ...] = ()


@dataclass(frozen=True)
class Drilled:
    """What a comparison by digests found, and what it read. It is complete unless more parts differ than may be fetched."""

    rows: tuple[int, int]
    totals: tuple[int, int]
    differences: Differences = field(default_factory=Differences)
    scope: list[dict[str, Any]] = field(default_factory=list)
    fetched: tuple[int, int] = (0, 0)
    digested: tuple[int, int] = (0, 0)
    parts: int = 0
    differing_parts: int = 0
    is_complete: bool = True


def both(sides: tuple[Side, Side], ask: Callable[[Side], T]) -> tuple[T, T]:
    """The answers of both sides, asked at the same time. Raises what the first of them raised."""
    with ThreadPoolExecutor(2, thread_name_prefix="recon-side") as pool:
        asked = [pool.submit(ask, side) for side in sides]
        return asked[0].result(), asked[1].result()


def digest(side: Side, asked: Asked, timeout: float | None, how: How = "md5") -> Digests:
    """How many rows each part has and what their digests add up to: one question, of which every part is a row of the answer."""
    answer: Sequence[tuple[Any, ...]] | None = None
    if how == "postgres" and isinstance(side, SparkSide) and (files := side.files(asked)):
        answer = files.sums(side.sql.role, asked, timeout)
    answer = _answer(side, asked, timeout, how) if answer is None else answer
    return {row[0]: (int(row[1]), total(row[2:])) for row in answer}


def _answer(side: Side, asked: Asked, timeout: float | None, how: How) -> Sequence[tuple[Any, ...]]:
    sql = side.sql
    part, rows = sql.split(asked.split) if asked.split else "0", f"from {side.relation}{sql.where(asked.scope)}"
    if how == "postgres" and isinstance(side, SparkSide):
        values = ", ".join(f"{each} as c{at}" for at, each in enumerate(side.sql.hashed_values(asked.pairs)))
        return side.hash_sums(f"select {part} as part, {values} {rows}", timeout)
    sums = sql.digest_sums(asked.pairs) if how == "md5" else sql.hash_sums(asked.pairs)
    return side.all(f"select {part} as part, count(*) as number, {', '.join(sums)} {rows} group by 1", timeout)


def total(sums: Sequence[Any]) -> int:
    """The sum of digests, from one number, or from those of their upper and lower halves."""
    return int(sums[0]) if len(sums) == 1 else (int(sums[0]) << HALF) + int(sums[1])


def drill(
    sides: tuple[Side, Side],
    pairs: Sequence[Pair],
    keys: Sequence[Pair],
    probes: Sequence[Probe],
    most: int,
    timeout: float | None,
    probed: Sequence[Pair] = (),
) -> Drilled:
    """Compare both sides, and go down to the rows that differ. `probed` are columns of probes that are not compared."""
    work = _Drill(sides, pairs, tuple(keys), most, timeout)
    for probe in probes:
        column = next(each for each in [*pairs, *probed] if each.name == codec.fold(probe.column))
        if not work.narrow(ByPeriod(probe, column)):
            return work.result()
    if work.narrow(work.by_keys()):
        work.refine()
        work.fetch()
    return work.result()


class _Drill:
    """One way down."""

    def __init__(self, sides: tuple[Side, Side], pairs: Sequence[Pair], keys: tuple[Pair, ...], most: int, timeout: float | None) -> None:
        self.sides, self.pairs, self.keys, self.most, self.timeout = sides, pairs, keys, most, timeout
        self.scope: list[Inside] = []
        self.named: list[dict[str, Any]] = []
        self.drilled: Drilled | None = None
        self.digested = [0, 0]
        self.parts = 0
        self.differing: list[Spot] = []
        self.fetched = (0, 0)
        self.differences = Differences()
        self.is_complete = True

    def narrow(self, split: Split) -> bool:
        """Whether anything differs, with the scope narrowed down to the parts where it does."""
        found = self._digests(split, self.scope)
        self.differing = _differing(split, *found)
        self.parts = len(found[0].keys() | found[1].keys())
        if self.drilled is None:
            counts, totals = (tuple(sum(each[at] for each in side.values()) for side in found) for at in (0, 1))
            self.drilled = Drilled(counts, totals)  # type: ignore[arg-type]
        if not self.differing:
            return False
        parts = tuple(spot.part for spot in self.differing)
        self.named += [{**split.describe(part)} for part in parts[:MOST_NAMED]]
        if isinstance(split, ByPeriod):
            self.scope.append(Inside(split, parts))
        return True

    def by_keys(self) -> Split:
        """How rows are put into parts by their keys: by ranges of a whole number, or by a hash."""
        rows = max(both(self.sides, lambda side: side.estimate())) if not self.scope else sum(spot.rows for spot in self.differing)
        if len(self.keys) == 1 and self.keys[0].is_integer:
            key = self.keys[0]
            ends = self._ends(self.sides[0], key) or self._ends(self.sides[1], key)
            if ends and (split := ByRange.of(key, *ends, rows)):
                return split
        return ByHash(self.keys, count_parts(rows))

    def refine(self) -> None:
        """Split ranges that hold too many rows, until they are small or cannot be split: keys may lie close together in few places."""
        waiting, self.differing = self.differing, []
        while waiting:
            spot = waiting.pop(0)
            finer = spot.split.finer(spot.part) if isinstance(spot.split, ByRange) and spot.rows > LARGE_PART else None
            if finer is None:
                self.differing.append(spot)
                continue
            within = (*spot.within, Inside(spot.split, (spot.part,)))
            waiting += _differing(finer, *self._digests(finer, [*self.scope, *within]), within)

    def fetch(self) -> None:
        """Read the rows of the parts that differ, as many as may be read, and compare them by their keys."""
        chosen: dict[tuple[tuple[Inside, ...], Split], list[Any]] = defaultdict(list)
        rows = 0
        for spot in self.differing:
            rows += spot.rows
            if rows > self.most and chosen:
                self.is_complete = False
                break
            chosen[spot.within, spot.split].append(spot.part)
        for (within, split), parts in chosen.items():
            scope = [*self.scope, *within, Inside(split, tuple(parts))]
            found = both(self.sides, lambda side, scope=scope: self._rows(side, scope))  # type: ignore[misc]
            self.is_complete &= all(len(each) <= self.most for each in found)
            self.fetched = (self.fetched[0] + len(found[0]), self.fetched[1] + len(found[1]))
            more = compare(found[0], found[1], len(self.keys))
            self.differences.missing.extend(more.missing)
            self.differences.extra.extend(more.extra)
            self.differences.changed.extend(more.changed)

    def result(self) -> Drilled:
        made = self.drilled or Drilled((0, 0), (0, 0))
        return Drilled(
            made.rows, made.totals, self.differences, self.named, self.fetched, (self.digested[0], self.digested[1]), self.parts,
            len(self.differing), self.is_complete,
        )  # fmt: skip

    def _digests(self, split: Split, scope: Sequence[Inside]) -> tuple[Digests, Digests]:
        asked = Asked(self.pairs, split, scope)
        how = both_hash(self.sides, asked)
        found = both(self.sides, lambda side: digest(side, asked, self.timeout, how))
        for at, each in enumerate(found):
            self.digested[at] += sum(count for count, _ in each.values())
        return found

    def _ends(self, side: Side, key: Pair) -> tuple[int, int] | None:
        name = side.sql.name(key)
        ((low, high),) = side.all(f"select min({name}), max({name}) from {side.relation}{side.sql.where(self.scope)}", self.timeout)
        return (int(low), int(high)) if low is not None else None

    def _rows(self, side: Side, scope: Sequence[Inside]) -> list[Row]:
        """The rows of a scope as canonical texts, their keys first."""
        sql = side.sql
        texts = ", ".join(f"{sql.canonical(each)} as c{at}" for at, each in enumerate([*self.keys, *self.pairs]))
        return side.all(f"select {texts} from {side.relation}{sql.where(scope)} limit {self.most + 1}", self.timeout)


def compare(source: Sequence[Row], target: Sequence[Row], keys: int) -> Differences:
    """Rows by their keys: the same rows on both sides cancel out, as often as they are there; what is left of a key is changed.

    NULL is a key like any other, and rows of which one side has more are missing or extra.
    """
    found = Differences()
    ours, theirs = _by_key(source, keys), _by_key(target, keys)
    for key in sorted(ours.keys() | theirs.keys(), key=lambda each: [(text is None, text or "") for text in each]):
        left, right = ours.get(key, Counter()), theirs.get(key, Counter())
        if left == right:
            continue
        mine, others = sorted((left - right).elements(), key=repr), sorted((right - left).elements(), key=repr)
        found.changed.extend(zip(mine, others, strict=False))
        found.missing.extend(mine[len(others) :])
        found.extra.extend(others[len(mine) :])
    return found


def _by_key(rows: Sequence[Row], keys: int) -> dict[Row, Counter[Row]]:
    found: dict[Row, Counter[Row]] = defaultdict(Counter)
    for row in rows:
        found[tuple(row[:keys])][tuple(row)] += 1
    return found


def _differing(split: Split, source: Digests, target: Digests, within: tuple[Inside, ...] = ()) -> list[Spot]:
    """The parts that are not the same on both sides, in order."""
    parts = [part for part in source.keys() | target.keys() if source.get(part) != target.get(part)]
    nothing = (0, 0)
    spots = [Spot(split, part, max(source.get(part, nothing)[0], target.get(part, nothing)[0]), within) for part in parts]
    return sorted(spots, key=lambda each: (each.part is None, each.part))
