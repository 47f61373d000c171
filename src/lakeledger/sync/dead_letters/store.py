"""The dead-letter queue: one letter per failed record, held by one worker at a time, settled once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from lakeledger import clock, codec
from lakeledger.codec import Id
from lakeledger.db import Row, Transaction
from lakeledger.db.queries import load
from lakeledger.errors import Conflict, Invalid, NotFound
from lakeledger.runs.model import MESSAGE_LIMIT, describe
from lakeledger.sync import lookup
from lakeledger.sync.dead_letters.model import (
    Claim,
    DeadLetter,
    Draft,
    Filter,
    ItemKind,
    LetterGroup,
    LetterStatus,
    NewLetter,
    Settlement,
    dedupe_key,
)
from lakeledger.sync.failures import ErrorType, OperationType, classify, error_code, fingerprint
from lakeledger.sync.masking import Masking, excerpt, plain_record, storable, text_of, writable

sql = load("lakeledger.sync.dead_letters")

ID_LIMIT = NOTE_LIMIT = 10_000

# What becomes of the error whose letter is settled.
_ERROR_STATUS = {LetterStatus.RESOLVED: "resolved", LetterStatus.DISCARDED: "ignored"}


def add(tx: Transaction, new: NewLetter, masking: Masking, known: Iterable[str] = ()) -> DeadLetter:
    """Keep a record that could not be written; one that is already waiting counts once more. Raises Invalid or NotFound."""
    error = _linked_error(tx, new.error_log_id)
    draft = _draft(new, masking, error, known)
    letter = (_count_linked(tx, draft, error) if error else None) or put(tx, draft)
    if error:
        tx.execute(sql.link_error, id=letter.id, error_log_id=error["id"])
    return letter


def put(tx: Transaction, draft: Draft) -> DeadLetter:
    """Keep a letter that is ready to be stored, or count it once more if its record is already waiting."""
    return _letter(tx.one(sql.put_letter, id=clock.new_id(), **vars(draft)))


def count_failure(tx: Transaction, letter_id: Id, draft: Draft) -> DeadLetter | None:
    """Count one more failure of that letter, which nobody holds then. None if it is not waiting any more."""
    seen = {name: getattr(draft, name) for name in ("error_type", "error_message", "fingerprint", "source_record_id")}
    row = tx.one(sql.count_failure, id=letter_id, **seen)
    return DeadLetter(**row) if row else None


def get(tx: Transaction, letter_id: Id) -> DeadLetter:
    """The letter with that id, or the only one whose id begins so. Raises NotFound, or Invalid if several do."""
    return DeadLetter(**lookup.by_id(tx, sql.get_letter, sql.find_letter_by_prefix, letter_id, "dead letter"))


def list_page(tx: Transaction, chosen: Filter, status: str | None, limit: int, before: DeadLetter | None) -> list[DeadLetter]:
    """Letters, newest first; `before` continues after the last one of the page before."""
    rows = tx.all(
        sql.list_letters,
        **_conditions(chosen),
        status=lookup.word_or_none(LetterStatus, status),
        page_size=lookup.check_limit(limit),
        before_time=before.created_at if before else None,
        before_id=before.id if before else None,
    )
    return [DeadLetter(**row) for row in rows]


def groups(tx: Transaction, status: str | None) -> list[LetterGroup]:
    """The letters by what caused them, the biggest group first."""
    rows = tx.all(sql.count_letters, status=lookup.word_or_none(LetterStatus, status))
    return [_group(of_cause) for of_cause in lookup.by_cause(rows)]


def claimable(tx: Transaction, chosen: Filter, limit: int) -> list[Row]:
    """What could be claimed now, oldest first: ids, causes, and whether the record is complete."""
    return tx.all(sql.claimable, **_conditions(chosen), page_size=limit)


def claim(tx: Transaction, how: Claim, chosen: Filter, limit: int) -> list[DeadLetter]:
    """Hold the oldest letters that nobody holds."""
    rows = tx.all(sql.claim, **_holding(tx, how), **_conditions(chosen), page_size=lookup.check_limit(limit))
    return _oldest_first(rows)


def claim_these(tx: Transaction, how: Claim, chosen: Filter, ids: Sequence[Id]) -> list[DeadLetter]:
    """Hold those of these letters that nobody holds."""
    return _oldest_first(tx.all(sql.claim_these, **_holding(tx, how), **_conditions(chosen), ids=[str(each) for each in ids]))


def renew(tx: Transaction, letter_id: Id, how: Claim) -> DeadLetter:
    """Hold a letter for longer. Raises NotFound, or Conflict if the worker does not hold it any more."""
    letter = get(tx, letter_id)
    row = tx.one(sql.renew, id=letter.id, **_holding(tx, how))
    return DeadLetter(**row) if row else _refuse(letter, tx.now, how.worker)


def renew_all(tx: Transaction, how: Claim) -> None:
    """Hold for longer whatever that worker still holds."""
    tx.execute(sql.renew_all, **_holding(tx, how))


def release(tx: Transaction, letter_id: Id, worker: str) -> DeadLetter:
    """Give a letter back. Raises NotFound, or Conflict if the worker does not hold it."""
    letter = get(tx, letter_id)
    row = tx.one(sql.release, id=letter.id, worker=worker)
    return DeadLetter(**row) if row else _refuse(letter, tx.now, worker)


def settle(tx: Transaction, letter: DeadLetter, how: Settlement) -> DeadLetter:
    """End a letter, and its error when no other letter of it is waiting."""
    note = excerpt(text_of(how.note), NOTE_LIMIT) if how.note else None
    ending = {"by": storable(how.by), "note": note, "id": letter.id}
    row = tx.one(sql.settle, status=how.status.value, method=storable(how.method), **ending)
    if row is None:
        raise Conflict(f"dead letter {letter.id} was settled by somebody else: read it again")
    ending["note"] = note or f"dead letter {letter.id} was {how.status.value}"
    tx.execute(sql.settle_errors, status=_ERROR_STATUS[how.status], **ending)
    return DeadLetter(**row)


def fail_again(tx: Transaction, letter: DeadLetter, error: BaseException | str, known: Iterable[str] = ()) -> DeadLetter:
    """Give a letter back with the failure of one more attempt."""
    kind, code = letter.error_type, None
    if isinstance(error, BaseException):
        found, code = classify(error), error_code(error)
        kind = letter.error_type if found is ErrorType.UNKNOWN else found.value
    message = message_of(error, known)
    return _letter(
        tx.one(sql.fail_again, id=letter.id, error_type=kind, error_message=message, fingerprint=fingerprint(kind, code, message))
    )


def open_letter(tx: Transaction, letter_id: Id, callers: Iterable[str]) -> DeadLetter:
    """The letter, if one of these may settle it. Raises NotFound, or Conflict if it is settled or held by somebody else."""
    letter = get(tx, letter_id)
    holder = letter.holder(tx.now)
    if letter.is_settled or (holder and holder not in callers):
        _refuse(letter, tx.now, "")
    return letter


def held_letter(tx: Transaction, letter_id: Id, worker: str) -> DeadLetter:
    """The letter, if that worker still holds it. Raises NotFound, or Conflict that says in whose hands it is."""
    letter = get(tx, letter_id)
    return held(tx, letter.id, worker) or _refuse(letter, tx.now, worker)


def held(tx: Transaction, letter_id: Id, worker: str) -> DeadLetter | None:
    """The letter, if that worker still holds it."""
    row = tx.one(sql.get_letter, id=letter_id)
    return DeadLetter(**row) if row and row["status"] == LetterStatus.PROCESSING and row["claimed_by"] == worker else None


def message_of(error: object, known: Iterable[str] = ()) -> str:
    """What is kept of a message: scrubbed, storable, and cut to a readable length."""
    return excerpt(describe(error) if isinstance(error, BaseException) else text_of(error), MESSAGE_LIMIT, known)


def id_of(value: object) -> str | None:
    """An id as text, whatever it was given as."""
    return None if value is None else text_of(value) or None


def _linked_error(tx: Transaction, error_log_id: object) -> Row | None:
    if error_log_id is None:
        return None
    if error := tx.one(sql.find_error, error_log_id=str(error_log_id)):
        return error
    raise NotFound(f"no error {str(error_log_id)!r} to link the dead letter to: log it first, or leave the link out")


def _draft(new: NewLetter, masking: Masking, error: Row | None, secrets: Iterable[str]) -> Draft:
    operation, kind = lookup.word(OperationType, new.operation_type).value, lookup.word(ItemKind, new.item_kind).value
    name_key, whole = lookup.table_key(new.schema_name, new.table_name), plain_record(new.record_data)
    if new.record_data is None or not whole:
        where = lookup.table_name(new.schema_name, new.table_name)
        raise Invalid(f"a dead letter of {where} needs its record, not {new.record_data!r}: nobody could replay it; give at least its key")
    payload_hash, known = codec.digest(whole), masking.hidden(whole).union(secrets)
    source_record_id = id_of(new.source_record_id)
    masked = masking.mask(whole, known)
    error_type = error["error_type"] if error else lookup.word(ErrorType, new.error_type or ErrorType.UNKNOWN).value
    message = message_of(new.error_message, known) if new.error_message else (error["error_message"] if error else None)
    return Draft(
        schema_name=writable(new.schema_name),
        table_name=writable(new.table_name) if new.table_name else None,
        name_key=name_key,
        operation_type=operation,
        item_kind=kind,
        source_record_id=excerpt(source_record_id, ID_LIMIT, known) if source_record_id else None,
        record_data=masked.data,
        record_complete=masked.complete,
        payload_hash=payload_hash,
        dedupe_key=dedupe_key(name_key, operation, kind, source_record_id, payload_hash),
        error_type=error_type,
        error_message=message,
        fingerprint=fingerprint(error_type, error["error_code"] if error else None, message or ""),
        sync_run_id=id_of(new.sync_run_id),
        error_log_id=error["id"] if error else None,
    )


def _count_linked(tx: Transaction, draft: Draft, error: Row) -> DeadLetter | None:
    names = ("error_log_id", "payload_hash", "operation_type", "item_kind", "name_key", "source_record_id")
    row = tx.one(sql.find_of_error, dead_letter_id=error["dead_letter_id"], **{name: getattr(draft, name) for name in names})
    return count_failure(tx, row["id"], draft) if row else None


def _conditions(chosen: Filter) -> dict[str, Any]:
    return {**lookup.table_filter(chosen.schema, chosen.table), "fingerprint": chosen.fingerprint}


def _holding(tx: Transaction, how: Claim) -> dict[str, Any]:
    return {"worker": how.worker, "until": tx.now + timedelta(seconds=how.seconds)}


def _oldest_first(rows: list[Row]) -> list[DeadLetter]:
    return sorted((DeadLetter(**row) for row in rows), key=lambda letter: (letter.created_at, letter.id))


def _letter(row: Row | None) -> DeadLetter:
    if row is None:
        raise Conflict("the dead letter was settled by somebody else: read it again")
    return DeadLetter(**row)


def _refuse(letter: DeadLetter, now: datetime, worker: str) -> DeadLetter:
    """Raise the Conflict that says in whose hands the letter is."""
    if letter.is_settled:
        raise Conflict(f"dead letter {letter.id} is already {letter.status}: by {letter.resolved_by} at {letter.resolved_at}")
    if holder := letter.holder(now):
        raise Conflict(f"dead letter {letter.id} is held by {holder} until {letter.claimed_until}: wait, or let it be settled there")
    raise Conflict(f"dead letter {letter.id} is not held by {worker}: it is {letter.status}, claim it first")


def _group(rows: Sequence[Row]) -> LetterGroup:
    """One cause from its counts per table and status, the newest first."""
    by_status: dict[str, int] = {}
    for row in rows:
        by_status[row["status"]] = by_status.get(row["status"], 0) + row["count"]
    return LetterGroup(
        fingerprint=rows[0]["fingerprint"],
        error_type=rows[0]["error_type"],
        error_message=rows[0]["error_message"],
        count=sum(by_status.values()),
        by_status=by_status,
        oldest=min(lookup.time(row["oldest"]) for row in rows),
        newest=max(lookup.time(row["newest"]) for row in rows),
        tables=lookup.tables_of(rows),
    )
