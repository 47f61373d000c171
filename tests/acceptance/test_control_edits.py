"""Several people edit the control table at the same time: no edit is lost, and none is seen by half."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from contract.controlling import put, source
from lakeledger import Conflict
from lakeledger.control.delta import DeltaControlTable
from lakeledger.control.model import ModuleRow

TESTS = Path(__file__).parent.parent
SCRIPT = Path(__file__).parent / "editing.py"
DEADLINE_SECONDS = 240


@pytest.fixture
def control(tmp_path: Path) -> DeltaControlTable:
    made = DeltaControlTable(str(tmp_path / "etl_control"))
    made.create()
    return made


def start(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def count_together(control: DeltaControlTable, rows: dict[str, tuple[str, str]], times: int) -> None:
    """Let each of these people add one to a row so many times, all beginning at once."""
    people = [start("count", control.location, who, *row, str(times)) for who, row in rows.items()]
    try:
        for person in people:
            assert person.stdout is not None
            assert person.stdout.readline() == "ready\n"
        for person in people:
            assert person.stdin is not None
            person.stdin.write("go\n")
            person.stdin.flush()
        for person in people:
            _, errors = person.communicate(timeout=DEADLINE_SECONDS)
            assert person.returncode == 0, errors
    finally:
        for person in people:
            person.kill()
            person.communicate()


def test_a_hundred_edits_each_of_two_modules_at_once_are_all_there(control: DeltaControlTable) -> None:
    control.commit(put(source("a", "shop", execution_order=0), source("b", "depot", execution_order=0)), control.read(), by="setup")
    count_together(control, {"anna": ("shop", "a"), "bob": ("depot", "b")}, times=100)

    after = control.read()
    assert {key: row.execution_order for key, row in after.sources.items()} == {("shop", "a"): 100, ("depot", "b"): 100}
    assert after.version == 201
    history = control.history(limit=500)
    assert [commit.version for commit in history] == list(range(201, -1, -1))
    assert Counter(commit.by for commit in history) == {"anna": 100, "bob": 100, "setup": 1, None: 1}


def test_edits_of_the_same_row_at_once_add_up(control: DeltaControlTable) -> None:
    control.commit(put(source("a", execution_order=0)), control.read(), by="setup")
    count_together(control, {"anna": ("shop", "a"), "bob": ("shop", "a")}, times=30)
    assert control.read().sources["shop", "a"].execution_order == 60


def test_two_who_read_the_same_row_and_change_it_differ_and_one_is_told(control: DeltaControlTable) -> None:
    base = control.commit(put(source("a", execution_order=1)), control.read(), by="setup")
    control.commit(put(source("a", execution_order=2)), base, by="anna")
    with pytest.raises(Conflict, match=r"shop\.a: execution_order was 1, is now 2, would be 3") as raised:
        control.commit(put(source("a", execution_order=3)), base, by="bob")
    assert raised.value.retryable


def test_an_edit_whose_process_is_killed_in_the_middle_never_happened(control: DeltaControlTable) -> None:
    before = control.commit(put(source("a"), ModuleRow("shop", "whole")), control.read(), by="setup")
    killed = start("die", control.location)
    _, errors = killed.communicate(timeout=DEADLINE_SECONDS)
    assert killed.returncode == -signal.SIGKILL, errors
    modules = f"{control.location}_modules"
    assert pa.table(DeltaTable(modules).scan())["description"].to_pylist() == ["half done"], "it got as far as that"

    assert control.read() == before
    after = control.commit(put(source("a", execution_order=5)), before, by="anna")
    assert (after.modules, after.sources["shop", "a"].execution_order) == (before.modules, 5)
    assert control.read() == after
