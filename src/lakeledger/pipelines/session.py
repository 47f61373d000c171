"""Opens the Spark session that pipelines run on: a running one, a Spark Connect server's, or a quiet one of our own."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from lakeledger.config import SparkSettings
from lakeledger.errors import Failed, NotInstalled
from lakeledger.pipelines import cluster, jars, java, remote
from lakeledger.pipelines.own_session import FILE_CONF, LIST_CONF, VALUE_CONF
from lakeledger.pipelines.remote import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What a table holds must not depend on the machine that wrote it.
_SESSION_CONF = VALUE_CONF | FILE_CONF | LIST_CONF
_DRIVER_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # For each column that is named PySpark would tell the JVM where in the code that was: six requests instead of two.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
_LOCAL_CONF = {
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}

JAVA_OPTIONS = "spark.driver.defaultJavaOptions"

# A log configuration of our own, because spark.log.level comes too late for the start-up messages and prints one itself.
# The gateway's logger must have the root's level: Spark announces any difference on stderr.
_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
# A failing task comes to the caller as an exception; the pages of call sites that these log beside it say nothing more.
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
logger.writer.name = org.apache.spark.sql.execution.datasources.FileFormatWriter
logger.writer.level = off
logger.utils.name = org.apache.spark.util.Utils
logger.utils.level = off
logger.listeners.name = org.apache.spark.sql.util.ExecutionListenerBus
logger.listeners.level = off
"""


def open_session(settings: SparkSettings) -> SparkSession:
    """The Spark session to work on. One that is already running, as in a notebook, is given as it is.

    Raises NotInstalled if Spark, Spark Connect or Java is missing, Unavailable if a Spark Connect server or the master of a cluster does
    not answer, Conflict if one is asked for beside a classic session, Invalid for a bad address and Failed if Spark does not start.
    """
    try:
        import pyspark.sql  # noqa: F401
    except ImportError as error:
        raise NotInstalled("Spark is not installed: pip install 'lakeledger[spark]'") from error
    # Spark's own variable has a say too: with it set, Spark refuses every master.
    address = settings.remote or os.environ.get("SPARK_REMOTE")
    running = _running()
    if running is not None and (not address or is_remote(running)):
        return running
    _silence_query_errors()
    return _connect(address, settings) if address else _start(settings)


def is_alive(spark: SparkSession) -> bool:
    """Whether the session still has its Spark. Raises Unavailable if it is one of a Spark Connect server that does not answer."""
    return remote.is_alive(spark) if is_remote(spark) else cluster.is_alive(spark)


def _running() -> SparkSession | None:
    from pyspark.errors import PySparkImportError, PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        # Not getActiveSession, which knows nothing of a session that another thread made.
        found = SparkSession.active()
    except (PySparkRuntimeError, PySparkImportError):
        return None
    if is_alive(found):
        return found
    # It has lost its Spark for good, and would keep us from opening another.
    remote.close(found) if is_remote(found) else found.stop()
    return None


def _connect(address: str, settings: SparkSettings) -> SparkSession:
    """A session on a Spark Connect server; with `local[…]` in place of sc://… on one that Spark starts for us."""
    if not address.startswith("local"):
        return remote.connect(address, {**_SESSION_CONF, **settings.conf})
    from pyspark.sql import SparkSession

    _set_environment()
    conf = _own_conf(address, settings)
    with warnings.catch_warnings(), remote.opening(address):
        # The server was started with these settings; Spark then tries in vain to set them on the session as well.
        warnings.filterwarnings("ignore", "Failed to set spark", UserWarning)
        return SparkSession.builder.remote(address).config(map={**conf}).getOrCreate()


def _start(settings: SparkSettings) -> SparkSession:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(settings.app_name)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:
        # Inside spark-submit the JVM runs already, and whoever submitted has chosen its master and driver.
        builder = builder.config(map={**_SESSION_CONF, **settings.conf})
    else:
        cluster.check_master(settings.master)
        _set_environment()
        builder = builder.master(settings.master).config(map={**_own_conf(settings.master, settings)})
    try:
        session = builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise Failed(f"Spark did not start on {settings.master}: {_reason(error)}; run `lakeledger doctor`") from error
    if not submitted and not settings.master.startswith("local"):
        cluster.watch(session, settings.master, settings.wait_seconds)
    return session


def _set_environment() -> None:
    """What the launcher of a new JVM reads. Raises NotInstalled if there is no Java."""
    os.environ["JAVA_HOME"] = str(java.prepare(java.find()))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if " " in os.environ["PYSPARK_PYTHON"]:
        # The launcher asks that Python, unquoted, for Spark's home: tell it instead.
        import pyspark

        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))


def _own_conf(master: str, settings: SparkSettings) -> dict[str, str]:
    """The configuration of a driver that is ours to start; the user's settings have the last word. Raises NotInstalled for JARs."""
    given = {**settings.conf, **jars.conf(settings)}
    scratch = Path(tempfile.mkdtemp(prefix="lakeledger-spark-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    conf = _SESSION_CONF | _DRIVER_CONF
    if master.startswith("local"):
        # Without a warehouse folder Spark makes one in the working directory.
        conf |= _LOCAL_CONF | {"spark.sql.warehouse.dir": str(scratch / "warehouse")}
    if not _has_log_settings():
        (scratch / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
        # The default options stand before the user's extra ones, which so can name another log configuration.
        quiet = f"-Dlog4j2.configurationFile={(scratch / 'log4j2.properties').as_uri()}"
        return {**conf, **given, JAVA_OPTIONS: f"{quiet} {given.get(JAVA_OPTIONS, '')}".strip()}
    return {**conf, **given}


def _silence_query_errors() -> None:
    """PySpark raises the error of a query, and also logs it as a page of JSON on stderr: once is enough."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel("CRITICAL")


def _has_log_settings() -> bool:
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    return folder is not None and Path(folder, "log4j2.properties").is_file()


def _reason(error: Exception) -> str:
    """The telling line of an error, which for one of the JVM stands below py4j's introduction."""
    if "JAVA_GATEWAY_EXITED" in str(error):
        return "its JVM ended at once; the reason is on stderr"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return next((line.removeprefix(": ") for line in lines[1:2] if line.startswith(": ")), lines[0]).rstrip(".")
