"""Files are merged into the control table; what people changed there is never overwritten unseen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import tried
from lakeledger.control.documents import Module
from lakeledger.control.merge import Choice, FieldConflict, Merge, merge
from lakeledger.control.model import ModuleRow, Snapshot, SourceRow, UnreadableRow
from lakeledger.control.rows import to_rows

NOW = datetime(2026, 1, 2, tzinfo=UTC)
KEY = ("shop", "orders")


def module(*sources: dict[str, Any], **settings: Any) -> Module:
    """The shop with these sources; one without changes, if none is given."""
    return Module.model_validate({"module_name": "shop", **settings, "sources": [source(**each) for each in sources or ({},)]})


def source(**changes: Any) -> dict[str, Any]:
    query = changes.pop("query", "select 1")
    return {
        "source_id": "orders",
        "source_type": "sql",
        "transformation_config": {"sql_task": {"sql_query": query}},
        "target_config": {"table": changes.get("source_id", "orders")},
        **changes,
    }


def table(*modules: Module, problems: tuple[UnreadableRow, ...] = ()) -> Snapshot:
    """A control table that has these modules."""
    rows = [to_rows(each) for each in modules]
    sources = {row.key: replace(row, created_timestamp=NOW, updated_timestamp=NOW) for _, found in rows for row in found}
    return Snapshot(1, 1, sources, {row.key: row for row, _ in rows if row != ModuleRow(row.module_name)}, problems)


def merged(
    last: Iterable[Module], now: Iterable[Module], file: Iterable[Module], prune: bool = False, choose: Choice | None = None
) -> Merge:
    return merge(table(*last), table(*now), file, prune=prune, choose=choose)


def did_nothing(found: Merge) -> bool:
    return not found.edit and not found.conflicts and not found.pruned


A, B, C = module(), module({"query": "select 2"}), module({"query": "select 3"})
OFF = module({"is_active": False})


def row(of: Module) -> SourceRow:
    return to_rows(of)[1][0]


def test_what_is_new_in_the_file_is_put() -> None:
    found = merged([], [], [A])
    assert found.edit.sources == {KEY: row(A)}
    assert found.edit.modules == {}
    assert found.said == [row(A), ModuleRow("shop")]


def test_unchanged_content_changes_nothing() -> None:
    found = merged([A], [A], [A])
    assert did_nothing(found)
    assert found.unchanged == [KEY, ("shop", None)]
    assert did_nothing(merged([], [A], [A]))


def test_what_only_the_file_changed_is_put() -> None:
    assert merged([A], [A], [B]).edit.sources == {KEY: row(B)}


def test_what_only_the_table_changed_stays() -> None:
    found = merged([A], [B], [A])
    assert did_nothing(found)
    assert found.kept == [KEY]


def test_what_both_changed_to_the_same_is_left_alone() -> None:
    found = merged([A], [B], [B])
    assert did_nothing(found)
    assert KEY in found.unchanged
    assert row(B) in found.said


def test_what_both_changed_differently_is_a_conflict_shown_field_by_field_and_not_in_the_edit() -> None:
    found = merged([A], [B], [C])
    assert not found.edit
    (conflict,) = found.conflicts
    assert (conflict.module_name, conflict.source_id) == KEY
    assert conflict.fields == (FieldConflict("transformation_config.sql_task.sql_query", "select 1", "select 3", "select 2"),)
    assert conflict.words() == [
        "shop.orders: the file and the table both changed the row",
        '  transformation_config.sql_task.sql_query was "select 1"; the file has "select 3", the table has "select 2"',
    ]
    assert row(C) not in found.said


def test_a_row_that_was_never_imported_and_differs_is_a_conflict() -> None:
    found = merged([], [A], [B])
    assert not found.edit
    assert [field.base for conflict in found.conflicts for field in conflict.fields] == [None]


def test_a_row_that_people_wrote_with_its_defaults_is_not_different() -> None:
    spelled = replace(
        row(A),
        target_config='{ "table": "orders", "schema": "main" }',
        transformation_config='{"run_if": "ALL_SUCCESS", "sql_task": {"sql_query": "select 1", "parameters": {}}}',
    )
    now = replace(table(A), sources={KEY: spelled})
    assert did_nothing(merge(table(), now, [A]))
    assert merge(table(A), now, [B]).edit.sources == {KEY: row(B)}


@pytest.mark.parametrize("last", [[A], []])
def test_what_was_switched_off_in_the_table_stays_off(last: list[Module]) -> None:
    found = merged(last, [OFF], [A])
    assert did_nothing(found)
    assert KEY in found.kept


def test_what_was_switched_off_stays_off_also_when_the_file_changed_something_else() -> None:
    found = merged([A], [OFF], [B])
    assert found.edit.sources == {KEY: replace(row(B), is_active=False)}
    assert not found.conflicts


def test_the_file_switches_off_and_on_again() -> None:
    assert merged([A], [A], [OFF]).edit.sources == {KEY: row(OFF)}
    assert merged([OFF], [OFF], [A]).edit.sources == {KEY: row(A)}


def test_what_was_switched_on_in_the_table_stays_on() -> None:
    assert did_nothing(merged([OFF], [A], [OFF]))


def test_a_switch_in_the_file_leaves_what_the_table_changed_besides() -> None:
    found = merged([A], [B], [OFF])
    assert not found.conflicts
    assert found.edit.sources == {KEY: replace(row(B), is_active=False)}


def test_a_row_that_is_off_in_a_new_file_and_on_in_the_table_is_a_conflict() -> None:
    (conflict,) = merged([], [A], [OFF]).conflicts
    assert conflict.fields == (FieldConflict("is_active", None, False, True),)


def test_a_row_deleted_in_the_table_stays_deleted() -> None:
    found = merged([A], [], [A])
    assert did_nothing(found)
    assert found.kept == [KEY]


def test_a_row_deleted_in_the_table_and_changed_in_the_file_is_a_conflict() -> None:
    (conflict,) = merged([A], [], [B]).conflicts
    assert "deleted in the table" in conflict.reason
    assert merged([A], [], [B], choose="file").edit.sources == {KEY: row(B)}
    assert did_nothing(merged([A], [], [B], choose="table"))


TWO = module({}, {"source_id": "more"})
MORE = ("shop", "more")


def test_a_row_that_left_the_file_stays_unless_pruned() -> None:
    found = merged([TWO], [TWO], [A])
    assert did_nothing(found)
    assert (MORE in found.kept, found.left) == (True, [MORE])
    pruned = merged([TWO], [TWO], [A], prune=True)
    assert pruned.edit.sources == {MORE: None}
    assert pruned.pruned == pruned.gone == [MORE]
    assert pruned.left == []


def test_a_row_that_left_the_file_but_changed_in_the_table_is_not_pruned() -> None:
    now = module({}, {"source_id": "more", "query": "select 2"})
    found = merged([TWO], [now], [A], prune=True)
    assert not found.edit
    (conflict,) = found.conflicts
    assert "left the file" in conflict.reason
    assert merged([TWO], [now], [A], prune=True, choose="file").edit.sources == {MORE: None}
    kept = merged([TWO], [now], [A], prune=True, choose="table")
    assert (bool(kept.edit), kept.gone, kept.left) == (False, [MORE], [])


def test_rows_that_no_file_ever_had_are_nobodys_business() -> None:
    found = merged([A], [TWO], [A], prune=True)
    assert did_nothing(found)
    assert MORE not in found.kept + found.unchanged


def test_a_row_that_is_gone_everywhere_is_forgotten() -> None:
    found = merged([TWO], [A], [A])
    assert did_nothing(found)
    assert found.gone == [MORE]


@pytest.mark.parametrize(("choose", "expected"), [("file", C), ("table", None)])
def test_a_choice_settles_conflicts(choose: Choice, expected: Module | None) -> None:
    found = merged([A], [B], [C], choose=choose)
    assert not found.conflicts
    assert found.edit.sources == ({KEY: row(expected)} if expected else {})
    assert row(C) in found.said


def test_a_choice_for_the_table_holds_until_the_file_changes_again() -> None:
    chosen = merged([A], [B], [C], choose="table")
    assert row(C) in chosen.said
    assert did_nothing(merged([C], [B], [C]))


def test_a_choice_for_the_file_does_not_switch_on_what_is_off() -> None:
    off = module({"query": "select 2", "is_active": False})
    assert merged([A], [off], [C], choose="file").edit.sources == {KEY: replace(row(C), is_active=False)}


def test_a_row_of_the_table_that_cannot_be_read_is_a_conflict() -> None:
    now = table(problems=(UnreadableRow(1, KEY, "source_id", "there are two rows with this key"),))
    found = merge(table(A), now, [A])
    assert not found.edit
    assert "cannot be read" in found.conflicts[0].reason
    assert merge(table(A), now, [A], choose="file").edit.sources == {KEY: row(A)}


DAILY, HOURLY = {"schedule": {"cron": "0 2 * * *"}}, {"schedule": {"cron": "0 * * * *"}}


def test_settings_of_a_module_are_merged_as_sources_are() -> None:
    daily, hourly, paused = module(**DAILY), module(**HOURLY), module(schedule={**DAILY["schedule"], "pause_status": "PAUSED"})
    assert merged([A], [A], [daily]).edit.modules == {"shop": to_rows(daily)[0]}
    assert did_nothing(merged([daily], [hourly], [daily]))
    assert did_nothing(merged([A], [daily], [A]))
    assert merged([daily], [daily], [A]).edit.modules == {"shop": ModuleRow("shop")}
    (conflict,) = merged([daily], [hourly], [paused]).conflicts
    assert conflict.source_id is None
    assert [field.field for field in conflict.fields] == ["schedule.cron", "schedule.pause_status"]
    assert conflict.words()[0].startswith("shop: ")


def test_a_module_that_left_the_files_takes_its_settings_with_it_when_nothing_of_it_is_left() -> None:
    daily, other = module(**DAILY), module(module_name="other")
    found = merged([daily, other], [daily, other], [other], prune=True)
    assert (found.edit.sources, found.edit.modules) == ({KEY: None}, {"shop": None})
    more = module({}, {"source_id": "more"}, **DAILY)
    kept = merged([daily, other], [more, other], [other], prune=True)
    assert (kept.edit.sources, kept.edit.modules) == ({KEY: None}, {})


def test_conflicts_do_not_show_secrets() -> None:
    def task(value: str) -> Module:
        return module({"source_type": "sql", "source_config": {"password": value, "url": f"jdbc://u:{value}@h"}})

    (conflict,) = merged([task("first-1")], [task("second-2")], [task("third-3")]).conflicts
    words = "\n".join(conflict.words())
    assert "password" in words
    assert not [secret for secret in ("first-1", "second-2", "third-3") if secret in words]


STATES = st.none() | st.builds(
    lambda query, active, order: module({"query": query, "is_active": active, "execution_order": order}),
    st.sampled_from(["select 1", "select 2", "select 3"]),
    st.booleans(),
    st.integers(1, 2),
)


@tried(2)
@given(STATES, STATES, STATES, st.booleans(), st.sampled_from([None, "file", "table"]))
def test_a_merge_is_done_after_it_was_done(
    last: Module | None, now: Module | None, file: Module | None, prune: bool, choose: Choice | None
) -> None:
    other = module(module_name="other")
    base, before = table(*filter(None, [last, other])), table(*filter(None, [now, other]))
    files = [*filter(None, [file]), other]
    found = merge(base, before, files, prune=prune, choose=choose)
    after = found.edit.applied(before, NOW)
    said = {**base.sources, **{each.key: each for each in found.said if isinstance(each, SourceRow)}}
    remembered = {key: each for key, each in said.items() if key not in found.gone}
    again = merge(replace(base, sources=remembered), after, files, prune=prune, choose=choose)
    assert not again.edit
    assert [conflict.source_id for conflict in again.conflicts] == [conflict.source_id for conflict in found.conflicts]
    if choose:
        assert not found.conflicts
    if now and not now.sources[0].is_active and (put := after.sources.get(KEY)) and put.is_active:
        assert last
        assert file
        assert file.sources[0].is_active != last.sources[0].is_active
