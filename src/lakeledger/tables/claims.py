"""Which files writers are just rewriting, so that a compaction leaves them alone: a writer goes first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from lakeledger import clock
from lakeledger.db import Transaction
from lakeledger.errors import Conflict
from lakeledger.names import TableName
from lakeledger.tables import store
from lakeledger.tables.model import Table
from lakeledger.tables.store import sql

# More files than that are claimed as the whole table: nobody wants to compare so many.
MOST_PATHS = 10_000


def claim(tx: Transaction, table: Table, run_id: str, paths: Collection[str]) -> bool:
    """Claim files for a run that rewrites them, until `release` or the end of the run. False if some are gone.

    Then the run, which has to plan again, has claimed the whole table: no compaction is faster a second time.
    """
    row = tx.one(sql.count_live, table_id=table.table_id, paths=sorted(paths)) or {}
    are_there = int(row["files"]) == len(paths)
    named = sorted(paths) if are_there and len(paths) <= MOST_PATHS else []
    tx.execute(sql.remove_claims, table_id=table.table_id, run_id=run_id)
    tx.execute(sql.add_claim, claim_id=clock.new_id(), table_id=table.table_id, run_id=run_id, paths=named)
    return are_there


def release(tx: Transaction, table: Table, run_id: str) -> None:
    """The run has rewritten what it claimed, or does not any more."""
    tx.execute(sql.remove_claims, table_id=table.table_id, run_id=run_id)


def holders(tx: Transaction, table: Table, paths: Iterable[str], besides: str | None = None) -> Mapping[str, str]:
    """Of these files those that runs under way have claimed, with the run; but not those of one run `besides`."""
    wanted, found = set(paths), dict[str, str]()
    for row in tx.all(sql.claims, table_id=table.table_id):
        run_id: str = row["run_id"]
        if run_id != besides:
            found.update(dict.fromkeys(wanted.intersection(row["paths"]) if row["paths"] else wanted, run_id))
    return found


def check_unclaimed(tx: Transaction, name: TableName, paths: Iterable[str], besides: str | None = None) -> None:
    """Raise Conflict if somebody is just rewriting one of these files. Claims of runs that are over are forgotten."""
    if (table := store.find(tx, name)) is None:
        return
    tx.execute(sql.remove_dead_claims, table_id=table.table_id)
    if held := holders(tx, table, paths, besides):
        raise Conflict(f"run {min(held.values())} is just rewriting files of {name}, and goes first", retryable=True)
