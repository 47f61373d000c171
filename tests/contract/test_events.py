"""Events: typed rows of the registry, who hears of which, and that a wrong type does not check."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from contract.delivering import Recorders, delivering, load
from contract.making import append, execute, new_file, overwrite, something_of_everything, wait_until
from lakeledger import Invalid, Ledger, events
from lakeledger.config import AsthaSettings
from lakeledger.db.derived import WATCHED
from lakeledger.events import COMPONENT_SUBSCRIPTIONS, Event
from lakeledger.events.breaker import pause_before
from lakeledger.events.model import to_event
from lakeledger.events.rows import ROWS
from lakeledger.events.subscribers import check_tables, configured

ROOT = Path(__file__).parents[2]


def test_a_row_type_has_exactly_the_columns_that_the_change_log_has(ledger: Ledger) -> None:
    something_of_everything(ledger)
    found = {change.table_name: change.after or {} for change in ledger.changes.after() if change.operation == "INSERT"}
    assert {*found} == {*WATCHED} == {*ROWS}
    for table, row in found.items():
        assert {each.name for each in fields(ROWS[table])} == {*row}, f"give events.rows the columns of {table}"


def test_an_event_has_the_row_as_it_became_and_what_it_was(ledger: Ledger) -> None:
    append(ledger, new_file("a", rows=10))
    overwrite(ledger, new_file("b", rows=7))
    files = [to_event(change) for change in ledger.changes.after(table="table_files")]
    told = {(event.operation, event.data.file_name, event.data.state) for event in files}
    assert told == {("INSERT", "a", "live"), ("UPDATE", "a", "retired"), ("INSERT", "b", "live")}
    retired = next(event for event in files if event.operation == "UPDATE")
    assert retired.before is not None
    assert (retired.before["state"], retired.before["removed_version"], retired.data.removed_version) == ("live", None, 2)
    assert isinstance(retired.data, events.TableFiles)
    assert retired.data.created_at.tzinfo is not None
    assert retired.data.is_compressed is True
    whole = ledger.changes.load(retired)
    assert whole is not None
    assert whole["column_bounds"] == {"id": {"min": 1, "max": 10, "nulls": 0}}
    (table,) = [to_event(change) for change in ledger.changes.after(table="tables") if change.operation == "INSERT"]
    assert (table.data, table.before, table.tenant_id, table.key) == (table.data, None, "default", table.data.table_id)
    assert isinstance(table.data, events.Tables)


def test_a_deleted_row_is_told_as_it_was(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    execute(ledger, "delete from table_files")
    gone = to_event(ledger.changes.after(table="table_files")[-1])
    assert (gone.operation, gone.data.file_name, gone.before) == ("DELETE", "a", None)


def test_the_components_subscribe_as_they_were_designed() -> None:
    assert COMPONENT_SUBSCRIPTIONS == {
        "iceberg_updater": ["table_metadata", "table_files"],
        "delta_updater": ["table_snapshots"],
        "compactor": ["table_files", "table_stats"],
        "snapshotter": ["table_metadata", "table_files", "table_snapshots"],
        "metadata_orchestrator": ["tables", "table_metadata"],
        "lake_mirror": ["pipeline_runs", "step_logs", "dq_results", "api_keys"],
    }
    with pytest.raises(Invalid, match="component compactor subscribes to table_files, table_stats, not to tables"):
        check_tables("compactor", ["tables"])


def test_everybody_hears_of_their_tables_and_of_nothing_else(ledger: Ledger) -> None:
    load(ledger)
    made = {name: Recorders(*tables) for name, tables in COMPONENT_SUBSCRIPTIONS.items()}
    made["runs"] = Recorders("pipeline_runs")
    with delivering(ledger, {**made}):
        wait_until(lambda: len(made) == sum(bool(each.of) and each.of["default"].refreshes == 1 for each in made.values()))
        wait_until(lambda: all(lag.state == "closed" for lag in ledger.events.lag()) and len(ledger.events.lag()) == len(made))
        something_of_everything(ledger, "silver.items")
        expected = {"iceberg_updater": 3, "delta_updater": 1, "compactor": 3, "snapshotter": 4, "metadata_orchestrator": 3}
        wait_until(lambda: all(len(made[name].seen) >= number for name, number in expected.items()))
        wait_until(lambda: any(event.data.status == "COMPLETED" for event in made["runs"].seen))
        wait_until(lambda: {event.table for event in made["lake_mirror"].seen} == {*COMPONENT_SUBSCRIPTIONS["lake_mirror"]})
    for name, each in made.items():
        wanted = {*COMPONENT_SUBSCRIPTIONS.get(name, ["pipeline_runs"])}
        assert {event.table for event in each.seen} == wanted
    assert {name: len(each.seen) for name, each in made.items() if name in expected} == expected


@pytest.mark.parametrize(
    ("tables", "said"),
    [(["orders"], "cannot subscribe to"), ([], "cannot subscribe to"), ("tables", "cannot subscribe to")],
)
def test_what_is_no_table_of_the_registry_is_refused(tables: Any, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        check_tables("mirror", tables)


def test_a_subscriber_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(Invalid, match=r"subscriber x: nowhere:Nobody cannot be loaded .*correct `subscribers.x`"):
        configured({"x": "nowhere:Nobody"}, ROOT)
    with pytest.raises(Invalid, match="is no class"):
        configured({"x": "sys:path"}, ROOT)
    assert configured({"x": "collections:OrderedDict"}, ROOT)["x"] is not None


def test_nobody_to_deliver_to_is_an_error(ledger: Ledger) -> None:
    with pytest.raises(Invalid, match=r"nobody has subscribed: .*\[subscribers\]"):
        ledger.astha(components=False)


def test_pauses_grow_up_to_the_longest_and_differ_by_chance() -> None:
    settings = AsthaSettings()
    longest = [pause_before(retry, settings, lambda: 0.0) for retry in range(1, 31)]
    assert longest == [1, 2, 4, 8, 16, 32] + 24 * [60]
    assert [pause_before(retry, settings, lambda: 1.0) for retry in range(1, 31)] == [0.75 * each for each in longest]


TYPED = """
from collections.abc import Sequence
from lakeledger.events import Event, Subscriber, TableFiles, TableStats

