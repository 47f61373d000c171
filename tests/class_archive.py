"""Spark's classes in an archive of the JVM's, made once: the JVMs that tests start then need half the time for it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(os.environ.get("LAKELEDGER_TESTS_CACHE", "~/.cache/lakeledger-tests")).expanduser() / "classes"
ARCHIVE = FOLDER / f"pyspark-{version('pyspark')}-with-files.jsa"  # an archive is good for one class path
MAKING_SECONDS = 300


# What is not in the archive is trusted too: verifying the classes of JARs and of queries takes a tenth of a short JVM's time.
TRUST = ["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]


def java_options() -> list[str]:
    """What a JVM is told to take its classes from there. One that cannot, because it is another Java, loads them as always."""
    return [f"-XX:SharedArchiveFile={ARCHIVE}", *TRUST, "-Xlog:disable"] if ARCHIVE.exists() and ARCHIVE.stat().st_size else []


def make() -> None:
    """Make the archive unless it is there. A Java that makes none is not asked again."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may want it at once
        if ARCHIVE.exists():
            return
        made = ARCHIVE.with_suffix(".new")
        subprocess.run([sys.executable, __file__, str(made)], check=False, capture_output=True, timeout=MAKING_SECONDS)
        made.touch()
        made.rename(ARCHIVE)


def _dump(archive: str) -> None:
    """Have Spark do what tests do with it, in a JVM that keeps the classes that it has loaded when it ends."""
    from pyspark import SparkContext

    import lakeledger
    from lakeledger.config import SparkSettings
    from lakeledger.pipelines.session import open_session
    from spark_conf import SPARK_CONF

    options = f"{SPARK_CONF['spark.driver.extraJavaOptions']} -XX:ArchiveClassesAtExit={archive} -Xlog:disable"
    spark = open_session(SparkSettings(master="local[2]", conf={**SPARK_CONF, "spark.driver.extraJavaOptions": options}))
    with tempfile.TemporaryDirectory() as folder, lakeledger.open(f"sqlite:///{folder}/l.db", warehouse=folder, spark=spark) as ledger:
        rows = spark.sql("select id, cast(id % 3 as string) as name, current_timestamp() as at from range(20)")
        ledger.append(rows, "partitioned", partition_by=["name"])
        ledger.append(rows, "lines", format="jsonl")
        for _ in range(2):
            ledger.merge(rows, "merged", keys=["id"])
            ledger.apply_changes(rows, "history", keys=["id"], sequence_by="at", apply_as_deletes="id = 3", stored_as_scd_type=2)
        ledger.read("partitioned").groupBy("name").count().collect()
        ledger.read("lines").orderBy("id").toArrow()
        rows.write.csv(f"{folder}/csv", header=True)
        spark.read.schema("id bigint, name string, at timestamp").csv(f"{folder}/csv", header=True).createOrReplaceTempView("files")
        spark.sql("select * from files join range(3) using (id)").collect()
        spark.createDataFrame([(1, "a")], "id int, name string").collect()
    spark.stop()
    jvm = SparkContext._gateway.proc  # type: ignore[union-attr]  # it was started a moment ago
    jvm.stdin.close()
    jvm.wait(MAKING_SECONDS)


if __name__ == "__main__":
    _dump(sys.argv[1])
