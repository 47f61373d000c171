"""What could not be written and waits for somebody: claimed by one worker at a time, replayed, resolved or discarded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from lakeledger import clock
from lakeledger.background import Failures
from lakeledger.codec import Id
from lakeledger.db import Store
from lakeledger.db.pages import Page
from lakeledger.sync.dead_letters import drafts, store
from lakeledger.sync.dead_letters.model import (
    Cause,
    Claim,
    DeadLetter,
    Draft,
    Filter,
    ItemKind,
    LetterGroup,
    LetterStatus,
    NewLetter,
    Replay,
    Settlement,
)
from lakeledger.sync.dead_letters.replay import Replayer
from lakeledger.sync.masking import Masking

__all__ = ["Cause", "DeadLetter", "DeadLetters", "ItemKind", "LetterGroup", "LetterStatus", "NewLetter", "Replay"]

HOLD_SECONDS = 300.0


@dataclass(frozen=True)
class DeadLetters:
    """The dead letters of one tenant."""

    _store: Store
    _actor: str
    _masking: Masking
    _failures: Failures = field(default_factory=lambda: Failures("replay"))

    def add(self, new: NewLetter, known: Iterable[str] = ()) -> DeadLetter:
        """Keep a record that could not be written. One that is already waiting counts once more, with the newest record and message.

        Whoever holds it then does not any more. `known` are secrets that must not be stored.
        Raises Invalid, or NotFound if the error that it names is not there.
        """
        draft = drafts.draft(new, self._masking, known)
        with self._store.write() as tx:
            return store.add(tx, draft, new.error_log_id)

    def draft(self, new: NewLetter) -> Draft:
        """A letter as it is stored, for whoever keeps it in a transaction of their own (`store.put`). Raises Invalid."""
        return drafts.draft(new, self._masking)

    def get(self, letter_id: Id) -> DeadLetter:
        """The letter with that id, or with an id that begins so. Raises NotFound."""
        with self._store.read() as tx:
            return store.get(tx, letter_id)

    def list(
        self,
        status: str | None = None,
        schema: str | None = None,
        table: str | None = None,
        fingerprint: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[DeadLetter]:
        """Letters, newest first, a page at a time."""
        with self._store.read() as tx:
            return store.list_page(tx, Filter(schema, table, fingerprint), status, limit, after)

    def groups(self, status: str | None = None, limit: int | None = None, after: str | None = None) -> Page[LetterGroup]:
        """Letters by what caused them, the biggest group first: all, or a page at a time. One that grows meanwhile may move up."""
        with self._store.read() as tx:
            return store.groups(tx, status, limit, after)

    def claim(
        self,
        limit: int = 1,
        worker: str | None = None,
        seconds: float = HOLD_SECONDS,
        schema: str | None = None,
        table: str | None = None,
        fingerprint: str | None = None,
        ids: Sequence[Id] | None = None,
    ) -> Sequence[DeadLetter]:
        """Hold the oldest letters that nobody holds, or with `ids` all of those that nobody holds. Nobody else gets them meanwhile.

        A claim that is neither settled nor renewed ends after so many seconds.
        """
        how, chosen = Claim(worker or self._actor, seconds), Filter(schema, table, fingerprint)
        with self._store.write() as tx:
            return store.claim(tx, how, chosen, limit) if ids is None else store.claim_these(tx, how, chosen, ids)

    def renew(self, letter_id: Id, seconds: float = HOLD_SECONDS, worker: str | None = None) -> DeadLetter:
        """Hold a letter for so many seconds from now. Raises NotFound, or Conflict if the worker does not hold it any more."""
        with self._store.write() as tx:
            return store.renew(tx, letter_id, Claim(worker or self._actor, seconds))

    def release(self, letter_id: Id, worker: str | None = None) -> DeadLetter:
        """Give a letter back untried. Raises NotFound, or Conflict if the worker does not hold it."""
        with self._store.write() as tx:
            return store.release(tx, letter_id, worker or self._actor)

    def resolve(
        self, letter_id: Id, method: str = "manual", by: str | None = None, note: str | None = None, worker: str | None = None
    ) -> DeadLetter:
        """The record is dealt with; so is its error. `by` is written down; with `worker`, that worker must still hold the letter.

        Raises NotFound, or Conflict if it is settled or somebody else holds it.
        """
        return self._settle(letter_id, drafts.settlement(LetterStatus.RESOLVED, method, by or worker or self._actor, note), worker)

    def discard(self, letter_id: Id, by: str | None = None, note: str | None = None, worker: str | None = None) -> DeadLetter:
        """The record is not wanted; its error is ignored. `by` is written down; with `worker`, that worker must still hold the letter.

        Raises NotFound, or Conflict if it is settled or somebody else holds it.
        """
        return self._settle(letter_id, drafts.settlement(LetterStatus.DISCARDED, "discarded", by or worker or self._actor, note), worker)

    def failed_again(self, letter_id: Id, error: BaseException | str, worker: str | None = None, known: Iterable[str] = ()) -> DeadLetter:
        """One more attempt failed; the letter waits again. Raises NotFound, or Conflict if it is settled or somebody else holds it."""
        failure = drafts.failure(error, known, self._masking.texts)
        with self._store.write() as tx:
            return store.fail_again(tx, store.open_letter(tx, letter_id, (self._actor, worker or self._actor)), failure)

    def replay(
        self,
        callback: Callable[[DeadLetter], object],
        *,
        schema: str | None = None,
        table: str | None = None,
        fingerprint: str | None = None,
        limit: int | None = None,
        dry_run: bool = True,
        batch: int = 100,
        seconds: float = HOLD_SECONDS,
        known: Iterable[str] = (),
    ) -> Replay:
        """Give each letter that waits to the callback, once: what it returns from is resolved, what it raises is kept with the letter.

        A dry run only counts. A letter whose worker dies after the callback and before the letter is settled is given out again, so
        the callback must bear that. The claims last `seconds` and are renewed while the callback works.
        Raises Invalid, also if the callback returns a coroutine.
        """
        claim = Claim(f"{self._actor} (replay {clock.new_id()[-6:]})", seconds)
        return Replayer(self._store, claim, callback, batch, known, self._masking.texts, self._failures).run(
            Filter(schema, table, fingerprint), limit, dry_run=dry_run
        )

    def _settle(self, letter_id: Id, how: Settlement, worker: str | None) -> DeadLetter:
        with self._store.write() as tx:
            letter = store.held_letter(tx, letter_id, worker) if worker else store.open_letter(tx, letter_id, (self._actor,))
            return store.settle(tx, letter, how)
