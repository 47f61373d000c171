"""Which column of a table a column of a source becomes: renamed ones by declaration, and names that engines stumble over made safe."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.tables.schema import Schema, column_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lakeledger.control.loads import TargetConfig


@dataclass(frozen=True)
class Naming:
    """`renamed` has the earlier, or the source's own, names of columns by those that the table has.

    If `safe`, a name has letters, digits and underscores only: all others become one underscore, and at its ends nothing.
    Once it `is_applied`, rows have the names of the table already: of `Name` and `name` one may have got another.
    """

    renamed: Mapping[str, str] = field(default_factory=dict)
    safe: bool = False
    is_applied: bool = False

    @classmethod
    def of_target(cls, target: TargetConfig) -> Naming:
        """What a target declares."""
        return cls(target.renamed_columns, safe=target.column_names == "safe")

    def of(self, names: Sequence[str]) -> list[str]:
        """The names that columns of a source get, in their order. Raises Invalid if two of them would get one."""
        found = self._renamed(names, names)
        if self.safe:
            found = [each if each != name else safe_name(each, place) for place, (name, each) in enumerate(zip(names, found, strict=True))]
            found = self._renamed(found, names)
            _check_apart(found, names)
        return found

    def apply(self, frame: DataFrame) -> DataFrame:
        """The frame under those names."""
        if self.is_applied:
            return frame
        named = self.of(frame.columns)
        return frame if named == frame.columns else frame.toDF(*named)

    def renames(self, table: str, schema: Schema) -> dict[int, str]:
        """The names that columns of a table get, by their ids. Raises Invalid if it has a column under both names."""
        ids = {codec.fold(each["name"]): each["id"] for each in schema["fields"]}
        found = {}
        for now, before in self.renamed.items():
            if codec.fold(now) == codec.fold(before) or codec.fold(before) not in ids:
                continue
            if codec.fold(now) in ids:
                raise Invalid(
                    f"renamed_columns says that {before} of {table} is {now} now, but it has both: drop one of them, or take it out"
                )
            found[ids[codec.fold(before)]] = now
        return found

    def check_found(self, table: str, schema: Schema | None, names: Sequence[str]) -> None:
        """Raise Invalid for a renamed column that neither the table nor the rows have, under any of its names."""
        there = {codec.fold(name) for name in (*names, *(column_names(schema) if schema else ()))}
        for now, before in self.renamed.items():
            if not {codec.fold(now), codec.fold(before)} & there:
                listed = ", ".join(names)
                raise Invalid(
                    f"renamed_columns says that {before} is {now} now, but neither {table} nor the data has them: it has {listed}"
                )

    def _renamed(self, names: Sequence[str], told: Sequence[str]) -> list[str]:
        found = list(names)
        for now, before in self.renamed.items():
            place = _place(before, names)
            if place is None or codec.fold(now) == codec.fold(names[place]):
                continue
            if (other := _place(now, names)) is not None and other != place:
                raise Invalid(
                    f"the data has both {told[other]!r} and {told[place]!r}, and renamed_columns says that they are one: drop one of them"
                )
            found[place] = now
        return found


AS_IS = Naming()


def safe_name(name: str, place: int) -> str:
    """A name that every engine takes; a column without one is named for its place, as Spark does."""
    return re.sub(r"\W+", "_", re.sub(r"^\W+|\W+$", "", name)) or f"_c{place}"


def _place(name: str, names: Sequence[str]) -> int | None:
    """Where a column is: by its very name, else by one that differs only in case."""
    if name in names:
        return list(names).index(name)
    folded = [codec.fold(each) for each in names]
    return folded.index(codec.fold(name)) if codec.fold(name) in folded else None


def _check_apart(found: Sequence[str], told: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name, source in zip(found, told, strict=True):
        if (other := seen.setdefault(codec.fold(name), source)) is not source:
            raise Invalid(
                f"the columns {other!r} and {source!r} would both be {name}: name one of them in renamed_columns ({{new: {source!r}}})"
            )
