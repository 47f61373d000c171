"""What changed in the control table: new, updated, deactivated, reactivated, deleted; by content, never by clocks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lakeledger.control.changes import between
from lakeledger.control.model import Edit, ModuleRow, Snapshot, SourceRow

AT = datetime(2026, 1, 1, tzinfo=UTC)


def row(module: str, source: str, *, order: int = 1, active: bool = True, config: str = '{"a": 1, "b": 2}') -> SourceRow:
    return SourceRow(source, module, "sql", order, "{}", '{"table": "t"}', config, active)


def view(*rows: SourceRow, version: int = 1, modules: tuple[ModuleRow, ...] = ()) -> Snapshot:
    return Snapshot(version, 1, {each.key: each for each in rows}, {each.key: each for each in modules})


def test_at_first_everything_is_new() -> None:
    found = between(None, view(row("a", "x"), row("b", "y")))
    assert found.to_dict() == {
        "new_modules": ["a", "b"],
        "updated_modules": [],
        "deactivated_modules": [],
        "reactivated_modules": [],
        "deleted_modules": [],
        "changed_sources": [
            {"change": "new", "module_name": "a", "source_id": "x"},
            {"change": "new", "module_name": "b", "source_id": "y"},
        ],
    }


def test_a_module_that_comes_later_is_new_and_not_updated() -> None:
    found = between(view(row("a", "x")), view(row("a", "x"), row("b", "y")))
    assert (found.new_modules, found.updated_modules) == (("b",), ())


def test_a_source_more_or_another_order_updates_its_module_only() -> None:
    before = view(row("a", "x"), row("b", "y"))
    assert between(before, view(row("a", "x"), row("a", "z"), row("b", "y"))).updated_modules == ("a",)
    assert between(before, view(row("a", "x"), row("b", "y", order=2))).updated_modules == ("b",)


def test_the_last_source_switched_off_deactivates_the_module_and_one_of_two_updates_it() -> None:
    both = view(row("a", "x"), row("a", "y"))
    one_off = view(row("a", "x"), row("a", "y", active=False))
    all_off = view(row("a", "x", active=False), row("a", "y", active=False))
    assert between(both, one_off).updated_modules == ("a",)
    assert between(both, all_off).deactivated_modules == ("a",)
    assert between(all_off, one_off).reactivated_modules == ("a",)
    assert [change.kind for change in between(both, all_off).changed_sources] == ["deactivated", "deactivated"]


def test_deleted_rows_are_seen() -> None:
    found = between(view(row("a", "x"), row("b", "y"), row("b", "z")), view(row("b", "y")))
    assert (found.deleted_modules, found.updated_modules) == (("a",), ("b",))
    assert [(change.kind, change.source_id) for change in found.changed_sources] == [("deleted", "x"), ("deleted", "z")]


def test_settings_of_a_module_count_and_those_of_nobody_do_not() -> None:
    before = view(row("a", "x"), modules=(ModuleRow("a", schedule='{"cron": "0 5 * * *"}'),))
    after = view(row("a", "x"), modules=(ModuleRow("a", schedule='{"cron": "0 6 * * *"}'), ModuleRow("nobody", description="no rows")))
    assert between(before, after).modules == {"a"}


def test_timestamps_and_the_spelling_of_json_are_no_change() -> None:
    before = view(row("a", "x"))
    after = view(replace(row("a", "x", config='{"b":2,\n "a":1}'), updated_timestamp=AT, created_timestamp=AT))
    assert between(before, after).modules == set()


def test_an_edit_gives_new_timestamps_only_to_what_it_changes() -> None:
    before = Edit({("a", "x"): row("a", "x"), ("a", "y"): row("a", "y")}).applied(view(), AT)
    later = AT + timedelta(hours=1)
    after = Edit({("a", "x"): row("a", "x", config='{"b": 2, "a": 1}'), ("a", "y"): row("a", "y", order=9)}).applied(before, later)
    assert after.sources["a", "x"] == before.sources["a", "x"]
    changed = after.sources["a", "y"]
    assert (changed.created_timestamp, changed.updated_timestamp) == (AT, later)
    assert Edit({("a", "x"): None}).applied(after, later).sources.keys() == {("a", "y")}
