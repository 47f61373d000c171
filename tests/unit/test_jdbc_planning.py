"""What a JDBC source plans without a database: literals and names in each dialect, URLs, parts, and the types of PostgreSQL."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.errors import Invalid
from lakeledger.pipelines.sources.asking_postgres import parse_url
from lakeledger.pipelines.sources.dialects import MYSQL, ORACLE, POSTGRESQL, SQLSERVER, Dialect, find, split_name
from lakeledger.pipelines.sources.partitioned import MOST_PARTS, Split, choose_count, predicates
from lakeledger.pipelines.sources.postgres_types import to_column

AT = datetime(2026, 1, 5, 13, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("dialect", "type_", "value", "written"),
    [
        (POSTGRESQL, "timestamp", AT, "timestamptz '2026-01-05 12:00:00.000000+00'"),
        (POSTGRESQL, "timestamp_ntz", AT.astimezone(UTC).replace(tzinfo=None), "timestamp '2026-01-05 12:00:00.000000'"),
        (POSTGRESQL, "date", date(2026, 1, 5), "date '2026-01-05'"),
        (POSTGRESQL, "decimal", Decimal("1E+3"), "1000"),
        (POSTGRESQL, "integer", -5, "-5"),
        (POSTGRESQL, "text", "O'Neil\\", "'O''Neil\\'"),
        (MYSQL, "text", "O'Neil\\", "'O''Neil\\\\'"),
        (MYSQL, "timestamp", AT, "timestamp '2026-01-05 12:00:00.000000'"),
        (SQLSERVER, "timestamp", AT, "cast('2026-01-05 12:00:00.000000+00:00' as datetimeoffset)"),
        (SQLSERVER, "text", "O'Neil", "N'O''Neil'"),
        (ORACLE, "timestamp", AT, "timestamp '2026-01-05 12:00:00.000000 +00:00'"),
    ],
)
def test_a_value_is_written_as_its_database_reads_it(dialect: Dialect, type_: str, value: Any, written: str) -> None:
    assert dialect.literal(type_, value) == written


def test_names_are_quoted_whatever_they_are() -> None:
    assert [each.quote('a"b`c]d') for each in (POSTGRESQL, MYSQL, SQLSERVER)] == ['"a""b`c]d"', '`a"b``c]d`', '[a"b`c]]d]']
    assert split_name('shop."Daily.Orders"') == ["shop", "Daily.Orders"]
    for name in ("", "a..b", '"a', "a."):
        with pytest.raises(Invalid, match="is no name of a table"):
            split_name(name)


def test_a_database_is_known_by_its_url() -> None:
    assert [
        find(url).name for url in ("jdbc:postgresql://h/d", "postgres://h/d", "jdbc:sqlserver://h;databaseName=d", "jdbc:oracle:thin:@h")
    ] == [
        "postgresql",
        "postgresql",
        "sqlserver",
        "oracle",
    ]
    with pytest.raises(Invalid, match=r"no database is known by mysq://: .*did you mean 'mysql'"):
        find("jdbc:mysq://h/d")


@pytest.mark.parametrize(
    ("url", "jdbc", "parameters"),
    [
        ("jdbc:postgresql://h/d", "jdbc:postgresql://h/d", {"host": "h", "port": "5432", "dbname": "d"}),
        ("postgresql://ann@h:1/d", "jdbc:postgresql://h:1/d", {"host": "h", "port": "1", "dbname": "d", "user": "ann"}),
        ("jdbc:postgresql://a:1,b/d", "jdbc:postgresql://a:1,b/d", {"host": "a,b", "port": "1,5432", "dbname": "d"}),
        ("jdbc:postgresql://[::1]:7/d", "jdbc:postgresql://[::1]:7/d", {"host": "::1", "port": "7", "dbname": "d"}),
        (
            "jdbc:postgresql://h/d?sslmode=require&currentSchema=shop&user=ann",
            "jdbc:postgresql://h/d?sslmode=require&currentSchema=shop",
            {"host": "h", "port": "5432", "dbname": "d", "user": "ann", "sslmode": "require", "options": "-csearch_path=shop"},
        ),
    ],
)
def test_a_url_is_read_for_planning_as_spark_reads_it(url: str, jdbc: str, parameters: dict[str, str]) -> None:
    assert parse_url(url) == (jdbc, parameters)


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 20), st.lists(st.one_of(st.none(), st.integers(-200, 200)), max_size=30))
def test_every_row_is_in_one_part(low: int, width: int, count: int, values: list[int | None]) -> None:
    split = Split.between(low, low + width, count, None, "id")
    parts = predicates(split, lambda name: name)
    assert len(parts) == (min(count, width + 1) if min(count, width + 1) > 1 else 0)
    for value in values if parts else []:
        number = "None" if value is None else str(value)
        holds = [eval(_python(part), {"id": value}) for part in parts]
        assert sum(holds) == 1, number


def _python(condition: str) -> str:
    """The condition for Python, where a comparison with NULL is an error and not false."""
    if condition.endswith(" or id is null"):
        return f"id is None or {condition.removesuffix(' or id is null')}"
    return f"id is not None and {condition}"


def test_so_many_rows_make_so_many_parts() -> None:
    assert [choose_count(rows, 10_000) for rows in (None, 0, 199_999, 200_000, 1_000_000, 10**12)] == [1, 1, 1, 2, 6, MOST_PARTS]


@pytest.mark.parametrize(
    ("type_", "order", "is_read"),
    [
        ("integer", "integer", True),
        ("numeric(10,2)", "decimal", True),
        ("numeric(38,0)", "decimal", True),
        ("numeric(39,0)", "decimal", False),
        ("numeric(3,5)", "decimal", False),
        ("numeric(5,-2)", "decimal", False),
        ("numeric", "decimal", False),
        ("timestamp(3) with time zone", "timestamp", True),
        ("timestamp without time zone", "timestamp_ntz", True),
        ("time with time zone", None, True),
        ("character(5)", None, True),
        ("character varying(9)", "text", True),
        ("text[]", None, True),
        ("numeric(10,2)[]", None, True),
        ("numeric[]", None, False),
        ("jsonb[]", None, False),
        ("money", None, False),
        ("point", None, False),
        ("double precision", None, True),
    ],
)
def test_each_type_of_postgresql_is_read_or_refused(type_: str, order: str | None, is_read: bool) -> None:
    column = to_column("x", type_, "b", nullable=True, declared=None)
    assert (column.order, column.refused is None) == (order, is_read)


def test_a_composite_type_is_refused_and_a_declared_one_is_read_as_text() -> None:
    assert to_column("x", "address", "c", nullable=True, declared=None).refused
    assert to_column("x", "address", "c", nullable=True, declared="string").expression == "{}::text"
    assert to_column("x", "mood", "e", nullable=True, declared=None).expression == "{}::text"
