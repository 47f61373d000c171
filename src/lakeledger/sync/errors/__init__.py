"""What went wrong while data was captured: kept with its context, tried again with growing pauses, then settled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakeledger import clock
from lakeledger.codec import Id
from lakeledger.db import Store, Transaction
from lakeledger.db.pages import Page
from lakeledger.runs import describe
from lakeledger.runs.exceptions import trace_of
from lakeledger.sync.dead_letters.drafts import message_of
from lakeledger.sync.dead_letters.model import Claim
from lakeledger.sync.errors import drafts, store
from lakeledger.sync.errors.model import ErrorGroup, ErrorLog, ErrorStatus, NewError
from lakeledger.sync.errors.retry import RetryPolicy
from lakeledger.sync.failures import ErrorType, OperationType, classify, error_code, fingerprint
from lakeledger.sync.masking import Masking

__all__ = [
    "ErrorGroup",
    "ErrorLog",
    "ErrorStatus",
    "ErrorType",
    "Errors",
    "NewError",
    "OperationType",
    "RetryPolicy",
    "classify",
    "fingerprint",
]

HOLD_SECONDS = 300.0
# Of so many errors that were taken and never reported, a handle remembers under which claim.
REMEMBERED = 10_000
SETTLED_AT_ONCE = 500


@dataclass(frozen=True)
class Errors:
    """The error log of one tenant."""

    _store: Store
    _actor: str
    _masking: Masking
    _retry: RetryPolicy
    _claims: dict[str, str] = field(default_factory=dict)

    def log(self, new: NewError, known: Iterable[str] = ()) -> ErrorLog:
        """Keep an error. With a record and no retries it becomes a dead letter at once. `known` are secrets that must not be stored.

        Raises Invalid.
        """
        draft = drafts.draft(new, self._masking, self._retry, known)
        with self._store.write() as tx:
            return store.add(tx, draft)

    def log_exception(
        self, schema: str, table: str | None, exception: BaseException, known: Iterable[str] = (), **context: Any
    ) -> ErrorLog:
        """Keep an exception: its kind, its message and where it came from. `context` is anything else a NewError has. Raises Invalid."""
        found = {"error_code": error_code(exception), "stack_trace": trace_of(exception), **context}
        return self.log(NewError(schema, table, classify(exception), describe(exception), **found), known)

    def get(self, error_id: Id) -> ErrorLog:
        """The error with that id, or with an id that begins so. Raises NotFound."""
        with self._store.read() as tx:
            return store.get(tx, error_id)

    def list(
        self,
        status: str | None = None,
        error_type: str | None = None,
        schema: str | None = None,
        table: str | None = None,
        fingerprint: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[ErrorLog]:
        """Errors, newest first, a page at a time."""
        with self._store.read() as tx:
            return store.list_page(tx, store.Filter(status, error_type, schema, table, fingerprint), limit, after)

    def groups(self, status: str | None = "open", limit: int | None = None, after: str | None = None) -> Page[ErrorGroup]:
        """Errors by what caused them, the biggest group first: all, or a page at a time. One that grows meanwhile may move up."""
        with self._store.read() as tx:
            return store.groups(tx, status, limit, after)

    def due(self, limit: int = 100, seconds: float = HOLD_SECONDS) -> Sequence[ErrorLog]:
        """Take the open errors that are to be tried again now, the one that waits longest first. Nobody else gets them meanwhile.

        What is neither reported (`retried`, `succeeded`) nor renewed within so many seconds is due again for everybody.
        """
        claim = Claim(f"{self._claimant} {clock.new_id()[-6:]})", seconds)
        with self._store.write() as tx:
            found = store.claim_due(tx, claim, limit)
        self._claims.update((error.id, claim.worker) for error in found)
        for error_id in list(self._claims)[:-REMEMBERED]:
            self._claims.pop(error_id, None)
        return found

    def renew(self, error: Id | ErrorLog, seconds: float = HOLD_SECONDS) -> ErrorLog:
        """Hold an error that `due` gave for so many seconds from now. Raises NotFound, or Conflict if it is settled or was taken over."""
        with self._store.write() as tx:
            error_id, claim = self._claimed(tx, error)
            return store.renew(tx, error_id, Claim(claim or self._actor, seconds))

    def retried(self, error_id: Id | ErrorLog, error: BaseException | str | None = None, known: Iterable[str] = ()) -> ErrorLog:
        """An attempt failed again: the next one waits longer; after the last one the record becomes a dead letter.

        Give the error as `due` gave it, or its id. Raises NotFound, or Conflict if it is settled or somebody else took it over.
        """
        message = message_of(error, known, self._masking.texts) if error is not None else None
        with self._store.write() as tx:
            whole_id, claim = self._claimed(tx, error_id)
            noted = store.retried(tx, whole_id, message, self._retry, claim=claim)
        self._claims.pop(noted.id, None)
        return noted

    def succeeded(self, error_id: Id | ErrorLog) -> ErrorLog:
        """A retry did the work. As `retried`, it raises NotFound, or Conflict if it is settled or somebody else took it over."""
        how = drafts.ending(ErrorStatus.RESOLVED, self._actor, "a retry succeeded")
        with self._store.write() as tx:
            whole_id, claim = self._claimed(tx, error_id)
            noted = store.succeeded(tx, whole_id, how, claim=claim)
        self._claims.pop(noted.id, None)
        return noted

    def retry_now(self, error_id: Id) -> ErrorLog:
        """Let an error be due at once, with one attempt more if none was left.

        Raises NotFound, or Conflict if it is settled or its record is a dead letter that waits to be replayed.
        """
        with self._store.write() as tx:
            return store.retry_now(tx, error_id)

    def source_succeeded(self, schema: str, table: str, note: str) -> int:
        """A step did the work of a source: the errors of the steps that failed to do it are resolved. How many."""
        with self._store.read() as tx:
            if not store.has_step_errors(tx, schema, table):
                return 0
        count, how = 0, drafts.ending(ErrorStatus.RESOLVED, self._actor, note)
        while True:
            with self._store.write() as tx:
                count += (settled := store.settle_step_errors(tx, schema, table, how, SETTLED_AT_ONCE))
            if settled < SETTLED_AT_ONCE:
                return count

    def resolve(self, error_id: Id, note: str | None = None, by: str | None = None) -> ErrorLog:
        """The error is dealt with; its dead letters are resolved. Raises NotFound, or Conflict if it is settled or a letter is held."""
        how = drafts.ending(ErrorStatus.RESOLVED, by or self._actor, note)
        with self._store.write() as tx:
            return store.settle(tx, error_id, how, self._actor)

    def ignore(self, error_id: Id, note: str | None = None, by: str | None = None) -> ErrorLog:
        """The error does not matter; its dead letters are discarded. Raises NotFound, or Conflict if it is settled or a letter is held."""
        how = drafts.ending(ErrorStatus.IGNORED, by or self._actor, note)
        with self._store.write() as tx:
            return store.settle(tx, error_id, how, self._actor)

    @property
    def _claimant(self) -> str:
        """How the names of this handle's claims begin."""
        return f"{self._actor} (retry"

    def _claimed(self, tx: Transaction, error: Id | ErrorLog) -> tuple[str, str | None]:
        """An error's id, and the claim under which this handle tried it again, if it did."""
        if not isinstance(error, ErrorLog):
            whole_id = store.get(tx, error).id
            return whole_id, self._claims.get(whole_id)
        mine = error.claimed_by if (error.claimed_by or "").startswith(self._claimant) else None
        return error.id, mine
