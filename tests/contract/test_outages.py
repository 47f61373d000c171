"""A store that is held up, away or gone: every wait has an end, other tenants do not notice, and what is done is not lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from contract.making import change, new_file, opened, put, rows, together, wait_until
from contract.outages import bounded, restarting
from lakeledger import Ledger, NumberPosition, Unavailable
from lakeledger.db import Transaction, sqlite
from lakeledger.db.queries import statement
from lakeledger.runs import NewStep, Step
from lakeledger.sync import NewSync
from lakeledger.sync.sync_runs import SyncRunStatistics
from postgres_server import Server

STALLED = """
import sys, lakeledger
from lakeledger.config import Settings
from lakeledger.db.queries import statement
from lakeledger.errors import LakeledgerError
ledger = lakeledger.open(Settings(url=sys.argv[1], warehouse="/warehouse", tenant=sys.argv[2]))
try:
    with ledger.store.write() as tx:
        print("inside", flush=True)
        sys.stdin.readline()
        tx.one(statement("select 1"))
except LakeledgerError as error:
    print(type(error).__name__, error.retryable, flush=True)
"""


# As long as it is stopped, the server waits for the next row of a batch.
STALLED_INSIDE = """
import sys, lakeledger
from lakeledger.config import Settings
from lakeledger.errors import LakeledgerError

def batch():
    for number in range(5_001):
        if number == 5_000:
            print("inside", flush=True)
            sys.stdin.readline()
        yield {"value": "x" * 100}

ledger = lakeledger.open(Settings(url=sys.argv[1], warehouse="/warehouse", tenant=sys.argv[2]))
try:
    with ledger.store.write() as tx:
        tx.connection.raw.execute("create temporary table filler (value text)")
        with tx.connection.raw.pipeline(), tx.connection.raw.cursor() as cursor:
            for row in batch():
                cursor.execute("insert into filler values (%(value)s)", row)
except LakeledgerError as error:
    print(type(error).__name__, error.retryable, flush=True)
