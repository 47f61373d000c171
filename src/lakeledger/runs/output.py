"""What the steps of a run printed, and where they failed: kept with the run, and forgotten with it."""

from __future__ import annotations

from collections.abc import Sequence

from lakeledger.db import Transaction
from lakeledger.db.queries import load
from lakeledger.runs.model import Step, StepOutput

sql = load("lakeledger.runs")


def put(tx: Transaction, step_id: str, output: str, left_out: int = 0, traceback: str | None = None) -> None:
    """Keep what a step printed so far. The texts must be without secrets."""
    tx.execute(sql.put_output, step_id=step_id, output=output, left_out=left_out, traceback=traceback)


def of_run(tx: Transaction, run_id: str, steps: Sequence[Step] | None = None) -> dict[str, StepOutput]:
    """What the steps of a run printed, by the step's id: of all, or of those between the first and the last of these."""
    ends = {"first": steps[0].step_index, "last": steps[-1].step_index} if steps else {}
    return {row["step_logging_id"]: StepOutput(**row) for row in tx.all(sql.list_output, run_id=run_id, **ends)}
