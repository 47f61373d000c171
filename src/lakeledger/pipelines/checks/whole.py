"""What only all rows together can tell: which values come twice, and which another table does not have. One action of Spark for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from lakeledger.errors import Invalid, LakeledgerError, NotFound
from lakeledger.names import parse_name
from lakeledger.pipelines import Context
from lakeledger.pipelines.checks.conditions import Rows, looked_at, told
from lakeledger.pipelines.checks.counting import reason_of
from lakeledger.pipelines.read import read
from lakeledger.quality import Expectation, Suite
from lakeledger.quality.verdict import Seen
from lakeledger.tables import store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NOTHING = Seen(0, 0, 0)
FIELDS = ("elements", "missing", "unexpected", "distinct", "sample")


def look(context: Context, suite: Suite, frame: DataFrame | None, rows: Rows, known: Mapping[int, Seen]) -> dict[int, Seen]:
    """What is seen of the expectations that need all rows, by their places, but for those that are `known`. None are no rows."""
    wanted = {place: each for place, each in enumerate(suite.expectations) if each.spec.level == "whole" and place not in known}
    if not wanted:
        return {}
    if frame is None:
        return {place: _told(each, dict.fromkeys(FIELDS)) for place, each in wanted.items()}
    asked: dict[int, DataFrame] = {}
    found: dict[int, Seen] = {}
    for place, each in wanted.items():
        try:
            asked[place] = _asked(context, each, frame, rows)
        except (Invalid, NotFound) as error:
            found[place] = Seen(error=str(error))
    return {**found, **_answers(wanted, asked)}


def _answers(wanted: Mapping[int, Expectation], asked: Mapping[int, DataFrame]) -> dict[int, Seen]:
    """All at once; if that fails, each alone, so that the others are known."""
    if not asked:
        return {}
    try:
        return _collected(wanted, asked)
    except LakeledgerError:
        raise
    except Exception:
        found: dict[int, Seen] = {}
        for place, frame in asked.items():
            if reason := reason_of(partial(lambda each, made: found.update(_collected(wanted, {each: made})), place, frame)):
                found[place] = Seen(error=reason)
        if all(each.error is None for each in found.values()):
            raise
        return found


def _collected(wanted: Mapping[int, Expectation], asked: Mapping[int, DataFrame]) -> dict[int, Seen]:
    from pyspark.sql import functions as F

    every = [frame.select(F.lit(place).alias("place"), *FIELDS) for place, frame in asked.items()]
    answers = reduce(lambda one, other: one.unionAll(other), every).collect()
    return {row["place"]: _told(wanted[row["place"]], row.asDict()) for row in answers}


def _told(expectation: Expectation, row: Mapping[str, Any]) -> Seen:
    elements, missing, unexpected, distinct = (int(row[name] or 0) for name in FIELDS[:4])
    if expectation.kind == "distinct_count":
        return Seen(elements, value=distinct)
    if expectation.kind == "distinct_proportion":
        return Seen(elements, value=distinct / (elements - missing) if elements > missing else None)
    return Seen(elements, missing, unexpected, sample=tuple(each for each in row["sample"] or () if each))


def _asked(context: Context, expectation: Expectation, frame: DataFrame, rows: Rows) -> DataFrame:
    """One row with what is to be known. Raises Invalid or NotFound."""
    from pyspark.sql import functions as F

    columns = [rows.column(name) for name in expectation.columns]
    looked = looked_at(expectation, rows)
    chosen = frame.where(looked) if looked else frame
    keys = [f"k{number}" for number in range(len(columns))]
    given = [F.expr(column.sql).alias(key) for key, column in zip(keys, columns, strict=True)]
    grouped = chosen.select(*given).groupBy(*keys).agg(F.count(F.lit(1)).alias("n"))
    ignored = _ignored(expectation, keys)
    if expectation.kind == "foreign_key":
        grouped = _with_match(context, expectation, grouped, [column.type for column in columns])
        unexpected = f"not ({ignored}) and matched is null"
    else:
        unexpected = f"not ({ignored}) and n > 1"
    shown = ", ".join(f"'{name}', {key}" for name, key in zip(map(_plain, expectation.columns), keys, strict=True))
    sample = f"if({unexpected}, to_json(named_struct({shown})), null)"
    return grouped.agg(
        F.expr("sum(n) as elements"),
        F.expr(f"sum(if({ignored}, n, 0)) as missing"),
        F.expr(f"sum(if({unexpected}, n, 0)) as unexpected"),
        F.expr(f"count_if(not ({ignored})) as distinct"),
        F.expr(f"array(min({sample}), max({sample})) as sample"),
    )


def _ignored(expectation: Expectation, keys: Sequence[str]) -> str:
    how = expectation.parameters.get("ignore_row_if", "any_value_is_missing" if expectation.kind == "foreign_key" else None)
    missing = [f"{key} is null" for key in keys]
    match how:
        case "never":
            return "false"
        case "any_value_is_missing":
            return " or ".join(missing)
        case _:
            return " and ".join(missing)


def _with_match(context: Context, expectation: Expectation, grouped: DataFrame, types: Sequence[Any]) -> DataFrame:
    """The keys with `matched`, which is NULL for those that the other table does not have."""
    from pyspark.sql import functions as F

    name = parse_name(expectation.parameters["table"])
    with context.store.read() as tx:
        view = store.view(tx, name).placed(context.warehouse)
    others = Rows({"type": "struct", "fields": [field for field in view.schema["fields"] if not field.get("hidden")]})
    columns = [others.column(each) for each in expectation.parameters.get("references") or expectation.columns]
    for own, other, column in zip(types, columns, expectation.columns, strict=True):
        if Rows({"fields": [{"name": "own", "type": own}]}).column("own").family not in _like(other.family):
            raise Invalid(f"{column} is {told(own)}, and {other.sql} of {name} is {told(other.type)}: they cannot be the same")
    there = read(grouped.sparkSession, view)
    keys = [F.expr(column.sql).alias(f"r{number}") for number, column in enumerate(columns)]
    known = there.select(*keys).distinct().withColumn("matched", F.lit(1))
    matches = [F.col(f"k{number}") == F.col(f"r{number}") for number in range(len(columns))]
    return grouped.join(known, reduce(lambda one, other: one & other, matches), "left")


def _like(family: str) -> tuple[str, ...]:
    return ("number", "decimal") if family in ("number", "decimal") else (family,) if family != "other" else ()


def _plain(name: str) -> str:
    return name.replace("\\", "").replace("'", "")
