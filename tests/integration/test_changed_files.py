"""Files that changed after they were loaded: their rows in the table are exchanged for the new ones, on real Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from integration import killing
from integration.killing import Case
from integration.loading import HEADER, error_of, only, orders, put, rows, run
from lakeledger import Ledger, failpoints
from lakeledger.pipelines.apply.exchange import candidates
from lakeledger.sync import Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPLACE = orders(changed_files="replace")


def test_changed_and_new_files_are_exchanged_in_one_commit(lake: Ledger, base: Path) -> None:
    put(base / "orders/a+b 1.csv", f"{HEADER}1,a,1.5\n2,b,2.5\n3,c,3.5\n")
    put(base / "orders/2.csv", f"{HEADER}4,d,4.5\n5,e,5.5\n")
    put(base / "orders/copy.csv", f"{HEADER}4,d,4.5\n5,e,5.5\n")
    assert run(lake, REPLACE, base).rows == 7
    put(base / "orders/3.csv", f"{HEADER}6,f,6.5\n")
    run(lake, REPLACE, base)
    (untouched,) = [file.file_path for file in lake.tables.files("orders") if file.added_version == 2]
    # A file is still known after its rows were written again with others, and when it is called otherwise.
    lake.delete("orders", "id = 2")
    (base / "orders/2.csv").rename(base / "orders/two.csv")
    run(lake, REPLACE, base)
    assert lake.tables.get("orders").current_version == 3
    put(base / "orders/a+b 1.csv", f"{HEADER}1,a,1.5\n3,c,9.5\n7,g,7.5\n")
    put(base / "orders/two.csv", f"{HEADER}5,e,5.5\n")
    put(base / "orders/4.csv", f"{HEADER}8,h,8.5\n")
    result = run(lake, REPLACE, base)
    assert only(result).error is None
    wanted = [(1, "a", 1.5), (3, "c", 9.5), (4, "d", 4.5), (5, "e", 5.5), (5, "e", 5.5), (6, "f", 6.5), (7, "g", 7.5), (8, "h", 8.5)]
    assert rows(lake.read("orders")) == wanted
    assert lake.read("orders").columns == ["id", "name", "price"]
    snapshot = lake.tables.history("orders")[0]
    assert (snapshot.version, snapshot.operation) == (4, "exchange")
    # (3, c) and (4, d) of the second file went, (3, c), (7, g) and (8, h) came; what is the same did neither.
    told = {name: snapshot.summary[name] for name in ("inserted", "deleted", "unchanged", "exchanged_files", "source_files")}
    assert told == {"inserted": 3, "deleted": 2, "unchanged": 2, "exchanged_files": 2, "source_files": 3}
    logged = lake.runs.get(result.run_id)
    assert (logged.records_inserted, logged.records_deleted, logged.records_updated) == (3, 2, 0)
    assert untouched in lake.tables.view("orders").file_paths
    assert only(run(lake, REPLACE, base)).loaded.summary == "nothing new"  # type: ignore[union-attr]
    plan = lake.positions.preview_rewind("shop.orders", Target(version=3))
    assert (plan.appended_rows, plan.needs_reason) == (3, True)
    # A key that is older than everything in a file cannot be in it.
    column = next(field["physical_name"] for field in lake.tables.metadata("orders").schema["fields"] if field.get("hidden"))  # type: ignore[union-attr]
    assert candidates(lake.tables.files("orders"), column, ["0"]) == []


def test_a_file_that_was_loaded_without_keys_is_refused_until_all_are_loaded_again(sqlite_lake: Ledger, base: Path) -> None:
    lake = sqlite_lake
    file = put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n2,b,2.5\n")
    run(lake, orders(), base)
    put(base / "orders/2.csv", f"{HEADER}3,c,3.5\n")
    assert only(run(lake, REPLACE, base)).error is None
    put(base / "orders/2.csv", f"{HEADER}4,d,4.5\n")
    assert only(run(lake, REPLACE, base)).error is None
    assert rows(lake.read("orders")) == [(1, "a", 1.5), (2, "b", 2.5), (4, "d", 4.5)]
    put(file, f"{HEADER}1,z,9.5\n")
    told = error_of(lake, run(lake, REPLACE, base))
    assert "1.csv changed, and its rows in main.orders cannot be told from others" in told
    assert "--full-refresh" in told
    run(lake, REPLACE, base, full_refresh=True)
    put(file, "id,name,price\n")  # nothing is left of it
    assert only(run(lake, REPLACE, base)).error is None
    assert rows(lake.read("orders")) == [(4, "d", 4.5)]


def test_an_exchange_that_was_killed_is_right_after_the_next_run(tmp_path: Path, spark: SparkSession) -> None:
    known = killing.cases("sqlite", tmp_path, "async", [failpoints.IN_TRANSACTION, failpoints.AFTER_COMMIT])

    def begin(case: Case, lake: Ledger) -> None:
        put(case.path, REPLACE)
        file = put(case.path.parent / "orders/1.csv", f"{HEADER}1,a,1.5\n2,b,2.5\n")
        run(lake, REPLACE, case.path.parent)
        put(file, f"{HEADER}2,b,9.5\n")
        put(case.path.parent / "orders/2.csv", f"{HEADER}3,c,3.5\n")

    def check(case: Case, lake: Ledger) -> None:
        assert len(lake.tables.history("orders")) == 1 + (case.point == failpoints.AFTER_COMMIT)
        run(lake, REPLACE, case.path.parent)
        assert rows(lake.read("orders")) == [(2, "b", 9.5), (3, "c", 3.5)]
        assert len(lake.tables.history("orders")) == 2

    killing.of_each(known, spark, begin)
    killing.kill(tmp_path / "child.log", "crash", known)
    killing.of_each(known, spark, check)
