"""Code to paste: how other engines read a table by its Delta log, with nothing of lakeledger."""

from __future__ import annotations

from lakeledger.config import S3Settings
from lakeledger.errors import Invalid
from lakeledger.lake.iceberg.read_with import duckdb_secret, spark_s3
from lakeledger.locations import for_spark, scheme_of
from lakeledger.names import TableName

ENGINES = ("databricks", "deltalake", "duckdb", "polars", "spark")
_DELTA = "io.delta:delta-spark_4.1_2.13:4.4.0"
_S3A = "org.apache.hadoop:hadoop-aws:3.4.2"


def read_with(engine: str, table: TableName, location: str, s3: S3Settings) -> str:
    """Code that reads the table in that folder. Raises Invalid for an engine that is not known."""
    is_on_s3 = scheme_of(location) == "s3"
    options = f", storage_options={known!r}" if is_on_s3 and (known := _object_store(s3)) else ""
    match engine:
        case "databricks":
            return "\n".join(
                [
                    "-- An external table over the same files, which Databricks reads and cannot change.",
                    f"CREATE TABLE `{table.schema}`.`{table.table}` USING DELTA LOCATION {_quoted(location)};",
                    f"SELECT * FROM `{table.schema}`.`{table.table}`;",  # noqa: S608 - shown, not run
                ]
            )
        case "deltalake":
            return "\n".join(
                [
                    "from deltalake import DeltaTable, QueryBuilder",
                    "",
                    "# By a query, which knows renamed columns; `to_pyarrow_table` does not, and says so.",
                    f"table = DeltaTable({location!r}{options})",
                    'frame = QueryBuilder().register("t", table).execute("select * from t").read_all()',
                ]
            )
        case "duckdb":
            remote = ["INSTALL httpfs; LOAD httpfs;", duckdb_secret(s3)] if is_on_s3 else []
            return "\n".join(["INSTALL delta; LOAD delta;", *remote, f"SELECT * FROM delta_scan({_quoted(location)});"])  # noqa: S608 - shown, not run
        case "polars":
            return "\n".join(["import polars as pl", "", f"frame = pl.scan_delta({location!r}{options}).collect()"])
        case "spark":
            return _spark(location, s3, is_on_s3=is_on_s3)
        case _:
            raise Invalid(f"no code for {engine!r} and Delta: use {', '.join(ENGINES[:-1])} or {ENGINES[-1]}")


def _spark(location: str, s3: S3Settings, *, is_on_s3: bool) -> str:
    settings = {
        "spark.jars.packages": f"{_DELTA},{_S3A}" if is_on_s3 else _DELTA,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        **(spark_s3(s3) if is_on_s3 else {}),
    }
    return "\n".join(
        [
            "from pyspark.sql import SparkSession",
            "",
            "builder = SparkSession.builder",
            *(f"builder = builder.config({key!r}, {value!r})" for key, value in settings.items()),
            "spark = builder.getOrCreate()",
            f'frame = spark.read.format("delta").load({for_spark(location)!r})',
        ]
    )


def _object_store(s3: S3Settings) -> dict[str, str]:
    """How a server other than AWS is found by what is built on Rust's object store."""
    known = {"AWS_ENDPOINT_URL": s3.endpoint, "AWS_REGION": s3.region or ("us-east-1" if s3.endpoint else None)}
    found = {name: value for name, value in known.items() if value}
    return found | ({"AWS_ALLOW_HTTP": "true"} if str(s3.endpoint).startswith("http://") else {})


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
