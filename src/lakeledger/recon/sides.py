"""The two sides of a reconciliation as what they are asked by: SQL, in PostgreSQL where the rows are there, else on Spark.

A side sees one state of its rows from beginning to end: one transaction of PostgreSQL, one version of a ledger table.
"""

# ruff: noqa: S608 - SQL of quoted names and of expressions of our own
from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lakeledger import clock, codec
from lakeledger.errors import Invalid
from lakeledger.names import TableName, parse_name
from lakeledger.pipelines import Context, sql_task
from lakeledger.pipelines.read import read
from lakeledger.pipelines.remote import is_remote
from lakeledger.pipelines.sources import Seen, Source
from lakeledger.pipelines.translating import translating
from lakeledger.recon import record_hash
from lakeledger.recon.canonical import Column
from lakeledger.recon.columns import of_postgres, of_spark
from lakeledger.recon.file_hash import Asked, TableFiles, TimedOut
from lakeledger.recon.postgres_sql import PostgresSql
from lakeledger.recon.spark_sql import SparkSql
from lakeledger.tables import View, store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakeledger.pipelines.sources.asking_postgres import Postgres, PostgresAsks
    from lakeledger.pipelines.sources.jdbc import JdbcSource

Role = Literal["source", "target"]
# How rows become numbers: by hashes of PostgreSQL, by those of Spark, or, which costs several times as much, by what all engines have.
How = Literal["postgres", "spark", "md5"]
# Since then it has hashes with seeds.
HASHES_SINCE = 110_000
# The more rows of a batch, the less each costs.
BATCH_CONF = {"spark.sql.execution.arrow.maxRecordsPerBatch": "100000"}
_log = logging.getLogger(__name__)
# How many runs that made a table are named with a result.
MOST_RUNS = 20
# The halves of PostgreSQL's hash of 'a' with the seed 1.
_OF_A = (774218978, 3037215811)
# How often what took too long is cancelled until it is over.
CANCEL_SECONDS = 0.1


@dataclass(frozen=True)
class About:
    """What a side is: for people, to be told from the other, and which ledger table with which runs it is."""

    document: dict[str, Any]
    identity: str
    table: TableName | None = None
    run_ids: tuple[str, ...] = ()
    rows: int | None = None
    files: TableFiles | None = None


class Side(Protocol):
    """One side while it is open."""

    @property
    def about(self) -> About: ...
    @property
    def sql(self) -> PostgresSql | SparkSql:
        """What writes the SQL that it understands."""
        ...

    @property
    def relation(self) -> str:
        """Its rows, as SQL selects from them."""
        ...

    def columns(self) -> list[Column]:
        """Its columns. Raises Invalid if it is not there."""
        ...

    def all(self, query: str, timeout_seconds: float | None = None) -> list[tuple[Any, ...]]:
        """Every row of an answer. Raises TimedOut."""
        ...

    def estimate(self) -> int:
        """How many rows it has, roughly."""
        ...

    def hashes(self, how: How, asked: Asked) -> bool:
        """Whether it can digest rows so for a question."""
        ...


@dataclass(frozen=True)
class PostgresSide:
    """A table or a query of PostgreSQL, which computes what it is asked for itself."""

    about: About
    sql: PostgresSql
    relation: str
    _wanted: tuple[str, ...]
    _database: Postgres
    _asks: PostgresAsks
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def columns(self) -> list[Column]:
        with self._lock, self._database.translated():
            found = [of_postgres(each) for each in self._asks.columns(self.relation.removesuffix(" lakeledger"))]
        wanted = {codec.fold(name) for name in self._wanted}
        return [each for each in found if not wanted or codec.fold(each.name) in wanted]

    def all(self, query: str, timeout_seconds: float | None = None) -> list[tuple[Any, ...]]:
        import psycopg

        connection = self._asks.connection
        with self._lock, self._database.translated():
            try:
                with connection.transaction():  # a savepoint: what is cancelled leaves the others their state
                    connection.execute(f"set local statement_timeout = {round((timeout_seconds or 0) * 1000)}")
                    return list(connection.execute(query.encode()).fetchall())
            except psycopg.errors.QueryCanceled:
                if timeout_seconds is None:
                    raise
                raise TimedOut(f"{self._database.address} took longer than {timeout_seconds:g} s, and was cancelled") from None

    def hashes(self, how: How, asked: Asked) -> bool:  # noqa: ARG002 - the same for all
        version = self._asks.connection.info.server_version
        return how == "md5" or (how == "postgres" and self.sql.is_utf8 and version >= HASHES_SINCE)

    def estimate(self) -> int:
        with self._lock, self._database.translated():
            return self._asks.estimate(f"select 1 from {self.relation}") or 0


