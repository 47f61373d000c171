"""The compactor without Spark: it starts none unless it is asked to, and what keeps it from its work is seen and tried again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from contract.keeping import ORDERS, put
from contract.making import wait_until
from lakeledger import Ledger, Settings, Unavailable
from lakeledger.config import CompactionSettings, SparkSettings
from lakeledger.maintenance import compactor


def opened(url: str, tmp_path: Path, background: str, started: list[SparkSettings]) -> Ledger:
    def start(settings: SparkSettings) -> None:
        started.append(settings)
        raise Unavailable("no Spark answers")

    rules = CompactionSettings(min_files=2, quiet_seconds=0, background=background)
    return Ledger(Settings(url, str(tmp_path / "warehouse"), metadata="off", compaction=rules), start_spark=start)  # type: ignore[arg-type]


@pytest.mark.parametrize("background", ["auto", "off"])
def test_no_spark_is_started_for_it(url: str, tmp_path: Path, background: str) -> None:
    started: list[SparkSettings] = []
    with opened(url, tmp_path, background, started) as ledger:
        with ledger.astha():
            for number in range(3):
                put(ledger, [number], mode="off")
            wait_until(lambda: bool(ledger.events.lag()) and all(lag.behind == 0 for lag in ledger.events.lag()))
        assert (ledger.compact(ORDERS)[0].plan.files, ledger.tables.get(ORDERS).current_version) == (3, 3)
    assert started == []


def test_what_fails_is_kept_and_tried_again_later_each_time(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactor, "FIRST_PAUSE", timedelta(milliseconds=20))
    started: list[SparkSettings] = []
    with opened(url, tmp_path, "start", started) as ledger, ledger.astha():
        for number in range(3):
            put(ledger, [number], mode="off")
        wait_until(lambda: len(started) >= 3)
        wait_until(lambda: "no Spark answers" in " ".join(error.error_message for error in ledger.errors.list()))
        assert {run.status for run in ledger.runs.list("compact:shop.orders")} <= {"FAILED", "RUNNING"}
