"""Whether a task may run, by how those ended that it waits for. The words and their meaning are those of Databricks' `run_if`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from lakeledger.runs import Status


class Standing(StrEnum):
    """How a task counts for those that wait for it. One that did not run because of a failure counts as failed, too."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    EXCLUDED = "EXCLUDED"


# Tasks that are there for failures: if there is none, they are left out, and nobody misses them.
FOR_FAILURES = ("AT_LEAST_ONE_FAILED", "ALL_FAILED")


def standing(status: Status, run_if: str, waits_for: Mapping[str, Standing]) -> Standing:
    """How a task counts that ended so."""
    if status == Status.COMPLETED:
        return Standing.SUCCEEDED
    if status == Status.SKIPPED and (run_if in FOR_FAILURES or _all_excluded(waits_for)):
        return Standing.EXCLUDED
    return Standing.FAILED


def reason_to_skip(run_if: str, waits_for: Mapping[str, Standing]) -> str | None:
    """Why a task does not run, or None if it does. `waits_for` has the standing of everything that it waits for, by name."""
    if not waits_for or (run_if == "ALL_DONE" and not _all_excluded(waits_for)):
        return None
    if _all_excluded(waits_for):
        return f"waits for {', '.join(waits_for)}, which did not have to run"
    found = {each: [name for name, standing in waits_for.items() if standing == each] for each in Standing}
    failed, succeeded = found[Standing.FAILED], found[Standing.SUCCEEDED]
    match run_if:
        case "AT_LEAST_ONE_SUCCESS":
            return None if succeeded else f"waits for one of {', '.join(waits_for)}, and none completed"
        case "AT_LEAST_ONE_FAILED":
            return None if failed else f"runs if one of {', '.join(waits_for)} fails, and none did"
        case "ALL_FAILED":
            return None if len(failed) == len(waits_for) else f"runs if all of {', '.join(waits_for)} fail, and not all did"
        case _:  # ALL_SUCCESS and NONE_FAILED differ only where all are excluded.
            return f"waits for {', '.join(failed)}, which did not complete" if failed else None


def _all_excluded(waits_for: Mapping[str, Standing]) -> bool:
    return bool(waits_for) and all(each == Standing.EXCLUDED for each in waits_for.values())
