"""`lakeledger sync`: figures, sync runs, recovery and cleanup; and what all commands of capture have in common."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from contract.making import execute, expire_lease
from integration.commands import answer, columns, invoke, refused, shown
from lakeledger import Ledger, NumberPosition
from lakeledger.cli.sync_figures import facts
from lakeledger.sync import NewError, NewLetter, NewSync, SyncRun, SyncRunStatistics

pytestmark = pytest.mark.usefixtures("quiet")
on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # for what does not depend on the database

READING = [
    ["positions", "list"],
    ["positions", "show", "shop"],
    ["positions", "history", "shop"],
    ["positions", "set", "shop", "5"],
    ["positions", "rewind", "shop", "--to-version", "1"],
    ["positions", "export", "--format", "singer"],
    ["schema", "list"],
    ["schema", "show", "shop.orders"],
    ["schema", "diff", "shop.orders", "1"],
    ["errors", "list"],
    ["errors", "groups"],
    ["errors", "show", "0199b2c4"],
    ["errors", "retry", "0199b2c4"],
    ["errors", "resolve", "0199b2c4"],
    ["errors", "ignore", "--group", "0199b2c4"],
    ["dlq", "list"],
    ["dlq", "groups"],
    ["dlq", "show", "0199b2c4"],
    ["dlq", "claim"],
    ["dlq", "resolve", "0199b2c4"],
    ["dlq", "discard", "0199b2c4", "--note", "x"],
    ["dlq", "release", "0199b2c4"],
    ["sync", "stats"],
    ["sync", "runs"],
    ["sync", "recover"],
    ["sync", "cleanup"],
]


def run(ledger: Ledger, status: str = "completed", schema: str = "shop", records: int = 100) -> SyncRun:
    started = ledger.sync.runs.start(NewSync(schema, "batch"))
    moved = SyncRunStatistics(records_processed=records, records_inserted=records, bytes_processed=records * 1_000)
    return ledger.sync.runs.complete(started.id, status, moved, "no answer" if status == "failed" else None)


def age(ledger: Ledger, days: int) -> None:
    """Let everything have happened so many days earlier."""
    for table, names in {
        "pipeline_runs": ("start_time", "end_time"),
        "error_log": ("occurred_at", "resolved_at"),
        "dead_letter_queue": ("created_at", "resolved_at"),
        "sync_marker_history": ("updated_at",),
        "change_log": ("at",),
    }.items():
        with ledger.store.read() as tx:
            then = tx.now - timedelta(days=days)
        execute(ledger, f"update {table} set {', '.join(f'{name} = :then' for name in names)}", then=then)


def test_sync_runs_are_listed_newest_first_and_other_runs_are_not(ledger: Ledger, at: list[str]) -> None:
    first, second, other = run(ledger), run(ledger, "failed"), run(ledger, schema="crm")
    with ledger.run("nightly"):
        pass
    found = answer("sync", "runs", *at)["runs"]
    assert ([row["id"] for row in found], set(found[0])) == ([other.id, second.id, first.id], columns(SyncRun))
    assert [row["id"] for row in answer("sync", "runs", "--schema", "shop", "--limit", "1", *at)["runs"]] == [second.id]
    assert answer("sync", "runs", "--schema", "nobody", *at) == {"runs": [], "next": None}
    text = shown("sync", "runs", *at)
    assert re.search(r"shop\s+batch\s+✗ FAILED\s+100\s+100 kB\s+\S+ ms\s.*no answer", text)
    assert "nightly" not in text


def test_figures_are_told_in_words(ledger: Ledger, at: list[str]) -> None:
    for status in ("completed", "completed", "completed", "failed"):
        run(ledger, status)
    for number in range(3):
        ledger.errors.log(NewError("shop", "orders", "validation", f"bad {number}", record_data={"id": number}))
    ledger.errors.log(NewError("shop", "orders", "timeout", "slow"))
    ledger.positions.advance("shop.orders", NumberPosition(1))
    figures = answer("sync", "stats", "--schema", "shop", *at)["statistics"]
    assert set(figures) == {"schema_name", "hours", "since", "sync_runs", "errors", "dead_letters", "markers", "resources"}
    assert (figures["sync_runs"]["success_rate"], figures["errors"]["by_type"]) == (0.75, {"timeout": 1, "validation": 3})
    text = shown("sync", "stats", *at)
    for line in (
        r"every schema, the last 24 hours",
        r"runs\s+4 \(3 completed, 1 failed\): 75 % of those that ended completed",
        r"moved\s+400 records \(400 inserted\), 400 kB",
        r"errors\s+4 \(4 open\)",
        r"by type\s+3 validation, 1 timeout",
        r"by hour\s+▁+█▁? at most 4",
        r"dead letters\s+3 pending, the oldest pending one \S+",
        r"positions\s+1, last moved \S+",
        r"next: lakeledger errors groups",
    ):
        assert re.search(line, text), text


def test_where_nothing_ran_no_rate_is_made_up(ledger: Ledger, at: list[str]) -> None:
    figures = answer("sync", "stats", "--hours", "1", *at)["statistics"]
    assert (figures["sync_runs"]["success_rate"], figures["sync_runs"]["records_per_second"], figures["hours"]) == (None, None, 1)
    text = shown("sync", "stats", "--schema", "shop", "--hours", "1", *at)
    assert re.search(r"shop, the last 1 hour\nruns\s+nothing ran\nerrors\s+none\ndead letters\s+none\npositions\s+none\n", text), text
    assert answer("sync", "runs", *at) == {"runs": [], "next": None}
    assert shown("sync", "runs", *at) == "no sync runs\n"
    started = ledger.sync.runs.start(NewSync("shop", "stream"))
    assert re.search(r"runs\s+1 \(1 running\): none has ended", shown("sync", "stats", *at))
    ledger.sync.runs.complete(started.id, "cancelled")


@on_sqlite
def test_a_long_trend_has_a_bar_for_several_hours(ledger: Ledger) -> None:
    figures: dict[str, Any] = {**ledger.sync.statistics(hours=96)}
    figures["errors"] = {**figures["errors"], "total_errors": 7, "trend": [{"errors": 0}] * 94 + [{"errors": 3}, {"errors": 4}]}
    bars, _, words = str(facts(figures)["by hour"]).partition(" ")
    assert (len(bars), bars[-2:], words) == (48, "▁█", "at most 7 in 2 hours")


def test_the_sync_run_of_a_lost_worker_is_ended(ledger: Ledger, at: list[str]) -> None:
    assert "no sync run is lost" in shown("sync", "recover", *at)
    lost, living = (ledger.sync.runs.start(NewSync("shop", "stream")) for _ in range(2))
    expire_lease(ledger, lost.id)
    (ended,) = answer("sync", "recover", *at)["runs"]
    assert (ended["id"], ended["status"], set(ended)) == (lost.id, "failed", columns(SyncRun))
    expire_lease(ledger, living.id)
    assert re.search(r"shop\s+stream\s+✗ FAILED\s.*was lost before it committed", shown("sync", "recover", "--max-age-hours", "1", *at))
    assert answer("sync", "recover", *at) == {"runs": []}


@pytest.fixture
def old(ledger: Ledger) -> None:
    """Forty days ago: a run, two settled errors, a settled letter, three moves; and an error that is still open."""
    run(ledger)
    for error in [ledger.errors.log(NewError("shop", "orders", "timeout", "slow")) for _ in range(2)]:
        ledger.errors.resolve(error.id)
    ledger.errors.log(NewError("shop", "orders", "timeout", "slow"))
    letter = ledger.dead_letters.add(NewLetter("shop", "orders", "insert", {"id": 1}))
    ledger.dead_letters.resolve(letter.id)
    for number in range(3):
        ledger.positions.advance("shop.orders", NumberPosition(number))
    age(ledger, 40)


OLD = {
    "dead_letter_queue": 1,
    "error_log": 2,
    "sync_marker_history": 2,
    "metadata_records": 0,
    "dq_results": 0,
    "recon_results": 0,
    "local_job_runs": 0,
    "pipeline_runs": 1,
    "change_log": 5,
    "schema_registry": 0,
}


def test_cleanup_counts_exactly_and_deletes_only_when_told(old: None, at: list[str]) -> None:
    plan = answer("sync", "cleanup", *at)
    assert (set(plan), plan["deleted"], plan["rows"]) == ({"deleted", "retention", "rows"}, False, OLD)
    assert plan["retention"]["errors_days"] == 30
    text = shown("sync", "cleanup", *at)
    assert re.search(r"error_log\s+settled errors\s+30 days\s+2", text)
    assert "11 rows would be cleaned up" in text
    assert "next: lakeledger sync cleanup --delete" in text
    assert answer("sync", "cleanup", *at) == plan
    done = invoke("sync", "cleanup", "--delete", *at)
    assert (done.exit_code, "11 rows cleaned up" in done.stdout) == (0, True)
    assert "deleting error_log: 2" in done.stderr.splitlines()
    assert sum(answer("sync", "cleanup", *at)["rows"].values()) == 0
    assert len(answer("errors", "list", *at)["errors"]) == 1


def test_cleanup_keeps_as_many_days_as_are_given(old: None, at: list[str]) -> None:
    assert answer("sync", "cleanup", "--days", "60", *at)["rows"] == {**dict.fromkeys(OLD, 0), "change_log": OLD["change_log"]}
    text = shown("sync", "cleanup", "--days", "39", *at)
    assert "next: lakeledger sync cleanup --days 39 --delete" in text
    kept = ("runs_days", "errors_days", "dead_letters_days", "positions_days")
    assert answer("sync", "cleanup", "--days", "0", "--delete", *at) == {
        "deleted": True,
        "retention": {
            **dict.fromkeys(kept, 0),
            "keyed_runs_days": 90,
            "records_days": 90,
            "quality_days": 90,
            "changes_days": 7,
            "schema_versions": 10,
        },
        "rows": OLD,
    }


@on_sqlite
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["stats", "--hours", "0"], "0 is not in the range"),
        (["stats", "--hours", "nan"], "'nan' is not a valid integer"),
        (["stats", "--hours", "9" * 20], "is not in the range"),
        (["runs", "--limit", "0"], "0 is not in the range"),
        (["recover", "--max-age-hours", "-1"], "-1 is not in the range"),
        (["cleanup", "--days", "-1"], "-1 is not in the range"),
        (["cleanup", "--days", "36501"], "36501 is not in the range"),
    ],
)
def test_bad_input_is_named_with_its_range(ledger: Ledger, at: list[str], words: list[str], told: str) -> None:
    refused(["sync", *words, *at], 2, "Invalid", told)


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_nothing_makes_a_ledger_where_there_is_none(words: list[str], tmp_path: Path) -> None:
    missing = f"sqlite:///{tmp_path}/new/ledger.db"
    refused([*words, "--url", missing], 2, "Invalid", f"no ledger at {missing}")
    assert list(tmp_path.iterdir()) == []
