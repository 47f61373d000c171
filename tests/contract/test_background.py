"""What fails in the background: logged, and in the error log, once while it stays the same; settled when it is over."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from contract.making import append, execute, new_file, opened, wait_until
from contract.test_monitor import age, document
from lakeledger import Ledger, Unavailable
from lakeledger.background import Failures
from lakeledger.control.monitor import MetadataMonitor
from lakeledger.db import Database, Store, Transaction
from lakeledger.jobs import scheduler
from lakeledger.jobs.scheduler import Outcome, Scheduler
from lakeledger.runs import ActiveRun, NewRun, Status
from lakeledger.sync.background import BackgroundCleanup
from lakeledger.sync.dead_letters import DeadLetter, DeadLetters, NewLetter
from lakeledger.sync.lost_steps import note_lost_step
from lakeledger.sync.masking import Masking


def kept(ledger: Ledger, part: str) -> list[tuple[str, str]]:
    """State and message of what the error log has of a part, oldest first."""
    found = ledger.errors.list(schema="lakeledger", table=part)
    return [(error.status, error.error_message) for error in reversed(found)]


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@dataclass
class Switch:
    """A database that can be away."""

    database: Database
    away: bool = False
    refused: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    @contextmanager
    def transaction(self, tenant_id: str, *, write: bool) -> Iterator[Transaction]:
        if self.away:
            self.refused.append(tenant_id)
            raise Unavailable("the database is away")
        with self.database.transaction(tenant_id, write=write) as tx:
            yield tx


# Failures


def test_a_failure_is_logged_and_kept_once_however_often_it_is_seen(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    failures = ledger.sync.background("monitor")
    for _ in range(3):
        failures.report("a.yaml", "a.yaml cannot be read", ValueError("no"))
    failures.report("b.yaml", "b.yaml cannot be read")
    assert logged(caplog) == ["a.yaml cannot be read", "b.yaml cannot be read"]
    assert kept(ledger, "monitor") == [("open", "a.yaml cannot be read"), ("open", "b.yaml cannot be read")]
    assert [group.count for group in ledger.errors.groups()] in ([2], [1, 1])
    assert list(ledger.errors.due()) == []


def test_it_is_settled_when_it_is_over_and_open_again_when_it_comes_back(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    failures = ledger.sync.background("monitor")
    failures.report("a.yaml", "line 1 is wrong")
    failures.report("a.yaml", "line 2 is wrong")
    failures.clear("a.yaml")
    failures.clear("a.yaml")
    failures.report("a.yaml", "line 2 is wrong")
    assert logged(caplog) == ["line 1 is wrong", "line 2 is wrong", "line 2 is wrong"]
    assert [status for status, _ in kept(ledger, "monitor")] == ["resolved", "resolved", "open"]


def test_another_process_goes_on_where_the_last_one_was(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(url) as first:
        first.sync.background("monitor").replace({"a": "a is wrong", "b": "b is wrong"})
    caplog.clear()
    with opened(url) as second:
        second.sync.background("monitor").replace({"a": "a is wrong"})
        assert logged(caplog) == ["a is wrong"], "whoever starts it hears of it, though the ledger knows it already"
        assert sorted(kept(second, "monitor")) == [("open", "a is wrong"), ("resolved", "b is wrong")]


def test_what_another_handle_took_for_over_is_kept_again_while_it_fails(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(url) as first, opened(url) as second:
        failing = first.sync.background("heartbeats")
        failing.report("", "the database is slow")
        second.sync.background("heartbeats").clear("")
        assert [status for status, _ in kept(first, "heartbeats")] == ["resolved"]
        failing.report("", "the database is slow")
        failing.report("", "the database is slow")
        assert [status for status, _ in kept(first, "heartbeats")] == ["resolved", "open"]
        assert logged(caplog) == ["the database is slow"]
        failing.clear("")
        assert [status for status, _ in kept(first, "heartbeats")] == ["resolved", "resolved"]


def test_what_somebody_ignores_is_not_kept_again(ledger: Ledger) -> None:
    failures = ledger.sync.background("monitor")
    failures.report("a.yaml", "a.yaml cannot be read")
    ledger.errors.ignore(ledger.errors.list()[0].id, "a draft")
    failures.report("a.yaml", "a.yaml cannot be read")
    failures.clear("a.yaml")
    assert [status for status, _ in kept(ledger, "monitor")] == ["ignored"]


def test_what_is_over_when_somebody_else_has_settled_it_is_not_kept_again(ledger: Ledger) -> None:
    failures = ledger.sync.background("monitor")
    failures.report("a.yaml", "a.yaml cannot be read")
    ledger.errors.resolve(ledger.errors.list()[0].id)
    failures.clear("a.yaml")
    assert [status for status, _ in kept(ledger, "monitor")] == ["resolved"]


FAILS = """
import sys
from contract.making import opened

