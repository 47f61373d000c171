"""What a merge costs beside one written by hand and those of Delta and Iceberg, by how many rows change in how many files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import jars

pytestmark = pytest.mark.bench


def run(*arguments: str) -> None:
    """In a process of its own: the others' extensions would be in the way of every other figure."""
    script = Path(__file__).with_name("merging.py")
    print(subprocess.run([sys.executable, script, *arguments], check=True, capture_output=True, text=True).stdout)


def test_merge_of_changes_into_five_million_rows() -> None:
    jars.fetch("delta", "iceberg")
    run("5000000", "40", "3", "100000,1000000", "0.05,0.6")
    run("5000000", "40", "3", "100000", "0.05", "unclustered")
    run("5000000", "40", "3", "1000000", "0.6", "unclustered")


def test_growth_of_the_table_that_is_merged_into() -> None:
    run("growth")
