"""What every test can ask for: a ledger on each database, one Spark session per process, and a real PostgreSQL."""

from __future__ import annotations

import os
import uuid
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import class_archive
import examples
import jars
import lakeledger
import quick_files
from contract.outages import bounded
from empty_ledgers import PostgresLedgers, new_sqlite_url
from lakeledger import Ledger
from needs import missing
from postgres_server import MissingServer, Server, sharing, start
from spark_conf import JAVA_OPTIONS, SPARK_CONF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

examples.load()
# Commands would make the lake's own tables after their runs, of which most tests know nothing.
os.environ.setdefault("LAKELEDGER_MIRROR", "off")
# Spark's launcher gives them to each JVM that a command, a script or a server starts in a process of its own.
os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join([*JAVA_OPTIONS, *(f"-D{name}={value}" for name, value in quick_files.conf().items())]))

# What takes long is begun first, so that no test process is left alone with it at the end, and none starts another's servers again.
LONGEST = (
    "tests/integration/test_control_spark.py",
    "tests/integration/test_s3.py",
    "tests/integration/test_cluster.py",
    "tests/acceptance/test_chaos.py",
    "tests/acceptance/test_merge_crashes.py",
    "tests/acceptance/test_crashes.py",
    "tests/acceptance/test_compaction_crashes.py",
    "tests/acceptance/test_compaction.py",
    "tests/acceptance/test_watermark_crashes.py",
    "tests/acceptance/test_concurrency.py",
    "tests/integration/test_connect.py",
    "tests/acceptance/test_demo.py",
)


# What Spark does there does not depend on the database, which all contracts are kept on: each test has one of the two, by its name.
ON_EITHER = (
    "tests/acceptance/test_compaction.py",
    "tests/integration/test_aside.py",
    "tests/integration/test_bad_rows.py",
    "tests/integration/test_breaking_changes.py",
    "tests/integration/test_cdc.py",
    "tests/integration/test_change_feeds.py",
    "tests/integration/test_changed_files.py",
    "tests/integration/test_columns.py",
    "tests/integration/test_declared_sources.py",
    "tests/integration/test_drift.py",
    "tests/integration/test_every_version.py",
    "tests/integration/test_file_sources.py",
    "tests/integration/test_files.py",
    "tests/integration/test_incremental_query.py",
    "tests/integration/test_jdbc.py",
    "tests/integration/test_loading.py",
    "tests/integration/test_pipelines.py",
    "tests/integration/test_publishing.py",
    "tests/integration/test_quality.py",
    "tests/integration/test_reading.py",
    "tests/integration/test_recon.py",
    "tests/integration/test_replays.py",
    "tests/integration/test_sampling.py",
    "tests/integration/test_source_schemas.py",
    "tests/integration/test_stream_writer.py",
    "tests/integration/test_volumes.py",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not examples.LONG and not any("::" in word for word in config.args):
        elsewhere = [item for item in items if item.nodeid.startswith(ON_EITHER) and is_for_the_other(item)]
        config.hook.pytest_deselected(items=elsewhere)
        left = {id(item) for item in elsewhere}
        items[:] = [item for item in items if id(item) not in left]
    items.sort(key=lambda item: next((place for place, name in enumerate(LONGEST) if item.nodeid.startswith(name)), len(LONGEST)))


def is_for_the_other(item: pytest.Item) -> bool:
    """Whether a test with Spark, which is there for both databases, is the one for the other database."""
    if not isinstance(item, pytest.Function) or "spark" not in item.fixturenames or _names_databases(item):
        return False
    database = item.callspec.params.get("url") if hasattr(item, "callspec") else None
    name = item.nodeid.replace("sqlite", "").replace("postgres", "")
    return database == ("sqlite", "postgres")[zlib.crc32(name.encode()) % 2]


def _names_databases(item: pytest.Item) -> bool:
    """Whether the test itself says on which it runs."""
    return any("url" in str(mark.args[0]) for mark in item.iter_markers("parametrize"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A database of this test process on the PostgreSQL server that all of them share."""
    folder = tmp_path_factory.getbasetemp()
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    try:
        with sharing((folder.parent if worker else folder) / "postgres") as server:
            yield server.with_database(f"tests_{worker or 'alone'}")
    except MissingServer as error:
        missing(str(error))


@pytest.fixture(scope="session")
def fragile_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Another server, which tests may stop and start again."""
    try:
        server = start(tmp_path_factory.mktemp("fragile"), durable=True)
    except MissingServer as error:
        missing(str(error))
    yield server
    server.stop()


@pytest.fixture
def server_url(fragile_postgres: Server) -> Iterator[str]:
    """The URL of an empty ledger on that server, whose sessions wait for seconds where others wait for longer."""
    schema = f"test_{uuid.uuid4().hex[:12]}"
    yield bounded(fragile_postgres, schema, lock="30s", idle="1s")
    fragile_postgres.drop_schema(schema)


@pytest.fixture(scope="session")
def postgres_ledgers(postgres: Server) -> Iterator[PostgresLedgers]:
    """Empty ledgers in the PostgreSQL database of this test process."""
    found = PostgresLedgers(postgres)
    yield found
    found.close()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty ledger, on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        yield new_sqlite_url(tmp_path)
        return
    server: Server = request.getfixturevalue("postgres")
    ledgers: PostgresLedgers = request.getfixturevalue("postgres_ledgers")
    schema = ledgers.take()
    yield server.url(schema=schema)
    ledgers.give_back(schema)


@pytest.fixture(params=["sqlite", "postgres"])
def bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database that is no ledger yet, on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ledger.db"
        return
    server: Server = request.getfixturevalue("postgres")
    schema = f"test_{uuid.uuid4().hex[:12]}"
    server.create_schema(schema)
    yield server.url(schema=schema)
    server.drop_schema(schema)


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger, on SQLite and on PostgreSQL."""
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse")) as opened:
        yield opened


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The one Spark session of this test process, tuned for small data.

    LAKELEDGER_TEST_SPARK names another Spark to run the tests on: `spark://…`, `sc://…`, or `connect` for a server of their own.
    """
    from lakeledger.config import SparkSettings
    from lakeledger.pipelines.session import open_session

    where = os.environ.get("LAKELEDGER_TEST_SPARK", "local[2]")
    drivers = connectors()
    if where == "connect":
        return open_session(SparkSettings(remote="local[2]", conf=SPARK_CONF, jars=drivers))
    if where.startswith("sc://"):
        return open_session(SparkSettings(remote=where, conf=SPARK_CONF))
    class_archive.make()
    return open_session(SparkSettings(master=where, conf=SPARK_CONF, jars=drivers))


def connectors() -> tuple[str, ...]:
    """The JARs of what is read as a source, if they are here or can be fetched: a session cannot get them later."""
    found = []
    for name in ("postgresql", "avro"):
        with suppress(jars.MissingJars):
            jars.fetch(name)
            found.append(name)
    return tuple(found)


@pytest.fixture
def lake(url: str, tmp_path: Path, spark: SparkSession) -> Iterator[Ledger]:
    """An empty ledger with Spark, on SQLite and on PostgreSQL."""
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), spark=spark) as opened:
        yield opened


@pytest.fixture
def sqlite_lake(tmp_path: Path, spark: SparkSession) -> Iterator[Ledger]:
    """An empty ledger with Spark on SQLite, for what does not depend on the database."""
    with lakeledger.open(new_sqlite_url(tmp_path), warehouse=str(tmp_path / "warehouse"), spark=spark) as opened:
        yield opened