"""


@contextmanager
def stalled(url: str, tenant: str, how: str = STALLED) -> Iterator[subprocess.Popen[str]]:
    """Another process that has stopped inside a write transaction of that tenant."""
    with subprocess.Popen([sys.executable, "-c", how, url, tenant], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "inside\n"
            os.kill(child.pid, signal.SIGSTOP)
            yield child
        finally:
            child.kill()


def answer(child: subprocess.Popen[str]) -> str:
    """What the process that was stopped prints when it goes on."""
    os.kill(child.pid, signal.SIGCONT)
    return child.communicate("\n", timeout=30)[0]


def test_a_client_that_stalls_in_a_write_of_one_tenant_does_not_hold_up_another(fragile_postgres: Server) -> None:
    schema = f"test_{os.urandom(6).hex()}"
    # Nobody ends the stalled one, and a second is too long to wait: who writes was not held up.
    url = bounded(fragile_postgres, schema, lock="1s", idle="300s")
    with opened(url, "b", lease_seconds=0.6) as ledger, ledger.run("big_spark_job") as run, stalled(url, "a"):
        for _ in range(3):
            beat = ledger.runs.get(run.id).heartbeat_at
            wait_until(lambda beat=beat: ledger.runs.get(run.id).heartbeat_at != beat)  # type: ignore[misc]  # a plain lambda
        put(ledger, change(run, new_file("x")))
    with opened(url, "b") as ledger:
        assert ledger.runs.get(run.id).status == "COMPLETED"
    fragile_postgres.drop_schema(schema)


def test_a_stalled_client_is_let_go_of_and_its_tenant_writes_on(server_url: str) -> None:
    with opened(server_url, "a") as ledger, stalled(server_url, "a") as child:
        with ledger.run("orders") as run:
            put(ledger, change(run, new_file("x")))
        assert answer(child) == "Unavailable True\n"
        assert ledger.runs.get(run.id).status == "COMPLETED"


def test_a_client_that_stalls_inside_a_statement_is_let_go_of_too(fragile_postgres: Server) -> None:
    schema = f"test_{os.urandom(6).hex()}"
    url = bounded(fragile_postgres, schema, lock="1s", idle="500ms")
    with opened(url, "a") as ledger, stalled(url, "a", STALLED_INSIDE) as child:
        with ledger.run("orders") as run:
            put(ledger, change(run, new_file("x")))
        assert answer(child) == "Unavailable True\n"
        assert ledger.runs.get(run.id).status == "COMPLETED"
    fragile_postgres.drop_schema(schema)


def test_who_waits_too_long_for_another_writer_is_refused_and_may_try_again(fragile_postgres: Server) -> None:
    schema = f"test_{os.urandom(6).hex()}"
    url = bounded(fragile_postgres, schema, lock="100ms", idle="30s")
    with opened(url) as first, opened(url) as second:
        second.runs.list()  # A connection is idle: that a lock is not to be had does not make it a stale one.
        with (
            first.store.write(),
            pytest.raises(Unavailable, match=r"another writer has held the ledger at .* for more than 30 s: try again") as caught,
            second.store.write(),
        ):
            pass
        assert caught.value.retryable
        assert second.database.connections()["idle"] == 0
        with second.store.write():
            pass
    fragile_postgres.drop_schema(schema)


def test_threads_of_one_process_wait_for_sqlite_no_longer_than_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    with opened(f"sqlite:///{tmp_path}/ledger.db") as ledger, ThreadPoolExecutor(4) as pool, ledger.store.write():
        for refused in [pool.submit(ledger.runs.recover) for _ in range(4)]:
            with pytest.raises(Unavailable, match="another writer has held"):
                refused.result(10)


def test_writers_of_different_tenants_commit_side_by_side_and_sql_by_hand_goes_alone(server_url: str) -> None:
    with opened(server_url, "a") as a, opened(server_url, "b") as b, a.store.write():
        with b.run("orders"):
            pass
        with psycopg.connect(server_url, options=psycopg.conninfo.conninfo_to_dict(server_url)["options"]) as hand:
            hand.execute("set lock_timeout = '100ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                hand.execute("update pipeline_runs set error_message = 'by hand'")


def test_whoever_types_by_hand_and_leaves_the_transaction_open_does_not_lock_everybody_out_for_good(server_url: str) -> None:
    schema = server_url.partition("search_path%3D")[2].partition("%20")[0]
    with opened(server_url) as ledger, ledger.run("orders"), psycopg.connect(server_url.partition("?")[0]) as hand:
        assert hand.execute("show idle_in_transaction_session_timeout").fetchone() == ("0",)
        hand.execute(f"update {schema}.pipeline_runs set error_message = 'by hand'".encode())
        assert hand.execute("show idle_in_transaction_session_timeout").fetchone() == ("1min",)
        hand.rollback()


def test_the_change_log_of_each_tenant_is_in_commit_order_while_others_write(server_url: str) -> None:
    def work(index: int) -> None:
        with opened(server_url, "ab"[index % 2]) as ledger:
            for number in range(5):
                with ledger.run(f"orders {index} {number}"):
                    pass

    together(work, 4)
    for tenant in "ab":
        with opened(server_url, tenant) as ledger:
            times = [row["at"] for row in rows(ledger, "select at from change_log where tenant_id = :tenant_id order by seq")]
            assert len(times) == 30
            assert times == sorted(times)


def test_the_end_of_a_run_and_of_its_step_survive_a_restart_of_the_server(fragile_postgres: Server, server_url: str) -> None:
    with opened(server_url) as ledger:
        with ledger.run("orders") as run:
            with run.step("load") as step:
                put(ledger, change(step, new_file("x")))
                coming_back = restarting(fragile_postgres)
            coming_back.join(60)
            coming_back = restarting(fragile_postgres)
        coming_back.join(60)
        assert ledger.runs.get(run.id).status == "COMPLETED"
        assert [each.status for each in ledger.runs.steps(run.id)] == ["COMPLETED"]
        assert ledger.runs.recover() == []


def test_steps_are_planned_and_begun_once_however_often_the_server_restarts(fragile_postgres: Server, server_url: str) -> None:
    with opened(server_url) as ledger, ledger.run("orders") as run:
        coming_back = restarting(fragile_postgres)
        (first,) = run.plan([NewStep("first")])
        coming_back.join(60)
        coming_back = restarting(fragile_postgres)
        with first, run.step("second"):
            coming_back.join(60)
    assert [(step.step_name, step.status) for step in steps_of(server_url, run.id)] == [("first", "COMPLETED"), ("second", "COMPLETED")]


def test_the_end_of_a_sync_run_survives_a_restart_of_the_server(fragile_postgres: Server, server_url: str) -> None:
    with opened(server_url) as ledger:
        run = ledger.sync.runs.start(NewSync("shop", "batch"))
        coming_back = restarting(fragile_postgres)
        ended = ledger.sync.runs.complete(run.id, "completed", SyncRunStatistics(records_processed=7))
        coming_back.join(60)
        assert (ended.status, ledger.sync.runs.get(run.id).records_processed) == ("completed", 7)


def steps_of(url: str, run_id: str) -> list[Step]:
    with opened(url) as ledger:
        return list(ledger.runs.steps(run_id))


def test_work_that_may_be_done_already_is_told_so(ledger: Ledger) -> None:
    tries: list[bool] = []

    def work(tx: Transaction, again: bool) -> int:
        tries.append(again)
        if len(tries) < 3:
            raise Unavailable("the server is restarting")
        return len(tries)

    assert ledger.store.persist(work) == 3
    assert tries == [False, True, True]


def test_work_that_a_deadlock_undid_is_done_again(server_url: str) -> None:
    impatient = f"{server_url}%20-cdeadlock_timeout%3D50ms"  # so the ledger notices first, and is the victim
    patient = psycopg.conninfo.conninfo_to_dict(server_url)["options"]
    tries: list[bool] = []
    with opened(impatient) as ledger, psycopg.connect(server_url.partition("?")[0], options=f"{patient} -cdeadlock_timeout=30s") as hand:
        for name in ("a", "b"):
            ledger.positions.advance(f"shop.{name}", NumberPosition(0))
        hand.execute("update sync_markers set sync_run_id = 'hand' where name_key like '%b'")

        def work(tx: Transaction, again: bool) -> None:
            tries.append(again)
            tx.execute(statement("update sync_markers set sync_run_id = 'us' where name_key like '%a'"))
            if not again:
                thread.start()
                wait_until(lambda: is_waiting(server_url))
            tx.execute(statement("update sync_markers set sync_run_id = 'us' where name_key like '%b'"))

        def by_hand() -> None:
            hand.execute("update sync_markers set sync_run_id = 'hand' where name_key like '%a'")
            hand.commit()

        thread = threading.Thread(target=by_hand)
        ledger.store.persist(work)
        thread.join(30)
        assert tries == [False, True]
        assert [row["sync_run_id"] for row in rows(ledger, "select sync_run_id from sync_markers")] == ["us", "us"]


def is_waiting(url: str) -> bool:
    """Whether some session waits for a lock on a row."""
    with psycopg.connect(url.partition("?")[0]) as connection:
        found = connection.execute("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and wait_event = 'transactionid'")
        return found.fetchone() != (0,)


def test_an_interrupt_is_not_lost_when_the_server_is_gone(fragile_postgres: Server, server_url: str) -> None:
    with opened(server_url) as ledger:

        def work(tx: Transaction, again: bool) -> None:
            fragile_postgres.stop()
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ledger.store.persist(work)
        fragile_postgres.resume()


def test_a_store_that_stays_away_is_given_up_in_the_end(ledger: Ledger) -> None:
    def work(tx: Transaction, again: bool) -> None:
        raise Unavailable("the server is down")

    with pytest.raises(Unavailable, match="the server is down"):
        ledger.store.persist(work, seconds=0.2)