@dataclass(frozen=True)
class SparkSide:
    """A frame on Spark, on a session of its own."""

    about: About
    sql: SparkSql
    relation: str
    _frame: DataFrame
    _session: SparkSession
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def columns(self) -> list[Column]:
        return [of_spark(each) for each in self._frame.schema]

    def all(self, query: str, timeout_seconds: float | None = None) -> list[tuple[Any, ...]]:
        with self._lock, translating(), self._within(timeout_seconds):
            return [tuple(row) for row in self._session.sql(query).collect()]

    def hashes(self, how: How, asked: Asked) -> bool:
        """PostgreSQL's hashes come from the files of a table, or from workers."""
        return how != "postgres" or self.files(asked) is not None or self._workers_hash

    def files(self, asked: Asked) -> TableFiles | None:
        """The files of a table, if they alone answer a question."""
        found = self.about.files
        return found if found and found.can_sum(self.sql.role, asked) else None

    @cached_property
    def _workers_hash(self) -> bool:
        """Whether Spark's workers have what they need: that is tried."""
        try:
            return [tuple(row) for row in self._hashed("select 1L as part, 'a' as c0").collect()] == [(1, 1, *_OF_A)]
        except Exception as error:  # noqa: BLE001 - if Spark is gone, the next question says so
            _log.info("rows are digested by md5, because Spark's workers cannot do it otherwise: %s", error)
            return False

    def hash_sums(self, query: str, timeout_seconds: float | None = None) -> list[tuple[Any, ...]]:
        """For each part, the first column of a query, how many rows it has and what their hashes add up to. Raises TimedOut."""
        with self._lock, translating(), self._within(timeout_seconds):
            return [tuple(row) for row in self._hashed(query).collect()]

    def _hashed(self, query: str) -> DataFrame:
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(record_hash)  # type: ignore[no-untyped-call]  # it has no types
        frame = self._session.sql(query)
        part = frame.schema[0].dataType.simpleString()
        made = frame.mapInArrow(record_hash.sums, f"part {part}, number bigint, high bigint, low bigint")
        return (
            made.groupBy("part").agg({"number": "sum", "high": "sum", "low": "sum"}).select("part", "sum(number)", "sum(high)", "sum(low)")
        )

    def estimate(self) -> int:
        if self.about.rows is not None:
            return self.about.rows
        ((count,),) = self.all(f"select count(*) from {self.relation}")
        return int(count)

    @contextmanager
    def _within(self, seconds: float | None) -> Iterator[None]:
        """Cancel what Spark does for this side once the time is over."""
        if seconds is None:
            yield
            return
        watch = _Watch(self._session, seconds)
        try:
            with watch:
                yield
        except Exception:
            if watch.is_over:
                raise TimedOut(f"Spark took longer than {seconds:g} s, and was cancelled") from None
            raise
        if watch.is_over:
            raise TimedOut(f"Spark took longer than {seconds:g} s")


class _Watch:
    """Cancels what a session does after a while; again and again, because it may not have begun by then."""

    def __init__(self, session: SparkSession, seconds: float) -> None:
        self._session, self._seconds = session, seconds
        self._tag = f"lakeledger-{clock.new_id()}"
        self._over, self._done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._watch, name="recon-timeout", daemon=True)

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def __enter__(self) -> None:
        if is_remote(self._session):
            self._session.addTag(self._tag)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        if is_remote(self._session):
            self._session.removeTag(self._tag)

    def _watch(self) -> None:
        if self._done.wait(self._seconds):
            return
        self._over.set()
        while not self._done.wait(CANCEL_SECONDS):
            self._session.interruptTag(self._tag) if is_remote(self._session) else self._session.interruptAll()


