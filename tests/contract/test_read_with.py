"""The code that `read-with` gives is pasted and run: it gives what the ledger has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.test_publishing import MONDAY, append
from iceberg_readers import duckdb_session
from lakeledger import Conflict, Invalid, Ledger
from lakeledger.config import S3Settings
from lakeledger.lake.iceberg.read_with import Published, read_with
from lakeledger.names import parse_name


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync") as opened:
        append(opened, (1, MONDAY, "a"), (2, MONDAY, "it's"))
        yield opened


@pytest.mark.parametrize("engine", ["pyiceberg", "polars"])
def test_python_code_gives_a_frame(ledger: Ledger, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "POLARS_ICEBERG_PLANNER", "pyiceberg")
    names: dict[str, Any] = {}
    exec(ledger.publisher.read_with(engine, "shop.orders"), names)
    assert sorted(names["frame"]["id"].to_list() if engine == "polars" else names["frame"]["id"].to_pylist()) == [1, 2]
    names["catalog"].close()


def test_sql_for_duckdb_gives_rows(ledger: Ledger) -> None:
    code = ledger.publisher.read_with("duckdb", "shop.orders")
    query = [line for line in code.splitlines() if line.startswith("SELECT")]
    assert sorted(row[0] for row in duckdb_session().sql(" ".join(query)).fetchall()) == [1, 2]


def test_code_for_spark_names_the_catalog_of_the_ledger(ledger: Ledger) -> None:
    code = ledger.publisher.read_with("spark", "shop.orders")
    compile(code, "pasted", "exec")
    assert "spark.table('`default`.`shop`.`orders`')" in code
    assert ("jdbc:sqlite:/" if ledger.database.dialect == "sqlite" else "jdbc:postgresql://127.0.0.1:") in code


@pytest.mark.parametrize("engine", ["pyiceberg", "polars", "spark"])
def test_no_password_is_shown(engine: str) -> None:
    place = Published(
        "postgresql://ann:s3cret@db.example:5433/lake", "ledger", "default", parse_name("a.b"), "/w/a/b/metadata/x.metadata.json", "/w"
    )
    code = read_with(engine, place)
    assert "s3cret" not in code
    assert ".pgpass" in code
    assert "db.example:5433/lake" in code


def test_a_table_that_is_not_published_says_what_to_do(url: str, tmp_path: Path) -> None:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse")) as ledger:
        append(ledger, (1, MONDAY, "a"), mode="async")
        with pytest.raises(Conflict, match=r"shop\.orders is not published: `lakeledger tables publish shop\.orders` does that"):
            ledger.publisher.read_with("duckdb", "shop.orders")
        ledger.publisher.publish("shop.orders")
        with pytest.raises(Invalid, match=r"no code for 'excel': use duckdb, polars, pyiceberg or spark"):
            ledger.publisher.read_with("excel", "shop.orders")


@pytest.mark.parametrize(
    ("s3", "told"),
    [
        (S3Settings(), "CREATE SECRET (TYPE s3, PROVIDER credential_chain);"),
        (S3Settings(region="eu-west-1"), "CREATE SECRET (TYPE s3, PROVIDER credential_chain, REGION 'eu-west-1');"),
        (
            S3Settings("http://127.0.0.1:9000", path_style=True),
            "CREATE SECRET (TYPE s3, PROVIDER credential_chain, ENDPOINT '127.0.0.1:9000', URL_STYLE 'path', USE_SSL false);",
        ),
    ],
)
def test_sql_for_duckdb_says_where_s3_is(s3: S3Settings, told: str) -> None:
    place = Published("sqlite:///l.db", None, "default", parse_name("a.b"), "s3://lake/a/b/metadata/x.metadata.json", "s3://lake", s3)
    assert told in read_with("duckdb", place)
