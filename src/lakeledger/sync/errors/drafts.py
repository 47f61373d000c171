"""What is stored of an error: masked, scrubbed and cut here, before its transaction begins, so that no writer waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lakeledger import clock, codec
from lakeledger.runs.model import TRACE_LIMIT
from lakeledger.sync import lookup
from lakeledger.sync.dead_letters.drafts import ID_LIMIT, id_of, message_of, note_of
from lakeledger.sync.dead_letters.model import UNKNOWN_OPERATION, Draft, ItemKind, dedupe_key
from lakeledger.sync.errors.model import ErrorStatus, NewError
from lakeledger.sync.errors.retry import RetryPolicy
from lakeledger.sync.failures import ErrorType, OperationType, fingerprint
from lakeledger.sync.masking import Masking, excerpt, plain_record, storable, text_of, writable

CODE_LIMIT = 200


@dataclass(frozen=True)
class ErrorDraft:
    """An error that may be stored as it is, when it is first tried again, and the letter that it becomes at once if it never is."""

    columns: dict[str, Any]
    delay: timedelta | None
    letter: Draft | None


@dataclass(frozen=True)
class Ending:
    """How an error ends, as it is stored."""

    status: ErrorStatus
    by: str
    note: str | None = None


def draft(new: NewError, masking: Masking, retry: RetryPolicy, secrets: Iterable[str] = ()) -> ErrorDraft:
    """The row of a new error: scrubbed of everything that is secret in what came with it. Raises Invalid."""
    kind = lookup.word(ErrorType, new.error_type)
    # An empty record is none: nothing could be replayed.
    whole = None if new.record_data is None else plain_record(new.record_data) or None
    known = (masking.hidden(whole) | masking.hidden_in_details(new.error_details)).union(secrets)
    record = None if whole is None else masking.mask(whole, known)
    message = message_of(new.error_message, known, masking.texts)
    code = None if new.error_code is None else excerpt(text_of(new.error_code), CODE_LIMIT, known) or None
    source_record_id, retries = id_of(new.source_record_id), retry.attempts(kind, new.max_retries)
    columns = {
        "id": clock.new_id(),
        "sync_run_id": id_of(new.sync_run_id),
        "step_id": new.step_id,
        "schema_name": writable(new.schema_name),
        "table_name": writable(new.table_name) if new.table_name else None,
        "name_key": lookup.table_key(new.schema_name, new.table_name),
        "schema_key": lookup.schema_key(new.schema_name),
        "error_type": kind.value,
        "error_code": code,
        "error_message": message,
        "error_details": _details(new, masking, known, source_record_id),
        "stack_trace": excerpt(text_of(new.stack_trace), TRACE_LIMIT, known, end=True, rules=masking.texts) if new.stack_trace else None,
        "record_data": record.data if record else None,
        "record_complete": record is None or record.complete,
        "operation_type": lookup.word(OperationType, new.operation_type).value if new.operation_type else None,
        "fingerprint": fingerprint(kind.value, code, message),
        "max_retries": retries,
    }
    letter = letter_of(columns, source_record_id, codec.digest(whole)) if retries == 0 and whole is not None else None
    return ErrorDraft(columns, retry.delay(1) if retries else None, letter)


def ending(status: ErrorStatus, by: str, note: object = None) -> Ending:
    """What is stored of how an error ended."""
    return Ending(status, storable(by), note_of(note))


def letter_of(error: Mapping[str, Any], source_record_id: str | None, payload_hash: str, message: str | None = None) -> Draft:
    """The dead letter that an error becomes."""
    operation, kind = error["operation_type"] or UNKNOWN_OPERATION, ItemKind.RECORD.value
    return Draft(
        schema_name=error["schema_name"],
        table_name=error["table_name"],
        name_key=error["name_key"],
        schema_key=error["schema_key"],
        operation_type=operation,
        item_kind=kind,
        source_record_id=(error["error_details"] or {}).get("source_record_id"),
        record_data=error["record_data"] or {},
        record_complete=error["record_complete"],
        payload_hash=payload_hash,
        dedupe_key=dedupe_key(error["name_key"], operation, kind, source_record_id, payload_hash),
        error_type=error["error_type"],
        error_message=message or error["error_message"],
        fingerprint=fingerprint(error["error_type"], error["error_code"], message or error["error_message"]),
        sync_run_id=error["sync_run_id"],
        error_log_id=error["id"],
    )


def _details(new: NewError, masking: Masking, known: frozenset[str], source_record_id: str | None) -> dict[str, Any] | None:
    details = None if new.error_details is None else masking.mask_details(new.error_details, known)
    if source_record_id is None:
        return details
    return {**(details or {}), "source_record_id": excerpt(source_record_id, ID_LIMIT, known)}
