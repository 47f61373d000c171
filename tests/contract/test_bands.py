"""Bands over what the ledger keeps: which loads are points, what people decide about them, and what is kept with a load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

import lakeledger
from contract.making import ORDERS, change, execute, put
from contract.measuring import days_ago, load_at, load_daily, monday, weekly
from empty_ledgers import new_sqlite_url
from lakeledger import Ledger, clock
from lakeledger.commit import commit
from lakeledger.config import BandSettings
from lakeledger.errors import Invalid, NotFound
from lakeledger.quality import Suite, SuiteResult, verdict, volume
from lakeledger.quality.bands.series import Series, read_series
from lakeledger.quality.store import found
from lakeledger.quality.volume import VolumePolicy, VolumeVerdict
from lakeledger.records import MetadataContext, MetadataRecord, MetadataTarget
from lakeledger.records import add as add_record

FLAT = [1000] * 10


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A ledger on SQLite, for what does not depend on the database."""
    with lakeledger.open(new_sqlite_url(tmp_path_factory.mktemp("alone"))) as opened:
        yield opened


def judged(ledger: Ledger, rows: int, policy: VolumePolicy | None = None, source: str = "load") -> VolumeVerdict | None:
    with ledger.store.read() as tx:
        return volume.judge(tx, ledger.settings.bands, ORDERS, source, rows, policy or VolumePolicy())


def status(ledger: Ledger, rows: int, **policy: object) -> str | None:
    verdict = judged(ledger, rows, VolumePolicy(**policy))  # type: ignore[arg-type]
    return verdict.status if verdict else None


def states(series: Series) -> list[str]:
    return [point.state for point in series.points]


def test_a_load_is_judged_by_the_loads_before_it(ledger: Ledger) -> None:
    load_daily(ledger, FLAT)
    found = judged(ledger, 600)
    assert found is not None
    assert (found.status, found.band and found.band.state, found.band and found.band.n) == ("warn", "ACTIVE", 10)
    assert found.message == "600 rows is 40 % below the expected 1,000 (usual: 950 to 1,050)"
    assert status(ledger, 1010) == "pass"
    assert status(ledger, 0) == "warn"


def test_a_new_table_is_learning(ledger: Ledger) -> None:
    load_daily(ledger, [1000, 1000, 1000])
    found = judged(ledger, 900)
    assert found is not None
    assert (found.status, found.band and found.band.state) == ("learning", "LEARNING")


def test_a_week_is_known(ledger: Ledger) -> None:
    start = monday(10)
    for day, rows in enumerate(weekly(9)):
        load_at(ledger, start + timedelta(days=day), rows, load="initial" if day == 0 else "ordinary")
    series = ledger.bands.series(ORDERS)
    sunday, tuesday = (series.band(start + timedelta(weeks=9, days=day)) for day in (6, 1))
    assert (sunday.judge(400), tuesday.judge(600), tuesday.judge(1000)) == ("pass", "warn", "pass")


def test_only_ordinary_loads_are_compared(ledger: Ledger) -> None:
    load_daily(ledger, FLAT)
    for number, load in enumerate(("backfill", "replay", "full_refresh")):
        load_at(ledger, days_ago(0.5 - number / 10), 90_000, load=load)
    made = load_at(ledger, days_ago(0.1), 5)
    failed = "update pipeline_runs set status = 'FAILED' where pipeline_logging_id = :run_id"
    assert execute(ledger, failed, run_id=made.snapshot.run_id) == 1
    series = ledger.bands.series(ORDERS)
    assert states(series) == ["initial", *["ordinary"] * 10, "backfill", "replay", "full_refresh", "failed"]
    assert series.band(clock.now()).expected == pytest.approx(1000)


def test_a_batch_that_was_taken_back_is_no_measure(ledger: Ledger) -> None:
    load_daily(ledger, [*FLAT, 1020])
    version = ledger.tables.get(ORDERS).current_version
    with ledger.run("rewind", kind="maintenance") as run:
        taken = change(run, operation="delete", retires="all", summary={"taken_back": [version]})
        put(ledger, replace(taken, effects=[]))
    assert states(ledger.bands.series(ORDERS)) == ["initial", *["ordinary"] * 10, "taken_back"]


def test_each_source_of_a_table_is_judged_by_its_own_loads(alone: Ledger) -> None:
    load_daily(alone, FLAT)
    load_daily(alone, [10] * 10, last=days_ago(0.8), pipeline="small")
    assert alone.bands.series(ORDERS).sources == ("small", "load")
    assert judged(alone, 10, source="small").status == "pass"  # type: ignore[union-attr]
    assert judged(alone, 10).status == "warn"  # type: ignore[union-attr]
    assert len(alone.bands.series(ORDERS, source="load").points) == 11


