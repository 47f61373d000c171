"""What fifty expectations cost beside a bare write, and beside Great Expectations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

ROWS = os.environ.get("BENCH_ROWS", "10000000")


@pytest.mark.timeout(7200)
def test_fifty_expectations_on_ten_million_rows() -> None:
    """In a process of its own, with the memory that both need; BENCH_ROWS tries it with fewer rows."""
    script = Path(__file__).with_name("checking.py")
    print(subprocess.run([sys.executable, script, ROWS, "8", "3"], check=True, capture_output=True, text=True).stdout)
