"""What a source's database answers while a load is planned: its columns, and single rows. The port, and the way through Spark.

PostgreSQL is asked directly (`asking_postgres.py`), so that planning starts no Spark. Any other database is asked through Spark's JDBC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lakeledger.errors import Invalid, LakeledgerError, NotInstalled, Unavailable
from lakeledger.pipelines.sources.dialects import Dialect
from lakeledger.redaction import MASK
from lakeledger.sync.kinds.watermark import DATE, DECIMAL, INTEGER, TEXT, TIMESTAMP, TIMESTAMP_NTZ

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType

_NO_DRIVER = re.compile(r"ClassNotFoundException\)?:?\s+\S*[Dd]river|No suitable driver")
_AWAY = re.compile(
    r"Connection (?:to \S+ )?refused|connection attempt failed|UnknownHost|Communications link failure|SocketTimeout|Connection timed out"
    r"|terminating connection|An I/O error occurred while sending|database system is (?:starting up|shutting down|in recovery)"
    r"|TCP/IP connection to the host|The Network Adapter could not|Connection reset",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Column:
    """A column as the database has it. `expression` reads it, with `{}` for the column; `cast` is the type that Spark makes of the text.

    `order` is how its values are ordered as a watermark; None if they have no order that we know. `refused` says why it cannot be read.
    """

    name: str
    type: str
    nullable: bool = True
    order: str | None = None
    expression: str = "{}"
    cast: str | None = None
    refused: str | None = None


class Asks(Protocol):
    """A database that answers questions. Each block is one look at it."""

    def columns(self, rows: str) -> list[Column]:
        """The columns of a table, or of a query in parentheses. Raises Invalid if it is not there."""
        ...

    def one(self, query: str) -> tuple[str | None, ...]:
        """The only row of a query whose columns are texts; () if there is none."""
        ...

    def estimate(self, query: str) -> int | None:
        """How many rows a query has, roughly; None if nobody knows."""
        ...

    def wait_for_writers(self, table: str, seconds: float) -> None:
        """Return when whoever was writing to the table has ended. Raises Unavailable if that takes longer."""
        ...


Open = Callable[[], AbstractContextManager[Asks]]


@dataclass(frozen=True)
class SparkAsks:
    """A database that is asked through Spark."""

    spark: SparkSession
    dialect: Dialect
    url: str
    properties: Mapping[str, str]
    types: Mapping[str, str]

    def columns(self, rows: str) -> list[Column]:
        frame = self._read(f"(select * from {rows} inside where 1 = 0) lakeledger")
        found = [Column(each.name, each.dataType.simpleString(), each.nullable, order_of(each.dataType)) for each in frame.schema]
        return [_declared(column, self.types) for column in found]

    def one(self, query: str) -> tuple[str | None, ...]:
        rows = self._read(f"({query}) lakeledger").collect()
        return tuple(None if value is None else str(value) for value in rows[0]) if rows else ()

    def estimate(self, query: str) -> int | None:  # noqa: ARG002 - each database has its own way, if any
        return None

    def wait_for_writers(self, table: str, seconds: float) -> None:
        """Nobody can tell who writes: late rows need a lookback."""

    def _read(self, rows: str) -> Any:
        return self.spark.read.jdbc(self.url, rows, properties={**self.properties})


def order_of(type_: DataType) -> str | None:
    """How the values of a column of Spark's type are ordered as a watermark."""
    name = type_.typeName().partition("(")[0]
    return {
        "timestamp": TIMESTAMP,
        "timestamp_ntz": TIMESTAMP_NTZ,
        "date": DATE,
        **dict.fromkeys(("byte", "short", "integer", "long"), INTEGER),
        "decimal": DECIMAL,
        "string": TEXT,
    }.get(name)


def _declared(column: Column, types: Mapping[str, str]) -> Column:
    wanted = next((type_ for name, type_ in types.items() if name.casefold() == column.name.casefold()), None)
    return column if wanted is None else Column(column.name, column.type, column.nullable, column.order, cast=wanted)


@contextmanager
def reading_from(address: str, dialect: Dialect, secrets: list[str]) -> Iterator[None]:
    """Raise ours for what Spark and its driver raise inside the block about the database, without the secrets."""
    try:
        yield
    except LakeledgerError:
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j", "grpc"):
            raise
        if found := failure(str(error), address, dialect):
            raise found from (None if any(secret in str(error) for secret in secrets) else error)
        raise


def failure(text: str, address: str, dialect: Dialect) -> LakeledgerError | None:
    """What Spark or the driver says of a database as ours; None if it is about something else."""
    if _NO_DRIVER.search(text):
        if dialect.jars:
            how = f'run `lakeledger jars fetch {dialect.jars}` once, and set jars = ["{dialect.jars}"] under [spark]'
        else:
            how = "name its JAR in spark.jars or spark.jars.packages under [spark.conf]"
        return NotInstalled(f"Spark has no driver {dialect.driver} for {address}: {how}; a session of your own needs it in spark.jars")
    if _AWAY.search(text):
        return Unavailable(f"{address} does not answer: see that it runs and can be reached from where Spark runs, then run it again")
    if denied := re.search(r"password authentication failed for user \S+|Access denied for user|Login failed for user|ORA-01017", text):
        return Invalid(f"{address} refuses the user or the password ({denied[0]}): check the references of user and password")
    return None


def without(text: str, secrets: list[str]) -> str:
    """A text without these values."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text