def test_a_table_that_is_loaded_often_is_judged_by_its_days(alone: Ledger) -> None:
    for day in range(12, 0, -1):
        for part in range(4):
            load_at(alone, days_ago(day) + timedelta(hours=5 * part), 100 if day > 1 else 30)
    series = alone.bands.series(ORDERS)
    assert (series.unit, [point.value for point in series.points]) == ("day", [400.0] * 10 + [120.0])
    found = judged(alone, 1)
    assert found is not None
    assert (found.status, found.day) == ("warn", f"{days_ago(1):%Y-%m-%d}")
    assert found.message.startswith(f"on {found.day}: 120 rows is 70 % below the expected 400")
    alone.bands.exclude(ORDERS, str(found.day), "a holiday")
    assert (states(alone.bands.series(ORDERS))[-1], judged(alone, 1)) == ("excluded", None)
    alone.bands.restore(ORDERS, str(found.day), "it was none")
    load_at(alone, clock.now() - timedelta(seconds=5), 1)
    assert judged(alone, 1) is None  # yesterday is judged once


def test_a_table_that_is_replaced_often_is_judged_by_what_it_has(alone: Ledger) -> None:
    for hour in range(40, 0, -1):
        load_at(alone, clock.now() - timedelta(hours=hour), 500, operation="overwrite")
    assert (alone.bands.series(ORDERS).unit, len(alone.bands.series(ORDERS).points)) == ("load", 40)
    assert (status(alone, 505), status(alone, 300)) == ("pass", "warn")


def test_the_days_of_a_table_begin_where_the_settings_say(alone: Ledger) -> None:
    for day in range(12, 1, -1):
        for hour in (16, 17, 18):
            load_at(alone, days_ago(day).replace(hour=hour), 10)
    with alone.store.read() as tx:
        tokyo = read_series(tx, BandSettings(time_zone="Asia/Tokyo"), "ingestion_volume", ORDERS, "rows")
    assert {f"{point.at:%H:%M %Z}" for point in tokyo.points} == {"00:00 JST"}
    assert tokyo.points[-1].id == f"{days_ago(1):%Y-%m-%d}"  # sixteen o'clock is tomorrow there


def test_limits_that_are_declared_count_without_history_too(alone: Ledger) -> None:
    load_at(alone, days_ago(1), 1)
    assert status(alone, 5, min_rows=10) == "warn"
    assert status(alone, 50, min_rows=10, max_rows=40, band="fail") == "fail"
    assert judged(alone, 5, VolumePolicy(min_rows=10)).message == "5 rows are fewer than min_rows 10"  # type: ignore[union-attr]
    assert status(alone, 20, min_rows=10, band="off") is None


def test_a_declared_policy_refuses_or_is_silent_or_has_its_own_width(alone: Ledger) -> None:
    load_daily(alone, FLAT)
    found = [status(alone, 600, **policy) for policy in ({"band": "fail"}, {"band": "off"}, {"tolerance": 0.5})]
    assert found == ["fail", None, "pass"]


def test_a_point_is_excluded_and_restored_and_that_is_kept(ledger: Ledger) -> None:
    load_daily(ledger, [*FLAT, 400])
    (point,) = [each for each in ledger.bands.series(ORDERS).points if each.value == 400]
    assert point.id is not None
    made = ledger.bands.exclude(ORDERS, point.id[:30], "the shop was closed", by="ann")
    assert (made.point, made.decision, made.reason, made.decided_by) == (point.id, "exclude", "the shop was closed", "ann")
    assert ledger.bands.series(ORDERS).find(point.id).state == "excluded"
    assert ledger.bands.exclude(ORDERS, point.id, "again").decision_id == made.decision_id
    ledger.bands.restore(ORDERS, point.id, "it was open", by="bob")
    assert ledger.bands.series(ORDERS).find(point.id).state == "ordinary"
    kept = [(each.decision, each.decided_by) for each in ledger.bands.decisions(ORDERS)]
    assert kept == [("exclude", "ann"), ("restore", "bob")]


def test_an_accepted_point_is_the_new_level(ledger: Ledger) -> None:
    load_daily(ledger, [*FLAT, 3000])
    assert status(ledger, 3010) == "warn"
    ledger.bands.accept(ORDERS, f"{days_ago(1):%Y-%m-%d}", "two new shops")
    assert (status(ledger, 3010), status(ledger, 1000)) == ("pass", "warn")


def test_decisions_are_of_one_tenant_and_one_table(ledger: Ledger) -> None:
    for each in (ledger, ledger.for_tenant("other")):
        load_daily(each, FLAT)
    day = f"{days_ago(3):%Y-%m-%d}"
    ledger.bands.exclude(ORDERS, day, "wrong")
    assert "excluded" in states(ledger.bands.series(ORDERS))
    assert "excluded" not in states(ledger.for_tenant("other").bands.series(ORDERS))
    assert ledger.for_tenant("other").bands.decisions(ORDERS) == []


