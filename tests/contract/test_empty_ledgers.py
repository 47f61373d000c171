"""The ledgers that tests share: each is given empty, and none that a test has changed is given again."""

from __future__ import annotations

import psycopg
import pytest

from contract.making import opened
from empty_ledgers import PostgresLedgers
from postgres_server import Server


def after(ledgers: PostgresLedgers, server: Server, statement: str) -> tuple[str, str]:
    """The schema in which a test has said that, and the one that the next test gets."""
    first = ledgers.take()
    with opened(server.url(schema=first)) as ledger, ledger.run("orders"):
        pass
    with psycopg.connect(server.url(schema=first)) as connection:
        connection.execute(statement.encode())
    ledgers.give_back(first)
    second = ledgers.take()
    with opened(server.url(schema=second)) as ledger:
        assert ledger.runs.list() == []
    ledgers.give_back(second)
    return first, second


@pytest.mark.parametrize("statement", ["select 1", "delete from pipeline_runs", "create table mine (id int); drop table mine"])
def test_what_a_test_has_written_is_gone_and_the_ledger_is_given_again(
    postgres: Server, postgres_ledgers: PostgresLedgers, statement: str
) -> None:
    first, second = after(postgres_ledgers, postgres, statement)
    assert first == second


@pytest.mark.parametrize(
    "statement",
    [
        "create table mine (id int)",
        "alter table pipeline_runs add column mine int",
        "alter table pipeline_runs disable trigger all",
        "drop index pipeline_runs_by_key",
        "create policy mine on pipeline_runs using (true)",
        "grant select on pipeline_runs to public",
        "delete from schema_migrations where version = 1",
    ],
)
def test_a_ledger_that_a_test_has_changed_is_not_given_again(postgres: Server, postgres_ledgers: PostgresLedgers, statement: str) -> None:
    first, second = after(postgres_ledgers, postgres, statement)
    assert first != second
