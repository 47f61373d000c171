"""How data moves on Spark: read, check, write files, commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakeledger.db import Store, Transaction
from lakeledger.pipelines.own_session import Sessions
from lakeledger.sync.errors import Errors
from lakeledger.tables.checksums import Checksums

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Plane:
    """What every load needs: the store, and, once somebody asks for them, the tenant's part of the warehouse and Spark."""

    store: Store
    find_warehouse: Callable[[], str]
    check_warehouse: Callable[[Transaction], None]
    checksums: Checksums
    spark: Callable[[], SparkSession]
    sessions: Sessions
    errors: Errors

    @property
    def warehouse(self) -> str:
        """The tenant's part of the warehouse. Raises Invalid if the ledger has none."""
        return self.find_warehouse()
