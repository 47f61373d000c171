"""Fixtures that several contract tests share."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from contract.making import wait_until
from contract.scheduling import World
from lakeledger import Ledger
from lakeledger.jobs.local import LocalBackend


@pytest.fixture
def world(ledger: Ledger) -> Iterator[World]:
    made = World(ledger, LocalBackend(ledger.store, "ann"))
    yield made
    made.gate.set()
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("job-")])
