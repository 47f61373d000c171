"""The main class of a JAR, submitted to the Spark that the ledger's settings name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger.control.tasks import SparkJarTask
from lakeledger.errors import Invalid, NotInstalled
from lakeledger.pipelines import java
from lakeledger.pipelines.tasks import process

if TYPE_CHECKING:
    from lakeledger.pipelines import Context


def run(context: Context, task: SparkJarTask) -> dict[str, Any]:
    """Run the class on the master of the settings; what it printed last. Raises Invalid, NotInstalled or Failed."""
    settings = context.ledger.settings.spark
    if settings.remote:
        raise Invalid(f"{task.main_class_name} needs a Spark master, and Spark Connect takes no JAR: deploy it to Databricks")
    if not task.jar_uri:
        raise Invalid(f"{task.main_class_name} has no jar_uri: name its JAR, or deploy it to Databricks")
    jar = task.jar_uri if "://" in task.jar_uri else str(context.base / task.jar_uri)
    if "://" not in jar and not Path(jar).is_file():
        raise Invalid(f"there is no {jar}: check jar_uri")
    conf = [word for name, value in settings.conf.items() for word in ("--conf", f"{name}={value}")]
    command = [_submit(), "--master", settings.master, *conf, "--class", task.main_class_name, jar, *task.parameters]
    environment = {"JAVA_HOME": str(java.prepare(java.find())), "PYSPARK_PYTHON": sys.executable}
    return {"output": process.run(command, folder=context.base, stop=context.stop, environment=environment)}


def _submit() -> str:
    try:
        import pyspark
    except ImportError as error:
        raise NotInstalled("Spark is not installed: pip install 'lakeledger[spark]'") from error
    return str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
