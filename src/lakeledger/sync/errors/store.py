"""The error log: what failed, when it is tried again, and how it ended. What cannot be tried again becomes a dead letter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from lakeledger import clock, codec
from lakeledger.codec import Id
from lakeledger.db import Row, Transaction
from lakeledger.db.queries import load
from lakeledger.errors import Conflict
from lakeledger.redaction import MASK
from lakeledger.runs.model import TRACE_LIMIT
from lakeledger.sync import lookup
from lakeledger.sync.dead_letters import store as letters
from lakeledger.sync.dead_letters.model import UNKNOWN_OPERATION, Claim, Draft, ItemKind, LetterStatus, Settlement, dedupe_key
from lakeledger.sync.errors.model import ErrorGroup, ErrorLog, ErrorStatus, NewError
from lakeledger.sync.errors.retry import RetryPolicy
from lakeledger.sync.failures import ErrorType, OperationType, fingerprint
from lakeledger.sync.masking import Masking, PlainRecord, excerpt, plain_record, storable, text_of, writable

sql = load("lakeledger.sync.errors")

CODE_LIMIT = 200

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


@dataclass(frozen=True)
class Ending:
    """How an error ends."""

    status: ErrorStatus
    by: str
    note: str | None = None


def add(tx: Transaction, new: NewError, masking: Masking, retry: RetryPolicy, known: Iterable[str] = ()) -> ErrorLog:
    """Keep an error. With a record and no retries it is a dead letter at once. Raises Invalid."""
    # An empty record is none: nothing could be replayed.
    whole = None if new.record_data is None else plain_record(new.record_data) or None
    error = _made(tx, new, whole, masking, retry, known)
    if error.max_retries == 0 and whole is not None:
        letter = letters.put(tx, _draft(error, letters.id_of(new.source_record_id), codec.digest(whole)))
        error = replace(error, dead_letter_id=letter.id)
    tx.execute(sql.add_error, **vars(error))
    return error


def get(tx: Transaction, error_id: Id) -> ErrorLog:
    """The error with that id, or the only one whose id begins so. Raises NotFound, or Invalid if several do."""
    return ErrorLog(**lookup.by_id(tx, sql.get_error, sql.find_error_by_prefix, error_id, "error"))


def list_page(tx: Transaction, chosen: Filter, limit: int, before: ErrorLog | None) -> list[ErrorLog]:
    """Errors, newest first; `before` continues after the last one of the page before."""
    rows = tx.all(
        sql.list_errors,
        **lookup.table_filter(chosen.schema, chosen.table),
        status=lookup.word_or_none(ErrorStatus, chosen.status),
        error_type=lookup.word_or_none(ErrorType, chosen.error_type),
        fingerprint=chosen.fingerprint,
        page_size=lookup.check_limit(limit),
        before_time=before.occurred_at if before else None,
        before_id=before.id if before else None,
    )
    return [ErrorLog(**row) for row in rows]


def groups(tx: Transaction, status: str | None) -> list[ErrorGroup]:
    """The errors by what caused them, the biggest group first."""
    rows = tx.all(sql.count_errors, status=lookup.word_or_none(ErrorStatus, status))
    return [_group(of_cause) for of_cause in lookup.by_cause(rows)]


def claim_due(tx: Transaction, how: Claim, limit: int) -> list[ErrorLog]:
    """Hold the open errors whose time has come and that nobody holds, the one that waits longest first."""
    rows = tx.all(sql.claim_due, **_holding(tx, how), page_size=lookup.check_limit(limit))
    return sorted((ErrorLog(**row) for row in rows), key=lambda error: (error.retry_after, error.id))


def renew(tx: Transaction, error_id: Id, how: Claim) -> ErrorLog:
    """Hold an error for longer. Raises NotFound, or Conflict if it is settled or the claim was lost."""
    error = held_error(tx, error_id, how.worker)
    return _settled_meanwhile(tx.one(sql.renew, id=error.id, **_holding(tx, how)), error)


def retried(
    tx: Transaction,
    error_id: str,
    failure: BaseException | str | None,
    retry: RetryPolicy,
    known: Iterable[str] = (),
    *,
    claim: str | None = None,
) -> ErrorLog:
    """Note an attempt that failed; after the last one its record becomes a dead letter. Raises NotFound or Conflict."""
    error = held_error(tx, error_id, claim)
    count = error.retry_count + 1
    message = letters.message_of(failure, known) if failure is not None else None
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


def succeeded(tx: Transaction, error_id: Id, by: str, *, claim: str | None = None) -> ErrorLog:
    """A retry did the work: the error is resolved, and so is the dead letter that it may have become. Raises NotFound or Conflict."""
    error = _end(tx, held_error(tx, error_id, claim), Ending(ErrorStatus.RESOLVED, by, "a retry succeeded"))
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
    note = excerpt(text_of(how.note), letters.NOTE_LIMIT) if how.note else None
    row = tx.one(sql.settle, id=error.id, status=how.status.value, by=storable(how.by), note=note)
    return _settled_meanwhile(row, error)


def _made(
    tx: Transaction, new: NewError, whole: PlainRecord | None, masking: Masking, retry: RetryPolicy, secrets: Iterable[str]
) -> ErrorLog:
    """The row of a new error: scrubbed of everything that is secret in what came with it."""
    kind = lookup.word(ErrorType, new.error_type)
    known = (masking.hidden(whole) | masking.hidden_in_details(new.error_details)).union(secrets)
    record = None if whole is None else masking.mask(whole, known)
    message = letters.message_of(new.error_message, known)
    code = None if new.error_code is None else excerpt(text_of(new.error_code), CODE_LIMIT, known) or None
    retries = retry.attempts(kind, new.max_retries)
    return ErrorLog(
        id=clock.new_id(),
        tenant_id=tx.tenant_id,
        sync_run_id=letters.id_of(new.sync_run_id),
        schema_name=writable(new.schema_name),
        table_name=writable(new.table_name) if new.table_name else None,
        name_key=lookup.table_key(new.schema_name, new.table_name),
        error_type=kind.value,
        error_code=code,
        error_message=message,
        error_details=_details(new, masking, known),
        stack_trace=excerpt(text_of(new.stack_trace), TRACE_LIMIT, known, end=True) if new.stack_trace else None,
        record_data=record.data if record else None,
        record_complete=record is None or record.complete,
        operation_type=lookup.word(OperationType, new.operation_type).value if new.operation_type else None,
        fingerprint=fingerprint(kind.value, code, message),
        status=ErrorStatus.OPEN.value,
        retry_count=0,
        max_retries=retries,
        retry_after=tx.now + retry.delay(1) if retries else None,
        last_retry_at=None,
        dead_letter_id=None,
        claimed_by=None,
        claimed_until=None,
        occurred_at=tx.now,
        resolved_at=None,
        resolved_by=None,
        resolution_note=None,
    )


def _details(new: NewError, masking: Masking, known: frozenset[str]) -> dict[str, Any] | None:
    details = None if new.error_details is None else masking.mask_details(new.error_details, known)
    source_record_id = letters.id_of(new.source_record_id)
    if source_record_id is None:
        return details
    return {**(details or {}), "source_record_id": excerpt(source_record_id, letters.ID_LIMIT, known)}


def _bury(tx: Transaction, error: ErrorLog, message: str | None) -> str | None:
    """The dead letter of an error that is not tried again, if it has a record."""
    if error.record_data is None:
        return error.dead_letter_id
    # The record as it came is not known any more. What was masked cannot tell two records apart, so each error is its own then.
    source = error.source_record_id if MASK not in (error.source_record_id or MASK) else None
    payload_hash = codec.digest(error.record_data if error.record_complete else [error.id])
    draft = _draft(error, source, payload_hash, message)
    counted = letters.count_failure(tx, error.dead_letter_id, draft) if error.dead_letter_id else None
    return (counted or letters.put(tx, draft)).id


def _draft(error: ErrorLog, source_record_id: str | None, payload_hash: str, message: str | None = None) -> Draft:
    operation, kind = error.operation_type or UNKNOWN_OPERATION, ItemKind.RECORD.value
    return Draft(
        schema_name=error.schema_name,
        table_name=error.table_name,
        name_key=error.name_key,
        operation_type=operation,
        item_kind=kind,
        source_record_id=error.source_record_id,
        record_data=error.record_data or {},
        record_complete=error.record_complete,
        payload_hash=payload_hash,
        dedupe_key=dedupe_key(error.name_key, operation, kind, source_record_id, payload_hash),
        error_type=error.error_type,
        error_message=message or error.error_message,
        fingerprint=fingerprint(error.error_type, error.error_code, message or error.error_message),
        sync_run_id=error.sync_run_id,
        error_log_id=error.id,
    )


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
