"""Replay: each letter that waits is given to a callback once, outside any transaction, and settled by how that went."""

from __future__ import annotations

import inspect
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from lakeledger.background import Failures
from lakeledger.db import Row, Store, Transaction
from lakeledger.errors import Conflict, Invalid, LakeledgerError
from lakeledger.redaction import CONFIGURATION, Rules
from lakeledger.sync.dead_letters import drafts
from lakeledger.sync.dead_letters import store as letters
from lakeledger.sync.dead_letters.model import Cause, Claim, DeadLetter, Filter, LetterStatus, Replay

EVERYTHING = 2**62
SHORTEST_PAUSE = 0.1


@dataclass(frozen=True)
class Replayer:
    """One replay: who does it, what is called, and how many letters are held at a time."""

    store: Store
    claim: Claim
    callback: Callable[[DeadLetter], object]
    batch: int
    known: Iterable[str] = ()
    rules: Rules = CONFIGURATION
    failures: Failures = field(default_factory=lambda: Failures("replay"))

    def run(self, chosen: Filter, limit: int | None, *, dry_run: bool) -> Replay:
        """Replay what waits now; what comes in meanwhile is left for the next time."""
        if self.batch < 1 or (limit is not None and limit < 1):
            raise Invalid(f"a replay needs a limit and a batch of at least 1, not {limit} and {self.batch}")
        with self.store.read() as tx:
            rows = letters.claimable(tx, chosen, EVERYTHING if limit is None else limit)
        plan = plan_replay(rows, dry_run=dry_run)
        if dry_run:
            return plan
        ids, done = [row["id"] for row in rows], Counter[str]()
        for start in range(0, len(ids), self.batch):
            done += self._batch(ids[start : start + self.batch])
        return replace(plan, replayed=done["replayed"], failed=done["failed"], skipped=done["skipped"])

    def _batch(self, ids: Sequence[str]) -> Counter[str]:
        with self.store.write() as tx:
            held = letters.claim_these(tx, self.claim, Filter(), ids)
        done = Counter({"skipped": len(ids) - len(held)})
        untouched = list(held)
        try:
            with Keeper(self.store, self.claim, self.failures) as keeper:
                for letter in held:
                    mine = keeper.is_fresh() or self._renewed(letter)
                    failure = self._call(letter) if mine else None
                    # Its callback is done: if that cannot be written down, the letter stays held, so that it is not replayed at once again.
                    untouched.remove(letter)
                    done[self._settle(letter, failure) if mine else "skipped"] += 1
        finally:
            self._release(untouched)
        return done

    def _call(self, letter: DeadLetter) -> Exception | None:
        """Replay the letter; what the callback raised, if it did. Whoever interrupts it leaves the letter as it was."""
        try:
            answer = self.callback(letter)
        except Exception as error:  # noqa: BLE001 - the callback is the caller's; whatever it raises is kept with the letter
            return error
        if inspect.isawaitable(answer):
            _refuse(answer)
        return None

    def _settle(self, letter: DeadLetter, error: Exception | None) -> str:
        """Write down how a callback went, also if the store is away for a while."""
        return self.store.persist(self._failed(letter, error) if error else self._replayed(letter))

    def _failed(self, letter: DeadLetter, error: Exception) -> Callable[[Transaction, bool], str]:
        failure = drafts.failure(error, self.known, self.rules)

        def fail(tx: Transaction, _again: bool) -> str:
            if mine := letters.held(tx, letter.id, self.claim.worker):
                letters.fail_again(tx, mine, failure)
            return "failed"

        return fail

    def _replayed(self, letter: DeadLetter) -> Callable[[Transaction, bool], str]:
        ending = drafts.settlement(LetterStatus.RESOLVED, "reprocessed", self.claim.worker)

        def resolve(tx: Transaction, again: bool) -> str:
            if mine := letters.held(tx, letter.id, self.claim.worker):
                letters.settle(tx, mine, ending)
                return "replayed"
            return "replayed" if again and letters.get(tx, letter.id).resolved_by == ending.by else "skipped"

        return resolve

    def _renewed(self, letter: DeadLetter) -> bool:
        try:
            with self.store.write() as tx:
                letters.renew(tx, letter.id, self.claim)
        except Conflict:
            return False
        return True

    def _release(self, untouched: Sequence[DeadLetter]) -> None:
        """Give back what an interrupted replay did not reach."""
        if untouched:
            with self.store.write() as tx:
                for letter in untouched:
                    if letters.held(tx, letter.id, self.claim.worker):
                        letters.release(tx, letter.id, self.claim.worker)


class Keeper:
    """A thread that holds the letters of a claim for longer and longer, however long a callback takes."""

    def __init__(self, store: Store, claim: Claim, failures: Failures) -> None:
        self._store = store
        self._failures = failures
        self._claim = claim
        self._over = threading.Event()
        self._half_time = time.monotonic() + claim.seconds / 2
        self._thread = threading.Thread(target=self._work, name="replay", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def is_fresh(self) -> bool:
        """Whether the letters were claimed or renewed just now; if not, this process was stopped or the store away."""
        return time.monotonic() < self._half_time

    def _work(self) -> None:
        while not self._over.wait(max(self._claim.seconds / 3, SHORTEST_PAUSE)):
            began = time.monotonic()
            try:
                with self._store.write() as tx:
                    letters.renew_all(tx, self._claim)
            except LakeledgerError as error:  # The store may be back in time; if not, whoever claims the letters next has them.
                self._failures.report("", f"the dead letters of a replay could not be renewed: {error}", error)
                continue
            self._half_time = began + self._claim.seconds / 2
            self._failures.clear("")


def _refuse(unfinished: Any) -> None:
    """Raise Invalid: nobody would ever wait for what the callback began."""
    end = getattr(unfinished, "close", None) or getattr(unfinished, "cancel", None)
    if callable(end):
        end()
    raise Invalid("the callback of a replay returned a coroutine, which nobody awaits: use lakeledger.aio, or pass a plain function")


def plan_replay(rows: Sequence[Row], *, dry_run: bool) -> Replay:
    """What a replay of these letters amounts to."""
    counts = Counter(row["fingerprint"] for row in rows)
    samples = {row["fingerprint"]: row for row in rows}
    causes = (Cause(key, samples[key]["error_type"], samples[key]["error_message"], count) for key, count in counts.most_common())
    return Replay(dry_run, len(rows), sum(not row["record_complete"] for row in rows), tuple(causes))
