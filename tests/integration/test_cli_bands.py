"""`lakeledger bands`, `lakeledger freshness` and `records list --since`, through the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import lakeledger
from contract.making import ORDERS
from contract.measuring import days_ago, load_at, load_daily, monday, weekly
from empty_ledgers import new_sqlite_url
from integration.commands import answer, refused, shown
from lakeledger import Ledger, clock
from lakeledger.quality import volume
from lakeledger.quality.freshness import Sla

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger whose orders came daily, until yesterday only a part of them did."""
    with lakeledger.open(new_sqlite_url(tmp_path)) as opened:
        load_daily(opened, [1000] * 12, last=days_ago(2))
        with opened.store.read() as tx:
            verdict = volume.judge(replace(tx, now=days_ago(1)), opened.settings.bands, ORDERS, "load", 600)
        load_at(opened, days_ago(1), 600, verdict=verdict)
        yield opened


@pytest.fixture
def here(ledger: Ledger) -> list[str]:
    return ["--url", ledger.settings.url]


YESTERDAY = f"{days_ago(1):%Y-%m-%d}"


def test_a_band_is_shown_in_words_and_points(here: list[str]) -> None:
    told = shown("bands", "show", ORDERS, *here)
    assert "ACTIVE: 1,000 rows expected, 950 to 1,050 is usual. Learned from 12 points since" in told
    assert "Left out: 1 initial, 1 outside its band." in told
    assert "bands accept silver.orders" in told
    found = answer("bands", "show", ORDERS, *here)
    assert (found["unit"], found["band"]["n"], found["explanation"].split(":")[0]) == ("load", 12, "ACTIVE")
    last = found["points"][-1]
    assert (last["value"], last["is_outside"], last["lower"]) == (600, True, pytest.approx(950))


def test_tables_outside_of_their_bands_are_listed_until_somebody_decides(here: list[str]) -> None:
    (found,) = answer("bands", "list", *here)["tables"]
    assert (found["table"], found["status"], found["decision"]) == (ORDERS, "warn", None)
    assert "600 rows is 40 % below the expected 1,000" in shown("bands", "list", *here)
    made = answer("bands", "exclude", ORDERS, YESTERDAY, "--reason", "a public holiday", *here)["decision"]
    assert (made["point"], made["decision"], made["reason"], "@" in made["decided_by"]) == (
        found["point"],
        "exclude",
        "a public holiday",
        True,
    )
    assert answer("bands", "exclude", ORDERS, found["point"], "--reason", "again", *here)["decision"] == made
    assert "within its band" in shown("bands", "list", *here)
    assert "exclude by" in shown("bands", "show", ORDERS, *here)
    assert "counts as if nothing" in shown("bands", "restore", ORDERS, YESTERDAY, "--reason", "it was none", *here)
    assert "is accepted as the new level" in shown("bands", "accept", ORDERS, YESTERDAY, "--reason", "one shop is closed", *here)
    assert answer("bands", "show", ORDERS, *here)["band"]["expected"] == pytest.approx(600)


def test_what_is_asked_wrongly_is_refused(here: list[str]) -> None:
    refused(["bands", "show", "silver.nothing", *here], 2, "NotFound", "silver.nothing")
    refused(["bands", "exclude", ORDERS, "2001-01-01", "--reason", "x", *here], 2, "NotFound", "has no point 2001-01-01")
    refused(["bands", "show", ORDERS, "--plot", "orders.pdf", *here], 2, "Invalid", "ends in .svg or .png")
    refused(["bands", "show", ORDERS, "--plot", "nowhere/orders.svg", *here], 2, "Invalid", "cannot write nowhere/orders.svg")
    refused(["freshness", "set", "silver.nothing", "26h", "--reason", "x", *here], 2, "NotFound", "silver.nothing")
    refused(["records", "list", "ingestion_volume", "--since", "yesterday", *here], 2, "Invalid", "2026-01-31T12:00:00Z")


def test_a_band_is_drawn_into_files_and_into_the_terminal(ledger: Ledger, here: list[str], tmp_path: Path) -> None:
    start = monday(9)
    for day, rows in enumerate(weekly(8)):
        load_at(ledger, start + timedelta(days=day), rows * (3 if day == 40 else 1), table="silver.people")
    ledger.bands.exclude("silver.people", f"{start + timedelta(days=30):%Y-%m-%d}", "a test")
    for name, begins in (("people.svg", b"<svg"), ("people.png", b"\x89PNG")):
        assert f"drawn in {name}" in shown("bands", "show", "silver.people", "--plot", name, *here)
        assert (tmp_path / name).read_bytes().startswith(begins)
    picture = (tmp_path / "people.svg").read_text()
    assert all(f">{word}<" in picture for word in ("usual", "outside", "excluded", "usual range", "expected"))
    drawn = shown("bands", "show", "silver.people", "--plot", "-", *here)
    assert all(sign in drawn for sign in ("●", "◆", "✕", "░", "─ expected"))


def test_without_what_draws_pictures_the_terminal_still_does(here: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    refused(["bands", "show", ORDERS, "--plot", "orders.svg", *here], 2, "NotInstalled", "pip install 'lakeledger[plots]'")
    assert "░" in shown("bands", "show", ORDERS, "--plot", "-", *here)


def test_freshness_is_listed_the_worst_first_and_can_fail(ledger: Ledger, here: list[str]) -> None:
    load_at(ledger, clock.now() - timedelta(hours=1), 1000)
    assert answer("freshness", "list", "--fail-on-late", *here)["overdue"] == 0
    load_at(ledger, days_ago(3), 5, table="silver.people", sla=Sla(timedelta(hours=26)))
    found = answer("freshness", "list", "--fail-on-late", *here, code=1)
    assert [(each["table"], each["status"]) for each in found["tables"]] == [("silver.people", "late"), (ORDERS, "fresh")]
    told = shown("freshness", "list", *here)
    assert told.index("silver.people") < told.index(ORDERS)
    assert "26 h" in told
    assert [each["table"] for each in answer("freshness", "list", "--limit", "1", *here)["tables"]] == ["silver.people"]
    changed = answer("freshness", "set", "silver.people", "30d", "--reason", "monthly", *here)["freshness"]
    assert (changed["status"], changed["max_age_seconds"], changed["reason"]) == ("fresh", 30 * 86_400, "monthly")
    assert "still being learned" in shown("freshness", "unset", "silver.people", "--reason", "by hand", *here)


def test_records_of_a_time_are_listed(here: list[str]) -> None:
    listed = answer("records", "list", "ingestion_volume", "--table", ORDERS, "--since", "4d", *here)["records"]
    assert [each["payload"]["rows"] for each in listed] in ([600, 1000, 1000], [600, 1000, 1000, 1000])
    until = days_ago(1).isoformat()
    assert answer("records", "list", "ingestion_volume", "--since", "4d", "--until", until, *here)["records"] == listed[1:]