def test_what_is_no_point_or_no_table_or_has_no_reason_is_refused(alone: Ledger) -> None:
    load_daily(alone, FLAT)
    with pytest.raises(NotFound, match=r"silver.orders has no point 2001-01-01 in the last 90 days"):
        alone.bands.exclude(ORDERS, "2001-01-01", "wrong")
    with pytest.raises(NotFound):
        alone.bands.series("silver.nothing")
    with pytest.raises(Invalid, match="needs a reason"):
        alone.bands.accept(ORDERS, f"{days_ago(1):%Y-%m-%d}", " ")
    with pytest.raises(Invalid, match="nothing was decided"):
        alone.bands.restore(ORDERS, f"{days_ago(1):%Y-%m-%d}", "wrong")
    with pytest.raises(Invalid, match="no metric 'row'"):
        alone.bands.series(ORDERS, "row")
    with pytest.raises(Invalid, match="points of silver"):
        alone.bands.exclude(ORDERS, alone.bands.series(ORDERS).points[1].id[:8], "wrong")  # type: ignore[index]


def test_tables_whose_last_load_was_unusual_are_listed_until_somebody_decides(ledger: Ledger) -> None:
    for table, rows in ((ORDERS, 600), ("silver.people", 1000)):
        load_daily(ledger, FLAT, last=days_ago(2), table=table)
        with ledger.store.read() as tx:
            verdict = volume.judge(replace(tx, now=days_ago(1)), ledger.settings.bands, table, "load", rows)
        load_at(ledger, days_ago(1), rows, table=table, verdict=verdict)
    (found,) = ledger.bands.unusual()
    assert (found.table, found.status, found.message) == (ORDERS, "warn", verdict_of(ledger)["message"])
    assert [each.table for each in ledger.bands.unusual(every=True)] == [ORDERS, "silver.people"]
    ledger.bands.exclude(ORDERS, found.point, "a public holiday")
    assert ledger.bands.unusual() == []


def verdict_of(ledger: Ledger) -> dict[str, str]:
    record = ledger.records.latest(ORDERS, "ingestion_volume")
    assert record is not None
    assert record.quality is not None
    return record.quality


def test_results_of_checks_have_bands_too(ledger: Ledger) -> None:
    target = MetadataTarget("recon", "silver", "orders")
    load_at(ledger, days_ago(30), 1)
    for day in range(20, 0, -1):
        status, difference = ("fail", 900.0) if day == 5 else ("pass", 10.0 + day % 3)
        payload = {"check": "count", "status": status, "metrics": {"difference": difference}}
        other = {"check": "sum", "status": "pass", "metrics": {"difference": 1e6}}
        with ledger.store.write() as tx:
            for each in (payload, other, {"check": "count", "status": "error", "metrics": {"difference": None}}):
                add_record(tx, MetadataRecord(target, MetadataContext(), "recon_result", each, "recon.v1", produced_at=days_ago(day)))
    series = ledger.bands.series(ORDERS, "difference", kind="recon_result", check="count")
    band = series.band(clock.now())
    assert (band.n, band.state, band.judge(11), band.judge(30)) == (19, "ACTIVE", "pass", "warn")
    ledger.bands.exclude(ORDERS, str(series.points[0].id), "a test", kind="recon_result")
    assert states(ledger.bands.series(ORDERS, "difference", kind="recon_result", check="count"))[0] == "excluded"


def test_what_expectations_observe_has_a_band_too(ledger: Ledger) -> None:
    suite = Suite.of("orders", [{"not_null": "id"}, {"row_count": 1}])
    load_at(ledger, days_ago(30), 1)
    for day in range(12, 0, -1):
        bad = 40 if day == 1 else 2 + day % 2
        checks = tuple(verdict.judge(each, verdict.Seen(100, 0, bad, value=100), clock.now()) for each in suite.expectations)
        with ledger.run("orders", kind="quality") as run, ledger.store.write() as tx:
            result = found(SuiteResult(suite, ORDERS, checks, clock.new_id()))
            commit(replace(tx, now=days_ago(day)), run.fence, [], [], [result])
    label = suite.expectations[0].label
    judged_then = ledger.bands.series(ORDERS, "unexpected_percent", kind="dq_result", check=label).walk()
    assert [each.is_outside for each in judged_then] == [False] * 11 + [True]
    ledger.bands.exclude(ORDERS, str(judged_then[-1].point.id), "a test", kind="dq_result")
    assert states(ledger.bands.series(ORDERS, "unexpected_percent", kind="dq_result", check=label))[-1] == "excluded"
    with pytest.raises(Invalid, match="name the check"):
        ledger.bands.series(ORDERS, "unexpected_percent", kind="dq_result")
