"""A session of our own beside the user's: the same Spark and settings, except those that a table must not depend on.

Settings belong to a session, so neither a read nor a write can bring its own; and the user's session is not ours to change.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakeledger import clock
from lakeledger.errors import Failed
from lakeledger.pipelines.remote import answers, is_remote, limit_patience
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
# What a declared load computes, with no row left out and none read as another.
VALUE_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
# One file is read by one task and becomes one file again, so that what was near each other stays so.
WHOLE_FILES_CONF = {
    "spark.sql.files.maxPartitionBytes": str(1 << 30),
    "spark.sql.files.openCostInBytes": str(1 << 30),
    "spark.sql.unionOutputPartitioning": "false",
}
# Spark looks at many files with a job of 10,000 tasks: far more than it takes, and each costs more than the look.
LIST_CONF = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "64"}
# On a disk even a small job costs more than the look.
LIST_DISK_CONF = {"spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000"}
# Where any other value than Spark's default changes values, types or which rows there are, so that a load takes the default.
DEFAULTED = (
    "spark.sql.legacy.",
    # What files hold.
    "spark.sql.columnNameOfCorruptRecord",
    "spark.sql.csv.",
    "spark.sql.files.ignore",
    "spark.sql.files.supportSecondOffsetFormat",
    "spark.sql.json.",
    "spark.sql.parquet.binaryAsString",
    "spark.sql.parquet.enable",  # its other reader takes 4294967295 for -1 and a decimal's bytes for a text
    "spark.sql.parquet.fieldId.read.",
    "spark.sql.parquet.ignoreVariantAnnotation",
    "spark.sql.parquet.inferTimestampNTZ.",
    "spark.sql.parquet.int96",
    "spark.sql.parquet.mergeSchema",
    "spark.sql.parquet.reader.",
    "spark.sql.parquet.respectSummaryFiles",
    "spark.sql.sources.partitionColumnTypeInference.",
    "spark.sql.sources.validatePartitionColumns",
    "spark.sql.timestampType",
    # What a query means.
    "spark.sql.ansi.",
    "spark.sql.charAsVarchar",
    "spark.sql.chunkBase64String.",
    "spark.sql.decimalOperations.",
    "spark.sql.function.",
    "spark.sql.groupBy",
    "spark.sql.icu.",
    "spark.sql.jsonGenerator.",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.orderBy",
    "spark.sql.parser.",
    "spark.sql.preserveCharVarcharTypeInfo",
    "spark.sql.readSideCharPadding",
    "spark.sql.variable.substitute",
    "spark.sql.variant.allowDuplicateKeys",
)


@dataclass(frozen=True)
class _Conf:
    """Settings that a session must have, and those, by the beginnings of their names, that it must leave as Spark has them."""

    fixed: Mapping[str, str]
    defaulted: tuple[str, ...] = ()

    def beside(self, given: Mapping[str, str]) -> dict[str, str]:
        """The settings of a session of ours beside one with the given ones."""
        return {name: value for name, value in given.items() if not name.startswith(self.defaulted)} | {**self.fixed}

    def holds_on(self, session: SparkSession) -> bool:
        if not self.defaulted and not is_remote(session):  # A classic session is asked faster for a few than for all.
            return all(str(session.conf.get(name)).lower() == value.lower() for name, value in self.fixed.items())
        now = session.conf.getAll
        if now.keys() - self.beside(now).keys():
            return False
        # One request for all that is set; what is not, only Spark knows.
        unset = {name: str(session.conf.get(name)) for name in (FILE_CONF | VALUE_CONF).keys() & self.fixed.keys() - now.keys()}
        effective = now | unset
        return all(effective.get(name, "").lower() == value.lower() for name, value in self.fixed.items())


class Sessions:
    """Sessions that loads and writes can rely on. `configured` are the ledger's own settings, which loads follow."""

    def __init__(self, configured: Mapping[str, str]) -> None:
        chosen = {name: value for name, value in configured.items() if name in VALUE_CONF or name.startswith(DEFAULTED)}
        self._loading = _Beside(_Conf(VALUE_CONF | chosen | FILE_CONF, DEFAULTED))
        # With nothing defaulted: a frame means what it means on the session that it was made on.
        self._writing = _Beside(_Conf(FILE_CONF))
        self._merging = _Beside(_Conf(FILE_CONF | WHOLE_FILES_CONF))

    def to_load(self, given: SparkSession) -> SparkSession:
        """The session to compute a declared load on: the given one, if it computes and writes as it should, else one like it."""
        return given if self._loading.conf.holds_on(given) else self._loading.like(given)

    def to_write(self, given: SparkSession, schema: Schema) -> SparkSession:
        """The session to write a frame of the given one from: the same one, if its files are as they should be, else one like it."""
        # Spark's default for timestamps is not ours. Most sessions differ in nothing else, and most frames have none.
        needed = {name: value for name, value in FILE_CONF.items() if name != TIMESTAMPS or '"timestamp"' in json.dumps(schema)}
        return given if _Conf(needed).holds_on(given) else self._writing.like(given)

    def to_merge(self, given: SparkSession) -> SparkSession:
        """The session to rewrite files from: one beside the given one, whose tasks read one file each."""
        return self._merging.like(given)

    def beside(self, given: SparkSession) -> list[SparkSession]:
        """The sessions that were opened beside the given one."""
        return [made for each in (self._loading, self._writing, self._merging) if (made := each.find(given))]

    def new(self, given: SparkSession) -> SparkSession:
        """A session for one piece of work alone, to load and to write."""
        return _make(given, self._loading.conf)[0]


