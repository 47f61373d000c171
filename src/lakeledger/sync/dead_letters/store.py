"""The dead-letter queue: one letter per failed record, held by one worker at a time, settled once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from lakeledger import clock, codec
from lakeledger.codec import Id
from lakeledger.db import Row, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import Conflict, NotFound
from lakeledger.sync import lookup
from lakeledger.sync.dead_letters.drafts import Failure
from lakeledger.sync.dead_letters.model import (
    Claim,
    DeadLetter,
    Draft,
    Filter,
    LetterGroup,
    LetterStatus,
    Settlement,
)
from lakeledger.sync.failures import ErrorType, fingerprint

sql = load("lakeledger.sync.dead_letters")

_NEWEST: pages.Key = {"created_at": codec.to_time, "id": str}

# What becomes of the error whose letter is settled.
_ERROR_STATUS = {LetterStatus.RESOLVED: "resolved", LetterStatus.DISCARDED: "ignored"}


def add(tx: Transaction, draft: Draft, error_log_id: object = None) -> DeadLetter:
    """Keep a record that could not be written; one that is already waiting counts once more. Raises NotFound without that error."""
    error = _linked_error(tx, error_log_id)
    draft = _linked(draft, error) if error else draft
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


def list_page(tx: Transaction, chosen: Filter, status: str | None, limit: int, after: str | None) -> Page[DeadLetter]:
    """Letters, newest first; `after` is the `next` of the page before."""
    return pages.read(
        tx,
        sql.list_letters,
        _NEWEST,
        lambda row: DeadLetter(**row),
        lookup.check_limit(limit),
        after,
        **_conditions(chosen),
        status=lookup.word_or_none(LetterStatus, status),
    )


def groups(tx: Transaction, status: str | None, limit: int | None = None, after: str | None = None) -> Page[LetterGroup]:
    """The letters by what caused them, the biggest group first."""
    rows = tx.all(sql.count_letters, status=lookup.word_or_none(LetterStatus, status))
    return lookup.page_of_groups([_group(of_cause) for of_cause in lookup.by_cause(rows)], limit, after)


def claimable(tx: Transaction, chosen: Filter, limit: int) -> list[Row]:
    """The records that could be claimed now, oldest first: ids, causes, and whether the record is complete."""
    return tx.all(sql.claimable, **_conditions(chosen), page_size=limit)


def of_rows(tx: Transaction, chosen: Filter, workers: str, limit: int) -> list[DeadLetter]:
    """The letters that stand for quarantined rows and that nobody holds but workers of such a name (`x %`), oldest first."""
    rows = tx.all(sql.letters_of_rows, **_conditions(chosen), workers=workers, page_size=limit)
    return [DeadLetter(**row) for row in rows]


def claim(tx: Transaction, how: Claim, chosen: Filter, limit: int) -> list[DeadLetter]:
    """Hold the oldest letters of records that nobody holds."""
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
    ending = {"by": how.by, "note": how.note, "id": letter.id}
    row = tx.one(sql.settle, status=how.status.value, method=how.method, **ending)
    if row is None:
        raise Conflict(f"dead letter {letter.id} was settled by somebody else: read it again")
    ending["note"] = how.note or f"dead letter {letter.id} was {how.status.value}"
    tx.execute(sql.settle_errors, status=_ERROR_STATUS[how.status], **ending)
    return DeadLetter(**row)


def fail_again(tx: Transaction, letter: DeadLetter, failure: Failure) -> DeadLetter:
    """Give a letter back with the failure of one more attempt."""
    kind = letter.error_type if failure.error_type is ErrorType.UNKNOWN else failure.error_type.value
    seen = {"error_type": kind, "error_message": failure.message, "fingerprint": fingerprint(kind, failure.code, failure.message)}
    return _letter(tx.one(sql.fail_again, id=letter.id, **seen))


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


def _linked_error(tx: Transaction, error_log_id: object) -> Row | None:
    if error_log_id is None:
        return None
    if error := tx.one(sql.find_error, error_log_id=str(error_log_id)):
        return error
    raise NotFound(f"no error {str(error_log_id)!r} to link the dead letter to: log it first, or leave the link out")


def _linked(draft: Draft, error: Row) -> Draft:
    """The letter of that error: what the letter does not tell of its cause, the error does."""
    message = draft.error_message or error["error_message"]
    cause = fingerprint(error["error_type"], error["error_code"], message or "")
    return replace(draft, error_type=error["error_type"], error_message=message, fingerprint=cause, error_log_id=error["id"])


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
