"""For tests, ours and yours: stop the world at a named point of a commit, of a delivery, or of maintenance.

`kill_at("in_transaction")` in a child process: it dies there, as by kill -9. `with raise_at("after_write", Boom()):` raises there.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lakeledger import failpoints
from lakeledger.errors import Invalid

POINTS = (*failpoints.ALL, *failpoints.DELIVERY)
POLL_SECONDS = 0.002


def kill_at(point: str) -> None:
    """Have this process killed (SIGKILL) when it reaches the point, with all that it started if it leads its process group."""
    failpoints.armed[_known(point)] = _kill_when_files_appear if point == failpoints.MID_WRITE else _kill


@contextmanager
def raise_at(point: str, error: BaseException) -> Iterator[None]:
    """Raise the error whenever the point is reached inside the block."""

    def fail(_: str) -> None:
        raise error

    failpoints.armed[_known(point)] = fail
    try:
        yield
    finally:
        failpoints.armed.pop(point, None)


def _known(point: str) -> str:
    if point not in (known := (*POINTS, *failpoints.MAINTENANCE, *failpoints.DELTA)):
        raise Invalid(f"no fail-point {point!r}: there are {', '.join(known)}")
    return point


def _kill(_: str) -> None:
    # A JVM that outlives its Python by a moment would tidy up what a crash leaves: whoever leads a group of processes takes it along.
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_when_files_appear(folder: str) -> None:
    # The write is Spark's; a watcher kills the process as soon as the first bytes of it are on disk.
    def watch() -> None:
        pause = threading.Event()
        while not any(path.is_file() and path.stat().st_size for path in Path(folder).rglob("part-*")):
            pause.wait(POLL_SECONDS)
        _kill(folder)

    threading.Thread(target=watch, daemon=True).start()
