"""Whether a task runs, by how those ended that it waits for."""

from __future__ import annotations

import pytest

from lakeledger.pipelines.conditions import Standing, reason_to_skip, standing
from lakeledger.runs import Status

STANDINGS = {"+": Standing.SUCCEEDED, "-": Standing.FAILED, "o": Standing.EXCLUDED}


def waits(pattern: str) -> dict[str, Standing]:
    return {f"{name}": STANDINGS[each] for name, each in zip("abc", pattern, strict=False)}


@pytest.mark.parametrize(
    ("run_if", "runs", "skips"),
    [
        ("ALL_SUCCESS", ["", "+", "++", "+o"], ["-", "+-", "o-", "o", "oo"]),
        ("NONE_FAILED", ["", "+", "++", "+o"], ["-", "+-", "o-", "o", "oo"]),
        ("ALL_DONE", ["", "+", "-", "+-", "o-", "+o"], ["o", "oo"]),
        ("AT_LEAST_ONE_SUCCESS", ["", "+", "+-", "+o"], ["-", "--", "o-", "o"]),
        ("AT_LEAST_ONE_FAILED", ["", "-", "+-", "o-"], ["+", "++", "+o", "o"]),
        ("ALL_FAILED", ["", "-", "--"], ["+", "+-", "o-", "o"]),
    ],
)
def test_a_task_runs_as_its_condition_says(run_if: str, runs: list[str], skips: list[str]) -> None:
    assert [pattern for pattern in runs if reason_to_skip(run_if, waits(pattern))] == []
    assert [pattern for pattern in skips if reason_to_skip(run_if, waits(pattern)) is None] == []


@pytest.mark.parametrize(
    ("run_if", "pattern", "reason"),
    [
        ("ALL_SUCCESS", "+-", "waits for b, which did not complete"),
        ("ALL_SUCCESS", "oo", "waits for a, b, which did not have to run"),
        ("AT_LEAST_ONE_SUCCESS", "--", "waits for one of a, b, and none completed"),
        ("AT_LEAST_ONE_FAILED", "+", "runs if one of a fails, and none did"),
        ("ALL_FAILED", "+-", "runs if all of a, b fail, and not all did"),
    ],
)
def test_the_reason_names_whom_it_waited_for(run_if: str, pattern: str, reason: str) -> None:
    assert reason_to_skip(run_if, waits(pattern)) == reason


@pytest.mark.parametrize(
    ("status", "run_if", "pattern", "expected"),
    [
        (Status.COMPLETED, "ALL_SUCCESS", "+", Standing.SUCCEEDED),
        (Status.FAILED, "ALL_DONE", "-", Standing.FAILED),
        (Status.SKIPPED, "ALL_SUCCESS", "-", Standing.FAILED),
        (Status.SKIPPED, "AT_LEAST_ONE_FAILED", "+", Standing.EXCLUDED),
        (Status.SKIPPED, "ALL_SUCCESS", "o", Standing.EXCLUDED),
        (Status.CANCELLED, "ALL_SUCCESS", "+", Standing.FAILED),
    ],
)
def test_what_did_not_run_because_of_a_failure_counts_as_failed(status: Status, run_if: str, pattern: str, expected: Standing) -> None:
    assert standing(status, run_if, waits(pattern)) == expected
