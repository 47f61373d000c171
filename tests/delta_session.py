"""A pytest plugin for a process of its own (`-p delta_session`): a Spark session with Delta, which the tests' own session has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jars import DELTA_CONF
from lakeledger.config import SparkSettings
from lakeledger.pipelines.session import open_session
from spark_conf import SPARK_CONF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def delta_spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The one session of this process, with a catalog of its own."""
    conf = {
        **SPARK_CONF,
        **DELTA_CONF,
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    return open_session(SparkSettings(master="local[2]", conf=conf, jars=("delta",)))
