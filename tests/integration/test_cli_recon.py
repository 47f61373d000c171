"""`lakeledger recon`: run, explain and list reconciliations. Both sides are in PostgreSQL here, which needs no Spark."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from integration.commands import answer, invoke, refused, shown
from integration.source_database import Shop
from lakeledger import Ledger

pytestmark = [pytest.mark.usefixtures("quiet"), pytest.mark.parametrize("url", ["sqlite"], indirect=True)]

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def file(shop: Shop, tmp_path: Path) -> Path:
    """Two tables, of which one has a changed name and one row more."""
    shop.do("insert into orders (id, at, name) select g, timestamptz '2026-01-01', 'n' || g from generate_series(1, 50) g")
    shop.do("create table copy as table orders")
    shop.do("update copy set name = %s where id = 7", HOSTILE)
    shop.do("insert into copy values (51, null, '=1+1')")
    side = f"{{jdbc: {{url: '{shop.url}', user: postgres, table: {shop.schema}.%s}}}}"
    made = tmp_path / "recon.yaml"
    made.write_text(
        f"""
reconciliations:
  - name: orders
    source: {side % "orders"}
    target: {side % "copy"}
    keys: id
    checks: [count: {{threshold_percent: 5, warn: 0}}, schema, checksum]
  - name: itself
    source: {side % "orders"}
    target: {{jdbc: {{url: '{shop.url}', user: postgres, query: select * from {shop.schema}.orders}}}}
    keys: id
    frequency: monthly
    checks: [checksum]
  - name: broken
    source: {side % "gone"}
    target: {side % "copy"}
    checks: [count]
"""
    )
    return made


def test_a_run_tells_what_it_found_and_exits_by_it(ledger: Ledger, at: list[str], file: Path) -> None:
    told = shown("recon", "run", "orders", "--file", str(file), *at, code=1)
    assert "✗ fail" in told
    assert "1 extra, 1 changed of 51 rows" in told
    assert "next: lakeledger recon explain orders" in told
    assert shown("recon", "run", "itself", "--file", str(file), *at, code=0).count("✓ pass") == 1
    assert "scheduled_skip" in shown("recon", "run", "itself", "--file", str(file), *at)
    assert "✓ pass" in shown("recon", "run", "itself", "--now", "--file", str(file), *at)
    found = answer("recon", "run", "broken", *at, "--file", str(file), code=3)
    assert found["reconciliations"][0]["status"] == "error"
    everything = answer("recon", "run", *at, code=1)
    assert [each["status"] for each in everything["reconciliations"]] == ["fail", "scheduled_skip", "error"]
    assert [run.run_kind for run in ledger.runs.list()] == ["recon"] * 8


def test_a_warning_fails_only_if_it_is_asked_to(ledger: Ledger, at: list[str], file: Path) -> None:
    file.write_text(file.read_text().replace(", schema, checksum]", "]"))
    assert "! warn" in shown("recon", "run", "orders", *at, code=0)
    assert invoke("recon", "run", "orders", "--fail-on-warn", *at).exit_code == 1


def test_an_explanation_says_what_differs_side_by_side(ledger: Ledger, at: list[str], file: Path) -> None:
    invoke("recon", "run", "orders", *at)
    told = shown("recon", "explain", "orders", *at)
    assert f"id = '7' differs in name: 'n7' → '{HOSTILE}'" in told
    assert "id = '51' is only in the target" in told
    assert "WARN count: the source has 50 rows, the target 51 rows: 1 more (2 %)" in told
    result = answer("recon", "history", "orders", *at)["results"][0]
    assert answer("recon", "explain", result["recon_result_id"][:30], *at)["results"] == [result]
    refused(["recon", "explain", "nobody", *at], 2, "NotFound", "no reconciliation and no result 'nobody'")


def test_results_are_listed_by_name_status_and_time(ledger: Ledger, at: list[str], file: Path) -> None:
    invoke("recon", "run", *at)
    assert {each["check"] for each in answer("recon", "history", "orders", *at)["results"]} == {"count", "schema", "checksum"}
    assert [each["reconciliation"] for each in answer("recon", "history", "--status", "error", *at)["results"]] == ["broken"]
    assert answer("recon", "history", "--until", "1h", *at) == {"results": [], "next": None}
    page = answer("recon", "history", "--limit", "2", *at)
    assert len(answer("recon", "history", "--after", page["next"], *at)["results"]) == 3
    assert "checksum" in shown("recon", "history", "--since", "1h", *at)
    refused(["recon", "history", "--status", "odd", *at], 2, "Invalid", "status 'odd' is not one of")


def test_reports_are_written_for_people_and_programs(ledger: Ledger, at: list[str], file: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    invoke("recon", "run", "orders", "--out", str(page), *at)
    text = page.read_text()
    assert HOSTILE not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert text.startswith("<!doctype html>")
    assert "http" not in text.replace("postgresql", "")
    lines = invoke("recon", "run", "orders", "--output", "jsonl", *at).stdout.splitlines()
    assert [json.loads(line)["check"] for line in lines] == ["count", "schema", "checksum"]
    rows = list(csv.DictReader(io.StringIO(invoke("recon", "run", "orders", "--output", "csv", *at).stdout)))
    assert [(row["check"], row["status"]) for row in rows] == [("count", "warn"), ("schema", "pass"), ("checksum", "fail")]
    found = json.loads(invoke("recon", "run", "orders", "--output", "json", *at).stdout)
    assert found["reconciliations"][0]["status"] == "fail"
    refused(["recon", "run", "orders", "--out", "report.txt", *at], 2, "Invalid", "give --output json, jsonl, csv or html")


def test_what_is_declared_wrongly_is_told_with_its_line(ledger: Ledger, at: list[str], file: Path) -> None:
    file.write_text(file.read_text().replace("keys: id", "kesy: id", 1))
    refused(["recon", "run", "--file", str(file), *at], 2, "Invalid", ":6:5: unknown key 'kesy'; did you mean 'keys'?")
    refused(["recon", "run", "--file", "nowhere.yaml", *at], 2, "Invalid", "no such file")
