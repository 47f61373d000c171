"""`lakeledger demo`: the product's first impression, with its generator as the oracle."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration.compacting import compact
from lakeledger import Failed, demo
from lakeledger.demo import faults, oracle, shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parent.parent
DAYS = 2
RAN_SPARK = """
import sys
from lakeledger.cli import main
try:
    main()
finally:
    print("pyspark" in sys.modules, file=sys.stderr)
"""
DIE_IN_THE_COMMIT = """
import sys
from pathlib import Path
from lakeledger import SparkSettings, demo, testing
from lakeledger.pipelines.session import open_session
from spark_conf import SPARK_CONF
with demo.open(Path(sys.argv[1]), 2, open_session(SparkSettings(master="local[2]", conf=SPARK_CONF))) as opened:
    for done in opened.load():
        testing.kill_at("in_transaction")
"""


def lakeledger(
    *words: str, cwd: Path, code: str = "from lakeledger.cli import main; main()", **variables: str
) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("LAKELEDGER_")} | variables
    return subprocess.run([sys.executable, "-c", code, *words], cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder above a demo of two days, and its report."""
    above = tmp_path_factory.mktemp("demo")
    done = lakeledger("demo", "--days", str(DAYS), "--json", cwd=above)
    assert done.returncode == 0, done.stderr
    return above, json.loads(done.stdout)


def rows_by_table(report: dict[str, Any]) -> dict[str, int]:
    return {f"{table['schema_name']}.{table['table_name']}": table["row_count"] for table in report["tables"]}


def load(folder: Path, days: int, spark: SparkSession) -> list[demo.Done]:
    with demo.open(folder, days, spark) as opened:
        done = list(opened.load())
        opened.check()
        return done


def test_the_demo_loads_exactly_what_its_shop_made(first: tuple[Path, dict[str, Any]]) -> None:
    _, report = first
    assert rows_by_table(report) == {name: figures.rows for name, figures in oracle.expected(DAYS).items()}
    assert [run["pipeline_id"] for run in report["runs"]] == ["shop_reports", *["shop"] * DAYS]
    assert {run["status"] for run in report["runs"]} == {"COMPLETED"}
    read = {position["table_name"]: position["position_data"].get("files") for position in report["positions"]}
    daily = dict.fromkeys(("orders", "order_lines", "customer_changes", "customer_history"), DAYS)
    assert read == {"customers": 1, **daily, "big_discounts": None}


def test_the_demo_applies_late_duplicate_deleted_and_bad_events_as_counted_here_from_its_files(
    first: tuple[Path, dict[str, Any]], spark: SparkSession
) -> None:
    above, report = first
    folder = above / "lakeledger-demo"
    counted, history = counted_events(folder)
    assert report["customer_events"] == counted
    assert min(counted[name] for name in ("late", "duplicates", "deletes", "bad")) >= 1
    left = {number: events[max(events)] for number, events in history.items() if events[max(events)]}
    with demo.open(folder, DAYS, spark) as opened:
        found = {row["customer_id"]: row["city"] for row in opened.read("silver.customers")}
        versions = [row["customer_id"] for row in opened.read("silver.customer_history")]
        current = [row["customer_id"] for row in opened.read("silver.customer_history") if row["__CURRENT"]]
        bad = [row["reasons"] for row in opened.read("silver.customers__quarantine")]
        letters = opened.ledger.dead_letters.list(schema="silver", table="customers")
    assert found == left
    assert sorted(current) == sorted(left)
    assert {number: versions.count(number) for number in history} == {
        number: sum(city is not None for city in events.values()) for number, events in history.items()
    }
    assert len(bad) == sum(letter.record_data["rows"] for letter in letters) == counted["bad"]


