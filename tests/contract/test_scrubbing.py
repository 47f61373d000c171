"""Secrets are taken out before a write transaction begins, so that no other writer waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contract.lettering import new
from lakeledger import Ledger, NumberPosition
from lakeledger.jobs import JobSpec
from lakeledger.jobs.local import LocalBackend
from lakeledger.sync import NewSync
from lakeledger.sync.dead_letters import DeadLetter
from lakeledger.sync.errors import NewError
from lakeledger.sync.positions import Target


class Watched(str):
    """A text that notes how many connections are in use while it is read to be scrubbed."""

    __slots__ = ("ledger", "seen")
    ledger: Ledger
    seen: list[int]

    def lower(self) -> str:
        self.seen.append(self.ledger.database.connections()["in_use"])
        return super().lower()

    def __str__(self) -> str:
        self.lower()
        return super().__str__()

    def __iter__(self) -> Iterator[str]:
        """As the known secrets of a call."""
        self.lower()
        return iter(["never found"])


def log(ledger: Ledger, text: Watched) -> None:
    error = NewError("shop", "orders", "validation", text, error_details={"a": text}, record_data={"a": text}, stack_trace=text)
    ledger.errors.log(error, known=text)


def retry(ledger: Ledger, text: Watched) -> None:
    error = ledger.errors.log(NewError("shop", "orders", "connection", "no answer", record_data={"a": 1}, max_retries=1))
    ledger.errors.retried(error.id, text, known=text)
    ledger.errors.resolve(error.id, note=text, by=text)


def bury(ledger: Ledger, text: Watched) -> None:
    letter = ledger.dead_letters.add(new({"a": text}, error_message=text), known=text)
    ledger.dead_letters.failed_again(letter.id, text, known=text)
    ledger.dead_letters.discard(letter.id, by=text, note=text)


def replay(ledger: Ledger, text: Watched) -> None:
    ledger.dead_letters.add(new())

    def callback(_: DeadLetter) -> None:
        raise ValueError("no")

    assert ledger.dead_letters.replay(callback, dry_run=False, known=text).failed == 1


def move(ledger: Ledger, text: Watched) -> None:
    for number in (1, 2):
        ledger.positions.advance("shop.orders", NumberPosition(number), reason=text)
    ledger.positions.rewind(ledger.positions.preview_rewind("shop.orders", Target(version=1)), reason=text)


def run(ledger: Ledger, text: Watched) -> None:
    with ledger.run("orders", parameters={"a": text}) as active, active.step("load", metadata={"a": text}) as step:
        step.metadata["b"] = text
    with ledger.run("orders") as active:
        active.fail(text)


def cancel(ledger: Ledger, text: Watched) -> None:
    jobs = LocalBackend(ledger.store, "ann")
    job = jobs.create(JobSpec("shop", {"name": "shop"}, {"module_name": "shop"}))
    jobs.cancel(jobs.run_now(job.job_id), text)


def synchronise(ledger: Ledger, text: Watched) -> None:
    started = ledger.sync.runs.start(NewSync("shop", "batch", source_info={"a": text}, destination_info={"a": text}))
    ledger.sync.runs.complete(started.id, "failed", error_message=text, error_details={"a": text})


@pytest.mark.parametrize("act", [log, retry, bury, replay, move, run, cancel, synchronise])
def test_no_transaction_is_open_while_secrets_are_looked_for(ledger: Ledger, act: Callable[[Ledger, Any], None]) -> None:
    text = Watched("password=hunter2 is kept for sure")
    text.ledger, text.seen = ledger, []
    act(ledger, text)
    assert text.seen
    assert set(text.seen) == {0}


def test_a_schema_is_registered_without_tokens(ledger: Ledger) -> None:
    columns = [{"name": "password", "type": "text", "default": "ghp_" + "a1B2" * 6, "comment": "from postgresql://ann:hunter2@db"}]
    version = ledger.schemas.register("shop.orders", {"columns": columns})
    kept = version.schema_definition["columns"][0]
    assert (kept["name"], kept["default"], kept["comment"]) == ("password", "***", "from postgresql://ann:***@db")
    assert not ledger.schemas.register("shop.orders", {"columns": columns}).created