def both_hash(sides: tuple[Side, Side], asked: Asked) -> How:
    """How both sides digest rows for a question: as the quickest of what both can."""
    hows: tuple[How, ...] = ("spark", "postgres")
    return next((how for how in hows if all(side.hashes(how, asked) for side in sides)), "md5")


@contextmanager
def open_side(context: Context, role: Role, declared: Any) -> Iterator[Side]:
    """One side, for as long as the block lasts. Raises Invalid, NotFound, Forbidden or Unavailable."""
    from lakeledger.recon.documents import SideConfig

    if declared is None:
        raise Invalid(f"no {role} is given, and nothing was compared: declare `{role}`")
    config = declared if isinstance(declared, SideConfig) else SideConfig.of(declared)
    with ExitStack() as stack:
        if config.jdbc is not None:
            source = config.jdbc_source(context, role)
            if source.postgres:
                yield _postgres(stack, role, source, source.postgres)
                return
        session = context.sessions.new(context.spark)
        with translating():
            about, frame = _framed(stack, context, role, config, session)
            for key, value in BATCH_CONF.items():
                session.conf.set(key, value)
            name = f"recon_{clock.new_id()[-12:]}"
            frame.createOrReplaceTempView(name)
        stack.callback(session.catalog.dropTempView, name)
        yield SparkSide(about, SparkSql(role), name, frame, session)


def _postgres(stack: ExitStack, role: Role, source: JdbcSource, database: Postgres) -> PostgresSide:
    asks = stack.enter_context(database.asking())
    asks.connection.execute("set local timezone = 'UTC'; set local jit = off; set local idle_in_transaction_session_timeout = 0")
    ((encoding,),) = asks.all("show server_encoding")
    config = source.config
    rows = f"(select * from {source.rows} lakeledger where ({config.filter}))" if config.filter else source.rows
    what = {"table": config.table} if config.table else {"query": config.query}
    document = {"jdbc": database.address, **what, **({"filter": config.filter} if config.filter else {})}
    about = About(document, codec.digest(["jdbc", database.address, source.rows, config.filter, list(config.columns)]))
    return PostgresSide(about, PostgresSql(role, encoding == "UTF8"), f"{rows} lakeledger", config.columns, database, asks)


def _framed(stack: ExitStack, context: Context, role: Role, config: Any, session: SparkSession) -> tuple[About, DataFrame]:
    if config.table is not None:
        view = stack.enter_context(context.ledger.pin(config.table, config.version)).placed(context.warehouse)
        return _about_table(context, view), read(session, view)
    if config.query is not None:
        query = sql_task.prepare(context, config.query, {})
        document = {"query": config.query, "tables": query.inputs}
        runs = [run for view in query.views.values() for run in _runs(context, view)]
        about = About(document, codec.digest(["query", config.query, query.inputs]), run_ids=tuple(dict.fromkeys(runs))[:MOST_RUNS])
        return about, stack.enter_context(sql_task.run(session, query, clock.new_id()[-12:]))
    source: Source = config.open_source(context, role)
    reading = source.plan(Seen(source.name, None, None, None, context.store))
    if reading is None or reading.frame is None:
        raise Invalid(f"the {role} has nothing to read: {config.document()}")
    return About(config.document(), codec.digest(config.document())), stack.enter_context(reading.frame(session))


def _about_table(context: Context, view: View) -> About:
    name = view.table.name
    document = {"table": str(name), "version": view.version}
    is_current = view.version == view.table.current_version
    identity = codec.digest(["table", view.table.table_id, view.content_version])
    runs = tuple(_runs(context, view))
    if not is_current:
        return About(document, identity, parse_name(str(name)), runs)
    files = TableFiles(view, context.storage(view.table.location), view.table.total_size)
    return About(document, identity, parse_name(str(name)), runs, view.table.row_count, files)


def _runs(context: Context, view: View) -> list[str]:
    """The runs that made a version, newest first, back to the one that replaced everything before it; at most so many."""
    found: list[str] = []
    with context.store.read() as tx:
        for each in store.history(tx, view.table, limit=MOST_RUNS):
            if each.version > view.version:
                continue
            found.append(each.run_id)
            if each.operation == "overwrite":
                break
    return list(dict.fromkeys(found))
