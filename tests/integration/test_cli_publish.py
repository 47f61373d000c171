"""`lakeledger tables publish` and `read-with`, as people type them; files are real, Spark is not needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.keeping import ORDERS, put
from integration.commands import answer, columns, invoke, refused, shown
from lakeledger import Ledger
from lakeledger.tables import DeltaPublication, Publication


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.chdir(tmp_path)
    Path("lakeledger.toml").write_text('url = "sqlite:///lakeledger.db"\nwarehouse = "warehouse"\n')
    with lakeledger.open() as opened:
        put(opened, [1], mode="async")
        put(opened, [2], table="shop.items", format_="jsonl", mode="async")
        yield opened


def test_a_table_is_published_in_each_of_its_formats_from_then_on(ledger: Ledger) -> None:
    (found,) = answer("tables", "publish", ORDERS)["published"]
    assert (found["formats"], found["version"], found["delta"]) == (["iceberg"], 1, None)
    (found,) = answer("tables", "publish", ORDERS, "--formats", "delta,iceberg")["published"]
    assert {"table", "formats", "delta", "location"} | columns(Publication) == found.keys()
    assert found["delta"].keys() == columns(DeltaPublication)
    assert (found["formats"], found["version"], found["delta"]["version"]) == (["iceberg", "delta"], 1, 1)
    put(ledger, [3], mode="async")
    assert "version 1, as Delta" in shown("tables", "show", ORDERS)
    checks = {check["check"]: check for check in answer("doctor")["checks"]}
    assert checks["published"]["detail"] == ("Iceberg: 1 table, 1 behind, by up to 1 version; Delta: 1 table, 1 behind, by up to 1 version")
    told = shown("tables", "publish", ORDERS)
    assert ("iceberg" in told, "delta" in told) == (True, True)
    assert (answer("tables", "show", ORDERS)["delta"]["version"], answer("tables", "history", ORDERS)["snapshots"][0]["delta_version"]) == (
        2,
        1,
    )
    (found,) = answer("tables", "publish", ORDERS, "--formats", "default")["published"]
    assert (found["formats"], found["delta"]) == (["iceberg"], None)


def test_what_a_format_has_no_place_for_says_so_and_code_is_given_for_the_one_that_is_there(ledger: Ledger) -> None:
    refused(["tables", "publish", ORDERS, "--formats", "hudi"], 2, "Invalid", "publish cannot have 'hudi': write iceberg or delta")
    found = answer("tables", "publish", "--all", "--formats", "iceberg,delta", code=3)
    assert [(each["table"], each["format"]) for each in found["problems"]] == [("shop.items", "iceberg"), ("shop.items", "delta")]
    assert "shop.items, as delta: Delta has no jsonl files" in invoke("tables", "publish", "--all").stderr
    checks = {check["check"]: check for check in answer("doctor")["checks"]}
    assert checks["published"]["status"] == "warn"
    assert "shop.items as Delta: Delta has no jsonl files" in checks["published"]["detail"]
    put(ledger, [3], mode="async")
    place: dict[str, Any] = {}
    exec(answer("tables", "read-with", "deltalake", ORDERS, "--fresh")["code"], place)
    assert sorted(place["frame"]["id"].to_pylist()) == [1, 3]
    assert "delta_scan(" in shown("tables", "read-with", "duckdb", ORDERS, "--format", "delta")
    assert "iceberg_scan(" in shown("tables", "read-with", "duckdb", ORDERS)
    answer("tables", "publish", ORDERS, "--formats", "delta")
    assert "delta_scan(" in shown("tables", "read-with", "duckdb", ORDERS)
    refused(
        ["tables", "read-with", "databricks", "shop.items"], 1, "Conflict", "shop.items is not published as Delta (Delta has no jsonl files"
    )
