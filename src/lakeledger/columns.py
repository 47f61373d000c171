"""The columns of tables: added, renamed and dropped, each as one commit that touches no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from lakeledger import clock
from lakeledger.commit import Commit, Effect, commit
from lakeledger.db import Store, Transaction
from lakeledger.errors import NotFound
from lakeledger.names import TableName, parse_name
from lakeledger.publishing import Publisher
from lakeledger.runs import ActiveRun, ActiveStep, Fence
from lakeledger.runs import store as run_store
from lakeledger.tables import Change, Committed, alter, store
from lakeledger.tables.change import find_batch

Holder = ActiveRun | ActiveStep


@dataclass(frozen=True)
class Columns:
    """The columns of one tenant's tables. Every earlier version reads as it was."""

    _store: Store
    _warehouse: Callable[[], str]
    _right: Callable[[TableName, Holder | None], AbstractContextManager[Fence]]
    _publisher: Publisher

    def add(self, table: str, name: str, type: str, *, run: Holder | None = None) -> Committed:
        """Add a column: NULL in the rows that are there. Raises NotFound, Conflict if it is there already, or Invalid."""
        return self._alter(table, alter.add(name, type), run)

    def rename(self, table: str, name: str, to: str, *, run: Holder | None = None) -> Committed:
        """Give a column another name. Raises NotFound, Conflict if that is taken, or Invalid."""
        return self._alter(table, alter.rename(name, to), run)

    def drop(self, table: str, name: str, *, run: Holder | None = None) -> Committed:
        """Take a column away. What it holds stays in earlier versions, and never comes back under its name. Raises NotFound or Invalid."""
        return self._alter(table, alter.drop(name), run)

    def _alter(self, table: str, alteration: alter.Alteration, run: Holder | None) -> Committed:
        name, batch_id = parse_name(table), f"alter:{clock.new_id()}"

        def plan(tx: Transaction) -> Change:
            found = store.get(tx, name)
            known = store.metadata(tx, found)
            if known is None:
                raise NotFound(f"{name} has no columns yet")
            return alter.altered(found, known, alteration, batch_id)

        def work(changes: Sequence[Change], effects: Sequence[Effect]) -> Commit:
            def once(tx: Transaction, again: bool) -> Commit:
                found = store.get(tx, name)
                if again and (done := find_batch(tx, found, "alter", batch_id)):
                    return Commit(run_store.get(tx, fence.run_id), fence, (Committed(found, done, applied=True),))
                planned = replace(plan(tx), snapshot_id=changes[0].snapshot_id)
                return commit(tx, fence, [planned], effects=effects)

            return self._store.persist(once)

        with self._store.read() as tx:
            first, mode = plan(tx), self._publisher.mode(tx, store.get(tx, name))  # no run for a table that is not there
        with self._right(name, run) as fence:
            made = self._publisher.commit(work, [first], [], fence.run_id, mode)
            return made.tables[0].placed(self._warehouse())
