"""The error log: what failed, when it is tried again, and how it ended. What cannot be tried again becomes a dead letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lakeledger import codec
from lakeledger.codec import Id
from lakeledger.db import Row, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import Conflict
from lakeledger.redaction import MASK
from lakeledger.sync import lookup
from lakeledger.sync.dead_letters import store as letters
from lakeledger.sync.dead_letters.model import Claim, LetterStatus, Settlement
from lakeledger.sync.errors.drafts import Ending, ErrorDraft, letter_of
from lakeledger.sync.errors.model import ErrorGroup, ErrorLog, ErrorStatus
from lakeledger.sync.errors.retry import RetryPolicy
from lakeledger.sync.failures import ErrorType

sql = load("lakeledger.sync.errors")

_NEWEST: pages.Key = {"occurred_at": codec.to_time, "id": str}

# How the letters of an error end with it.
_LETTER_ENDS = {
    ErrorStatus.RESOLVED: (LetterStatus.RESOLVED, "error resolved"),
    ErrorStatus.IGNORED: (LetterStatus.DISCARDED, "error ignored"),
}


@dataclass(frozen=True)
class Filter:
    """Which errors: by state, kind, table and cause."""

    status: str | None = None
    error_type: str | None = None
    schema: str | None = None
    table: str | None = None
    fingerprint: str | None = None


def add(tx: Transaction, draft: ErrorDraft) -> ErrorLog:
    """Keep an error. With a record and no retries it is a dead letter at once."""
    letter = letters.put(tx, draft.letter) if draft.letter else None
    error = ErrorLog(
        **draft.columns,
        tenant_id=tx.tenant_id,
        status=ErrorStatus.OPEN.value,
        retry_count=0,
        retry_after=tx.now + draft.delay if draft.delay else None,
        last_retry_at=None,
        dead_letter_id=letter.id if letter else None,
        claimed_by=None,
        claimed_until=None,
        occurred_at=tx.now,
        resolved_at=None,
        resolved_by=None,
        resolution_note=None,
    )
    tx.execute(sql.add_error, **vars(error))
    return error


def get(tx: Transaction, error_id: Id) -> ErrorLog:
    """The error with that id, or the only one whose id begins so. Raises NotFound, or Invalid if several do."""
    return ErrorLog(**lookup.by_id(tx, sql.get_error, sql.find_error_by_prefix, error_id, "error"))


def list_page(tx: Transaction, chosen: Filter, limit: int, after: str | None) -> Page[ErrorLog]:
    """Errors, newest first; `after` is the `next` of the page before."""
    return pages.read(
        tx,
        sql.list_errors,
        _NEWEST,
        lambda row: ErrorLog(**row),
        lookup.check_limit(limit),
        after,
        **lookup.table_filter(chosen.schema, chosen.table),
        status=lookup.word_or_none(ErrorStatus, chosen.status),
        error_type=lookup.word_or_none(ErrorType, chosen.error_type),
        fingerprint=chosen.fingerprint,
    )


def groups(tx: Transaction, status: str | None, limit: int | None = None, after: str | None = None) -> Page[ErrorGroup]:
    """The errors by what caused them, the biggest group first."""
    rows = tx.all(sql.count_errors, status=lookup.word_or_none(ErrorStatus, status))
    return lookup.page_of_groups([_group(of_cause) for of_cause in lookup.by_cause(rows)], limit, after)


def claim_due(tx: Transaction, how: Claim, limit: int) -> list[ErrorLog]:
    """Hold the open errors whose time has come and that nobody holds, the one that waits longest first."""
    rows = tx.all(sql.claim_due, **_holding(tx, how), page_size=lookup.check_limit(limit))
    return sorted((ErrorLog(**row) for row in rows), key=lambda error: (error.retry_after, error.id))


def renew(tx: Transaction, error_id: Id, how: Claim) -> ErrorLog:
    """Hold an error for longer. Raises NotFound, or Conflict if it is settled or the claim was lost."""
    error = held_error(tx, error_id, how.worker)
    return _settled_meanwhile(tx.one(sql.renew, id=error.id, **_holding(tx, how)), error)


def retried(tx: Transaction, error_id: str, message: str | None, retry: RetryPolicy, *, claim: str | None = None) -> ErrorLog:
    """Note an attempt that failed; after the last one its record becomes a dead letter. Raises NotFound or Conflict."""
    error = held_error(tx, error_id, claim)
    count = error.retry_count + 1
    exhausted = count >= error.max_retries
    row = tx.one(
        sql.note_retry,
        id=error.id,
        retry_count=count,
        retry_after=None if exhausted else tx.now + retry.delay(count + 1),
        error_details={**(error.error_details or {}), "last_retry_error": message} if message else error.error_details,
        dead_letter_id=_bury(tx, error, message) if exhausted else error.dead_letter_id,
    )
    return _settled_meanwhile(row, error)


def succeeded(tx: Transaction, error_id: Id, how: Ending, *, claim: str | None = None) -> ErrorLog:
    """A retry did the work: the error is resolved, and so is the dead letter that it may have become. Raises NotFound or Conflict."""
    error = _end(tx, held_error(tx, error_id, claim), how)
    if error.dead_letter_id:
        tx.execute(sql.settle_letter, id=error.dead_letter_id, by=error.resolved_by, note=error.resolution_note)
    return error


def retry_now(tx: Transaction, error_id: Id) -> ErrorLog:
    """Let an error be due at once. Raises NotFound, or Conflict if it is settled or its record is a dead letter that waits."""
    error = open_error(tx, error_id)
    if waiting := tx.all(sql.waiting_letters, error_log_id=error.id, dead_letter_id=error.dead_letter_id):
        # Tried again here and replayed there, the record would be written twice.
        raise Conflict(f"the record of error {error.id} is dead letter {waiting[0]['id']}: replay it with `lakeledger dlq replay`")
    return _settled_meanwhile(tx.one(sql.retry_now, id=error.id), error)


def settle(tx: Transaction, error_id: Id, how: Ending, actor: str) -> ErrorLog:
    """End an error and its letters that wait: nobody must replay them. Raises NotFound, or Conflict if it is settled or one is held."""
    error = _end(tx, open_error(tx, error_id), how)
    ending = Settlement(*_LETTER_ENDS[how.status], how.by, how.note)
    for row in tx.all(sql.waiting_letters, error_log_id=error.id, dead_letter_id=error.dead_letter_id):
        letters.settle(tx, letters.open_letter(tx, row["id"], (actor,)), ending)
    return error


def has_step_errors(tx: Transaction, schema_name: str, table_name: str) -> bool:
    """Whether steps that carried out that source have failed since it last succeeded."""
    return tx.one(sql.has_step_errors, name_key=lookup.table_key(schema_name, table_name)) is not None


def settle_step_errors(tx: Transaction, schema_name: str, table_name: str, how: Ending, limit: int) -> int:
    """Resolve errors of steps that carried out that source, at most `limit`; how many."""
    key = lookup.table_key(schema_name, table_name)
    return tx.execute(sql.settle_step_errors, name_key=key, by=how.by, note=how.note, page_size=limit)


def open_error(tx: Transaction, error_id: Id) -> ErrorLog:
    """The error, if it is open. Raises NotFound, or Conflict that says who settled it and when."""
    error = get(tx, error_id)
    if not error.is_open:
        raise Conflict(f"error {error.id} is already {error.status}: by {error.resolved_by} at {error.resolved_at}")
    return error


def held_error(tx: Transaction, error_id: Id, claim: str | None) -> ErrorLog:
    """The error, if it is open and the claim still holds, or without one if nobody holds it. Raises NotFound or Conflict.

    A claim that ran out holds until somebody else takes the error.
    """
    error = open_error(tx, error_id)
    holder = error.holder(tx.now)
    if claim is not None and error.claimed_by != claim:
        taken = f"now {holder} tries it again" if holder else "since then it was tried again by somebody else"
        raise Conflict(f"error {error.id} is no longer held by {claim}: {taken}; nothing was noted")
    if claim is None and holder:
        raise Conflict(f"error {error.id} is being tried again by {holder} until {error.claimed_until}: wait for its outcome")
    return error


def _holding(tx: Transaction, how: Claim) -> dict[str, Any]:
    return {"claim": how.worker, "until": tx.now + timedelta(seconds=how.seconds)}


def _end(tx: Transaction, error: ErrorLog, how: Ending) -> ErrorLog:
    row = tx.one(sql.settle, id=error.id, status=how.status.value, by=how.by, note=how.note)
    return _settled_meanwhile(row, error)


def _bury(tx: Transaction, error: ErrorLog, message: str | None) -> str | None:
    """The dead letter of an error that is not tried again, if it has a record."""
    if error.record_data is None:
        return error.dead_letter_id
    # The record as it came is not known any more. What was masked cannot tell two records apart, so each error is its own then.
    source = error.source_record_id if MASK not in (error.source_record_id or MASK) else None
    payload_hash = codec.digest(error.record_data if error.record_complete else [error.id])
    draft = letter_of(vars(error), source, payload_hash, message)
    counted = letters.count_failure(tx, error.dead_letter_id, draft) if error.dead_letter_id else None
    return (counted or letters.put(tx, draft)).id


def _settled_meanwhile(row: Row | None, error: ErrorLog) -> ErrorLog:
    if row is None:
        raise Conflict(f"error {error.id} was settled by somebody else: read it again")
    return ErrorLog(**row)


def _group(rows: Sequence[Row]) -> ErrorGroup:
    """One cause from its counts per table and status, the newest first."""
    return ErrorGroup(
        fingerprint=rows[0]["fingerprint"],
        error_type=rows[0]["error_type"],
        error_code=rows[0]["error_code"],
        error_message=rows[0]["error_message"],
        count=sum(row["count"] for row in rows),
        open_count=sum(row["count"] for row in rows if row["status"] == ErrorStatus.OPEN),
        first_seen=min(lookup.time(row["first_seen"]) for row in rows),
        last_seen=max(lookup.time(row["last_seen"]) for row in rows),
        tables=lookup.tables_of(rows),
    )
