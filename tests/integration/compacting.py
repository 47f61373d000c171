"""Compactions that wait for nothing, shared by the tests of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakeledger import Ledger
from lakeledger.config import CompactionSettings
from lakeledger.maintenance.compaction import Compacted, Compaction


def eager(ledger: Ledger, **settings: Any) -> Compaction:
    """A compaction for which two files are many, and no partition is hot."""
    return replace(ledger.compaction, _settings=CompactionSettings(**{"min_files": 2, "quiet_seconds": 0, **settings}))


def compact(ledger: Ledger, table: str, **settings: Any) -> Compacted:
    """Compact a table now. Nothing may keep it from that."""
    (done,) = eager(ledger, **settings).compact([table], apply=True)
    assert done.problem is None, done.problem
    return done
