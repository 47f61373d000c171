"""The JARs that tests need, fetched as users fetch them, into the same cache.

`python tests/jars.py NAME` prints what `jars.json` is to record when the packages of a set were changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import sys
import tempfile
from pathlib import Path

from lakeledger.errors import LakeledgerError
from lakeledger.pipelines import jars

DELTA_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    # A handful of rows: compiling a query takes longer than running it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class MissingJars(Exception):
    """The JARs are not here and could not be fetched."""


def fetch(*names: str) -> None:
    """Have these JARs here. Raises MissingJars."""
    try:
        jars.folder().mkdir(parents=True, exist_ok=True)
        with (jars.folder() / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may want them at once
            for name in names:
                jars.fetch(name)
    except (LakeledgerError, OSError) as error:
        raise MissingJars(str(error)) from error


def record(name: str) -> str:
    """What is fetched for a set now, as `jars.json` has it: to be recorded when its packages are changed."""
    with tempfile.TemporaryDirectory() as work:
        jars.resolve(jars.find(name), Path(work), {}, lambda _: None)
        found = {
            path.name: [hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size] for path in Path(work, "jars").glob("*.jar")
        }
    return json.dumps(dict(sorted(found.items())), indent=2)


if __name__ == "__main__":
    sys.stdout.write(record(sys.argv[1]) + "\n")
