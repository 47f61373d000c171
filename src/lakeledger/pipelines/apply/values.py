"""Values of any type made comparable: equal if they are the same, and in an order that is always the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column

# What has no bounds that could be compared, or no equality that could be relied on.
_NO_KEYS = ("variant", "void", "interval", "calendarinterval")


def is_plain(type_: Any) -> bool:
    """Whether a column of the type can be a key."""
    return isinstance(type_, str) and not type_.startswith(_NO_KEYS)


def is_orderable(type_: Any) -> bool:
    """Whether Spark itself can compare values of the type."""
    if isinstance(type_, str):
        return type_ not in ("variant", "calendarinterval")
    match type_["type"]:
        case "struct":
            return all(is_orderable(field["type"]) for field in type_["fields"])
        case "array":
            return is_orderable(type_["elementType"])
        case _:
            return False


def comparable(value: Column, type_: Any) -> Column:
    """The value in a form that Spark can compare: a map as its entries in order, a variant as text."""
    from pyspark.sql import functions as F

    if is_orderable(type_):
        return value
    if isinstance(type_, str):
        return F.to_json(value) if type_ == "variant" else value.cast("string")
    match type_["type"]:
        case "struct":
            # By place, so that the names inside do not matter.
            inside = [comparable(value.getField(field["name"]), field["type"]).alias(f"f{i}") for i, field in enumerate(type_["fields"])]
            return F.when(value.isNotNull(), F.struct(*inside))
        case "array":
            return F.transform(value, lambda each: comparable(each, type_["elementType"]))
        case "map":
            pair = lambda each: F.struct(each["key"].alias("key"), comparable(each["value"], type_["valueType"]).alias("value"))  # noqa: E731
            return F.array_sort(F.transform(F.map_entries(value), pair))
        case _:
            return value.cast("string")


def nothing(type_: Any) -> Column:
    """NULL of a type."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructField

    return F.lit(None).cast(StructField.fromJson({"name": "value", "type": type_, "nullable": True, "metadata": {}}).dataType)


def same(pairs: Iterable[tuple[Column, Column, Any]]) -> Column:
    """Whether both values of each pair are the same, where NULL is NULL and NaN is NaN."""
    from pyspark.sql import functions as F

    found = F.lit(True)
    for one, other, type_ in pairs:
        found = found & comparable(one, type_).eqNullSafe(comparable(other, type_))
    return found


def in_order(values: Iterable[tuple[Column, Any]]) -> Column:
    """Several values as one that can be compared; NULL comes first."""
    from pyspark.sql import functions as F

    made = [comparable(value, type_).alias(f"v{index}") for index, (value, type_) in enumerate(values)]
    return F.struct(*made or [F.lit(0).alias("v0")])
