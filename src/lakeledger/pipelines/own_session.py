"""A session of our own beside the user's: the same Spark and settings, except those that a table must not depend on.

Settings belong to a session, so neither a read nor a write can bring its own; and the user's session is not ours to change.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lakeledger import clock
from lakeledger.errors import Failed
from lakeledger.tables.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
# What files hold: times as every engine reads them, with bounds in the footer, and old dates as they are.
FILE_CONF = {
    TIMESTAMPS: "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
# What a declared load computes.
VALUE_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
}


class Sessions:
    """Sessions that loads and writes can rely on. `configured` are the ledger's own settings, which loads follow."""

    def __init__(self, configured: Mapping[str, str]) -> None:
        values = VALUE_CONF | {name: value for name, value in configured.items() if name in VALUE_CONF}
        self._loading = _Beside(values | FILE_CONF)
        self._writing = _Beside(FILE_CONF)

    def to_load(self, given: SparkSession) -> SparkSession:
        """The session to compute a declared load on: the given one, if it computes and writes as it should, else one like it."""
        return given if _has(given, self._loading.conf) else self._loading.like(given)

    def to_write(self, given: SparkSession, schema: Schema) -> SparkSession:
        """The session to write a frame of the given one from: the same one, if its files are as they should be, else one like it."""
        # Spark's default for timestamps is not ours. Most sessions differ in nothing else, and most frames have none.
        needed = {name: value for name, value in FILE_CONF.items() if name != TIMESTAMPS or '"timestamp"' in json.dumps(schema)}
        return given if _has(given, needed) else self._writing.like(given)

    def new(self, given: SparkSession) -> SparkSession:
        """A session for one piece of work alone, to load and to write."""
        return _make(given, self._loading.conf)[0]


class _Beside:
    """One session beside each that was given, with its settings and ours."""

    def __init__(self, conf: Mapping[str, str]) -> None:
        self.conf = conf
        self._lock = threading.Lock()
        # With the settings that the given one had when they were last copied.
        self._made: weakref.WeakKeyDictionary[SparkSession, tuple[SparkSession, dict[str, str]]] = weakref.WeakKeyDictionary()

    def like(self, given: SparkSession) -> SparkSession:
        with self._lock:
            made, copied = self._made.get(given) or _make(given, self.conf)
            if (now := given.conf.getAll) != copied:
                _copy(copied, now, made, self.conf)
            self._made[given] = made, now
            return made


@contextmanager
def moved(frame: DataFrame, session: SparkSession) -> Iterator[DataFrame]:
    """The frame, analysed where it was made, as a frame of another session of the same Spark, for as long as the block."""
    from pyspark.sql import functions as F

    home = frame.sparkSession
    if home is session:
        yield frame
        return
    name = f"lakeledger_{clock.new_id().replace('-', '')}"
    # With a filter that keeps every row: to drop the view of the very frame would also drop what the user cached of it.
    frame.where(F.lit(True)).createGlobalTempView(name)
    try:
        yield session.table(f"{home.conf.get('spark.sql.globalTempDatabase', 'global_temp')}.{name}")
    finally:
        home.catalog.dropGlobalTempView(name)


def _has(session: SparkSession, conf: Mapping[str, str]) -> bool:
    return all(str(session.conf.get(name)).lower() == value.lower() for name, value in conf.items())


def _make(given: SparkSession, conf: Mapping[str, str]) -> tuple[SparkSession, dict[str, str]]:
    """A new session with the settings that the given one has now, and ours. Raises Failed where Spark does not allow one."""
    from pyspark.errors import PySparkException

    from lakeledger.pipelines.session import is_remote

    try:
        now = given.conf.getAll
        made = _clone(given) if is_remote(given) else given.newSession()
        _copy(made.conf.getAll, now, made, conf)
    except (AttributeError, PySparkException) as error:
        wanted = ", ".join(f"{name}={value}" for name, value in conf.items())
        reason = str(error).partition("\n")[0]
        raise Failed(f"the Spark session has other settings, and no session can be opened beside it: set {wanted} ({reason})") from error
    return made, now


def _clone(given: SparkSession) -> SparkSession:
    """A second session on a Spark Connect server."""
    made: Any = given.cloneSession()  # type: ignore[attr-defined]  # only Connect can
    # Its connection must be closed while Python is still alive: what is left at the very end waits for ever.
    weakref.finalize(made, made.client.close)
    session: SparkSession = made
    return session


def _copy(before: Mapping[str, str], now: Mapping[str, str], session: SparkSession, conf: Mapping[str, str]) -> None:
    """Bring a session from the settings before to those of now, and ours."""
    for name in before.keys() - now.keys() - conf.keys():
        if session.conf.isModifiable(name):
            session.conf.unset(name)
    for name, value in {**now, **conf}.items():
        if (name in conf or before.get(name) != value) and session.conf.isModifiable(name):
            session.conf.set(name, value)
