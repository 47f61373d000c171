"""Spark with Iceberg's own JAR reads the ledger's tables, in a process of its own: the tests' session in this one has no such JAR."""

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
def test_spark_reads_every_version_through_the_ledgers_catalog(tmp_path: Path) -> None:
    try:
        fetch("iceberg", "postgresql", "sqlite")
    except MissingJars as error:
        missing(str(error))
    file = str(TESTS / "integration/iceberg_on_spark.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", f"--basetemp={tmp_path / 'inner'}", "--durations=5", file]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "LAKELEDGER_"))}
    done = subprocess.run(
        command,
        cwd=TESTS.parent,
        env={**environment, "PYTHONPATH": str(TESTS)},
        check=False,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
