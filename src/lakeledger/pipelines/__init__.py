"""How data moves on Spark: read, check, write files, commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakeledger.db import Store
from lakeledger.tables.checksums import Checksums

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Plane:
    """What every load needs: the store, the tenant's part of the warehouse, and Spark once somebody asks for it."""

    store: Store
    warehouse: str
    checksums: Checksums
    spark: Callable[[], SparkSession]
