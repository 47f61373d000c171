"""Runs are listed page by page and found by the beginning of their ids."""

from __future__ import annotations

import uuid

import psycopg
import pytest

from contract.making import execute, opened
from lakeledger import Invalid, Ledger, NotFound
from lakeledger.runs import NewRun, Run, Status, completed, failed, store
from needs import missing
from postgres_server import Server


def many(ledger: Ledger, count: int) -> list[str]:
    """Runs that all started at the same moment, and some that did not."""
    ids = []
    for part in range(5):
        with ledger.store.write() as tx:
            for index in range(count // 5):
                run = store.begin(tx, store.add(tx, NewRun("orders" if index % 2 else "returns"), "test").id, ledger.worker, 60)
                store.finish(tx, run.id, failed("no") if part == 0 else completed(), "test")
                ids.append(run.id)
    return ids


def pages(ledger: Ledger, limit: int, pipeline: str | None = None, status: str | None = None) -> list[Run]:
    found: list[Run] = []
    after: str | None = None
    while True:
        page = ledger.runs.list(pipeline, status, limit, after)
        assert len(page) <= limit
        found += page
        if (after := page.next) is None:
            return found


def test_paging_through_many_runs_finds_each_once_newest_first(ledger: Ledger) -> None:
    ids = many(ledger, 100)
    for limit in (1_000, 30, 20):
        found = pages(ledger, limit)
        assert sorted(run.id for run in found) == sorted(ids)
        assert found == sorted(found, key=lambda run: (run.start_time, run.id), reverse=True)
    assert sorted(run.id for run in pages(ledger, 17, "orders")) == sorted(
        run.id for run in pages(ledger, 1_000) if run.pipeline_id == "orders"
    )
    assert len(pages(ledger, 7, status="FAILED")) == 20
    assert len(pages(ledger, 7, "orders", "FAILED")) == 10


def test_runs_that_start_while_somebody_pages_do_not_disturb(ledger: Ledger) -> None:
    ids = many(ledger, 20)
    first = ledger.runs.list(limit=10)
    many(ledger, 5)
    second = ledger.runs.list(limit=1_000, after=first.next)
    assert sorted(run.id for run in [*first, *second]) == sorted(ids)


def test_a_listing_that_makes_no_sense_is_refused(ledger: Ledger) -> None:
    for limit in (0, -1, 1_001):
        with pytest.raises(Invalid, match="limit must be between 1 and 1000"):
            ledger.runs.list(limit=limit)
    with pytest.raises(Invalid, match="status 'DONE' is not one of PENDING"):
        ledger.runs.list(status="DONE")
    assert ledger.runs.list(status=Status.RUNNING) == []


def test_a_run_is_found_by_the_beginning_of_its_id(ledger: Ledger) -> None:
    with ledger.run("orders") as run, run.step("load"):
        pass
    for prefix in (run.id, run.id[:-1], run.id[:20]):
        assert ledger.runs.get(prefix).id == run.id
        assert len(ledger.runs.steps(prefix)) == 1


def test_a_beginning_that_fits_several_runs_is_refused(ledger: Ledger) -> None:
    for index in range(2):
        with ledger.run("orders") as run:
            pass
        made = f"abcdef01-2345-7000-8000-{index:012d}"
        execute(ledger, "update pipeline_runs set pipeline_logging_id = :new where pipeline_logging_id = :id", new=made, id=run.id)
    for prefix in ("abcd", "abcdef01-", made[:-1]):
        with pytest.raises(Invalid, match=f"several runs begin with '{prefix}': give more of the id"):
            ledger.runs.get(prefix)
    assert ledger.runs.get(made).id == made


@pytest.mark.parametrize("run_id", ["", "abc", "abcdef", "%", "____", "0" * 50, "abcd'; drop table pipeline_runs"])
def test_a_run_that_is_not_there_is_not_found(ledger: Ledger, run_id: str) -> None:
    with ledger.run("orders"):
        pass
    with pytest.raises(NotFound, match="no run"):
        ledger.runs.get(run_id)


def test_the_beginning_of_an_id_is_enough_whatever_the_servers_language(postgres: Server) -> None:
    name = f"english_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        try:
            connection.execute(f"create database {name} template template0 locale_provider icu icu_locale 'en-US'".encode())
        except psycopg.errors.FeatureNotSupported:
            missing("this PostgreSQL was built without ICU: install one that has it, for example Debian's")
        try:
            with opened(postgres.url(name)) as ledger:
                with ledger.run("orders") as run:
                    pass
                for length in (13, 14, 15, 18, 20, 30, 35):
                    assert ledger.runs.get(run.id[:length]).id == run.id
        finally:
            connection.execute(f"drop database {name} with (force)".encode())
