"""What a run shows while it works: how fast, and how long it will still take."""

from __future__ import annotations

import time

from rich.spinner import Spinner

from lakeledger.cli import progress, show
from lakeledger.pipelines.attempt import StepResult
from lakeledger.pipelines.load import Loaded
from lakeledger.runs import Status


def board(**rows: progress.Row) -> progress.Board:
    return progress.Board({("shop", name): row for name, row in rows.items()}, Spinner("dots"))


def test_what_runs_shows_how_long_it_will_still_take() -> None:
    made = board(orders=progress.Row("silver.orders"), other=progress.Row("silver.other"))
    made.expect("shop", {"orders": 90_000.0})
    made.step("shop", StepResult("orders", "silver.orders", Status.RUNNING))
    row = made.rows["shop", "orders"]
    assert row.left == ", about 1 min 30 s left"
    row.started = time.monotonic() - 89.9
    assert row.left == ", usually 1 min 30 s"
    made.step("shop", StepResult("orders", "silver.orders", Status.COMPLETED))
    assert row.left == ""
    made.step("shop", StepResult("other", "silver.other", Status.RUNNING))
    assert made.rows["shop", "other"].left == ""


def test_what_loaded_shows_how_fast() -> None:
    loaded = Loaded(3_000_000, object(), {}, "version 4")  # type: ignore[arg-type]  # only whether there is a commit counts
    assert (
        progress.outcome(StepResult("a", "t", Status.COMPLETED, loaded, duration_ms=2_000)) == "3,000,000 rows, 1,500,000 rows/s, version 4"
    )
    assert progress.outcome(StepResult("a", "t", Status.COMPLETED, loaded, duration_ms=20)) == "3,000,000 rows, version 4"
    assert show.count(1_500_000) == "1,500,000"
