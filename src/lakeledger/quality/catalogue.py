"""The kinds of expectations: what each is called, here and in Great Expectations, what it takes, and how it is decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.errors import Invalid

# What decides it: each row by itself, an aggregate over the rows, the rows as a whole (who else has this value?), or the columns alone.
Level = Literal["row", "aggregate", "whole", "schema"]
Columns = Literal["none", "one", "two", "many"]
Type = Literal["value", "values", "number", "count", "text", "texts", "flag", "span"]


@dataclass(frozen=True)
class Parameter:
    """What an expectation takes beside its columns. `gx` are the names that Great Expectations has for it."""

    name: str
    type: Type
    doc: str
    required: bool = False
    choices: tuple[str, ...] = ()
    gx: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """One kind of expectation. `main` is the parameter that a bare value stands for where it names no column."""

    name: str
    level: Level
    columns: Columns
    doc: str
    parameters: tuple[Parameter, ...] = ()
    gx: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    main: str | None = None
    has_nulls: bool = False

    @property
    def counts(self) -> bool:
        """Whether it counts rows that are unexpected, so that some of them may be tolerated."""
        return self.level == "row" or self.name in ("unique", "foreign_key")

    @cached_property
    def names(self) -> dict[str, Parameter]:
        """Its parameters, by each name that they may be given by."""
        return {name: each for each in self.parameters for name in (each.name, *each.gx)}


def _bounds(type_: Type, what: str, *, strict: bool = True) -> tuple[Parameter, ...]:
    edges = (
        Parameter("min", type_, f"The least {what}.", gx=("min_value",)),
        Parameter("max", type_, f"The greatest {what}.", gx=("max_value",)),
    )
    if not strict:
        return edges
    return (
        *edges,
        Parameter("strict_min", "flag", "Whether `min` itself is too small."),
        Parameter("strict_max", "flag", "Whether `max` itself is too large."),
    )


_VALUES = Parameter("values", "values", "The values.", required=True, gx=("value_set",))
_REGEX = Parameter("regex", "text", "A regular expression of Java; it may match anywhere: begin with ^ and end with $.", required=True)


def _aggregate(name: str, what: str, *gx: str) -> Kind:
    doc = f"The {what} of the column lies between `min` and `max`; without a value it fails, unless `nulls: pass`."
    bounds = _bounds("value" if name in ("min", "max") else "number", what)
    return Kind(name, "aggregate", "one", doc, bounds, {each: {} for each in gx}, has_nulls=True)


KINDS: tuple[Kind, ...] = (
    Kind("not_null", "row", "one", "The column is not NULL.", gx={"expect_column_values_to_not_be_null": {}}),
    Kind("null", "row", "one", "The column is NULL.", gx={"expect_column_values_to_be_null": {}}),
    Kind(
        "in_set",
        "row",
        "one",
        "The value is one of `values`; no values at all allow every one.",
        (_VALUES,),
        {"expect_column_values_to_be_in_set": {}},
        has_nulls=True,
    ),
    Kind(
        "not_in_set",
        "row",
        "one",
        "The value is none of `values`.",
        (_VALUES,),
        {"expect_column_values_to_not_be_in_set": {}},
        has_nulls=True,
    ),
    Kind(
        "between",
        "row",
        "one",
        "The value, a number, text, date or time, lies between `min` and `max`.",
        _bounds("value", "value"),
        {"expect_column_values_to_be_between": {}},
        has_nulls=True,
    ),
    Kind(
        "matches",
        "row",
        "one",
        "The text matches a regular expression.",
        (_REGEX,),
        {"expect_column_values_to_match_regex": {}},
        has_nulls=True,
    ),
    Kind(
        "not_matches",
        "row",
        "one",
        "The text does not match a regular expression.",
        (_REGEX,),
        {"expect_column_values_to_not_match_regex": {}},
        has_nulls=True,
    ),
    Kind(
        "length",
        "row",
        "one",
        "The text has so many characters.",
        (*_bounds("count", "length"), Parameter("equal", "count", "The length that it has.", gx=("value",))),
        {"expect_column_value_lengths_to_be_between": {}, "expect_column_value_lengths_to_equal": {}},
        has_nulls=True,
    ),
    Kind(
        "compare",
        "row",
        "two",
        "The first column compared with the second: `operator` > (the default), >=, =, !=, < or <=.",
        (
            Parameter("operator", "text", "How they compare.", choices=(">", ">=", "=", "!=", "<", "<=")),
            Parameter("or_equal", "flag", "With >: whether they may be equal, too."),
            Parameter(
                "ignore_row_if",
                "text",
                "Which rows are not looked at.",
                choices=("both_values_are_missing", "either_value_is_missing", "neither"),
            ),
        ),
        {
            "expect_column_pair_values_a_to_be_greater_than_b": {},
            "expect_column_pair_values_to_be_equal": {"operator": "="},
        },
    ),
    Kind(
        "valid",
        "row",
        "none",
        "A SQL condition that holds for each valid row. Where it is NULL the row is not valid, unless `nulls: pass`.",
        (Parameter("condition", "text", "The condition.", required=True),),
        main="condition",
        has_nulls=True,
    ),
    Kind(
        "unique",
        "whole",
        "many",
        "No two rows have the same values in the columns; each of those that do is unexpected.",
        (
            Parameter(
                "ignore_row_if",
                "text",
                "Which rows are not looked at.",
                choices=("all_values_are_missing", "any_value_is_missing", "never"),
            ),
        ),
        {"expect_column_values_to_be_unique": {}, "expect_compound_columns_to_be_unique": {}},
    ),
    Kind(
        "foreign_key",
        "whole",
        "many",
        "Another ledger table has a row with the same values; rows with NULL in one of the columns are not looked at.",
        (
            Parameter("table", "text", "The other table, as in silver.customers.", required=True),
            Parameter("references", "texts", "Its columns; by default they have the same names."),
        ),
    ),
    Kind(
        "distinct_count",
        "whole",
        "one",
        "The column has so many different values.",
        _bounds("count", "number of values"),
        {"expect_column_unique_value_count_to_be_between": {}},
    ),
    Kind(
        "distinct_proportion",
        "whole",
        "one",
        "The number of different values, divided by that of all values.",
        _bounds("number", "proportion"),
        {"expect_column_proportion_of_unique_values_to_be_between": {}},
    ),
    Kind(
        "row_count",
        "aggregate",
        "none",
        "There are so many rows.",
        (*_bounds("count", "number of rows", strict=False), Parameter("equal", "count", "How many rows there are.", gx=("value",))),
        {"expect_table_row_count_to_be_between": {}, "expect_table_row_count_to_equal": {}},
        main="equal",
    ),
    _aggregate("min", "least value", "expect_column_min_to_be_between"),
    _aggregate("max", "greatest value", "expect_column_max_to_be_between"),
    _aggregate("mean", "mean", "expect_column_mean_to_be_between"),
    _aggregate("sum", "sum", "expect_column_sum_to_be_between"),
    _aggregate("stdev", "standard deviation of a sample", "expect_column_stdev_to_be_between"),
    Kind(
        "freshness",
        "aggregate",
        "one",
        "The greatest time of the column is at most so old when it is checked.",
        (Parameter("max_age", "span", "How old: 90s, 30m, 24h, 2d.", required=True),),
        has_nulls=True,
    ),
    Kind(
        "column_exists",
        "schema",
        "one",
        "There is such a column.",
        (Parameter("position", "count", "At which place, counted from 0.", gx=("column_index",)),),
        {"expect_column_to_exist": {}},
    ),
    Kind(
        "columns",
        "schema",
        "none",
        "There are these columns.",
        (
            Parameter("names", "texts", "Their names.", required=True, gx=("column_set", "column_list")),
            Parameter("exact", "flag", "Whether there are no others; by default so.", gx=("exact_match",)),
            Parameter("ordered", "flag", "Whether they are in this order; then there are no others."),
        ),
        {"expect_table_columns_to_match_set": {}, "expect_table_columns_to_match_ordered_list": {"ordered": "true"}},
        main="names",
    ),
    Kind(
        "column_count",
        "schema",
        "none",
        "There are so many columns.",
        (*_bounds("count", "number of columns", strict=False), Parameter("equal", "count", "How many there are.", gx=("value",))),
        {"expect_table_column_count_to_equal": {}, "expect_table_column_count_to_be_between": {}},
        main="equal",
    ),
    Kind(
        "type",
        "schema",
        "one",
        "The column has one of these types, in the words of SQL (bigint) or of Spark (LongType).",
        (Parameter("types", "texts", "The types.", required=True, gx=("type", "type_", "type_list")),),
        {"expect_column_values_to_be_of_type": {}, "expect_column_values_to_be_in_type_list": {}},
    ),
)
BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}
# What else a kind is called: the names of Great Expectations, and some that people write.
ALIASES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    **{gx: (kind.name, implied) for kind in KINDS for gx, implied in kind.gx.items()},
    "compound_unique": ("unique", {}),
    "regex": ("matches", {}),
    "accepted_values": ("in_set", {}),
    "greater_than": ("compare", {"operator": ">"}),
    "equal": ("compare", {"operator": "="}),
    "sql": ("valid", {}),
    "condition": ("valid", {}),
}


@lru_cache(maxsize=1_000)
def find(name: str) -> tuple[Kind, Mapping[str, str]]:
    """A kind by any of its names, and the parameters that the name implies. Raises Invalid, with what is meant most likely."""
    folded = codec.fold(name)
    if folded in BY_NAME:
        return BY_NAME[folded], {}
    if folded in ALIASES:
        kind, implied = ALIASES[folded]
        return BY_NAME[kind], implied
    near = suggest(folded, [*BY_NAME, *ALIASES])
    raise Invalid(f"there is no expectation {name!r}{near or ': there are ' + ', '.join(BY_NAME)}")
