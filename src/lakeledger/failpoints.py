"""Named points in commits, deliveries and maintenance at which a test may stop the world. Off, they cost one look at an empty dict."""

from __future__ import annotations

from collections.abc import Callable

BEFORE_WRITE = "before_write"
MID_WRITE = "mid_write"
AFTER_WRITE = "after_write"
AFTER_STAGE = "after_stage"  # other engines' metadata is written, and nobody points at it
IN_TRANSACTION = "in_transaction"
AFTER_COMMIT = "after_commit"

BEFORE_HINT = "before_hint"  # other engines see the commit, and the hint beside the metadata still names the one before

ALL = (BEFORE_WRITE, MID_WRITE, AFTER_WRITE, AFTER_STAGE, IN_TRANSACTION, AFTER_COMMIT)

IN_LEASE = "in_lease"  # a process is about to lead
AFTER_LEASE = "after_lease"
BEFORE_EVENT = "before_event"
AFTER_EVENT = "after_event"  # `on_event` has returned, and nothing is written of it
AFTER_REFRESH = "after_refresh"
IN_PARKING = "in_parking"  # events that were given up are written as dead letters, and nothing is committed
IN_SAVE = "in_save"
AFTER_SAVE = "after_save"  # the cursor is committed

DELIVERY = (IN_LEASE, AFTER_LEASE, BEFORE_EVENT, AFTER_EVENT, AFTER_REFRESH, IN_PARKING, IN_SAVE, AFTER_SAVE)

EXPIRED = "expired"
STAGED = "staged"
MARKED = "marked"
REMOVED = "removed"

MAINTENANCE = (EXPIRED, STAGED, MARKED, REMOVED)

RESERVED = "reserved"  # it is noted which version the next entry of a Delta log will be, and nothing is written
LOGGED = "logged"  # the entry is written, and nothing notes it
CHECKPOINTED = "checkpointed"

DELTA = (RESERVED, LOGGED, IN_TRANSACTION, AFTER_COMMIT, CHECKPOINTED)

RECORD_FILES = "record_files"  # records are written as files, and not in the log
RECORD_CHUNK = "record_chunk"  # a part of many records is kept
COMPACTED_FILE = "compacted_file"  # records are in a Parquet file that nobody knows
COMPACTED_KNOWN = "compacted_known"  # the Parquet file is known, and the records are where they were, too

RECORDS = (RECORD_FILES, RECORD_CHUNK, COMPACTED_FILE, COMPACTED_KNOWN)

BUS_TAKEN = "bus_taken"  # records are taken from a bus, and not stored
BUS_STORED = "bus_stored"  # they are stored, and nobody was told
BUS_HANDLED = "bus_handled"  # a subscriber has handled records, and its place is not noted

BUS = (BUS_TAKEN, BUS_STORED, BUS_HANDLED)

armed: dict[str, Callable[[str], None]] = {}


def reach(name: str, detail: str = "") -> None:
    """Say that the code got here. `detail` tells the test where it is, for example the folder being written."""
    if armed and (action := armed.get(name)):
        action(detail)
