"""The control table with Delta for Spark. It has a process of its own, because the tests' session in this one has no Delta."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jars import MissingJars, fetch
from needs import missing

TESTS = Path(__file__).parent.parent
DEADLINE_SECONDS = 1_500


@pytest.mark.timeout(DEADLINE_SECONDS + 400)
def test_a_catalog_keeps_the_contract_and_spark_and_delta_rs_see_each_others_changes(tmp_path: Path) -> None:
    try:
        fetch("delta")
    except MissingJars as error:
        missing(str(error))
    files = [str(TESTS / "contract/test_control_table.py"), str(TESTS / "integration/control_on_spark.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "delta_session", "-p", "no:xdist", f"--basetemp={tmp_path / 'inner'}", *files]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command,
        cwd=TESTS.parent,
        env={**environment, "PYTHONPATH": str(TESTS), "LAKELEDGER_TESTS_CONTROL": "catalog"},
        check=False,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
