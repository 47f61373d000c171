"""How far each source was read: typed places, moved in the same commit as the data they describe."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

from lakeledger.codec import Id
from lakeledger.db import Store, Transaction
from lakeledger.db.cache import Cache
from lakeledger.db.pages import Page
from lakeledger.errors import Conflict, Fenced
from lakeledger.redaction import scrub
from lakeledger.runs import Fence, Transition
from lakeledger.runs import store as run_store
from lakeledger.sync.kinds import PositionLike, as_position
from lakeledger.sync.model import Advance, Marker, MarkerChange, Source, SourceFile, parse_source
from lakeledger.sync.positions import rewind, store
from lakeledger.sync.positions.rewind import Rewind, Target

__all__ = ["Positions", "Rewind", "Target"]


class Positions:
    """The positions of one tenant's sources. A source is named `shop`, `shop.orders`, or given as a `Source` with its marker type."""

    def __init__(self, ledger_store: Store, actor: str) -> None:
        self._store = ledger_store
        self._actor = actor
        self._cache = Cache(ledger_store.database)

    def get(self, source: str | Source) -> Marker:
        """Where a source stands. Raises NotFound."""
        if marker := self.find(source):
            return marker
        with self._store.read() as tx:
            return store.get(tx, _source(source))

    def find(self, source: str | Source) -> Marker | None:
        """Where a source stands, or None if it was never read. Remembered for as long as nobody commits anything."""
        found = self._cache.get(source, lambda: self._read(_source(source)))
        return replace(found, position_data=deepcopy(found.position_data)) if found else None

    def history(self, source: str | Source, limit: int | None = None, after: str | None = None) -> Page[MarkerChange]:
        """Every value a source's position had, newest first: all, or a page at a time. Raises NotFound."""
        with self._store.read() as tx:
            return store.history(tx, _source(source), limit, after)

    def files(self, source: str | Source, limit: int | None = None, after: str | None = None) -> Page[SourceFile]:
        """The files of a source that have been read, the last name first: all, or a page at a time. Raises NotFound."""
        with self._store.read() as tx:
            return store.last_files(tx, store.get(tx, _source(source)), limit, after)

    def advance(
        self,
        source: str | Source,
        to: PositionLike,
        expected_version: int | None = None,
        *,
        force: bool = False,
        reason: str | None = None,
        run_id: Id | None = None,
    ) -> Marker:
        """Move a position by itself, without data, in the name of an open run or of nobody. Raises Conflict, or Fenced if the run ended."""
        move = Advance(_source(source), as_position(to), expected_version, force, reason)
        with self._store.write() as tx:
            return store.advance(tx, move, self._actor, None if run_id is None else _living(tx, run_id, move))

    def preview_rewind(self, source: str | Source, target: Target) -> Rewind:
        """What going back to that version, time or place would read again. Raises NotFound or Invalid."""
        with self._store.read() as tx:
            return rewind.preview(tx, _source(source), target)

    def rewind(self, plan: Rewind, reason: str | None = None) -> Marker:
        """Go back as previewed; who did it and why is kept. Where rows would be appended twice, it needs a reason.

        Raises Conflict if the source moved since, and Invalid without a reason where one is needed.
        """
        move = rewind.move_back(plan, reason)
        with self._store.write() as tx:
            return rewind.apply(tx, plan, move, self._actor)

    def remove(self, source: str | Source, expected_version: int | None = None, *, reason: str | None = None) -> Marker:
        """Forget where a source stands, for one that is no longer read; what it was is given back, and who removed it and why is kept.

        Versions of tables that it pinned may expire then. Raises NotFound, or Conflict if it is not at that version.
        """
        why = scrub(reason) if reason else None
        with self._store.write() as tx:
            marker = store.get(tx, _source(source))
            if expected_version not in (None, marker.version):
                raise Conflict(
                    f"{marker.source.name} stands at version {marker.version}, not at {expected_version}: look at it again first"
                )
            store.remove(tx, marker, why, self._actor)
        return marker

    def removals(self, source: str | Source) -> Sequence[Transition]:
        """When, why and by whom positions of a source were removed, the oldest first."""
        with self._store.read() as tx:
            return store.removals(tx, _source(source))

    def list(self, limit: int | None = None, after: str | None = None) -> Page[Marker]:
        """Every source's position, by name: all, or a page at a time."""
        with self._store.read() as tx:
            return store.list_page(tx, limit, after)

    def _read(self, source: Source) -> Marker | None:
        with self._store.read() as tx:
            return store.find(tx, source)


def _source(source: str | Source) -> Source:
    return parse_source(source) if isinstance(source, str) else source


def _living(tx: Transaction, run_id: Id, move: Advance) -> str:
    """The whole id of a run that may still act. Raises NotFound or Fenced."""
    run = run_store.get(tx, run_id)
    try:
        return run_store.check_fence(tx, Fence(run.id, run.lease_token)).id
    except Fenced as error:
        raise Fenced(f"the position of {move.source.name} was not moved: {error}") from error
