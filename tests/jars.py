"""The JARs of Delta for Spark, fetched once from Maven Central into a folder of the tests' own."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

PACKAGE = "io.delta:delta-spark_4.1_2.13:4.4.0"
FOLDER = Path(os.environ.get("LAKELEDGER_TESTS_CACHE", "~/.cache/lakeledger-tests")).expanduser() / "ivy"
READY = FOLDER / f"{PACKAGE.replace(':', '_')}.ready"
FETCH_SECONDS = 400

# Spark has the others itself.
_NEEDED = ("io.delta_*.jar", "io.unitycatalog_*.jar")

DELTA_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    # A handful of rows: compiling a query takes longer than running it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

_SESSION = """
from lakeledger.config import SparkSettings
from lakeledger.pipelines.session import open_session
import sys
open_session(SparkSettings(master="local[1]", conf={"spark.jars.packages": sys.argv[1], "spark.jars.ivy": sys.argv[2]}))
"""


class MissingJars(Exception):
    """The JARs are not here and could not be fetched."""


def delta_jars() -> list[Path]:
    """The JARs of Delta. Raises MissingJars."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may want them at once
        if not READY.exists():
            _fetch()
    return sorted(path for pattern in _NEEDED for path in (FOLDER / "jars").glob(pattern))


def _fetch() -> None:
    command = [sys.executable, "-c", _SESSION, PACKAGE, str(FOLDER)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=FETCH_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise MissingJars(f"{PACKAGE} was not there after {FETCH_SECONDS} s: is Maven Central reachable?") from error
    if done.returncode:
        raise MissingJars(
            f"{PACKAGE} could not be fetched from Maven Central (a POM in ~/.m2 without its JAR prevents it, too): {done.stderr[-500:]}"
        )
    READY.touch()
