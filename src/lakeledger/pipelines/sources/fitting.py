"""By which types files without types of their own (CSV, JSON) are read for a table that is there, and which of its columns they lack.

What Spark infers depends on the rows of the day: whole numbers in a column of doubles, nothing at all in one that is always NULL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.pipelines.apply import Drift
from lakeledger.pipelines.breaking import SchemaChanged, reasons_of
from lakeledger.pipelines.partitions import quote
from lakeledger.tables.schema import INTEGERS, Misfit, Schema, misfits, widens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def read_as(inferred: Any, known: Any, *, frozen: bool = False) -> Any:
    """The type by which a column is read: the table's, if that can take every value, else what was inferred.

    A table that is frozen takes no wider numbers: they are read as its own, and one that does not fit fails the read.
    """
    if known == inferred or widens(inferred, known) or (known == "string" and isinstance(inferred, str)):
        return known
    if inferred in INTEGERS and (known in ("float", "double") or str(known).startswith("decimal(")):
        return known
    if (inferred, known) in (("date", "timestamp"), ("date", "timestamp_ntz"), ("timestamp", "timestamp_ntz"), ("double", "float")):
        return known
    return known if frozen and inferred in INTEGERS and known in INTEGERS else inferred


def common(types: Iterable[Any]) -> Any:
    """The type that takes the values of columns of one name in several files."""
    found, *others = list(types)
    for other in others:
        if read_as(other, found) == found:
            continue
        found = other if read_as(found, other) == other else "double" if {found, other} <= {*INTEGERS, "double"} else "string"
    return found


def typed(fields: Mapping[str, Any], known: Schema | None, nothing: Collection[str] = (), *, frozen: bool = False) -> dict[str, Any]:
    """The types by which columns are read, by their names; `nothing` are those without a value, which have the table's type."""
    there = {codec.fold(field["name"]): field["type"] for field in known["fields"]} if known else {}
    made = {}
    for name, inferred in fields.items():
        own = there.get(codec.fold(name), inferred)
        made[name] = own if name in nothing else read_as(inferred, own, frozen=frozen)
    return made


def doubtful(fields: Mapping[str, Any], known: Schema | None) -> list[str]:
    """The columns that were inferred as text and are none in the table: they may have no value at all, which Spark takes for text."""
    there = {codec.fold(field["name"]): field["type"] for field in known["fields"]} if known else {}
    return [name for name, type_ in fields.items() if type_ == "string" and there.get(codec.fold(name), "string") != "string"]


def without_values(frame: DataFrame, names: Collection[str]) -> list[str]:
    """Those of the columns that are NULL in every row, found in one pass."""
    from pyspark.sql import functions as F

    row = frame.agg(*(F.max(F.col(quote(name)).isNotNull()).alias(f"c{place}") for place, name in enumerate(names))).collect()[0]
    return [name for place, name in enumerate(names) if not row[f"c{place}"]]


def lacking(message: str, missing: Collection[str], types: Mapping[str, Any], known: Schema, drift: Drift) -> SchemaChanged:
    """That files lack columns of the table, and all else that it cannot take: columns of other types, and if it is frozen new ones."""
    there = {codec.fold(field["name"]): field for field in known["fields"]}
    gone = [Misfit(there[key]["name"], known=there[key]["type"]) for key in map(codec.fold, missing) if key in there]
    found: Schema = {"fields": [{"name": name, "type": type_} for name, type_ in types.items()]}
    others = [
        each for each in misfits(known, found, evolve=drift != "freeze") if each.given is not None and drift not in ("rescue", "drop")
    ]
    return SchemaChanged(message, reasons_of([*gone, *others]))
