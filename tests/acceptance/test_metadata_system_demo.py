"""The example that the documents name for the whole metadata system, run as a stranger would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_ledger_forgets_and_the_lake_remembers_on_both_databases(url: str, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples/metadata_system_demo.py"), url, str(tmp_path / "warehouse")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "1. 3 runs, 3,000 records, success rate 67%"
    assert lines[3] == "4. default_metadata.pipeline_runs has 4 runs: COMPLETED, COMPLETED, COMPLETED, FAILED"
    assert lines[4] == "5. retention deleted 3 runs from the ledger, which has 1 now; the lake has 4"
    assert lines[5] == f"done on {url.partition(':')[0]}"
