"""The tables that a query names are found in its text, and only they are replaced."""

from __future__ import annotations

import pytest

from lakeledger.errors import Invalid
from lakeledger.pipelines.sql_task import find_references, gives_other_rows_each_time, rewrite


def tables(query: str) -> list[str]:
    return sorted(reference.table for reference in find_references(query))


def rewritten(query: str) -> str:
    references = find_references(query)
    return rewrite(query, references, {reference.table: f"<{reference.table}>" for reference in references})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select * from orders", "select * from <orders> AS `orders`"),
        ("select * from silver.orders", "select * from <silver.orders> AS `orders`"),
        ("select * from silver.orders o", "select * from <silver.orders> o"),
        ("select * from silver.orders as o where o.x", "select * from <silver.orders> as o where o.x"),
        ("select * from `silver`.`orders`", "select * from <silver.orders> AS `orders`"),
        ("SELECT *\nFROM silver . orders\nWHERE x", "SELECT *\nFROM <silver.orders> AS `orders`\nWHERE x"),
        ("select * from a, b c", "select * from <a> AS `a`, <b> c"),
        ("select * from a join b.c using (id)", "select * from <a> AS `a` join <b.c> AS `c` using (id)"),
        ("select * from a x join a y on x.i = y.i", "select * from <a> x join <a> y on x.i = y.i"),
        ("select * from a union all select * from b", "select * from <a> AS `a` union all select * from <b> AS `b`"),
        ("select * from (select * from a) x", "select * from (select * from <a> AS `a`) x"),
        ("(select * from a)", "(select * from <a> AS `a`)"),
        ("select (select max(i) from a) m from b", "select (select max(i) from <a> AS `a`) m from <b> AS `b`"),
        ("select * from a where i in (select i from b)", "select * from <a> AS `a` where i in (select i from <b> AS `b`)"),
        ("select 'é🙂' as x from orders", "select 'é🙂' as x from <orders> AS `orders`"),
        ("select :day as d from orders where x > :x", "select :day as d from <orders> AS `orders` where x > :x"),
        ("select * from orders;", "select * from <orders> AS `orders`;"),
        ("select a.x from a lateral view explode(y) t as x", "select a.x from <a> AS `a` lateral view explode(y) t as x"),
    ],
)
def test_a_table_is_replaced_where_it_stands(query: str, expected: str) -> None:
    assert rewritten(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select 'select * from orders' from a", ["a"]),
        ('select "from orders" from a', ["a"]),
        ("select 1 -- from orders\nfrom a", ["a"]),
        ("/* from orders */ select 1 from a", ["a"]),
        ("select orders.x from a orders", ["a"]),
        ("select orders from a", ["a"]),
        ("select * from range(10)", []),
        ("select * from values (1), (2) as orders(x)", []),
        ("select 1", []),
    ],
)
def test_what_only_looks_like_a_table_is_left_alone(query: str, expected: list[str]) -> None:
    assert tables(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("with o as (select * from silver.orders) select * from o", ["silver.orders"]),
        ("with o as (select * from a), p as (select * from o join b) select * from p", ["a", "b"]),
        ("with O as (select 1) select * from o", []),
        ("with orders as (select * from silver.orders) select * from orders", ["silver.orders"]),
        ("with recursive n as (select 1 as i union all select i + 1 from n where i < 9) select * from n join a", ["a"]),
    ],
)
def test_names_that_the_query_defines_are_no_tables(query: str, expected: list[str]) -> None:
    assert tables(query) == expected


def test_a_query_may_wrap_a_table_under_its_own_name() -> None:
    query = "with orders as (select * from orders where valid) select * from orders"
    assert rewritten(query) == "with orders as (select * from <orders> AS `orders` where valid) select * from orders"


def test_a_name_defined_in_a_subquery_does_not_hide_the_table_outside_of_it() -> None:
    query = "select * from orders where exists (with orders as (select 1) select * from orders)"
    assert tables(query) == ["orders"]


def test_a_column_may_be_qualified_by_the_whole_name_of_its_table() -> None:
    assert rewritten("select silver.orders.id from silver.orders") == "select `orders`.id from <silver.orders> AS `orders`"


@pytest.mark.parametrize(
    "query",
    [
        "insert into a select * from b",
        "with x as (select 1) insert into a select * from x",
        "delete from a",
        "update a set x = 1",
        "merge into a using b on a.i = b.i when matched then delete",
        "create table a as select 1",
        "create or replace temporary view v as select 1",
        "drop table a",
        "truncate table a",
        "set spark.sql.ansi.enabled = false",
        "use silver",
        "select 1; select 2",
        "select 1; drop table a",
        "",
        "-- nothing",
    ],
)
def test_anything_but_one_select_is_refused(query: str) -> None:
    with pytest.raises(Invalid, match="one SELECT"):
        find_references(query)


@pytest.mark.parametrize("query", ["select * from", "select (", "select 'open", "selec * from a"])
def test_a_query_that_cannot_be_read_is_refused(query: str) -> None:
    with pytest.raises(Invalid):
        find_references(query)


@pytest.mark.parametrize(
    ("query", "restless"),
    [
        ("select * from a", False),
        ("select max(at) as now from a", False),
        ("select current_date() from a", True),
        ("select current_timestamp from a", True),
        ("select * from a where rand() < 0.5", True),
        ("select * from a order by uuid()", True),
        ("select * from range(10)", True),
        ("select * from read_files('x')", True),
    ],
)
def test_a_query_that_asks_more_than_its_tables_is_run_each_time(query: str, restless: bool) -> None:
    assert gives_other_rows_each_time(query) is restless