with opened(sys.argv[1]) as ledger:
    ledger.sync.background("heartbeats").report("", "the leases of another process")
    print("reported", flush=True)
    sys.stdin.read()
"""


def test_what_fails_in_a_process_is_its_own_as_long_as_it_lives(url: str) -> None:
    around = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", FAILS, url]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=around) as child:
        assert child.stdin
        assert child.stdout
        assert child.stdout.readline() == "reported\n"
        with opened(url) as ledger:
            ledger.sync.background("heartbeats").clear("")
            assert [status for status, _ in kept(ledger, "heartbeats")] == ["open"]
        child.communicate(timeout=30)
    with opened(url) as ledger:
        ledger.sync.background("heartbeats").clear("")
        assert [status for status, _ in kept(ledger, "heartbeats")] == ["resolved"]


def test_secrets_are_neither_logged_nor_kept(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    ledger.sync.background("monitor").report("", "cannot reach postgresql://ann:geheim7@db/shop")
    assert "geheim7" not in str(logged(caplog)) + str(kept(ledger, "monitor"))


# The parts


def test_heartbeats_that_fail_are_logged_and_in_the_ledger_when_it_is_back(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    switch = Switch(ledger.database)
    store = Store(cast("Database", switch), ledger.store.tenant_id)
    with ActiveRun(store, NewRun("load"), ledger.worker, 0.3, note_lost_step, failures=ledger.sync.background("heartbeats")):
        switch.away = True
        wait_until(lambda: len(switch.refused) >= 2)
        assert kept(ledger, "heartbeats") == []
        switch.away = False
        wait_until(lambda: len(kept(ledger, "heartbeats")) == 1)
    assert logged(caplog) == ["leases of runs could not be renewed: the database is away"]
    wait_until(lambda: kept(ledger, "heartbeats") == [("resolved", "leases of runs could not be renewed: the database is away")])


def test_a_replay_that_cannot_hold_its_letters_says_so(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    ledger.dead_letters.add(NewLetter("shop", "orders", "insert", {"id": 1}))
    switch = Switch(ledger.database)
    store = Store(cast("Database", switch), ledger.store.tenant_id)

    def work(_: DeadLetter) -> None:
        switch.away = True
        wait_until(lambda: len(switch.refused) >= 2)
        switch.away = False
        wait_until(lambda: [status for status, _ in kept(ledger, "replay")] == ["resolved"])

    letters = DeadLetters(store, "ann", Masking(), ledger.sync.background("replay"))
    assert letters.replay(work, dry_run=False, seconds=0.3).replayed == 1
    assert logged(caplog) == ["the dead letters of a replay could not be renewed: the database is away"]


def test_checksums_that_cannot_be_computed_are_logged_and_in_the_ledger(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    append(ledger, new_file("a.parquet"))
    table = ledger.tables.get("silver.orders")
    execute(ledger, "update tables set location = :location", location="nonsense://place")
    ledger._background()[0].submit(ledger.tables.get("silver.orders"), {"data/run/a.parquet": 1})
    ledger.settle()
    ((status, message),) = kept(ledger, "checksums")
    assert (status, logged(caplog)) == ("open", [message])
    assert "the checksums of nonsense://place could not be computed" in message
    ledger._background()[0].submit(table, {"data/run/a.parquet": 1})
    ledger.settle()
    assert [status for status, _ in kept(ledger, "checksums")] == ["resolved"]


STUCK = """
import sys
from contract.making import append, new_file, opened
from lakeledger.tables import checksums

checksums.CLOSE_SECONDS = 0.1
with opened(sys.argv[1]) as ledger:
    append(ledger, new_file("a.parquet"), location=sys.argv[2])
    ledger._background()[0].submit(ledger.tables.get("silver.orders"), {"data/run/a.parquet": 1})