@contextmanager
def listing_quickly(session: SparkSession, *, on_disk: bool) -> Iterator[None]:
    """Let a session that is not ours look at many files quickly inside the block. One of Spark Connect looks only when it computes."""
    if is_remote(session):
        yield
        return
    wanted = LIST_DISK_CONF if on_disk else LIST_CONF
    with _listing:
        before = {name: session.conf.get(name, None) for name in wanted}
        try:
            for name, value in wanted.items():
                session.conf.set(name, value)
            yield
        finally:
            for name, given in before.items():
                session.conf.unset(name) if given is None else session.conf.set(name, given)


_listing = threading.Lock()


class _Beside:
    """One session beside each that was given, with its settings and ours."""

    def __init__(self, conf: _Conf) -> None:
        self.conf = conf
        self._lock = threading.Lock()
        # With the settings that it had when they were last copied.
        self._made: weakref.WeakKeyDictionary[SparkSession, tuple[SparkSession, dict[str, str]]] = weakref.WeakKeyDictionary()

    def like(self, given: SparkSession) -> SparkSession:
        with self._lock:
            made, copied = self._made.get(given) or _make(given, self.conf)
            if (wanted := self.conf.beside(given.conf.getAll)) != copied:
                _copy(copied, wanted, made)
            self._made[given] = made, wanted
        if is_remote(given):
            for tag in given.getTags():  # those of this thread's work, by which it is stopped
                made.addTag(tag)
        return made

    def find(self, given: SparkSession) -> SparkSession | None:
        with self._lock:
            return self._made.get(given, (None,))[0]


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
        if answers(home):
            home.catalog.dropGlobalTempView(name)


def _make(given: SparkSession, conf: _Conf) -> tuple[SparkSession, dict[str, str]]:
    """A new session with the settings that the given one has now, and ours. Raises Failed where Spark does not allow one."""
    from pyspark.errors import PySparkException

    now = given.conf.getAll
    wanted = conf.beside(now)
    try:
        made = _clone(given) if is_remote(given) else given.newSession()
        _copy(made.conf.getAll, wanted, made)
    except (AttributeError, PySparkException) as error:
        needed = ", ".join(
            [f"set {name}={value}" for name, value in conf.fixed.items()] + [f"unset {name}" for name in now if name not in wanted]
        )
        reason = str(error).partition("\n")[0]
        raise Failed(f"the Spark session has other settings, and no session can be opened beside it: {needed} ({reason})") from error
    return made, wanted


def _clone(given: SparkSession) -> SparkSession:
    """A second session on a Spark Connect server."""
    made: Any = given.cloneSession()  # type: ignore[attr-defined]  # only Connect can
    limit_patience(made)
    # Its connection must be closed while Python is still alive: what is left at the very end waits for ever.
    weakref.finalize(made, made.client.close)
    session: SparkSession = made
    return session


def _copy(before: Mapping[str, str], wanted: Mapping[str, str], session: SparkSession) -> None:
    """Bring a session from the settings before to those that are wanted."""
    for name in before.keys() - wanted.keys():
        if session.conf.isModifiable(name):
            session.conf.unset(name)
    for name, value in wanted.items():
        if before.get(name) != value and session.conf.isModifiable(name):
            session.conf.set(name, value)
