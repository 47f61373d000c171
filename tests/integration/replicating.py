"""Applies the changes of a table again and again, and says how far it is, until it is killed.

python replicating.py LEDGER WAREHOUSE SERVER
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import lakeledger
from lakeledger import LakeledgerError, Ledger, Settings, SparkSettings, failpoints
from lakeledger.pipelines.apply import Changes
from lakeledger.pipelines.sources.changes import PROBLEMS, RAW
from lakeledger.pipelines.sources.replication import PostgresChanges, Replication
from lakeledger.sync import Source as SourceName
from spark_conf import SPARK_CONF

if TYPE_CHECKING:
    from lakeledger.pipelines.load import Loaded

TABLE = "bronze.customers"
FOLLOWING = "silver.customers"
SOURCE = SourceName("shop", "customers")


def source(url: str, ledger: Ledger, **more: object) -> PostgresChanges:
    config = {"url": url, "table": "shop.customers", "publication": "shop", "max_changes": 200, **more}
    return PostgresChanges(SOURCE, Replication(**config), f"{ledger.warehouse}/staging")  # type: ignore[arg-type]


def load(url: str, ledger: Ledger, **more: object) -> Loaded:
    return ledger.load(source(url, ledger, **more), TABLE)


def follow(url: str, ledger: Ledger) -> Loaded:
    """Apply the changes to a table that is to be as that of the server."""
    changes = Changes.of_feed(["id"], except_column_list=(RAW, PROBLEMS))
    return ledger.load(source(url, ledger, max_changes=5_000), FOLLOWING, mode="merge", changes=changes)


def say(point: str) -> None:
    sys.stdout.write(f"{point}\n")
    sys.stdout.flush()


def main(ledger_url: str, warehouse: str, server: str) -> None:
    settings = Settings(ledger_url, warehouse, spark=SparkSettings(master="local[1]", conf=SPARK_CONF))
    with lakeledger.open(settings) as ledger:
        for point in failpoints.ALL:
            failpoints.armed[point] = lambda _, point=point: say(point)  # type: ignore[misc]
        while True:
            try:
                say(follow(server, ledger).summary)
            except LakeledgerError as error:
                if not error.retryable:
                    raise
                say(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