def counted_events(folder: Path) -> tuple[dict[str, int], dict[int, dict[int, str | None]]]:
    """What the files of events hold, read line by line: how many of each kind, and the city of each customer by LSN (None: deleted)."""
    counted = dict.fromkeys(("events", "in_order", "late", "duplicates", "deletes", "bad"), 0)
    history: dict[int, dict[int, str | None]] = {}
    lines = [line for path in sorted(folder.glob("landing/customer_events/*.jsonl")) for line in path.read_text().splitlines()]
    for line in lines:
        if line == "null":
            continue  # Debezium's tombstones
        try:
            event = json.loads(line)
            row, lsn = event["after"] or event["before"], event["source"]["lsn"]
            known = history.setdefault(int(row["customer_id"]), {})
        except (ValueError, TypeError):
            counted["bad"] += 1
            continue
        counted["events"] += 1
        if lsn in known:
            kind = "duplicates"
        elif known and lsn < max(known):
            kind = "late"
        else:
            kind = "deletes" if event["op"] == "d" else "in_order"
        counted[kind] += 1
        known[lsn] = None if event["op"] == "d" else row["city"]
    return counted, history


def test_lines_that_cannot_be_right_are_set_aside_with_each_of_their_reasons(
    first: tuple[Path, dict[str, Any]], spark: SparkSession
) -> None:
    above, report = first
    assert [each["noticed_by"] for each in report["caught"]] == ["rules with action quarantine"]
    wrong = [line for day in shop.dates(DAYS) for line in faults.wrong_lines(shop.sales_day(day))]
    broken = {"not_null(sku)": "sku", "valid(quantity > 0)": "quantity", "between(discount_percent, max=100, min=0)": "discount_percent"}
    bad = {"sku": (None,), "quantity": (0,), "discount_percent": (150,)}
    expected = [{f"breaks {rule}" for rule, name in broken.items() if line[name] in bad[name]} for line in wrong]
    with demo.open(above / "lakeledger-demo", DAYS, spark) as opened:
        found = [set(row["reasons"]) for row in opened.read(oracle.WRONG_LINES)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


def test_the_demo_says_where_everything_is(first: tuple[Path, dict[str, Any]]) -> None:
    above, report = first
    folder = above / "lakeledger-demo"
    assert report["location"] == {
        "ledger": f"sqlite:///{folder}/ledger.db",
        "warehouse": f"{folder}/warehouse/default",
        "landing": f"{folder}/landing",
        "pipeline": f"{folder}/shop.yaml",
    }
    assert all(Path(path.removeprefix("sqlite:///")).exists() for path in report["location"].values())


def test_a_second_demo_changes_nothing_and_starts_no_spark(first: tuple[Path, dict[str, Any]]) -> None:
    above, report = first
    before = lakeledger("demo", "--days", str(DAYS), "--json", cwd=above).stdout
    landed = {path: path.stat().st_mtime_ns for path in above.glob("lakeledger-demo/landing/**/*.*")}
    again = lakeledger("demo", "--days", str(DAYS), "--json", cwd=above, code=RAN_SPARK)
    assert (again.returncode, again.stderr) == (0, "False\n")
    assert again.stdout == before
    assert json.loads(before)["tables"] == report["tables"]
    assert {path: path.stat().st_mtime_ns for path in above.glob("lakeledger-demo/landing/**/*.*")} == landed


def test_people_get_tables_runs_positions_revenue_and_what_to_try(first: tuple[Path, dict[str, Any]]) -> None:
    done = lakeledger("demo", "--days", str(DAYS), cwd=first[0])
    assert done.returncode == 0, done.stderr
    assert "Nothing to load: 2 days (2026-06-01 to 2026-06-02) in the ledger already." in done.stderr
    sold = oracle.expected(DAYS)["silver.sales"]
    assert str(sold) in done.stdout
    events = counted_events(first[0] / "lakeledger-demo")[0]
    for kind in ("late", "duplicates", "deletes", "bad"):
        (line,) = (line for line in done.stdout.splitlines() if line.startswith(f"{kind} "))
        assert int(line.split()[1]) == events[kind]
    told = ("silver.customers__quarantine", "silver.customer_history of customer", "bronze.order_lines version 2 read")
    for word in ("gold.top_products", " completed; ", "2 files read", "Tue 02 Jun", "cd lakeledger-demo", *told):
        assert word in done.stdout


def test_a_ledger_in_the_environment_is_left_alone(first: tuple[Path, dict[str, Any]]) -> None:
    above, report = first
    done = lakeledger("demo", "--days", str(DAYS), cwd=above, LAKELEDGER_URL="sqlite:///production.db")
    assert done.returncode == 0, done.stderr
    assert report["location"]["ledger"] in done.stdout
    assert "unset LAKELEDGER_URL" in done.stdout
    assert not list(above.rglob("production.db"))


def test_the_commands_it_suggests_work(first: tuple[Path, dict[str, Any]]) -> None:
    shown = lakeledger("demo", "--days", str(DAYS), cwd=first[0]).stdout
    suggested = [line.split("  ")[0].split()[1:] for line in shown.splitlines() if line.startswith("lakeledger ")]
    assert len(suggested) >= 3
    for words in suggested:
        done = lakeledger(*words, cwd=first[0] / "lakeledger-demo")
        assert done.returncode == 0, (words, done.stderr)


def test_a_demo_killed_in_a_daily_load_and_then_in_the_reports_goes_on_and_ends_with_the_same_tables(
    tmp_path: Path, spark: SparkSession
) -> None:
    folder = tmp_path / "shop"
    for done in (["shop"], ["shop", "shop"]):
        killed = lakeledger(str(folder), cwd=tmp_path, code=DIE_IN_THE_COMMIT, PYTHONPATH=str(TESTS))
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        with demo.open(folder, 2, spark) as opened:
            assert [run.pipeline_id for run in opened.ledger.runs.list(status="COMPLETED")] == done
    assert [done.run.pipeline_id for done in load(folder, 2, spark)] == ["shop_reports"]
    with demo.open(folder, 2, spark) as opened:
        assert oracle.found(opened.ledger) == oracle.expected(2)


@pytest.fixture(scope="module")
def one_day(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A shop of one day, which tests leave as it is: a copy goes on where it is."""
    folder = tmp_path_factory.mktemp("one_day") / "shop"
    assert [done.run.pipeline_id for done in load(folder, 1, spark)] == ["shop", "shop_reports"]
    return folder


@pytest.fixture
def folder(one_day: Path, tmp_path: Path) -> Path:
    """A shop of one day of the test's own."""
    return Path(shutil.copytree(one_day, tmp_path / "shop"))


def test_more_days_are_added_and_fewer_take_none_away(folder: Path, spark: SparkSession) -> None:
    assert [str(done.day) for done in load(folder, 2, spark)] == ["2026-06-02", "2026-06-02"]
    assert load(folder, 1, spark) == []


def test_reports_are_made_every_sunday_and_at_the_end_and_daily_files_become_few(folder: Path, spark: SparkSession) -> None:
    done = load(folder, 8, spark)
    assert [str(each.day) for each in done if each.run.pipeline_id == "shop_reports"] == ["2026-06-07", "2026-06-08"]
    assert [str(each.day) for each in done if each.run.status == "FAILED"] == [str(faults.EXPORTED_TWICE)]
    with demo.open(folder, 8, spark) as opened:
        wrong, twice = opened.caught()
        assert wrong.what == f"{faults.count_wrong_lines(opened.days)} order lines that cannot be right"
        orders = 2 * len(shop.sales_day(faults.EXPORTED_TWICE).orders)
        assert twice.noticed_by == f"unique(order_id): {orders} of {orders} rows are unexpected"
        opened.compact()
        # Lines are partitioned by day: one file each.
        assert opened.compacted() == {"bronze.orders": (8, 1), "bronze.order_lines__quarantine": (8, 1)}
        compact(opened.ledger, "silver.big_discounts")
        opened.check()
        assert opened.reports_are_current()
        assert opened.compact() == []
    assert load(folder, 8, spark) == []


def test_a_table_that_is_not_what_the_shop_made_fails_loudly(folder: Path, spark: SparkSession) -> None:
    with demo.open(folder, 1, spark) as opened:
        opened.ledger.append(opened.ledger.read("bronze.orders").limit(1), "bronze.orders")
        with pytest.raises(Failed, match=r"bronze\.orders has 353 rows .* but the shop made 352 rows"):
            opened.check()


@pytest.mark.parametrize("days", ["0", "-1", "366", "1000"])
def test_an_impossible_number_of_days_is_refused_in_one_line(days: str, tmp_path: Path) -> None:
    refused = lakeledger("demo", f"--days={days}", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"error: --days must be from 1 to 365, not {days}\n"
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_the_demos_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "lakeledger.toml").write_text('url = "sqlite:///production.db"')
    before = sorted(tmp_path.rglob("*"))
    for name, reason in (("file", "is a file"), ("full", "holds other files"), ("project", "is not the demo's")):
        refused = lakeledger("demo", "--folder", name, cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith(f"error: {tmp_path / name}")
        assert reason in refused.stderr
        assert "choose another --folder" in refused.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_can_be_copied_and_goes_on_where_it_is(one_day: Path, folder: Path, spark: SparkSession) -> None:
    assert load(folder, 1, spark) == []
    assert [done.run.pipeline_id for done in load(folder, 2, spark)] == ["shop", "shop_reports"]
    assert load(one_day, 1, spark) == []


def lose(folder: Path) -> None:
    """The database is lost, and made anew from the warehouse."""
    for path in folder.glob("ledger.db*"):
        path.unlink()
    done = lakeledger("rebuild", "--from", str(folder / "warehouse"), "--apply", "--json", cwd=folder)
    assert done.returncode == 0, done.stdout


def life(folder: Path, spark: SparkSession) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """The rows of every table of a shop, and where its sources stand; without what names a run or a table by its id."""
    with demo.open(folder, 2, spark) as opened:
        rows = {str(table.name): opened.read(str(table.name)) for table in opened.ledger.tables.list()}
        stand = {
            each.source.name: (each.marker_type, each.version, {**each.position_data, "table_ids": None}, each.position_kind)
            for each in opened.ledger.positions.list()
        }
    own = ("run_id", "quarantined_at")
    return {name: sorted(repr([row[key] for key in row if key not in own]) for row in found) for name, found in rows.items()}, stand


def test_a_shop_whose_database_is_lost_in_mid_life_ends_as_one_that_never_lost_it(
    one_day: Path, tmp_path: Path, spark: SparkSession
) -> None:
    kept, lost = (Path(shutil.copytree(one_day, tmp_path / name)) for name in ("kept", "lost"))
    lose(lost)  # in a place that its metadata does not know
    load(kept, 2, spark)
    load(lost, 2, spark)
    assert life(lost, spark) == life(kept, spark)
    lose(lost)
    assert life(lost, spark) == life(kept, spark)
    load(lost, 2, spark)
    assert life(lost, spark)[0] == life(kept, spark)[0]


def test_the_shop_is_the_same_every_time_and_has_a_life() -> None:
    june = [shop.sales_day(day) for day in shop.dates(30)]
    assert june == [shop.sales_day(day) for day in shop.dates(30)]
    weekend = [len(day.orders) for day in june if day.date.weekday() in (5, 6)]
    midweek = [len(day.orders) for day in june if day.date.weekday() in (1, 2, 3)]
    assert min(weekend) > max(midweek)
    orders = [order for day in june for order in day.orders]
    assert 0.01 < sum(not order.is_sale for order in orders) / len(orders) < 0.05
    assert len({order.order_id for order in orders}) == len(orders)
    assert {order.customer_id for order in orders} <= {customer.customer_id for customer in shop.customers(june[-1].date)}
