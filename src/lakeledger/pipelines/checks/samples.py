"""Some of the unexpected values, for whoever looks into it: few, short, and masked like everything that is kept of failed rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from lakeledger.pipelines.checks.conditions import Rows, condition
from lakeledger.pipelines.checks.counting import names_in
from lakeledger.pipelines.quarantine import AS_JSON
from lakeledger.quality import Expectation
from lakeledger.quality.verdict import SAMPLE
from lakeledger.sync.masking import Masking

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# So many characters of a text, and so many columns of a row.
LONGEST_TEXT = 100
MOST_COLUMNS = 8


def shown_columns(expectation: Expectation, rows: Rows) -> list[str]:
    """The columns that a sample shows: those that the expectation is about."""
    if expectation.columns:
        return [name for name in expectation.columns if rows.find(name)]
    return names_in(expectation.parameters.get("condition", ""), rows)[:MOST_COLUMNS]


def value_of(expectation: Expectation, rows: Rows) -> Column | None:
    """What is shown of a row, as JSON; None if it is about no column."""
    from pyspark.sql import functions as F

    columns = [(name, rows.column(name)) for name in shown_columns(expectation, rows)]
    # Cut as columns, not as JSON: what cannot be read as JSON again could not be masked by its name.
    texts = ("text", "binary")
    shown = [
        (F.substring(F.expr(each.sql), 1, LONGEST_TEXT) if each.family in texts else F.expr(each.sql)).alias(name)
        for name, each in columns
        if each.family != "other"
    ]
    return F.to_json(F.struct(*shown), AS_JSON) if shown else None


def on_the_way(expectations: Mapping[int, Expectation], rows: Rows) -> dict[str, Column]:
    """One unexpected value of each expectation, found in the pass that counts them."""
    from pyspark.sql import functions as F

    made = {}
    for place, each in expectations.items():
        if (value := value_of(each, rows)) is not None:
            made[name_of(place)] = F.min(F.when(F.expr(condition(each, rows).unexpected), value))
    return made


def name_of(place: int) -> str:
    """What the sample of an expectation is measured as."""
    return f"quality_sample_{place}"


def taken(frame: DataFrame, expectations: Mapping[int, Expectation], rows: Rows) -> dict[int, tuple[str, ...]]:
    """A few unexpected values of each expectation, in one action."""
    from pyspark.sql import functions as F

    asked = []
    for place, each in expectations.items():
        if (value := value_of(each, rows)) is not None:
            some = frame.where(condition(each, rows).unexpected).limit(SAMPLE)
            asked.append(some.select(F.lit(place).alias("place"), value.alias("value")))
    found: dict[int, list[str]] = {}
    for row in reduce(lambda one, other: one.unionAll(other), asked).collect() if asked else ():
        found.setdefault(row["place"], []).append(row["value"])
    return {place: tuple(values) for place, values in found.items()}


def masked(sample: Sequence[str], masking: Masking) -> tuple[Any, ...]:
    """The values as they may be kept, each once."""
    kept: list[Any] = []
    for text in sample:
        data: Any = masking.mask(json.loads(text)).data
        data = {name: _short(each) for name, each in data.items()}
        if data not in kept:
            kept.append(data)
    return tuple(kept[:SAMPLE])


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= LONGEST_TEXT:
        return value
    return f"{text[:LONGEST_TEXT]}…"
