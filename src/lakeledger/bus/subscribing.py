"""Subscribers of the log of records: each gets every record, in order, and goes on where it was, also after its process was killed.

How far each got is a position of the ledger, `metadata.events.<name>`, moved when what it was given has been handled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakeledger import failpoints
from lakeledger.background import Failures
from lakeledger.bus import Bus, Delivery, Handle, topic
from lakeledger.db import Store
from lakeledger.errors import Conflict, Invalid
from lakeledger.records.model import MetadataRecord
from lakeledger.redaction import scrub
from lakeledger.sync import NumberPosition, Positions, Source
from lakeledger.sync.dead_letters import DeadLetters, ItemKind, NewLetter

if TYPE_CHECKING:
    from lakeledger.records.slice import Records

STREAM = "metadata.events"
PAGE = 500
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, LOOK_SECONDS = 0.2, 30.0, 1.0


@dataclass(frozen=True)
class BusDelivery:
    """Brings records of one tenant to subscribers, and from Kafka to their repository."""

    _store: Store
    _records: Callable[[], Records]
    _positions: Callable[[], Positions]
    _letters: Callable[[], DeadLetters]
    _failures: Callable[[], Failures]

    def subscribe(self, name: str, handle: Handle, stop: threading.Event, *, once: bool = False, start: int | None = None) -> int:
        """Give every record of the log to `handle`, in pages, until told to stop, or `once` up to what is there; how many.

        It begins at `start`, by default with what comes from now on, and then where it was. What `handle` raises is reported, and the page
        is given again, with back-off; with `once` it is raised. A page that was handled when the process was killed comes again.
        """
        source, records = Source(STREAM, name), self._records()
        place, pause, given = self._place(source, start), FIRST_PAUSE_SECONDS, 0
        while not stop.is_set():
            mark = self._store.database.mark()
            page = records.log(place, PAGE)
            if not page:
                if once:
                    break
                self._store.rest(LOOK_SECONDS, mark, stop)
                continue
            try:
                handle(page)
                self._failures().clear(name)
            except Exception as error:  # the outermost loop of a subscriber
                if once:
                    raise
                self._failures().report(name, f"subscriber {name} could not take records behind {place}: {scrub(str(error))}", error)
                stop.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
                continue
            failpoints.reach(failpoints.BUS_HANDLED)
            place, pause, given = page[-1].sequence or place, FIRST_PAUSE_SECONDS, given + len(page)
            self._note(source, place)
        return given

    def send(self, url: str, stop: threading.Event, *, once: bool = False, start: int | None = 0) -> int:
        """Kafka as a subscriber: send every record of the log to a topic, from the beginning unless `start` says otherwise; how many."""
        out: Bus = topic(url, self._records().bus_options)
        try:
            return self.subscribe(f"kafka {url.removeprefix('kafka://').partition('?')[0]}", out.publish, stop, once=once, start=start)
        finally:
            out.close()

    def receive(self, url: str, stop: threading.Event, *, once: bool = False) -> int:
        """Kafka as a source: store what others published to a topic, each record once; how many came.

        What is no record is a dead letter, and so is what the policy refuses.
        """
        into: Delivery = topic(url, self._records().bus_options)
        return into.deliver(self._keep, self._set_aside, stop, once=once)

    def _keep(self, found: Sequence[MetadataRecord]) -> None:
        """Store a batch; if the policy refuses one of it, the others, and that as a dead letter: a stream cannot wait for it."""
        records = self._records()
        try:
            records.bulk_store(found)
        except Invalid:
            for each in found:
                try:
                    records.bulk_store([each])
                except Invalid as error:
                    records.set_aside(each, str(error))

    def _set_aside(self, body: bytes, why: str) -> None:
        text = scrub(body[:10_000].decode(errors="replace"))
        self._letters().add(
            NewLetter(
                "records",
                "unreadable",
                "insert",
                {"message": text},
                error_message=why,
                error_type="validation",
                item_kind=ItemKind.METADATA,
            )
        )

    def _place(self, source: Source, start: int | None) -> int:
        marker = self._positions().find(source)
        if marker is not None:
            return int(marker.position_data["value"])
        place = self._records().head() if start is None else start
        self._note(source, place)
        return place

    def _note(self, source: Source, place: int) -> None:
        with suppress(Conflict):  # Somebody else under the same name is further.
            self._positions().advance(source, NumberPosition(place))
