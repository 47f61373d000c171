"""Spark with Delta reads what the ledger publishes. It has a process of its own, because the tests' session in this one has no Delta."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jars import MissingJars, fetch
from needs import missing

TESTS = Path(__file__).parent.parent
DEADLINE_SECONDS = 400


@pytest.mark.timeout(DEADLINE_SECONDS + 200)
def test_spark_reads_every_version_by_the_log_and_writes_none(tmp_path: Path) -> None:
    try:
        fetch("delta")
    except MissingJars as error:
        missing(str(error))
    file = str(TESTS / "integration/delta_on_spark.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "delta_session", "-p", "no:xdist", f"--basetemp={tmp_path / 'inner'}", file]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "LAKELEDGER_"))}
    done = subprocess.run(
        command,
        cwd=TESTS.parent,
        env={**environment, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        check=False,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
