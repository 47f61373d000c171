"""Migrations are applied once, in order, and only by a release that knows them."""

from __future__ import annotations

import gc
import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from contract.making import AT, append, execute, new_file, opened, rows, table_names, together
from lakeledger import Failed, Ledger, db
from lakeledger.db import derived, migrate

COUNT = str(len(migrate.available("sqlite")))

CHILD = """
import sys
from lakeledger import db
from lakeledger.db import migrate
for url in sys.stdin:
    database = db.open(url.strip())
    print(len(migrate.migrate(database)), flush=True)
    database.close()
"""


@contextmanager
def processes(count: int) -> Iterator[Callable[[str], list[str]]]:
    """Other processes that open a database when they are told its url, all at once; how many migrations each applied."""
    command = [sys.executable, "-c", CHILD]
    with ExitStack() as stack:
        children = [
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) for _ in range(count)
        ]

        def tell(url: str) -> list[str]:
            for child in children:
                print(url, file=child.stdin, flush=True)
            return sorted(str(child.stdout and child.stdout.readline().strip()) for child in children)

        yield tell


def applied(url: str) -> list[migrate.Migration]:
    database = db.open(url)
    try:
        return migrate.migrate(database)
    finally:
        database.close()


def test_many_threads_may_open_a_new_database_at_once(bare_url: str) -> None:
    found = together(lambda _: applied(bare_url), 8)
    assert sorted(map(len, found)) == [0] * 7 + [len(migrate.available("sqlite"))]


def test_many_processes_may_open_a_new_database_at_once(bare_url: str) -> None:
    with processes(4) as tell:
        assert tell(bare_url) == ["0", "0", "0", COUNT]
        assert tell(bare_url) == ["0", "0", "0", "0"]


def test_many_processes_may_make_a_new_file_at_once_however_close_they_are(tmp_path: Path) -> None:
    with processes(4) as tell:
        for index in range(40):
            assert tell(f"sqlite:///{tmp_path}/{index}.db") == ["0", "0", "0", COUNT]


def test_opening_again_applies_nothing(ledger: Ledger, url: str) -> None:
    assert applied(url) == []


def test_each_migration_is_recorded_with_its_digest(ledger: Ledger) -> None:
    recorded = rows(ledger, "select version, name, digest from schema_migrations order by version")
    expected = migrate.available(ledger.database.dialect)
    assert [(row["version"], row["name"], row["digest"]) for row in recorded] == [
        (each.version, each.name, hashlib.sha256(each.script.encode()).hexdigest()) for each in expected
    ]
    assert [row["version"] for row in recorded] == list(range(1, len(expected) + 1))


def test_both_databases_have_the_same_migrations() -> None:
    names = [[(each.version, each.name) for each in migrate.available(dialect)] for dialect in ("sqlite", "postgres")]
    assert names[0] == names[1]


def test_a_ledger_made_by_a_changed_file_is_refused(ledger: Ledger, url: str) -> None:
    execute(ledger, "update schema_migrations set digest = 'other' where version = 1")
    with pytest.raises(Failed, match="migration 0001_ledger is not the one this ledger was made with"):
        applied(url)


def test_a_ledger_of_a_newer_release_is_refused(ledger: Ledger, url: str) -> None:
    execute(ledger, "insert into schema_migrations (version, name, digest, applied_at) values (9999, 'later', 'x', :now)")
    with pytest.raises(Failed, match=f"the ledger has migration 9999, this release knows {COUNT}: upgrade lakeledger"):
        applied(url)


def test_a_ledger_that_cannot_be_opened_leaves_no_connection_behind(ledger: Ledger, url: str) -> None:
    execute(ledger, "insert into schema_migrations (version, name, digest, applied_at) values (9999, 'later', 'x', :now)")
    with pytest.raises(Failed), opened(url):
        pass
    gc.collect()  # psycopg warns of a connection that nobody closed, and a warning is an error here


def test_the_status_tells_what_is_applied_and_what_is_pending(bare_url: str) -> None:
    database = db.open(bare_url)
    assert all(step.applied_at is None for step in migrate.status(database))
    migrate.migrate(database)
    steps = migrate.status(database)
    database.close()
    assert [step.version for step in steps] == [each.version for each in migrate.available(database.dialect)]
    assert all(step.applied_at is not None and step.applied_at > AT for step in steps)


def test_a_ledger_that_lacks_the_last_migration_gets_only_that(ledger: Ledger, url: str) -> None:
    execute(ledger, "drop table change_log")
    execute(ledger, "delete from schema_migrations where version = 2")
    if ledger.database.dialect == "postgres":
        for operation in ("insert", "update", "delete"):
            execute(ledger, f"drop function lakeledger_log_{operation} cascade")
        execute(ledger, "drop function lakeledger_order_writers cascade")
    else:
        execute(ledger, "drop table retention_under_way")
    assert [each.version for each in applied(url)] == [2]
    with opened(url) as again:
        append(again, new_file("a"))
        assert again.changes.after()


def test_a_script_that_fails_leaves_nothing_of_itself(ledger: Ledger) -> None:
    before = table_names(ledger)
    with pytest.raises(Failed), ledger.store.write() as tx:
        ledger.database.run_script(tx, "create table one (x text);\ncreate table two (x nonsense nonsense nonsense (;\n")
    assert table_names(ledger) == before


def test_a_column_that_is_added_later_is_logged_without_anybody_thinking_of_it(ledger: Ledger) -> None:
    append(ledger, new_file("a"))
    with ledger.store.write() as tx:
        ledger.database.run_script(tx, "alter table tables add column owner text;")
        ledger.database.run_script(tx, "alter table tables add column hidden boolean;")
        derived.install(ledger.database, tx)
    seen = ledger.changes.after()[-1].seq
    execute(ledger, "update tables set owner = 'ann', hidden = true")
    change = ledger.changes.after(seq=seen)
    assert [(each.table_name, each.operation) for each in change] == [("tables", "UPDATE")]
    assert change[0].before is not None
    assert change[0].after is not None
    assert (change[0].before["owner"], change[0].after["owner"]) == (None, "ann")
    assert (change[0].before["hidden"], change[0].after["hidden"]) == (None, True)


def test_installing_what_is_derived_twice_logs_once(ledger: Ledger) -> None:
    with ledger.store.write() as tx:
        derived.install(ledger.database, tx)
        derived.install(ledger.database, tx)
    append(ledger, new_file("a"))
    assert len([each for each in ledger.changes.after() if each.table_name == "table_snapshots"]) == 1


def test_a_second_tenant_needs_no_migration(ledger: Ledger, url: str) -> None:
    with opened(url, "other") as other:
        assert other.runs.list() == []
