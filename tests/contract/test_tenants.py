"""Tenants share a database and see nothing of each other."""

from __future__ import annotations

import gc
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.types.json import Jsonb

from contract.delivering import Recorders, delivering
from contract.making import ORDERS, append, change, dump, expire_lease, new_file, opened, put, table_names, wait_until
from lakeledger import Advance, Fenced, Forbidden, Invalid, Ledger, NotFound, NumberPosition
from lakeledger.db import migrate
from lakeledger.runs import cancelled
from lakeledger.sync import NewSync, parse_source
from postgres_server import Server

# What is about the database: its migrations, and which process serves all tenants.
OF_ALL = {"schema_migrations", "astha_lease"}
FOREIGN = Jsonb({"tenant_id": "globex", "record_id": "x"})


@pytest.fixture
def acme(url: str) -> Iterator[Ledger]:
    with opened(url, "acme") as ledger:
        yield ledger


@pytest.fixture
def globex(url: str) -> Iterator[Ledger]:
    with opened(url, "globex") as ledger:
        yield ledger


def work(ledger: Ledger) -> str:
    """A load that leaves something in every table; the id of its run."""
    with ledger.run("orders", exclusive=True, idempotency_key="monday") as run, run.step("load") as step:
        move = Advance(parse_source("shop.orders"), NumberPosition(7))
        put(ledger, change(step, new_file("a"), position=move, batch_id="b1"))
        return run.id


def test_a_tenant_sees_nothing_of_another_in_any_listing(acme: Ledger, globex: Ledger) -> None:
    run_id = work(acme)
    assert globex.runs.list() == []
    assert globex.tables.list() == []
    assert globex.positions.list() == []
    assert globex.changes.after() == []
    assert globex.records.history(kind="ingestion_volume") == []
    assert globex.tables.find(ORDERS) is None
    assert globex.positions.find("shop.orders") is None
    assert globex.runs.transitions(run_id) == []


def test_a_tenant_cannot_name_what_belongs_to_another(acme: Ledger, globex: Ledger) -> None:
    run_id = work(acme)
    with pytest.raises(NotFound):
        globex.runs.get(run_id)
    with pytest.raises(NotFound):
        globex.runs.get(run_id[:-4])
    with pytest.raises(NotFound):
        globex.runs.steps(run_id)
    with pytest.raises(NotFound):
        globex.runs.cancel(run_id, "not mine")
    with pytest.raises(NotFound):
        globex.tables.view(ORDERS)
    with pytest.raises(NotFound):
        globex.positions.history("shop.orders")


def test_a_tenant_cannot_commit_in_the_name_of_anothers_run(acme: Ledger, globex: Ledger) -> None:
    with acme.run("orders") as run:
        before = dump(acme)
        with pytest.raises(Fenced, match="is no longer in the ledger"):
            put(globex, change(run, new_file("a")))
        assert dump(acme) == before


def test_the_same_names_belong_to_each_tenant_alone(acme: Ledger, globex: Ledger) -> None:
    with acme.run("orders", exclusive=True), globex.run("orders", exclusive=True) as run:
        assert run.run.lease_token == 1
    work(acme)
    work(globex)
    assert [len(ledger.runs.list()) for ledger in (acme, globex)] == [2, 2]
    assert [ledger.tables.get(ORDERS).current_version for ledger in (acme, globex)] == [1, 1]
    assert [ledger.positions.get("shop.orders").version for ledger in (acme, globex)] == [1, 1]


def test_the_same_ledger_serves_other_tenants(ledger: Ledger, url: str) -> None:
    acme, globex = ledger.for_tenant("acme"), ledger.for_tenant("globex")
    run_id = work(acme)
    assert (acme.settings.tenant, acme.store.tenant_id) == ("acme", "acme")
    assert acme.database is ledger.database
    assert acme.warehouse == ledger.warehouse.removesuffix("/default") + "/acme"
    assert [run.id for run in acme.for_tenant("acme").runs.list()] == [run_id]
    for each in (globex, ledger, acme.for_tenant("default")):
        assert each.runs.list() == []
        assert each.tables.list() == []
    with opened(url, "acme") as apart:
        assert apart.runs.get(run_id).status == "COMPLETED"


@pytest.mark.parametrize("name", ["", " ", "Acme", "a-b", "1st", "a" * 64, "acme;", None, 7])
def test_a_name_that_is_no_tenants_is_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(Invalid, match="tenant"):
        ledger.for_tenant(name)


def test_to_close_a_tenants_ledger_closes_nothing_else(ledger: Ledger) -> None:
    with ledger.for_tenant("acme") as acme:
        work(acme)
        sync = acme.sync.runs.start(NewSync("shop", "batch"))
        beats = acme.sync.runs.heartbeats
        assert beats._thread
    assert not beats._thread.is_alive()
    assert ledger.runs.list() == []
    assert ledger.for_tenant("acme").sync.runs.get(sync.id).status == "running"


def test_to_close_the_whole_ledger_ends_what_runs_for_its_tenants(url: str) -> None:
    with opened(url) as ledger:
        acme = ledger.for_tenant("acme")
        acme.sync.runs.start(NewSync("shop", "batch"))
        beats = acme.sync.runs.heartbeats
        del acme  # nobody has it any more, and yet its run is kept alive
        assert beats._thread
        assert beats._thread.is_alive()
    assert not beats._thread.is_alive()
    assert ledger.database.connections() == {"in_use": 0, "idle": 0}


