"""What a merge costs beside one written by hand and those of Delta and Iceberg, by how many rows change in how many files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import jars

pytestmark = pytest.mark.bench


def test_merge_of_changes_into_five_million_rows() -> None:
    """In a process of its own: the others' extensions would be in the way of every other figure."""
    jars.fetch("delta", "iceberg")
    arguments = ["5000000", "40", "3", "100000,1000000", "0.05,0.6"]
    said = subprocess.run([sys.executable, Path(__file__).with_name("merging.py"), *arguments], check=True, capture_output=True, text=True)
    print(said.stdout)
