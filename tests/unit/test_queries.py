"""Named SQL becomes what each driver wants to hear."""

from __future__ import annotations

import pytest

from lakeledger.db.queries import Queries, parse, statement, to_pyformat
from lakeledger.db.sqlite import split_statements
from lakeledger.records import sql as record_queries
from lakeledger.runs.store import sql as run_queries
from lakeledger.sync.positions.store import sql as position_queries
from lakeledger.tables.store import sql as table_queries

PAIR = """
-- name: claim@postgres
select id from jobs for update skip locked

-- name: claim@sqlite
select id from jobs

-- name: finish
-- Ends it once.
update jobs set status = :status where id = :id
"""


def test_statements_are_found_by_name() -> None:
    assert parse(PAIR).finish.text("sqlite") == "-- Ends it once.\nupdate jobs set status = :status where id = :id"
    assert parse(PAIR).finish.text("postgres") == "-- Ends it once.\nupdate jobs set status = %(status)s where id = %(id)s"


def test_a_pair_gives_each_database_its_own_statement() -> None:
    claim = parse(PAIR).claim
    assert claim.text("postgres") == "select id from jobs for update skip locked"
    assert claim.text("sqlite") == "select id from jobs"


@pytest.mark.parametrize(
    "source",
    ["-- name: a\nselect 1\n-- name: a@postgres\nselect 2", "-- name: a@postgres\nselect 2\n-- name: a\nselect 1"],
    ids=["common first", "special first"],
)
def test_one_database_may_differ_from_the_common_statement_in_either_order(source: str) -> None:
    assert parse(source).a.text("postgres") == "select 2"
    assert parse(source).a.text("sqlite") == "select 1"


def test_a_dialect_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="postgresql"):
        parse("-- name: a\nselect 1\n-- name: a@postgresql\nselect 2")


def test_a_name_that_is_used_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        parse("-- name: a\nselect 1\n-- name: a\nselect 2")


def test_a_missing_statement_is_named() -> None:
    with pytest.raises(AttributeError, match="no query named 'nothing'"):
        _ = parse(PAIR).nothing


def test_an_optional_line_is_left_out_without_a_value_for_its_parameter() -> None:
    query = parse("-- name: a\nselect *\n where x = :x\n   and y = :y -- optional\n   and z::text < :z -- optional\n limit 1").a
    assert query.optional == {"y", "z"}
    assert query.text("sqlite", frozenset({"y"})) == "select *\n where x = :x\n   and z::text < :z -- optional\n limit 1"
    assert query.text("postgres", frozenset({"y", "z"})) == "select *\n where x = %(x)s\n limit 1"
    assert query.text("sqlite").count("optional") == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select :a, :b_2", "select %(a)s, %(b_2)s"),
        ("select x::text, :a::jsonb", "select x::text, %(a)s::jsonb"),
        ("select ':a', ':b''s', :c", "select ':a', ':b''s', %(c)s"),
        ("select '10:30:00' -- at :noon, don't\n, :a", "select '10:30:00' -- at :noon, don't\n, %(a)s"),
        ("select 5 % :a where x like '%y'", "select 5 %% %(a)s where x like '%%y'"),
        ("where (:a is null or b = :a)", "where (%(a)s is null or b = %(a)s)"),
        ("select 1", "select 1"),
    ],
)
def test_parameters_are_told_from_casts_strings_and_comments(text: str, expected: str) -> None:
    assert to_pyformat(text) == expected
    assert statement(text).text("postgres") == expected
    assert statement(text).text("sqlite") == text


@pytest.mark.parametrize(
    "queries", [run_queries, position_queries, table_queries, record_queries], ids=["runs", "sync", "tables", "records"]
)
def test_no_statement_reads_or_changes_rows_without_its_tenant(queries: Queries) -> None:
    for query in queries._queries.values():
        for dialect in ("sqlite", "postgres"):
            assert "tenant_id" in query.text(dialect), query.name


def test_a_script_is_split_where_statements_end_and_nowhere_else() -> None:
    script = """
create table a (x text default ';');
create trigger t after insert on a begin
    insert into b values (1);
    insert into c values (2);
end;
-- the end;
select 1
"""
    found = [part.strip() for part in split_statements(script)]
    assert [part.split()[:2] for part in found[:2]] == [["create", "table"], ["create", "trigger"]]
    assert found[1].endswith("end;")
    assert found[2].endswith("select 1")
    assert len(found) == 3
