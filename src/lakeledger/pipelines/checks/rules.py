"""Expectations by which rows are set aside, as conditions over the rows of a write."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.pipelines.apply import Write
from lakeledger.pipelines.checks.conditions import Rows, condition
from lakeledger.pipelines.checks.counting import reason_of
from lakeledger.pipelines.quarantine import RAW, own_columns
from lakeledger.quality import Expectation
from lakeledger.tables.schema import HIDDEN, normalise

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Whether a row is one at all, where only Spark can say it.
IS_ROW = f"{HIDDEN}_is_row"


@dataclass(frozen=True)
class Rules:
    """Why rows of a frame are set aside by rules: conditions, by their words, and columns that these refer to.

    `problems` say of rules that cannot be evaluated on such rows why.
    """

    conditions: Mapping[str, Column] = field(default_factory=dict)
    helpers: Mapping[str, Column] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def rows_of(frame: DataFrame, spec: Write) -> tuple[Rows, dict[str, Column]]:
    """The rows of a write that expectations are about, and columns that these refer to.

    What could not be read, and what only deletes, is no row.
    """
    from pyspark.sql import functions as F

    schema = normalise(own_columns(frame.schema.jsonValue()))
    changes = spec.changes
    looked, helpers = [f"`{RAW}` is null"] if RAW in frame.columns else [], {}
    deletes = (changes.apply_as_deletes, changes.apply_as_truncates) if changes else ()
    for number, each in enumerate(each for each in deletes if each is not None):
        if isinstance(each, str):
            looked.append(f"not coalesce(({each}\n), false)")
        else:
            helpers[f"{IS_ROW}_{number}"] = ~F.coalesce(each, F.lit(False))
            looked.append(f"`{IS_ROW}_{number}`")
    excepted = {codec.fold(name) for name in (changes.except_column_list or () if changes else ())}
    own = [each for each in schema["fields"] if codec.fold(each["name"]) not in excepted]
    names = {codec.fold(each) for each in frame.columns}
    unset = changes.unset if changes and changes.unset and codec.fold(changes.unset) in names else None
    return Rows({**schema, "fields": own}, " and ".join(looked) or None, unset), helpers


def broken_rules(frame: DataFrame, spec: Write, rules: Sequence[Expectation]) -> Rules:
    """Why rows are set aside by rules. What cannot be evaluated sets no row aside, and is a problem."""
    from pyspark.sql import functions as F

    if not rules:
        return Rules()
    rows, helpers = rows_of(frame, spec)
    whole = frame.withColumns(helpers) if helpers else frame
    texts: dict[str, str] = {}
    problems = []
    for rule in rules:
        try:
            texts[_unlike(rule.reason, texts)] = condition(rule, rows).unexpected
        except Invalid as error:
            problems.append(f"{rule.label} cannot be evaluated: {error}")
    if reason_of(lambda: whole.select(*(F.expr(text) for text in texts.values())).schema):
        found = {name: reason_of(partial(_analyse, whole, text)) for name, text in texts.items()}
        problems += [f"{name.removeprefix('breaks ')} cannot be evaluated: {reason}" for name, reason in found.items() if reason]
        texts = {name: text for name, text in texts.items() if not found[name]}
    return Rules({name: F.expr(text) for name, text in texts.items()}, helpers, tuple(problems))


def _analyse(frame: DataFrame, text: str) -> None:
    from pyspark.sql import functions as F

    _ = frame.select(F.expr(text)).schema


def _unlike(name: str, others: Container[str]) -> str:
    """The name, or if it is taken one like it: two rules of one name are still two."""
    number, made = 1, name
    while made in others:
        number += 1
        made = f"{name} ({number})"
    return made
