"""Two worker processes empty one queue: no letter and no due error is given to both, and none is left."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from lakeledger import Ledger
from lakeledger.sync import NewError, NewLetter
from lakeledger.sync.dead_letters import store
from lakeledger.sync.dead_letters.drafts import draft
from lakeledger.sync.masking import Masking

SCRIPT = Path(__file__).parent / "claiming.py"
WORKERS = ("w1", "w2")
LETTERS, ERRORS, BATCH = 300, 60, 7


@contextmanager
def claiming(url: str, what: str, worker: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(SCRIPT), url, what, worker, str(BATCH)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def heard(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the worker ended"
    return json.loads(line)


def release(processes: Sequence[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def fill(ledger: Ledger) -> set[str]:
    with ledger.store.write() as tx:
        return {store.add(tx, draft(NewLetter("shop", "orders", "insert", {"id": number}), Masking())).id for number in range(LETTERS)}


def claimed(url: str, what: str) -> list[list[str]]:
    """What each of two processes got that begin at the same moment and go on until nothing is left."""
    with ExitStack() as running:
        processes = [running.enter_context(claiming(url, what, worker)) for worker in WORKERS]
        assert [heard(process) for process in processes] == ["ready", "ready"]
        release(processes)
        first = [heard(process) for process in processes]
        assert all(len(begun) == BATCH for begun in first)
        release(processes)
        return [begun + heard(process) for begun, process in zip(first, processes, strict=True)]


def test_two_processes_get_each_letter_exactly_once(ledger: Ledger, url: str) -> None:
    letters = fill(ledger)
    got = claimed(url, "letters")
    assert Counter(got[0] + got[1]) == Counter(letters)
    for worker, ids in zip(WORKERS, got, strict=True):
        held = [ledger.dead_letters.get(letter_id) for letter_id in ids]
        assert {(letter.claimed_by, letter.status) for letter in held} == {(worker, "processing")}
    assert ledger.dead_letters.claim(10) == []


def test_two_processes_get_each_due_error_exactly_once(ledger: Ledger, url: str) -> None:
    due = {ledger.errors.retry_now(ledger.errors.log(NewError("shop", "orders", "timeout", "slow")).id).id for _ in range(ERRORS)}
    got = claimed(url, "errors")
    assert Counter(got[0] + got[1]) == Counter(due)
    assert ledger.errors.due() == []
