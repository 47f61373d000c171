"""A table or a query of another database as a source, read by Spark's JDBC: whole, or what is new by a watermark.

Filter, column list and watermark are part of the query that the database answers. PostgreSQL is asked for what planning needs without
Spark; MySQL, SQL Server and Oracle are asked through Spark, and need their driver's JAR in `spark.jars`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.errors import Invalid
from lakeledger.pipelines import references
from lakeledger.pipelines.effects import Volume
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.sources import Reading, Seen, asking_postgres, dialects, watermark
from lakeledger.pipelines.sources.asking import Asks, Column, SparkAsks, reading_from
from lakeledger.pipelines.sources.partitioned import Split, choose_count, predicates
from lakeledger.pipelines.sources.watermark import Found, Planned, Slice, Watermark
from lakeledger.sync import Advance
from lakeledger.sync import Source as SourceName
from lakeledger.sync.kinds.watermark import INTEGER, to_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ALIAS = "lakeledger"
_DECIMAL = re.compile(r"\s*decimal\s*\(\s*\d+\s*(?:,\s*(\d+)\s*)?\)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class JdbcConfig:
    """Which rows of which database. `user`, `password` and `url` may refer to the environment: `${env:NAME}`; a URL holds no password.

    Either a `table` or a `query`; `columns` is what is read of it, `filter` a SQL condition that the database checks, `types` the types on
    Spark of columns that have none of their own. With a `watermark` a load brings what is new, else everything. `partition_column`, a
    number, splits a read into several: as many as `partitions` says, or as the estimate of rows suggests. `late_rows` says whether to
    wait for whoever is writing to the table, up to `wait_seconds`, before its maximum is believed.
    """

    url: str
    table: str | None = None
    query: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    columns: tuple[str, ...] = ()
    filter: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    watermark: Watermark | None = None
    partition_column: str | None = None
    partitions: int | None = None
    fetch_size: int = 10_000
    late_rows: Literal["wait", "ignore"] = "wait"
    wait_seconds: float = 30.0
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if (self.table is None) == (self.query is None):
            raise Invalid("a JDBC source reads either a table or a query: give one of them")
        if self.partitions is not None and (self.partitions < 1 or (self.partitions > 1 and self.partition_column is None)):
            raise Invalid(f"partitions = {self.partitions} needs a partition_column, a number such as the primary key")
        if self.fetch_size < 1:
            raise Invalid(f"fetch_size is the number of rows that come at a time, not {self.fetch_size}")
        dialects.check_url(self.url)
        if not references.REFERENCE.match(self.url):
            dialects.find(self.url)


@dataclass(frozen=True)
class Plan:
    """What is to be read: the query, by columns, and how it is split."""

    select: str
    columns: Sequence[Column]
    predicates: list[str] = field(default_factory=list)
    one_instant: bool = False


@dataclass(frozen=True)
class JdbcSource:
    """A table or a query of another database. `start_spark` is needed to plan for databases other than PostgreSQL."""

    name: SourceName
    config: JdbcConfig
    start_spark: Callable[[], SparkSession] | None = None

    def plan(self, seen: Seen) -> Reading | None:
        with self.asking() as asks:
            columns = self._columns(asks)
            if self.config.watermark is None:
                return self._full(asks, columns, seen)
            return self._incremental(asks, columns, self.config.watermark, seen)

    def _full(self, asks: Asks, columns: list[Column], seen: Seen) -> Reading:
        split = self._split(asks, columns, self._where(None, ()))
        plan = replace(self._plan(columns, None, (), split), one_instant=len(split.bounds) > 0)
        detail = {"rows_estimated": split.rows, "partitions": len(plan.predicates) or 1}
        return Reading(
            frame=lambda spark: self._frame(spark, plan),
            summary={"source": self.name.name},
            detail=detail,
            volume=Volume(filter=self.config.filter),
            wanted=replace(seen.wanted, window=None),
            repeats="it is read whole each time",
        )

    def _incremental(self, asks: Asks, columns: list[Column], mark_by: Watermark, seen: Seen) -> Reading | None:
        by = self._marking(columns, mark_by)
        types = tuple(column.order or "" for column in by)
        is_fresh, mark = seen.wanted.full_refresh, None
        if not is_fresh:
            seen.check_first_run()
            mark = watermark.to_mark(self.name.name, mark_by, types, seen.marker.position) if seen.marker else None
        if seen.wanted.window:
            planned: Planned | None = watermark.plan_window(mark_by, types, seen.wanted.window, mark)
        else:
            planned = watermark.plan(mark_by, types, mark, self._found(asks, by, types, mark_by))
        if planned is None:
            return None
        if planned.mark and self.config.table and self.config.late_rows == "wait" and mark_by.lookback is None:
            asks.wait_for_writers(self.rows, self.config.wait_seconds)
        split = self._split(asks, columns, self._where(planned.slice, by))
        return self._reading(planned, self._plan(columns, planned.slice, by, split), split, seen, types)

    def _reading(self, planned: Planned, plan: Plan, split: Split, seen: Seen, types: tuple[str, ...]) -> Reading:
        is_all, is_window = seen.wanted.full_refresh, seen.wanted.window is not None
        to = watermark.to_position(self._watermark, types, planned.mark) if planned.mark else None
        version = seen.marker.version if seen.marker else 0
        low, high = planned.slice.written(planned.slice.low), planned.slice.written(planned.slice.high)
        detail: dict[str, Any] = {"rows_estimated": split.rows, "partitions": len(plan.predicates) or 1}
        if is_window:
            detail["window"] = {"from": low, "to": high}
        else:
            detail["position"] = {"before": seen.marker.position_data if seen.marker else None, "after": to.document() if to else None}
        if planned.skipped:
            detail["rows_without_watermark"] = planned.skipped
        return Reading(
            frame=lambda spark: self._frame(spark, plan),
            # The same slice may be read again after a rewind: what tells the two apart is where the source stood.
            batch_id=None if is_all else codec.digest(["jdbc", self.name.name, self._shape, low, high, "window" if is_window else version]),
            # After a full refresh the table is what the source is, even if that has gone back.
            move=Advance(self.name, to, version, force=is_all and version > 0, reason="full refresh" if is_all else None) if to else None,
            summary={"source": self.name.name},
            detail=detail,
            volume=Volume(_plain(low), _plain(high), self.config.filter),
            is_slice=not is_all,
            wanted=seen.wanted,
            repeats=planned.repeats,
        )

    # What is asked

    @contextmanager
    def asking(self) -> Iterator[Asks]:
        """The database, to be asked. Raises Invalid, Forbidden, NotInstalled or Unavailable."""
        if self.postgres:
            with self.postgres.asking() as asks:
                yield asks
            return
        if self.start_spark is None:
            raise Invalid(f"{self.dialect.name} is asked through Spark: give JdbcSource(…, start_spark=lambda: ledger.spark)")
        with reading_from(self._address, self.dialect, self._secrets):
            yield SparkAsks(self.start_spark(), self.dialect, self._url, self._properties, self.config.types)

    def _columns(self, asks: Asks) -> list[Column]:
        there = asks.columns(self.rows)
        names = [column.name for column in there]
        for name in (*self.config.columns, *self.config.types):
            if not any(dialects.same(name, each) for each in names):
                raise Invalid(f"{self._what} has no column {name!r}: it has {', '.join(names)}{suggest(name, names)}")
        wanted = [column for column in there if not self.config.columns or any(map(column_is(column), self.config.columns))]
        if refused := [column for column in wanted if column.refused]:
            raise Invalid(f"column {refused[0].name} of {self._what} {refused[0].refused}")
        return [*wanted, *(replace(column, expression="") for column in there if column not in wanted)]

    def _marking(self, columns: Sequence[Column], mark_by: Watermark) -> list[Column]:
        """The columns of the watermark. Raises Invalid if one is not there, or has no order."""
        found = []
        for name in mark_by.columns:
            column = next((each for each in columns if dialects.same(each.name, name)), None)
            if column is None:
                names = [each.name for each in columns]
                raise Invalid(f"{self._what} has no column {name!r} to be its watermark: it has {', '.join(names)}{suggest(name, names)}")
            if column.order is None:
                raise Invalid(
                    f"{name} of {self._what} is {column.type}, which cannot be a watermark: use a time, a date, a number or a text"
                )
            found.append(column)
        return found

    def _found(self, asks: Asks, by: Sequence[Column], types: tuple[str, ...], mark_by: Watermark) -> Found:
        """The greatest watermark that there is, and how many rows have none."""
        dialect, rows = self.dialect, f"{self.rows} {ALIAS}"
        present = [f"{self._column(column)} is not null" for column in by]
        texts = ", ".join(
            f"{dialect.text(type_, self._column(column))} as mark_{index}"
            for index, (column, type_) in enumerate(zip(by, types, strict=True))
        )
        order = ", ".join(f"{dialect.ordered(type_, self._column(column))} desc" for column, type_ in zip(by, types, strict=True))
        top = asks.one(f"select {texts} from {rows} where {self._and(present)} order by {order} {dialect.one_row}")
        highest = tuple(_finite(column.name, type_, text) for column, type_, text in zip(by, types, top, strict=True)) if top else None
        missing = [f"{self._column(column)} is null" for column in by if column.nullable]
        # Those that are read with the first load only need not be counted.
        if not missing or mark_by.nulls == "include":
            return Found(highest)
        (count,) = asks.one(f"select {dialect.text(INTEGER, 'count(*)')} as missing from {rows} where {self._and([' or '.join(missing)])}")
        return Found(highest, int(count or 0))

    def _split(self, asks: Asks, columns: Sequence[Column], where: str) -> Split:
        """How the read is split: by the bounds of the partition column, into as many parts as the rows suggest."""
        rows = asks.estimate(f"select 1 from {self.rows} {ALIAS}{where}")
        count = self.config.partitions or choose_count(rows, self.config.fetch_size)
        if self.config.partition_column is None or count == 1:
            return Split(rows)
        (column,) = self._marking(columns, Watermark((self.config.partition_column,)))
        if column.order != INTEGER or not column.expression:
            why = f"partition_column {column.name} of {self._what} is {column.type}"
            raise Invalid(f"{why}: give a whole number that is read, such as the primary key")
        name, text = self._column(column), self.dialect.text
        ends = asks.one(
            f"select {text(INTEGER, f'min({name})')} as low, {text(INTEGER, f'max({name})')} as high from {self.rows} {ALIAS}{where}"
        )
        if not ends or ends[0] is None or ends[1] is None:
            return Split(rows)
        return Split.between(int(ends[0]), int(ends[1]), count, rows, column.name)

    # What is read

    def _plan(self, columns: Sequence[Column], slice_: Slice | None, by: Sequence[Column], split: Split) -> Plan:
        read = [column for column in columns if column.expression]
        names = [f"{column.expression.format(self._column(column))} as {self.dialect.quote(column.name)}" for column in read]
        select = f"select {', '.join(names)} from {self.rows} {ALIAS}{self._where(slice_, by)}"
        return Plan(select, read, predicates(split, self.dialect.quote))

    def _where(self, slice_: Slice | None, by: Sequence[Column]) -> str:
        conditions = []
        if slice_:
            types, dialect = slice_.types, self.dialect
            rendered = watermark.render(
                slice_,
                lambda index: dialect.ordered(types[index], self._column(by[index])),
                lambda index, value: dialect.literal(types[index], value),
            )
            conditions = [rendered] if rendered else []
        whole = self._and(conditions)
        return f" where {whole}" if whole else ""

    def _and(self, conditions: Sequence[str]) -> str:
        given = [self.config.filter] if self.config.filter else []
        return " and ".join(f"({each})" for each in (*given, *conditions))

    @contextmanager
    def _frame(self, spark: SparkSession, plan: Plan) -> Iterator[DataFrame]:
        with reading_from(self._address, self.dialect, self._secrets), self._instant(plan) as properties:
            rows = f"({plan.select}) {ALIAS}"
            split = {"predicates": plan.predicates} if plan.predicates else {}
            yield _cast(spark.read.jdbc(self._url, rows, properties=properties, **split), plan.columns)

    @contextmanager
    def _instant(self, plan: Plan) -> Iterator[dict[str, str]]:
        """The properties of the read, with which every part of it sees one state of the database, if that has a way."""
        shared: AbstractContextManager[str | None] = self.postgres.snapshot() if plan.one_instant and self.postgres else nullcontext()
        with shared as name:
            first = f"set transaction isolation level repeatable read, read only; set transaction snapshot '{name}'"
            yield {**self._properties, **({"sessionInitStatement": first} if name else {})}

    # What it is

    @property
    def dialect(self) -> dialects.Dialect:
        """How the database writes SQL."""
        return dialects.find(references.replace(self.config.url, {}))

    @property
    def _watermark(self) -> Watermark:
        if self.config.watermark is None:
            raise Invalid(f"{self.name.name} has no watermark")
        return self.config.watermark

    @property
    def rows(self) -> str:
        """The table or the query as SQL reads from it."""
        if self.config.query is not None:
            return f"({self.config.query.strip().rstrip(';')})"
        return ".".join(self.dialect.quote(part) for part in dialects.split_name(self.config.table or ""))

    @property
    def _what(self) -> str:
        return self.config.table or f"the query of {self.name.name}"

    @property
    def _shape(self) -> list[Any]:
        """What makes the rows other rows: not where the database is, nor who asks."""
        config = self.config
        return [config.table, config.query, list(config.columns), config.filter, dict(config.types), list(self._watermark.columns)]

    @property
    def _secrets(self) -> list[str]:
        texts = (self.config.password, *self.config.options.values())
        found = [secret for text in texts if text for secret in (references.secrets_in(text) or [])]
        return [*found, *([self.config.password] if self.config.password and not found else [])]

    @property
    def postgres(self) -> asking_postgres.Postgres | None:
        """The database, if it is PostgreSQL, which is asked without Spark."""
        if self.dialect is not dialects.POSTGRESQL:
            return None
        _, found = asking_postgres.parse_url(references.replace(self.config.url, {}))
        given = {"user": self.config.user, "password": self.config.password}
        found |= {name: references.replace(value, {}) for name, value in given.items() if value}
        return asking_postgres.Postgres(self._address, found, self.config.types, tuple(self._secrets))

    @property
    def _url(self) -> str:
        url = references.replace(self.config.url, {})
        if self.dialect is dialects.POSTGRESQL:
            return asking_postgres.parse_url(url)[0]
        return url if url.startswith("jdbc:") else f"jdbc:{url}"

    @property
    def _address(self) -> str:
        """Where the database is, for people."""
        return self._url.removeprefix("jdbc:").partition("?")[0].partition(";")[0]

    @property
    def _properties(self) -> dict[str, str]:
        config, user = self.config, self.config.user
        if user is None and self.postgres:
            user = self.postgres.parameters.get("user")
        given = {"user": user, "password": config.password, **config.options}
        known = {name: references.replace(value, {}) for name, value in given.items() if value}
        # Fetched in portions, so that no result has to fit into memory; a time without a zone stays as it is written.
        return {"driver": self.dialect.driver, "fetchsize": str(config.fetch_size), "preferTimestampNTZ": "true", **known}

    def _column(self, column: Column) -> str:
        return f"{ALIAS}.{self.dialect.quote(column.name)}"


def column_is(column: Column) -> Callable[[str], bool]:
    """Whether a name means that column."""
    return lambda name: dialects.same(name, column.name)


def _finite(column: str, type_: str, text: str | None) -> Any:
    if text is None or text in ("infinity", "-infinity", "NaN"):
        raise Invalid(f"the greatest {column} is {text}, after which nothing is ever new: leave such rows out with a filter")
    return to_value(type_, text)


def _plain(values: list[Any] | None) -> Any:
    return values[0] if values and len(values) == 1 else values


def _cast(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """The frame with the declared types. Digits that a decimal has no room for are an error, not rounded away."""
    from pyspark.sql import functions as F

    casts = {}
    for column in columns:
        if column.cast is None:
            continue
        value = F.col(quote(column.name))
        casts[column.name] = made = value.cast(column.cast)
        if decimal := _DECIMAL.fullmatch(column.cast):
            surplus = F.length(F.rtrim(F.regexp_extract(value, r"\.(\d+)$", 1), F.lit("0"))) > int(decimal[1] or 0)
            told = F.concat(F.lit(f"{column.name} has more decimals than {column.cast}: "), value)
            casts[column.name] = F.when(surplus, F.raise_error(told).cast(column.cast)).otherwise(made)
    return frame.withColumns(casts) if casts else frame
