"""Quarantined rows, replayed: they go through the same load again, and in one commit leave the quarantine, or stay with new reasons.

The letters that stand for them are settled in that commit, too; of rows that are still bad there are new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakeledger import clock
from lakeledger.background import Failures
from lakeledger.codec import Id
from lakeledger.commit import Commit, Effect
from lakeledger.db import Store, Transaction
from lakeledger.errors import Conflict, Invalid, LakeledgerError
from lakeledger.names import TableName, parse_name
from lakeledger.pipelines import Context, bad_rows, quarantine
from lakeledger.pipelines.apply import Look, Refused, Saved, Write
from lakeledger.pipelines.apply.delete import Found, find
from lakeledger.pipelines.load import replanned
from lakeledger.pipelines.quarantine import BEFORE, REASONS, RUN_ID
from lakeledger.pipelines.save import save
from lakeledger.pipelines.translating import translating
from lakeledger.pipelines.write import persist, write
from lakeledger.runs import Fence
from lakeledger.sync.dead_letters import HOLD_SECONDS, DeadLetter, LetterStatus, drafts
from lakeledger.sync.dead_letters import store as letters
from lakeledger.sync.dead_letters.drafts import Failure
from lakeledger.sync.dead_letters.model import Claim, Filter
from lakeledger.sync.dead_letters.replay import Keeper
from lakeledger.sync.failures import ErrorType
from lakeledger.tables import Change
from lakeledger.tables.verify import DATA

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# In whose name letters are held, with the id of the run. Whoever replays the rows of a table holds its run exclusively: what another
# replay of it holds, nobody does any more.
WORKER = "dlq replay"
# Each is settled in the transaction of the commit, which should be short.
LETTERS_AT_ONCE = 500
MOST_LETTERS = 10_000
_CHANGED = "changed_reasons"


@dataclass(frozen=True)
class Batch:
    """Letters of one source that stand for rows of one table: they are replayed in one commit."""

    source: str | None
    table: TableName
    letters: tuple[DeadLetter, ...]

    @property
    def quarantine(self) -> TableName:
        return quarantine.table_of(self.table)

    @property
    def rows(self) -> int:
        """For how many rows the letters were written; one that had several reasons counts for each."""
        return sum(int(letter.record_data["rows"]) for letter in self.letters)


@dataclass(frozen=True)
class Replayed:
    """What a replay did to the quarantined rows of a source, or would do. Of `rows`, those that are `still_bad` are in the quarantine.

    Rows that are neither that nor inserted, updated or deleted changed nothing: the table has the same or newer ones. In a dry run `rows`
    is what the letters say, and a row with several reasons counts for each. Without an `error` it was, or can be, done.
    """

    source: str | None
    table: str
    letters: tuple[str, ...]
    rows: int
    dry_run: bool = True
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    still_bad: int = 0
    skipped: int = 0
    run_id: str | None = None
    error: str | None = None


class StillBad(Refused):
    """Nothing has changed: each of the rows is bad for the same reasons as before."""


def waiting(store: Store, chosen: Filter, ids: Sequence[Id] | None = None, limit: int | None = None) -> list[DeadLetter]:
    """The letters that stand for rows and wait, or those with these ids, oldest first. Raises NotFound, Invalid or Conflict."""
    with store.read() as tx:
        if ids is None:
            return letters.of_rows(tx, chosen, f"{WORKER} %", limit or MOST_LETTERS)
        found = list({letter.id: letter for letter in (letters.get(tx, each) for each in ids)}.values())
    for letter in found:
        if letter.is_settled:
            raise Conflict(f"dead letter {letter.id} is already {letter.status}: its rows were dealt with")
        if not letter.stands_for_rows:
            raise Invalid(
                f"dead letter {letter.id} holds a record, not quarantined rows of a load: give it to a function of yours with "
                f"ledger.dead_letters.replay(callback), or settle it with `lakeledger dlq resolve {letter.id}`"
            )
    return found


def batches(found: Sequence[DeadLetter]) -> list[Batch]:
    """The letters by source and table, of each so many at a time."""
    groups: dict[tuple[str | None, str], list[DeadLetter]] = {}
    for letter in found:
        groups.setdefault((letter.record_data.get("source"), letter.quarantine_table or ""), []).append(letter)
    return [
        Batch(source, _table_of(where), tuple(of_source[start : start + LETTERS_AT_ONCE]))
        for (source, where), of_source in groups.items()
        for start in range(0, len(of_source), LETTERS_AT_ONCE)
    ]


def replay_write(into: Write, name: str) -> Write:
    """The write of a load as its quarantined rows are replayed by it: an old row never replaces a newer one. Raises Invalid."""
    if into.mode in ("overwrite", "overwrite_partitions", "sync"):
        raise Invalid(
            f"{name} replaces rows of {into.table} ({into.mode}), and a replay would leave it only the quarantined ones: "
            f"run {name} again, which reads them again, and settle the letters with `lakeledger dlq resolve`"
        )
    if into.mode == "merge" and into.changes and into.changes.sequence_by is None:
        # Nobody can tell which of two rows with one key is newer: the one that is there stays.
        return replace(into, mode="insert_only", load="replay")
    return replace(into, load="replay")


def worker_of(run_id: str) -> str:
    """In whose name a replay holds letters."""
    return f"{WORKER} {run_id}"


@contextmanager
def held(store: Store, chosen: Sequence[DeadLetter], run_id: str, failures: Failures) -> Iterator[list[DeadLetter]]:
    """Those of the letters that nobody else holds, held for as long as the block takes. What is not settled then waits again."""
    claim = Claim(worker_of(run_id), HOLD_SECONDS)
    with store.write() as tx:
        for letter in (letters.get(tx, each.id) for each in chosen):
            if letter.status == LetterStatus.PROCESSING and (letter.claimed_by or "").startswith(f"{WORKER} "):
                letters.release(tx, letter.id, letter.claimed_by or "")
        mine = letters.claim_these(tx, claim, Filter(), [letter.id for letter in chosen])
    try:
        with Keeper(store, claim, failures):
            yield mine
    finally:
        with store.write() as tx:
            for letter in mine:
                if letters.held(tx, letter.id, claim.worker):
                    letters.release(tx, letter.id, claim.worker)


def replay(
    context: Context,
    batch: Batch,
    into: Write,
    limit: bad_rows.Limit,
    read: Callable[[DataFrame], DataFrame],
    fence: Fence,
) -> Replayed:
    """Replay the rows that the letters of a batch stand for, all of which are held. `read` makes rows of the load of quarantined ones.

    If others write the tables meanwhile, it is planned again. Raises as `load`; then nothing of it is visible.
    """

    def once() -> Replayed:
        with translating():
            return _replay_once(context, batch, into, limit, read, fence)

    made = Replayed(batch.source, str(batch.table), tuple(letter.id for letter in batch.letters), 0, dry_run=False, run_id=fence.run_id)
    try:
        done = replanned(once)
    except StillBad as error:
        return replace(made, rows=batch.rows, still_bad=batch.rows, error=str(error))
    return replace(done, letters=made.letters, run_id=made.run_id)


def _replay_once(
    context: Context, batch: Batch, into: Write, limit: bad_rows.Limit, read: Callable[[DataFrame], DataFrame], fence: Fence
) -> Replayed:
    made = Replayed(batch.source, str(batch.table), (), 0, dry_run=False)
    worker, ending = worker_of(fence.run_id), f"run {fence.run_id} replayed them"
    found = (
        find(context, batch.quarantine, lambda: _condition(batch), _runs(batch))
        if context.ledger.tables.find(str(batch.quarantine))
        else None
    )
    if found is None or not found.count:
        persist(context, [], fence, [], [], [Settled(batch.letters, worker, f"{ending}: none were left")])
        return made
    seen: dict[str, int] = {}
    watched = bad_rows.watched(context, into, bad_rows.Limit(required=limit.required, rules=limit.rules), fence.run_id)
    spec = replace(
        watched,
        look=lambda frame: _look(watched, frame),
        judge=lambda saved: _judge(watched, saved, batch, found, worker, seen),
        takes=lambda: _taken(context, found, fence),
        effects=(*watched.effects, Settled(batch.letters, worker, ending)),
        summary={**watched.summary, **({"source": batch.source} if batch.source else {}), "replayed": found.count},
    )
    committed = write(context, read(found.rows()), spec, fence)
    done = committed.counters
    return replace(made, rows=found.count, inserted=done.inserted, updated=done.updated, deleted=done.deleted, still_bad=seen["bad"])


def _condition(batch: Batch) -> Column:
    """Which quarantined rows the letters stand for."""
    from pyspark.sql import functions as F

    wanted = sorted({f"{letter.record_data['run_id']}/{letter.record_data['reason']}" for letter in batch.letters})
    return F.exists(REASONS, lambda reason: F.concat(F.col(RUN_ID), F.lit("/"), reason).isin(*wanted))


def _runs(batch: Batch) -> str:
    """The same as far as the bounds of files tell."""
    runs = sorted({str(letter.record_data["run_id"]).replace("'", "") for letter in batch.letters})
    return f"{RUN_ID} in ('" + "', '".join(runs) + "')"


def _look(watched: Write, frame: DataFrame) -> Look:
    from pyspark.sql import functions as F

    look = watched.look(frame) if watched.look else Look()
    if not look.asides or BEFORE not in frame.columns:
        return look
    reasons = look.asides[0].columns[REASONS]
    changed = F.count_if(~F.array_sort(reasons).eqNullSafe(F.array_sort(F.col(BEFORE))))
    return replace(look, measures={**look.measures, _CHANGED: changed})


def _judge(watched: Write, saved: Saved, batch: Batch, found: Found, worker: str, seen: dict[str, int]) -> Sequence[Effect]:
    """The letters of what is still bad. Raises StillBad if nothing has changed."""
    measured = saved.measured
    bad, rows = (int(measured.get(name) or 0) for name in (bad_rows.BAD, bad_rows.ALL))
    seen["bad"] = bad
    is_same = not measured[_CHANGED] if _CHANGED in measured else bad == rows
    if bad and is_same:
        told = f"all {found.count:,} rows" if found.count > 1 else "the row"
        raise StillBad(
            f"{told} of {batch.quarantine} would be set aside again for the same reasons: change the source's schema or rules, "
            f"or have the rows corrected where they come from and discard the letters",
            [FailedAgain(batch.letters, worker)],
        )
    return watched.judge(saved) if watched.judge else ()


def _taken(context: Context, found: Found, fence: Fence) -> Change:
    """The quarantine without the rows; what is left of the files that they were in is written again."""
    saved = Saved([])
    if found.split:
        frame, shape = found.rest()
        storage = context.storage(found.target.location)
        folder = f"{DATA}/{fence.run_id}/{clock.new_id()[-12:]}"
        saved = save(context, frame, shape, found.target.layout, {}, storage, folder, placed=True)
    return found.without(saved, summary={"replayed": found.count})


@dataclass(frozen=True)
class Settled:
    """An effect: the letters are resolved. Raises Conflict if somebody else has taken one of them."""

    letters: tuple[DeadLetter, ...]
    worker: str
    note: str

    def write(self, tx: Transaction, committed: Commit) -> None:  # noqa: ARG002 - they are held for this commit
        ending = drafts.settlement(LetterStatus.RESOLVED, "replayed", self.worker, self.note)
        for letter in self.letters:
            letters.settle(tx, letters.held_letter(tx, letter.id, self.worker), ending)


@dataclass(frozen=True)
class FailedAgain:
    """An effect: the rows of the letters are as bad as they were."""

    letters: tuple[DeadLetter, ...]
    worker: str

    def write(self, tx: Transaction, committed: Commit) -> None:  # noqa: ARG002 - they are held for this commit
        for letter in self.letters:
            as_before = Failure(letter.error_message or "", ErrorType(letter.error_type))
            letters.fail_again(tx, letters.held_letter(tx, letter.id, self.worker), as_before)


def failed(batch: Batch, error: LakeledgerError, run_id: str | None = None) -> Replayed:
    """A replay that could not be done, and why."""
    told = " ".join(str(error).split())
    ids = tuple(letter.id for letter in batch.letters)
    return Replayed(batch.source, str(batch.table), ids, batch.rows, dry_run=False, run_id=run_id, error=told)


def _table_of(where: str) -> TableName:
    return parse_name(where.removesuffix(quarantine.SUFFIX))
