"""What many are killed at: each works on a ledger of its own up to a point of its own, and one SIGKILL ends them all (`child.py`)."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lakeledger
from empty_ledgers import new_sqlite_url
from integration import children
from lakeledger import Ledger, Settings
from lakeledger.config import MirrorSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Case:
    """A ledger with a document beside it, and the point at which whoever does something with that is killed."""

    url: str
    tenant: str
    warehouse: str
    metadata: str
    document: str
    point: str

    @property
    def path(self) -> Path:
        return Path(self.document)

    def open(self, spark: SparkSession) -> Ledger:
        settings = Settings(self.url, self.warehouse, self.tenant, metadata=self.metadata, mirror=MirrorSettings(enabled=False))
        return lakeledger.open(settings, spark=spark)


def cases(url: str, folder: Path, metadata: str, points: Sequence[str]) -> list[Case]:
    """One for each point, in a folder of its own. SQLite has one writer at a time, so that each has a database of its own there."""
    made = []
    for point in points:
        own = folder / point
        own.mkdir()
        place = new_sqlite_url(own) if url.startswith("sqlite") else url
        made.append(Case(place, point, str(own / "warehouse"), metadata, str(own / "shop.yml"), point))
    return made


def kill(log: Path, do: str, known: Sequence[Any]) -> None:
    """Have another process do that with each of them, and die when all are at their points, and its JVM with it."""
    child = children.start(log, do, json.dumps([asdict(case) for case in known]))
    assert child.wait() == -signal.SIGKILL, child.errors


def of_each(known: Sequence[Case], spark: SparkSession, do: Callable[[Case, Ledger], Any]) -> list[Any]:
    """Do something with the ledger of each; what goes wrong says with which."""
    done = []
    for case in known:
        try:
            with case.open(spark) as ledger:
                done.append(do(case, ledger))
        except BaseException as error:
            error.add_note(f"killed at {case.point}")
            raise
    return done
