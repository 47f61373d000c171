"""Steps whose worker was lost, in the error log: nobody was left to write down why they failed."""

from __future__ import annotations

from contextlib import suppress

from lakeledger.db import Transaction
from lakeledger.errors import Failed, Invalid
from lakeledger.runs import Step


def note_lost_step(tx: Transaction, step: Step) -> None:
    """Keep why a source's step failed that recovery has just ended, until the source succeeds.

    Only a step of a module carries out a source: what happens to others, no success would ever settle.
    """
    module, message = step.metadata.get("module"), step.error_message or ""
    if not isinstance(module, str):
        return
    from lakeledger.sync.errors import NewError, RetryPolicy, classify, drafts, store
    from lakeledger.sync.masking import Masking

    details = {"step": step.step_name, "attempt": step.attempt, "target": step.target_table}
    new = NewError(
        module,
        step.step_name,
        classify(Failed(message)),
        message,
        sync_run_id=step.pipeline_logging_id,
        step_id=step.id,
        error_details=details,
        max_retries=0,
    )
    with suppress(Invalid):  # One that cannot be kept must not stop the recovery of all others.
        store.add(tx, drafts.draft(new, Masking(), RetryPolicy()))
