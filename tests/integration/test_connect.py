"""The same pipeline on Spark Connect. It has a process of its own, because the tests' classic session may be running in this one."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from needs import missing

SCRIPT = Path(__file__).parent / "connect.py"


def test_a_pipeline_runs_on_spark_connect(tmp_path: Path) -> None:
    if importlib.util.find_spec("grpc_status") is None:
        missing("Spark Connect is not installed: pip install 'lakeledger[connect]'")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SCRIPT.parent.parent), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(SCRIPT), str(tmp_path)]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["remote"] is True
    assert seen["appended"] == 3
    assert seen["then"] == [[1, "a"], [2, "b"], [3, None]]
    assert seen["now"] == [[1, "a"], [20, "b"], [3, None]]
    assert seen["lines"] == [["2026-01-01 00:00:00.000001", "1.10"]]
    assert seen["bounds"]["at"] == {"min": "2026-01-01T00:00:00.000001Z", "max": "2026-01-01T00:00:00.000001Z"}
    assert seen["steps"] == [["orders", "COMPLETED", 2], ["totals", "COMPLETED", 2], ["broken", "FAILED", 0]]
    assert "broken/1.csv" in seen["error"]
    assert "\n" not in seen["error"]
    assert seen["orders"] == [[1, "mon", 1.5], [2, "tue", 2.5]]
    assert seen["totals"] == [["mon", 1.5], ["tue", 2.5]]
    assert (seen["run"], seen["again"]) == (4, 0)
    assert "id is integer, not string" in seen["refused"]
    assert "boom" in seen["raised"]
    assert seen["other zone"]["unchanged"]
    assert seen["changed session"] == {"types": ["timestamp", "date"], "wrong day": "FAILED", "unchanged": True}
    assert seen["other zone"]["bounds"] == {"min": "2026-01-01T10:00:00.000000Z", "max": "2026-01-01T10:00:00.000000Z", "nulls": 0}
    assert "sc://spark.example:15002/;token=***;x-api-key=***;x-own=***;user_id=ann: started" in seen["doctor"]
    assert "hunter2" not in seen["doctor"]
    assert seen["verified"] == [True] * 4
