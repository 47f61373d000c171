"""Definitions from and to the schemas of Spark, Arrow and JDBC."""

from __future__ import annotations

from lakeledger.sync.schemas.conversions.arrow import from_arrow, to_arrow
from lakeledger.sync.schemas.conversions.jdbc import from_jdbc, to_jdbc
from lakeledger.sync.schemas.conversions.spark import from_spark, to_spark, to_spark_json

__all__ = ["from_arrow", "from_jdbc", "from_spark", "to_arrow", "to_jdbc", "to_spark", "to_spark_json"]
