"""The queue of a process: emitters of many threads hand over records, one thread stores them in the order in which they came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue

from lakeledger import failpoints
from lakeledger.errors import Conflict
from lakeledger.records.model import MetadataRecord
from lakeledger.records.producing import Emitted

_Handed = tuple[Sequence[MetadataRecord], "Future[Emitted]"]


class QueueBus:
    """Stores what is published, and acknowledges it then: a process that is killed loses only what nobody was told is kept."""

    def __init__(self, store: Callable[[Sequence[MetadataRecord]], Emitted]) -> None:
        self._store = store
        self._waiting: SimpleQueue[_Handed | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None
        self._is_closed = False

    def publish(self, records: Sequence[MetadataRecord]) -> Emitted:
        """What became of them, once they are stored. Raises what storing raises, or Conflict if the bus is closed."""
        answer: Future[Emitted] = Future()
        with self._lock:
            if self._is_closed:
                raise Conflict("the bus is closed: its ledger was")
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="record-bus", daemon=True)
                self._worker.start()
            self._waiting.put((records, answer))
        return answer.result()

    def close(self) -> None:
        """Store what waits, and end."""
        with self._lock:
            self._is_closed, worker = True, self._worker
        if worker:
            self._waiting.put(None)
            worker.join()

    def _work(self) -> None:
        while handed := self._waiting.get():
            records, answer = handed
            try:
                failpoints.reach(failpoints.BUS_TAKEN)
                done = self._store(records)
                failpoints.reach(failpoints.BUS_STORED)
                answer.set_result(done)
            except BaseException as error:  # noqa: BLE001 - it is the emitter's, whose call raises it
                answer.set_exception(error)
