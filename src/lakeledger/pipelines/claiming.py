"""Files that a write is about to rewrite are claimed, so that no compaction takes them away while Spark is at work."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from lakeledger.commit import Commit
from lakeledger.db import Transaction
from lakeledger.errors import Conflict, LakeledgerError
from lakeledger.pipelines import Context
from lakeledger.runs import Fence
from lakeledger.tables import Table, claims


@dataclass(frozen=True)
class Released:
    """An effect: what a run had claimed of a table is rewritten."""

    table: Table

    def write(self, tx: Transaction, committed: Commit) -> None:
        claims.release(tx, self.table, committed.run.id)


@contextmanager
def claimed(context: Context, fence: Fence, table: Table | None, paths: Collection[str]) -> Iterator[list[Released]]:
    """Claim files of a table within the block, which gives the effects that release them with its commit.

    Raises Conflict (retryable) if they are gone already, before any of the work is done.
    """
    if table is None or not paths:
        yield []
        return
    if not context.store.persist(lambda tx, _: claims.claim(tx, table, fence.run_id, paths)):
        raise Conflict(f"files of {table.name} were written again while their rows were compared: retry", retryable=True)
    try:
        yield [Released(table)]
    except BaseException:
        # If the ledger is away, the claim ends with the run.
        with suppress(LakeledgerError), context.store.write() as tx:
            claims.release(tx, table, fence.run_id)
        raise
