"""What it costs to find one bad cell in ten million, beside a full outer join on Spark and beside reladiff on PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jars

pytestmark = pytest.mark.bench


def test_one_bad_cell_in_ten_million_rows(tmp_path: Path) -> None:
    jars.fetch("postgresql")
    rows = os.environ.get("RECON_ROWS", "10000000")
    words = [sys.executable, str(Path(__file__).with_name("reconciling.py")), rows, "2", str(tmp_path / "reladiff")]
    print(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
