"""How the lake's own tables are declared and laid out, without a ledger: pure planning."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lakeledger import Invalid
from lakeledger.maintenance.mirror import writing
from lakeledger.maintenance.mirror.changes import Place, Standing, source_of
from lakeledger.maintenance.mirror.layout import TABLES, check_fillable, declared, grows, losses, parse

RUNS = TABLES["pipeline_runs"]
NOWHERE = Path("nowhere")
TEAM = {"name": "team", "type": "STRING", "mode": "NULLABLE", "description": "Whose it is"}
NEEDED = [{"name": "pipeline_logging_id", "type": "STRING"}, {"name": "start_time", "type": "TIMESTAMP"}]


def ours(name: str = "pipeline_runs") -> list[dict[str, Any]]:
    return [vars(each) for each in declared(name, NOWHERE).columns]


def given(columns: Any) -> Any:
    return parse(RUNS, json.dumps(columns).encode(), "runs.json")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "runs.json must be a list of columns"),
        ([{"name": "start_time", "type": "TIMESTAMP"}], "runs.json lacks pipeline_logging_id"),
        ([{"name": "a b", "type": "STRING"}], "a column called 'a b'"),
        ([{"name": "a", "type": "GEOGRAPHY"}], "has the type 'GEOGRAPHY': write one of STRING"),
        ([{"name": "a", "type": "STRING", "mode": "REPEATED"}], "has the mode 'REPEATED': write REQUIRED or NULLABLE"),
        ([{"name": "a", "type": "STRING"}, {"name": "A", "type": "STRING"}], "declares a twice"),
    ],
)
def test_a_file_that_declares_no_table_is_refused_by_its_name(content: Any, said: str) -> None:
    with pytest.raises(Invalid, match=re.escape(said)):
        given(content)
    with pytest.raises(Invalid, match=r"runs\.json is no JSON"):
        parse(RUNS, b"{", "runs.json")


def test_a_column_that_must_have_a_value_needs_one_in_the_ledger() -> None:
    wanted = given([*NEEDED, {**TEAM, "mode": "REQUIRED"}])
    with pytest.raises(Invalid, match=r"runs\.json: column team is REQUIRED, and the ledger has no such column: make it NULLABLE"):
        check_fillable(wanted, ["pipeline_logging_id", "start_time"])
    check_fillable(wanted, ["pipeline_logging_id", "start_time", "team"])


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (lambda columns: [*columns, TEAM], []),
        (lambda columns: columns[:-1], ["column parameters is gone"]),
        (lambda columns: [*columns[:-1], {**columns[-1], "name": "arguments"}], ["column parameters is gone"]),
        (
            lambda columns: [{**each, "type": "STRING"} if each["name"] == "duration_ms" else each for each in columns],
            ["column duration_ms is long and would be string"],
        ),
        (lambda columns: [*columns[::-1]], []),
    ],
)
def test_what_a_file_would_lose_is_told(change: Any, lost: list[str]) -> None:
    current = declared("pipeline_runs", NOWHERE).schema
    wanted = given(change(ours()))
    assert losses(current, wanted) == lost
    assert grows(current, given([*ours(), TEAM]))
    assert not grows(current, given(ours()))


def test_a_table_goes_on_from_where_it_stands_or_copies_what_the_feed_does_not_say() -> None:
    source = source_of("default_metadata", RUNS)

    def at(place: Place | None, head: int = 10, trimmed: int = 0) -> Standing:
        return Standing(source, 1, place, "feed", head, trimmed)

    here = Place("pipeline_runs", "feed", 7)
    assert at(here).next("pipeline_runs") == here
    assert at(here, head=7).next("pipeline_runs") is None
    for standing in (at(None), at(Place("pipeline_runs", "another", 7)), at(here, trimmed=8), at(here, head=0, trimmed=10)):
        found = standing.next("pipeline_runs")
        assert found is not None
        assert found.copying is not None
        assert (found.feed, found.seq) == ("feed", 10)
    assert at(here, trimmed=7).next("pipeline_runs") == here


def test_only_files_that_may_have_a_row_are_written_again() -> None:
    def file(path: str, low: str | None, high: str | None, size: int = 1) -> writing.LiveFile:
        return writing.LiveFile(path, size, "day=1", low, high)

    old, new, unknown = file("old", "a", "c"), file("new", "d", "f"), file("unknown", None, None)
    assert writing.plan([old, new], ["g"], ["day=1"]) == ([], [])
    assert writing.plan([old, new], ["b", "g"], ["day=1"]) == ([old], [])
    assert writing.plan([old, new, unknown], ["e"], ["day=1"]) == ([new, unknown], [])
    small = [file(f"f{number}", "a", "b") for number in range(writing.SMALL_FILES)]
    large = file("large", "a", "b", writing.SMALL_BYTES)
    assert writing.plan([*small, large], ["z"], ["day=1"]) == ([], small)
    assert writing.plan([*small, large], ["z"], ["day=2"]) == ([], [])