def test_a_tenants_ledger_that_nobody_has_leaves_nothing_behind(ledger: Ledger) -> None:
    before = set(threading.enumerate())
    for number in range(50):
        assert ledger.for_tenant(f"tenant_{number}").runs.list() == []
    gc.collect()
    assert len(ledger._threads) == 0
    assert {thread.name for thread in set(threading.enumerate()) - before} & {"heartbeats", "checksums"} == set()


def test_a_task_cannot_leave_its_step_by_another_tenants_door(ledger: Ledger) -> None:
    acme = ledger.for_tenant("acme")
    with acme.run("orders") as run:
        with run.step("load") as step:
            task = acme.bound_to(step, lambda: pytest.fail("no Spark is needed"))
            with pytest.raises(Forbidden, match="a task of tenant acme cannot work for tenant globex"):
                task.for_tenant("globex")
            again = task.for_tenant("acme")
            again.positions.advance("shop", NumberPosition(1))
        with pytest.raises(Fenced):
            again.positions.advance("shop", NumberPosition(2))
    assert ledger.for_tenant("globex").positions.list() == []
    assert acme.positions.get("shop").position == NumberPosition(1)


def test_recovery_ends_only_the_tenants_own_runs(acme: Ledger, globex: Ledger) -> None:
    with acme.run("orders") as run:
        expire_lease(acme, run.id)
        assert globex.runs.recover() == []
        assert acme.runs.get(run.id).status == "RUNNING"


def test_every_table_has_a_tenant(acme: Ledger) -> None:
    work(acme)
    content = dump(acme)
    for name in table_names(acme):
        assert name in OF_ALL or all('"tenant_id": "acme"' in row for row in content[name]), name


@contextmanager
def role(postgres: Server) -> Iterator[tuple[str, str]]:
    """A role that is no superuser and a schema of its own; their name and the role's url."""
    name = f"team_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"create role {name} login nosuperuser nobypassrls".encode())
        connection.execute(f"create schema {name} authorization {name}".encode())
        try:
            yield name, postgres.url(schema=name).replace("postgres@", f"{name}@")
        finally:
            connection.execute(f"drop owned by {name} cascade".encode())
            connection.execute(f"drop role {name}".encode())


def test_row_level_security_repeats_the_rule_for_the_owner_of_the_tables(postgres: Server) -> None:
    with role(postgres) as (_, url), opened(url, "acme") as acme, opened(url, "globex") as globex:
        work(acme)
        work(globex)
        assert [len(ledger.runs.list()) for ledger in (acme, globex)] == [1, 1]
        names = [name for name in table_names(acme) if name not in OF_ALL]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("set lakeledger.tenant = 'acme'")
            for name in names:
                seen = connection.execute(f"select distinct tenant_id from {name}".encode()).fetchall()
                assert seen in ([("acme",)], []), name
                assert connection.execute(f"select 1 from {name} where tenant_id = 'globex'".encode()).fetchall() == [], name
                assert connection.execute(f"delete from {name} where tenant_id = 'globex'".encode()).rowcount == 0, name
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute(
                    "insert into metadata_records select (jsonb_populate_record(r, %s)).* from metadata_records r", [FOREIGN]
                )
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute("update pipeline_runs set tenant_id = 'globex'")
        assert [len(ledger.records.history(kind="ingestion_volume")) for ledger in (acme, globex)] == [1, 1]


def test_one_astha_serves_all_tenants_under_row_level_security(postgres: Server) -> None:
    made = Recorders()
    with role(postgres) as (_, url), opened(url, "acme") as acme, opened(url, "globex") as globex:
        work(acme)
        work(globex)
        with delivering(acme, {"sub": made}):
            wait_until(lambda: [lag.state for ledger in (acme, globex) for lag in ledger.events.lag()] == ["closed", "closed"])
            for ledger in (acme, globex):
                append(ledger, new_file("b"))
            wait_until(lambda: [len(made.of[tenant].seen) for tenant in ("acme", "globex")] == [1, 1])
    assert [event.tenant_id for event in made.of["globex"].seen] == ["globex"]


def test_row_level_security_holds_for_a_role_that_only_uses_the_tables(postgres: Server) -> None:
    with role(postgres) as (name, url), opened(url, "acme") as acme:
        work(acme)
        with role(postgres) as (guest, guest_url), psycopg.connect(url, autocommit=True) as owner:
            owner.execute(f"grant usage on schema {name} to {guest}".encode())
            owner.execute(f"grant select, insert, update, delete on all tables in schema {name} to {guest}".encode())
            guests = guest_url.replace(f"search_path%3D{guest}", f"search_path%3D{name}")
            with opened(guests, "globex") as globex:
                assert globex.runs.list() == []
                work(globex)
                assert len(globex.runs.list()) == 1
                with pytest.raises(NotFound):
                    globex.runs.finish(acme.runs.list()[0].id, cancelled("no"))
            with psycopg.connect(guests, autocommit=True) as connection:
                connection.execute("set lakeledger.tenant = 'globex'")
                assert connection.execute("select distinct tenant_id from pipeline_runs").fetchall() == [("globex",)]
                connection.execute("set lakeledger.tenant = 'nobody'")
                assert connection.execute("select count(*) from change_log").fetchall() == [(0,)]
        assert len(acme.runs.list()) == 1


def test_a_later_migration_reaches_the_rows_of_every_tenant(postgres: Server) -> None:
    with role(postgres) as (_, url), opened(url, "acme") as acme:
        append(acme, new_file("a"))
        with acme.database.transaction(migrate.SYSTEM_TENANT, write=True) as tx:
            acme.database.run_script(tx, "update table_files set iceberg_metadata_state = 'completed';")
        assert [file.iceberg_metadata_state for file in acme.tables.files(ORDERS)] == ["completed"]