print("closed")
"""


def test_a_file_that_cannot_be_read_to_its_end_keeps_no_process_alive_after_close(url: str, tmp_path: Path) -> None:
    (tmp_path / "data/run").mkdir(parents=True)
    os.mkfifo(tmp_path / "data/run/a.parquet")
    around = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", STUCK, url, str(tmp_path)], capture_output=True, text=True, env=around, timeout=20, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed\n", "")


def test_a_cleanup_that_fails_is_logged_and_in_the_ledger(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    outcomes: list[Exception | None] = [ValueError("no"), ValueError("no"), None]

    def clean() -> dict[str, int]:
        if (error := outcomes.pop(0) if outcomes else None) is not None:
            raise error
        return {}

    cleanup = BackgroundCleanup(clean, 0.01, 0.01, ledger.sync.background("cleanup"))
    cleanup.start()
    wait_until(lambda: cleanup.rounds >= 3)
    cleanup.close()
    assert logged(caplog) == ["the cleanup failed, and is tried again: ValueError: no"]
    assert kept(ledger, "cleanup") == [("resolved", "the cleanup failed, and is tried again: ValueError: no")]


def test_a_scheduler_that_cannot_work_says_so_and_the_ledger_knows_when_it_is_back(
    ledger: Ledger, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "POLL_SECONDS", 0.1)
    switch = Switch(ledger.database, away=True)
    store, stop = Store(cast("Database", switch), ledger.store.tenant_id), threading.Event()
    failures = ledger.sync.background("scheduler")
    failing = Scheduler(store, ledger.worker, lambda _: Outcome(None, Status.COMPLETED), failures=failures)
    thread = threading.Thread(target=failing.run, args=(stop,))
    thread.start()
    wait_until(lambda: len(switch.refused) >= 2)
    switch.away = False
    wait_until(lambda: [status for status, _ in kept(ledger, "scheduler")] == ["resolved"])
    stop.set()
    thread.join(20)
    assert logged(caplog) == ["the scheduler could not work: the database is away"]


def test_without_a_ledger_behind_it_a_failure_is_still_logged(caplog: pytest.LogCaptureFixture) -> None:
    failures = Failures("scheduler")
    failures.report("a", "a is wrong")
    failures.clear("a")
    assert logged(caplog) == ["a is wrong"]


# The monitor


def test_what_the_monitor_finds_wrong_is_in_the_ledger_until_it_is_right(
    ledger: Ledger, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "yaml").mkdir()
    (tmp_path / "yaml/bad.yaml").write_text("modules: [")
    with MetadataMonitor(str(tmp_path / "control/etl_control"), tmp_path / "yaml", 0.05, ledger=ledger, settle_seconds=0) as monitor:
        monitor.run_continuous(max_iterations=3)
        ((status, message),) = kept(ledger, "monitor")
        assert (status, logged(caplog)) == ("open", [message])
        assert f"{tmp_path}/yaml/bad.yaml:1:" in message
        (tmp_path / "yaml/bad.yaml").write_text(document("shop"))
        monitor.run_continuous(max_iterations=1)
    assert kept(ledger, "monitor") == [("resolved", message)]


def test_a_monitor_settles_nothing_of_one_that_follows_something_else(url: str, tmp_path: Path) -> None:
    for name, text in (("a", "modules: ["), ("b", document("shop")), ("c", document("shop"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "shop.yaml").write_text(text)

    def looked(table: str, folder: str) -> list[str]:
        with opened(url) as ledger:
            with MetadataMonitor(str(tmp_path / table), tmp_path / folder, 0.05, ledger=ledger, settle_seconds=0) as monitor:
                monitor.run_continuous(max_iterations=1)
            return [status for status, _ in kept(ledger, "monitor")]

    assert looked("one/etl_control", "a") == ["open"]
    assert looked("other/etl_control", "b") == ["open"], "another control table"
    assert looked("one/etl_control", "c") == ["open"], "another folder"
    assert looked("one/etl_control", "a") == ["open"]
    (tmp_path / "a/shop.yaml").write_text(document("shop"))
    assert looked("one/etl_control", "a") == ["resolved"]


SAMPLE = """
import sys
from lakeledger.control import MetadataMonitor

monitor = MetadataMonitor(control_table=sys.argv[1], volume_path=sys.argv[2], check_interval_seconds=60)
monitor.run_continuous(max_iterations=1)
"""


def test_the_sample_of_the_seed_says_on_stderr_and_in_the_ledger_what_is_wrong(url: str, tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume/bad.yaml").write_text("modules: [")
    age(tmp_path / "volume/bad.yaml")
    around = {**os.environ, "LAKELEDGER_URL": url}
    words = [sys.executable, "-c", SAMPLE, str(tmp_path / "control/etl_control"), str(tmp_path / "volume")]
    done = subprocess.run(words, capture_output=True, text=True, env=around, cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path}/volume/bad.yaml:1:" in done.stderr
    with opened(url) as ledger:
        ((status, message),) = kept(ledger, "monitor")
    assert (status, message in done.stderr) == ("open", True)
