"""When tables last got data, how long they usually wait for it, and what is said when it does not come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from contract.making import ORDERS, execute
from contract.measuring import days_ago, load_at, load_daily
from lakeledger import Ledger, clock
from lakeledger.errors import Invalid, NotFound
from lakeledger.quality import freshness
from lakeledger.quality.freshness import Freshness, Sla, longest_wait, span_text, with_gap
from lakeledger.tables import parse_name, store

HOUR = 3600


def at(ledger: Ledger, moment: datetime, table: str = ORDERS) -> Freshness:
    """How fresh a table is at that moment."""
    with ledger.store.read() as tx:
        found = freshness.find(replace(tx, now=moment), ledger.settings.bands, store.get(tx, parse_name(table)))
    assert found is not None
    return found


def gaps(moments: Iterator[datetime] | list[datetime]) -> list[tuple[str, float]]:
    """What is remembered of data at these moments."""
    kept: list[tuple[str, float]] = []
    last: datetime | None = None
    for moment in moments:
        kept, last = with_gap(kept, last, moment), moment
    return kept


def test_a_table_is_late_when_it_is_older_than_its_sla(ledger: Ledger) -> None:
    load_at(ledger, days_ago(0), 10, sla=Sla(timedelta(hours=26)))
    assert at(ledger, days_ago(-1)).status == "fresh"
    late = at(ledger, days_ago(-1) + timedelta(hours=3))
    assert (late.status, late.message) == ("late", "silver.orders got its last data 27 h ago; it may be 26 h old")


def test_a_table_without_an_sla_is_silent_when_it_waits_longer_than_it_usually_does(ledger: Ledger) -> None:
    load_daily(ledger, [100] * 9)
    found = at(ledger, days_ago(0))
    assert (found.status, found.usual_seconds, found.learned_days) == ("fresh", 36 * HOUR, 9)
    silent = at(ledger, days_ago(-1))
    assert (silent.status, silent.message) == ("silent", "silver.orders got its last data 2 d ago; it usually waits 36 h at most")


def test_a_table_is_learning_until_there_are_some_days(ledger: Ledger) -> None:
    load_daily(ledger, [100] * 3)
    found = at(ledger, days_ago(-30))
    assert (found.status, found.usual_seconds) == ("learning", None)
    assert found.message.endswith("how long it usually waits is still being learned")


def test_loads_without_rows_and_those_of_other_times_are_no_data(ledger: Ledger) -> None:
    load_daily(ledger, [100] * 8)
    before = at(ledger, clock.now()).data_at
    load_at(ledger, days_ago(0.5), 0)
    load_at(ledger, days_ago(0.4), 50, load="backfill")
    load_at(ledger, days_ago(0.3), 50, load="replay")
    assert at(ledger, clock.now()).data_at == before == days_ago(1)


def test_weekends_and_nights_are_no_surprise_and_one_outage_is_not_usual() -> None:
    start = datetime.fromisoformat("2026-01-05T08:00:00+00:00")
    weekdays = [start + timedelta(days=day) for day in range(40) if day % 7 < 5]
    assert longest_wait(gaps(weekdays)) == 72 * HOUR
    often = [start + timedelta(days=day, minutes=10 * part) for day in range(10) for part in range(60)]
    assert longest_wait(gaps(often)) == 14 * HOUR + 600
    outage = [start + timedelta(days=day) for day in range(40) if not 20 <= day < 29]
    assert longest_wait(gaps(outage)) == 24 * HOUR
    assert len(gaps([start + timedelta(days=day) for day in range(90)])) == freshness.DAYS


def test_an_sla_is_set_by_a_person_and_a_document_has_the_last_word(ledger: Ledger) -> None:
    load_at(ledger, days_ago(1), 10)
    found = ledger.freshness.set(ORDERS, timedelta(hours=2), "the report is at six", "ann")
    assert (found.max_age_seconds, found.declared_by, found.reason, found.status) == (2 * HOUR, "ann", "the report is at six", "late")
    load_at(ledger, days_ago(0.9), 10, sla=Sla())  # a document that says nothing
    assert ledger.freshness.get(ORDERS).max_age_seconds == 2 * HOUR
    load_at(ledger, days_ago(0.8), 10, sla=Sla(timedelta(days=8)))
    assert (ledger.freshness.get(ORDERS).max_age_seconds, ledger.freshness.get(ORDERS).declared_by) == (8 * 24 * HOUR, None)
    load_at(ledger, days_ago(0.7), 10, sla=Sla())  # that says it no more
    assert ledger.freshness.get(ORDERS).max_age_seconds is None
    ledger.freshness.set(ORDERS, timedelta(hours=2), "again")
    assert ledger.freshness.set(ORDERS, None, "by hand now").max_age_seconds is None


def test_what_makes_no_sense_is_refused(ledger: Ledger) -> None:
    load_at(ledger, days_ago(1), 10)
    with pytest.raises(Invalid, match="needs a reason"):
        ledger.freshness.set(ORDERS, timedelta(hours=1), " ")
    with pytest.raises(Invalid, match="26h"):
        ledger.freshness.set(ORDERS, timedelta(), "now")
    with pytest.raises(NotFound):
        ledger.freshness.set("silver.nothing", timedelta(hours=1), "now")


def test_tables_are_listed_the_worst_first_and_in_pages(ledger: Ledger) -> None:
    load_daily(ledger, [5] * 9, table="silver.fresh", last=clock.now() - timedelta(hours=1))
    load_daily(ledger, [5] * 9, table="silver.silent", last=days_ago(6))
    load_at(ledger, days_ago(3), 5, table="silver.learning")
    load_at(ledger, days_ago(2), 5, table="silver.late", sla=Sla(timedelta(hours=1)))
    load_at(ledger, days_ago(4), 5, table="silver.later", sla=Sla(timedelta(hours=1)))
    everything = [(each.table, each.status) for each in ledger.freshness.list()]
    assert everything == [
        ("silver.later", "late"), ("silver.late", "late"), ("silver.silent", "silent"), ("silver.learning", "learning"),
        ("silver.fresh", "fresh"),
    ]  # fmt: skip
    first = ledger.freshness.list(limit=3)
    assert [each.table for each in first] + [each.table for each in ledger.freshness.list(limit=3, after=first.next)] == [
        table for table, _ in everything
    ]
    assert [each.table for each in ledger.freshness.list(status="silent")] == ["silver.silent"]
    assert ledger.for_tenant("other").freshness.list() == []


def test_more_tables_than_a_page_are_all_listed(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "PAGE", 2)
    for number in range(5):
        load_at(ledger, days_ago(number), 5, table=f"silver.t{number}")
    assert [each.table for each in ledger.freshness.list()] == [f"silver.t{number}" for number in (4, 3, 2, 1, 0)]


def test_a_table_that_is_dropped_is_forgotten(ledger: Ledger) -> None:
    load_at(ledger, days_ago(1), 5)
    execute(ledger, "delete from tables where name_key = :key", key=ORDERS)
    assert ledger.freshness.list() == []


def test_spans_are_read_by_people() -> None:
    assert [span_text(seconds) for seconds in (45, 720, 26 * HOUR, 73 * HOUR, 96 * HOUR)] == ["45 s", "12 min", "26 h", "3 d 1 h", "4 d"]
