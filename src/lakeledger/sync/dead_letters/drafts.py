"""What is stored of a letter: masked, scrubbed, hashed and cut here, before its transaction begins, so that no writer waits for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.redaction import CONFIGURATION, Rules
from lakeledger.runs import describe
from lakeledger.runs.model import MESSAGE_LIMIT
from lakeledger.sync import lookup
from lakeledger.sync.dead_letters.model import Draft, ItemKind, LetterStatus, NewLetter, Settlement, dedupe_key
from lakeledger.sync.failures import ErrorType, OperationType, classify, error_code, fingerprint
from lakeledger.sync.masking import Masking, excerpt, plain_record, storable, text_of, writable

ID_LIMIT = NOTE_LIMIT = 10_000


@dataclass(frozen=True)
class Failure:
    """One more attempt that failed, as it is stored."""

    message: str
    error_type: ErrorType = ErrorType.UNKNOWN
    code: str | None = None


def draft(new: NewLetter, masking: Masking, secrets: Iterable[str] = ()) -> Draft:
    """A letter as it is stored when no error is linked to it. Raises Invalid."""
    operation, kind = lookup.word(OperationType, new.operation_type).value, lookup.word(ItemKind, new.item_kind).value
    name_key, whole = lookup.table_key(new.schema_name, new.table_name), plain_record(new.record_data)
    if new.record_data is None or not whole:
        where = lookup.table_name(new.schema_name, new.table_name)
        raise Invalid(f"a dead letter of {where} needs its record, not {new.record_data!r}: nobody could replay it; give at least its key")
    payload_hash, known = codec.digest(whole), masking.hidden(whole).union(secrets)
    source_record_id = id_of(new.source_record_id)
    masked = masking.mask(whole, known)
    error_type = lookup.word(ErrorType, new.error_type or ErrorType.UNKNOWN).value
    message = message_of(new.error_message, known, masking.texts) if new.error_message else None
    return Draft(
        schema_name=writable(new.schema_name),
        table_name=writable(new.table_name) if new.table_name else None,
        name_key=name_key,
        schema_key=lookup.schema_key(new.schema_name),
        operation_type=operation,
        item_kind=kind,
        source_record_id=excerpt(source_record_id, ID_LIMIT, known) if source_record_id else None,
        record_data=masked.data,
        record_complete=masked.complete,
        payload_hash=payload_hash,
        dedupe_key=dedupe_key(name_key, operation, kind, source_record_id, payload_hash),
        error_type=error_type,
        error_message=message,
        fingerprint=fingerprint(error_type, None, message or ""),
        sync_run_id=id_of(new.sync_run_id),
        error_log_id=None,
        quarantine_table=new.quarantine_table,
    )


def failure(error: BaseException | str, known: Iterable[str] = (), rules: Rules = CONFIGURATION) -> Failure:
    """What is stored of one more attempt that failed."""
    message = message_of(error, known, rules)
    return Failure(message, classify(error), error_code(error)) if isinstance(error, BaseException) else Failure(message)


def settlement(status: LetterStatus, method: str, by: str, note: object = None) -> Settlement:
    """What is stored of how a letter ended."""
    return Settlement(status, storable(method), storable(by), note_of(note))


def message_of(error: object, known: Iterable[str] = (), rules: Rules = CONFIGURATION) -> str:
    """What is stored of a message: scrubbed, storable, and cut to a readable length."""
    return excerpt(describe(error) if isinstance(error, BaseException) else text_of(error), MESSAGE_LIMIT, known, rules=rules)


def note_of(note: object) -> str | None:
    """What is stored of what somebody noted."""
    return excerpt(text_of(note), NOTE_LIMIT) if note else None


def id_of(value: object) -> str | None:
    """An id as text, whatever it was given as."""
    return None if value is None else text_of(value) or None
