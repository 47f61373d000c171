"""Kill -9 at every point of a refresh of the lake's own tables: no row is lost, none is there twice, and nothing is left behind."""

from __future__ import annotations

import json
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import lakeledger
from contract.making import add_dq_result
from contract.mirroring import agrees, lake, move_run, refresh
from empty_ledgers import new_sqlite_url
from integration import children
from lakeledger import Ledger, Settings, failpoints
from lakeledger.clock import now

OPEN, NEW = 3, 4


def opened(case: dict[str, str]) -> Ledger:
    return lakeledger.open(Settings(case["url"], case["warehouse"], case["tenant"]))


def prepare(ledger: Ledger) -> list[dict[str, Any]]:
    """Runs that were copied while they were open, and have ended since, beside new ones of several days; what the lake has of them."""
    begun = [ledger.run(f"open{number}", parameters={"number": number}) for number in range(OPEN)]
    for run in begun:
        run.__enter__()
    refresh(ledger)
    before = lake(ledger, "pipeline_runs")
    for run in begun:
        with run.step("load"):
            pass
        run.__exit__(None, None, None)
    for number in range(NEW):
        with ledger.run(f"new{number}") as run, run.step("load"):
            pass
        move_run(ledger, run.id, now() - timedelta(days=number))
        add_dq_result(ledger, f"{ledger.mirror.dataset}-{number}", now() - timedelta(days=number), [{"number": number}], run.id)
    return before


def check(case: dict[str, str], before: list[dict[str, Any]]) -> None:
    with opened(case) as ledger:
        if case["point"] == failpoints.AFTER_COMMIT:
            agrees(ledger, "pipeline_runs")
        else:
            assert lake(ledger, "pipeline_runs") == before, case["point"]
        ledger.runs.recover(silence=timedelta(0))
        copied = refresh(ledger)
        assert copied.get("pipeline_runs", 0) == (0 if case["point"] == failpoints.AFTER_COMMIT else OPEN + NEW)
        agrees(ledger)
        assert refresh(ledger) == {}
        ledger.settle()
        ledger.tables.sweep(timedelta(0), delete=True)
        assert ledger.tables.sweep(timedelta(0)).leftovers == []
        assert ledger.tables.verify(f"{ledger.mirror.dataset}.pipeline_runs").ok
        agrees(ledger)


def test_a_refresh_that_is_killed_at_any_point_is_done_by_the_next_one(url: str, tmp_path: Path) -> None:
    cases, before = [], {}
    for point in failpoints.ALL:
        place = tmp_path / point
        place.mkdir()
        own_url = new_sqlite_url(place) if url.startswith("sqlite") else url
        case = {"url": own_url, "tenant": point, "warehouse": str(place / "w"), "point": point}
        with opened(case) as ledger:
            before[point] = prepare(ledger)
        cases.append(case)
    child = children.start(tmp_path / "child.log", "mirror", json.dumps(cases))
    assert child.wait() == -signal.SIGKILL, child.errors
    for case in cases:
        check(case, before[case["point"]])
