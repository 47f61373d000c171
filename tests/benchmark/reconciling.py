"""One bad cell between PostgreSQL and a ledger table, found by digests, by a full outer join over JDBC, and by reladiff.

python reconciling.py ROWS ROUNDS [FOLDER OF RELADIFF'S ENVIRONMENT]

reladiff compares the table with a copy in the same server, by hashes as between two servers. It gets an environment of its own.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

import lakeledger
from lakeledger import Ledger
from lakeledger.config import SparkSettings
from lakeledger.pipelines.session import open_session

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmark.conftest import alternate, seconds
from postgres_server import Server, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ["customer", "amount", "ordered_at", "status", "product", "discount", "paid"]
TABLE = """
create table orders as select g::bigint as id, 'customer-' || (g % 50000) as customer, (g * 0.37)::numeric(12, 2) as amount,
    to_timestamp(1700000000 + g) as ordered_at, (g % 13)::int as status, 'Product number ' || (g % 9973) as product,
    ((g % 100) / 1000.0)::float8 as discount, g % 2 = 0 as paid
from generate_series(1, {rows}) g
"""


def fill(server: Server, rows: int) -> None:
    """The table, and a copy of it with one cell changed."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        for statement in (
            TABLE.format(rows=rows),
            "alter table orders add primary key (id)",
            "create table copy as table orders",
            "alter table copy add primary key (id)",
            f"update copy set status = 99 where id = {rows * 7 // 9}",
            "vacuum analyze orders",
            "vacuum analyze copy",
        ):
            connection.execute(statement.encode())


def join(spark: SparkSession, ledger: Ledger, url: str) -> int:
    """What people write: both tables whole, joined by the key, each column compared."""
    theirs = spark.read.jdbc(url, "orders", properties={"user": "postgres", "driver": "org.postgresql.Driver", "fetchsize": "10000"})
    ours = ledger.read("silver.orders")
    differ = " or ".join(f"not (a.{name} <=> b.{name})" for name in COLUMNS)
    found = theirs.alias("a").join(ours.alias("b"), "id", "full_outer").where(differ)
    return found.select("id").count()


def reladiff(program: Path, url: str) -> int:
    """How many rows it says differ."""
    columns = [word for name in COLUMNS for word in ("-c", name)]
    words = [str(program), url, "orders", url, "copy", "-k", "id", *columns, "--algorithm", "hashdiff", "-j", "4"]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return sum(line.startswith("+ ") for line in printed.splitlines())


def environment(folder: Path) -> Path:
    """The program, installed if it is not there."""
    program = folder / "bin" / "reladiff"
    if not program.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", "reladiff[postgresql]", "psycopg2-binary"], check=True)
    return program


def phases(ledger: Ledger, source: Mapping[str, object]) -> None:
    """Print where the time of a reconciliation goes."""
    from lakeledger.recon.canonical import agree
    from lakeledger.recon.checks import Sides
    from lakeledger.recon.digests import both, digest
    from lakeledger.recon.documents import of_mapping
    from lakeledger.recon.file_hash import Asked
    from lakeledger.recon.sides import both_hash, open_side
    from lakeledger.recon.splits import ByRange

    declared = of_mapping({"name": "phases", "source": source, "target": "silver.orders", "keys": ["id"], "checks": ["checksum"]})
    context = ledger.context()
    with open_side(context, "source", declared.source) as ours, open_side(context, "target", declared.target) as theirs:
        sides = Sides(ours, theirs, (ours.columns(), theirs.columns()), declared, ledger.sync.masking)
        pairs, rows = agree(*sides.columns), theirs.estimate()
        split = ByRange.of(sides.pair("id"), 1, rows, rows)
        asked = Asked(pairs, split)
        how = both_hash(sides.both, asked)
        alone = [seconds(lambda side=side: digest(side, asked, None, how)) for side in sides.both]  # type: ignore[misc]
        together = seconds(lambda: both(sides.both, lambda side: digest(side, asked, None, how)))
    print(
        f"  digests of {rows:,} rows: PostgreSQL alone {alone[0]:.2f} s, the table alone {alone[1]:.2f} s, both at once {together:.2f} s",
        flush=True,
    )


def measure(server: Server, folder: Path, rows: int, rounds: int, program: Path) -> None:
    """Print what each costs."""
    spark = open_session(SparkSettings(master="local[2]", conf={"spark.driver.memory": "4g"}, jars=("postgresql",)))
    url = f"jdbc:postgresql://127.0.0.1:{server.port}/{server.database}"
    source = {"jdbc": {"url": url, "user": "postgres", "table": "public.orders"}}
    declared = {"name": "orders", "source": source, "target": "silver.orders", "keys": ["id"], "checks": ["checksum"]}
    with lakeledger.open(f"sqlite:///{folder}/ledger.db", warehouse=str(folder / "warehouse"), spark=spark) as ledger:
        bounds = {"column": "id", "lowerBound": 1, "upperBound": rows, "numPartitions": max(2, rows // 500_000)}
        driver = {"user": "postgres", "driver": "org.postgresql.Driver", "fetchsize": "10000"}
        ledger.overwrite(spark.read.jdbc(url, "copy", properties=driver, **bounds), "silver.orders")
        found: list[int] = [0, 0, 0]
        details: list[dict[str, object]] = [{}]

        def digests() -> None:
            (result,) = ledger.recon.run(declared).results
            found[0], details[0] = int(result.difference or 0), result.detail

        def joined() -> None:
            found[1] = join(spark, ledger, url)

        def compared() -> None:
            found[2] = reladiff(program, server.url())

        actions: list[Callable[[], object]] = [digests, joined, compared]
        ours, joining, theirs = (statistics.median(each) for each in alternate(actions, rounds, ledger.settle, warm_up=1))
        print(
            f"one bad cell in {rows:,} rows: digests {ours:.1f} s (found {found[0]}), "
            f"full outer join {joining:.1f} s ({joining / ours:.1f}×, found {found[1]}), "
            f"reladiff {theirs:.1f} s ({theirs / ours:.1f}×, found {found[2]}); "
            f"fetched {details[0]['fetched_rows']} rows ({details[0]['fetched_percent']} %)",
            flush=True,
        )
        phases(ledger, source)


def main(folder: Path, rows: int, rounds: int, reladiffs: Path) -> None:
    """Start a server, fill it, and compare."""
    server = start(folder / "postgres")
    try:
        fill(server, rows)
        measure(server, folder, rows, rounds, environment(reladiffs))
    finally:
        server.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        given = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(made) / "reladiff"
        main(Path(made), int(sys.argv[1]), int(sys.argv[2]), given)
