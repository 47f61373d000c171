"""What a source's files are known by, and what they must hold, on real Spark."""

from __future__ import annotations

from pathlib import Path

from integration.loading import HEADER, error_of, only, orders, put, rows, run
from lakeledger import Ledger

# Known by content


def test_a_changed_file_is_refused_or_ignored_as_declared(lake: Ledger, base: Path) -> None:
    file = put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    run(lake, orders(), base)
    put(file, f"{HEADER}1,b,9.5\n")
    assert "1.csv changed after it was read" in error_of(lake, run(lake, orders(), base))
    assert only(run(lake, orders(changed_files="ignore"), base)).status == "COMPLETED"
    assert (rows(lake.read("orders")), lake.positions.get("shop.orders").version) == ([(1, "a", 1.5)], 1)
    assert only(run(lake, orders(changed_files="load", load_type="full"), base)).error is None
    assert rows(lake.read("orders")) == [(1, "b", 9.5)]
    assert run(lake, orders(), base).rows == 0


def test_a_renamed_file_is_registered_under_its_new_name_and_not_loaded_again(lake: Ledger, base: Path) -> None:
    file = put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    first = run(lake, orders(), base)
    file.rename(base / "orders/2.csv")
    step = only(run(lake, orders(), base))
    assert step.loaded is not None
    assert (step.status, step.loaded.rows, step.loaded.summary) == ("COMPLETED", 0, "nothing new, 1 renamed")
    assert rows(lake.read("orders")) == [(1, "a", 1.5)]
    assert [Path(known.path).name for known in lake.positions.files("shop.orders")] == ["2.csv"]
    assert [change.reason for change in lake.positions.history("shop.orders")] == [None, "1 renamed"]
    assert lake.positions.get("shop.orders").position_data["files"] == 1
    assert only(run(lake, orders(), base)).loaded.summary == "nothing new"  # type: ignore[union-attr]
    assert lake.tables.history("orders")[0].run_id == first.run_id


def test_files_that_rotate_bring_only_what_is_new(lake: Ledger, base: Path) -> None:
    today = base / "orders/today.csv"
    for day in range(1, 4):
        for older in (2, 1):
            if (base / f"orders/{older}.csv").exists():
                (base / f"orders/{older}.csv").rename(base / f"orders/{older + 1}.csv")
        if today.exists():
            today.rename(base / "orders/1.csv")
        put(today, f"{HEADER}{day},x,0.5\n")
        assert run(lake, orders(), base).rows == 1
    assert [row[0] for row in rows(lake.read("orders"))] == [1, 2, 3]
    assert [Path(known.path).name for known in lake.positions.files("shop.orders")] == ["1.csv", "2.csv", "today.csv"]
    assert lake.positions.get("shop.orders").position_data["files"] == 3
