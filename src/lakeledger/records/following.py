"""A repository elsewhere follows the ledger: what commits wrote is copied to it before it is read, in the order of the log, once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Protocol

from lakeledger.db import Store
from lakeledger.records import MetadataRepository
from lakeledger.records.store import head

PAGE = 1_000


class Follower(MetadataRepository, Protocol):
    """A repository that remembers up to where it has copied a ledger."""

    def copied(self) -> int: ...
    def note_copied(self, sequence: int) -> None: ...


@dataclass
class Following:
    """Copies the ledger's own records to a repository. A crash in between copies some again, which are then known."""

    _store: Store
    _ledger: MetadataRepository
    _follower: Follower
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _place: int | None = None

    def catch_up(self) -> None:
        """Copy what is new. One look at an index if nothing is."""
        with self._lock:
            place = self._follower.copied() if self._place is None else self._place
            with self._store.read() as tx:
                last = head(tx)
            while place < last and (records := self._ledger.log(place, PAGE)):
                self._follower.bulk_store(records)
                place = records[-1].sequence or place
                self._follower.note_copied(place)
            self._place = max(place, last)