class Files:
    def on_event(self, event: Event[TableFiles]) -> None:
        print(event.data.file_path)
    def on_health(self) -> None: ...
    def on_refresh(self) -> None: ...
    def subscribed_tables(self) -> Sequence[str]:
        return ["table_files"]

class Both(Files):
    def on_event(self, event: Event[TableFiles | TableStats]) -> None: ...

right: Subscriber[TableFiles] = Files()
wider: Subscriber[TableFiles] = Both()
"""
DEAF = """
class Deaf:
    def on_event(self, event: Event[TableFiles]) -> None: ...
deaf: Subscriber[TableFiles] = Deaf()
"""
WRONG = {
    "wrong: Subscriber[TableStats] = Files()": "Incompatible types in assignment",
    "def read(event: Event[TableStats]) -> str:\n    return event.data.file_path": '"TableStats" has no attribute "file_path"',
    "def give(event: Event[TableStats]) -> None:\n    Files().on_event(event)": "incompatible type",
    DEAF: "Incompatible types in assignment",
}


def test_a_wrong_type_of_event_does_not_check(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(TYPED)
    for number, code in enumerate(WRONG):
        (tmp_path / f"wrong_{number}.py").write_text(f"{TYPED}\n{code}\n")
    # As `make check` does it, so that what that knows of our modules is not worked out again.
    options = ["--no-error-summary", f"--cache-dir={ROOT}/.mypy_cache", f"--config-file={ROOT}/pyproject.toml"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *sorted(str(path) for path in tmp_path.glob("*.py"))],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": str(ROOT / "src")},
    )
    said = done.stdout.splitlines()
    assert not [line for line in said if "right.py" in line], done.stdout
    for number, expected in enumerate(WRONG.values()):
        assert [line for line in said if f"wrong_{number}.py" in line and expected in line], (number, done.stdout, done.stderr)


def test_an_event_cannot_be_changed(ledger: Ledger) -> None:
    load(ledger)
    event: Event[Any] = to_event(ledger.changes.after(table="tables")[0])
    with pytest.raises(AttributeError):
        event.seq = 1  # type: ignore[misc]
