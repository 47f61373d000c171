"""What a compaction costs beside a bare rewrite, Delta's OPTIMIZE and Iceberg's rewrite_data_files, and what reading gains by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import jars

pytestmark = pytest.mark.bench


def run(*arguments: str) -> None:
    """In a process of its own: the others' extensions would be in the way of every other figure."""
    script = Path(__file__).with_name("compacting.py")
    print(subprocess.run([sys.executable, script, *arguments], check=True, capture_output=True, text=True).stdout)


def test_compaction_of_small_files() -> None:
    jars.fetch("delta", "iceberg")
    run("2000000", "500", "4", "3")
