"""Errors that are due: held by one claim at a time, which only its holder may report on."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from contract.making import execute, opened, together
from lakeledger import Conflict, Invalid, Ledger
from lakeledger.sync import ErrorLog, MetadataManager, NewError


def due_error(ledger: Ledger) -> ErrorLog:
    return ledger.errors.retry_now(ledger.errors.log(NewError("shop", "orders", "timeout", "no answer")).id)


def let_claims_end(ledger: Ledger) -> None:
    """As if whoever tries the errors again had been silent for long."""
    execute(ledger, "update error_log set claimed_until = :past", past=datetime(2020, 1, 1, tzinfo=UTC))


def test_a_due_error_is_given_to_one_worker(ledger: Ledger, url: str) -> None:
    error = due_error(ledger)
    (mine,) = ledger.errors.due()
    assert (mine.id, mine.claimed_by is not None, mine.claimed_until is not None) == (error.id, True, True)
    assert ledger.errors.due() == []
    with opened(url) as other:
        assert other.errors.due() == []


def test_threads_of_one_process_get_each_due_error_exactly_once(ledger: Ledger) -> None:
    due = [due_error(ledger).id for _ in range(20)]
    got = together(lambda _: [error.id for _ in range(10) for error in ledger.errors.due(limit=3)], 4)
    assert sorted(error_id for part in got for error_id in part) == sorted(due)


def test_what_is_not_reported_in_time_is_due_again(ledger: Ledger, url: str) -> None:
    due_error(ledger)
    (mine,) = ledger.errors.due()
    let_claims_end(ledger)
    with opened(url) as other:
        (theirs,) = other.errors.due()
        assert (theirs.id, theirs.claimed_by != mine.claimed_by) == (mine.id, True)


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize("report", ["retried", "succeeded"])
def test_the_late_report_of_an_old_holder_does_not_go_through(ledger: Ledger, url: str, report: str, by_id: bool) -> None:
    due_error(ledger)
    (mine,) = ledger.errors.due()
    let_claims_end(ledger)
    with opened(url) as other:
        (theirs,) = other.errors.due()
        with pytest.raises(Conflict, match="is no longer held by"):
            getattr(ledger.errors, report)(mine.id if by_id else mine)
        failed = other.errors.retried(theirs.id if by_id else theirs, "still no answer")
    with pytest.raises(Conflict, match="since then it was tried again by somebody else"):
        getattr(ledger.errors, report)(mine.id if by_id else mine)
    assert ledger.errors.get(mine.id) == failed
    assert (failed.retry_count, failed.claimed_by) == (1, None)


def test_a_thread_that_was_taken_over_by_another_of_its_process_reports_in_vain(ledger: Ledger) -> None:
    due_error(ledger)
    (first,) = ledger.errors.due()
    let_claims_end(ledger)
    (second,) = ledger.errors.due()
    with pytest.raises(Conflict, match="is no longer held by"):
        ledger.errors.succeeded(first)
    assert ledger.errors.succeeded(second).status == "resolved"


def test_a_claim_that_ran_out_holds_until_somebody_else_takes_the_error(ledger: Ledger) -> None:
    due_error(ledger)
    (mine,) = ledger.errors.due()
    let_claims_end(ledger)
    assert ledger.errors.succeeded(mine).status == "resolved"


def test_a_claim_can_be_renewed_by_its_holder_only(ledger: Ledger, url: str) -> None:
    due_error(ledger)
    (mine,) = ledger.errors.due(seconds=1)
    renewed = ledger.errors.renew(mine, 3_600)
    assert mine.claimed_until is not None
    assert renewed.claimed_until is not None
    assert (renewed.claimed_until - mine.claimed_until).total_seconds() > 3_000
    with opened(url) as other, pytest.raises(Conflict, match="is no longer held by"):
        other.errors.renew(mine.id)


def test_who_holds_nothing_cannot_report_on_what_another_tries(ledger: Ledger, url: str) -> None:
    due_error(ledger)
    (mine,) = ledger.errors.due()
    with opened(url) as other:
        with pytest.raises(Conflict, match="is being tried again by"):
            MetadataManager(other).retry_failed(mine.id, "what do I know")
        assert other.errors.resolve(mine.id, "the source is switched off").status == "resolved"
    with pytest.raises(Conflict, match="is already resolved"):
        ledger.errors.succeeded(mine)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 10**9])
def test_a_claim_lasts_for_a_sensible_time(ledger: Ledger, seconds: float) -> None:
    with pytest.raises(Invalid, match="a claim cannot last"):
        ledger.errors.due(seconds=seconds)
