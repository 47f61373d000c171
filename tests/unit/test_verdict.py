"""How a run ended whose worker was lost: by what is known to be committed, and by nothing else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lakeledger.runs import DoneBy, Run, Status, Step
from lakeledger.runs.recovery import verdict

AT = datetime(2026, 1, 1, tzinfo=UTC)


def run(commits: int, worker: str | None = "host:42", done_by: DoneBy = DoneBy.COMMIT) -> Run:
    return Run(
        pipeline_logging_id="r1", tenant_id="default", pipeline_id="orders", status="RUNNING", trigger_type="manual", trigger_by="ann",
        start_time=AT, end_time=None, duration_ms=None, config_version=None, worker_instance=worker, error_message=None, parameters={},
        run_kind="pipeline", schema_name=None, sync_mode=None, config_hash=None, source_info=None, destination_info=None, instance_id=None,
        node_id=None, records_processed=0, records_inserted=0, records_updated=0, records_deleted=0, records_failed=0, bytes_processed=0,
        commit_count=commits, done_by=done_by, error_details=None, parent_run_id=None, retry_of=None, idempotency_key=None, exclusive=True,
        heartbeat_at=AT, lease_token=1, lease_expires_at=AT, suspected_at=None,
    )  # fmt: skip


def step(described: str, index: int) -> Step:
    status, _, committed = described.partition("+")
    return Step(
        step_logging_id=f"s{index}", tenant_id="default", pipeline_logging_id="r1", step_name=f"step{index}", step_type="task",
        step_index=index, status=status, start_time=AT, end_time=None, duration_ms=None, rows_processed=None, bytes_processed=None,
        error_message=None, metadata={}, attempt=1, target_table=None, done_by="commit", committed_at=AT if committed else None,
    )  # fmt: skip


def test_a_run_that_planned_no_steps_is_not_done_by_them() -> None:
    assert verdict(run(0, done_by=DoneBy.STEPS), []).status == Status.FAILED


@pytest.mark.parametrize(
    ("commits", "steps", "status", "told"),
    [
        (0, [], Status.FAILED, "host:42 was lost before it committed; run it again"),
        (1, [], Status.COMPLETED, "host:42 was lost after its commit"),
        (0, ["RUNNING"], Status.FAILED, "before it committed"),
        (0, ["COMPLETED", "COMPLETED"], Status.COMPLETED, "after its last step"),
        (1, ["RUNNING+committed"], Status.COMPLETED, "after its last step"),
        (1, ["COMPLETED", "RUNNING+committed", "SKIPPED"], Status.COMPLETED, "after its last step"),
        (1, ["COMPLETED", "RUNNING"], Status.FAILED, "after 1 commit, with step1 unfinished"),
        (2, ["COMPLETED", "RUNNING+committed", "PENDING"], Status.FAILED, "after 2 commits, with step2 unfinished"),
        (1, ["RUNNING+committed", "PENDING", "PENDING"], Status.FAILED, "with step1, step2 unfinished"),
        (1, ["COMPLETED", "FAILED"], Status.FAILED, "with step1 unfinished"),
        (1, ["FAILED+committed"], Status.FAILED, "with step0 unfinished"),
        (1, ["CANCELLED"], Status.FAILED, "with step0 unfinished"),
    ],
)
def test_a_lost_run_completed_only_if_all_of_it_was_committed(commits: int, steps: list[str], status: Status, told: str) -> None:
    outcome = verdict(
        run(commits, done_by=DoneBy.STEPS if steps else DoneBy.COMMIT), [step(described, index) for index, described in enumerate(steps)]
    )
    assert outcome.status == status
    assert told in (outcome.reason or "")


@pytest.mark.parametrize("steps", [[], ["COMPLETED"], ["RUNNING+committed"]])
def test_a_lost_run_that_declares_nothing_is_done_only_by_its_own_end(steps: list[str]) -> None:
    outcome = verdict(run(2, done_by=DoneBy.END), [step(described, index) for index, described in enumerate(steps)])
    assert outcome.error_message == "host:42 was lost after 2 commits, before it said that it was done; run it again"


def test_a_failed_verdict_says_so_in_the_error_message_too() -> None:
    assert verdict(run(0), []).error_message == "host:42 was lost before it committed; run it again"
    assert verdict(run(0, worker=None), []).error_message == "an unknown worker was lost before it committed; run it again"
    assert verdict(run(1), []).error_message is None
