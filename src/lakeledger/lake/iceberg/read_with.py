"""Code to paste: how other engines read a published table, with nothing of lakeledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath
from urllib.parse import parse_qsl, quote, urlsplit

from lakeledger.config import S3Settings
from lakeledger.errors import Invalid
from lakeledger.locations import for_spark, scheme_of
from lakeledger.names import TableName

ENGINES = ("duckdb", "polars", "pyiceberg", "spark")

_UNSHOWN = "# The password is not shown: keep it in ~/.pgpass."
_ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"
_SQLITE_DRIVER = "org.xerial:sqlite-jdbc:3.50.3.0"
S3A_FILE_SYSTEM = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_S3A = "org.apache.hadoop:hadoop-aws:3.4.2"
_POSTGRES_DRIVER = "org.postgresql:postgresql:42.7.8"


@dataclass(frozen=True)
class Published:
    """Where a table is found: by the ledger's catalog, whose name is the tenant, or by its metadata file as it is now."""

    url: str
    schema: str | None
    tenant: str
    table: TableName
    metadata_location: str
    warehouse: str
    s3: S3Settings = field(default_factory=S3Settings)


def read_with(engine: str, published: Published) -> str:
    """Code that reads the table. Raises Invalid for an engine that is not known."""
    match engine:
        case "duckdb":
            return _duckdb(published)
        case "polars":
            options = f", storage_options={known!r}" if (known := _polars_s3(published)) else ""
            frame = f"frame = pl.scan_iceberg({_loaded(published)}{options}).collect()"
            return "\n".join(["import polars as pl", *_catalog(published), frame])
        case "pyiceberg":
            return "\n".join([*_catalog(published), f"frame = {_loaded(published)}.scan().to_arrow()"])
        case "spark":
            return _spark(published)
        case _:
            raise Invalid(f"no code for {engine!r}: use {', '.join(ENGINES[:-1])} or {ENGINES[-1]}")


def _duckdb(published: Published) -> str:
    remote = ["INSTALL httpfs; LOAD httpfs;", duckdb_secret(published.s3)] if _is_on_s3(published) else []
    location = published.metadata_location.replace("'", "''")
    return "\n".join(
        [
            "-- The table as it is now; `lakeledger tables read-with` shows the newest metadata file.",
            "INSTALL iceberg; LOAD iceberg;",
            *remote,
            f"SELECT * FROM iceberg_scan('{location}');",  # noqa: S608 - shown, not run
        ]
    )


def _s3(published: Published) -> dict[str, str]:
    """Where S3 is, if the table is there and that is not found by itself."""
    return _known(published.s3) if _is_on_s3(published) else {}


def _known(s3: S3Settings) -> dict[str, str]:
    known = {"endpoint": s3.endpoint, "region": s3.region or ("us-east-1" if s3.endpoint else None)}
    return {name: value for name, value in known.items() if value}


def _polars_s3(published: Published) -> dict[str, str]:
    words = {"endpoint": "aws_endpoint_url", "region": "aws_region"}
    found = {words[name]: value for name, value in _s3(published).items()}
    return found | ({"aws_allow_http": "true"} if str(published.s3.endpoint).startswith("http://") and found else {})


def duckdb_secret(s3: S3Settings) -> str:
    """How DuckDB is let in where AWS's tools are."""
    return f"CREATE SECRET ({', '.join(['TYPE s3', 'PROVIDER credential_chain', *_duckdb_s3(s3)])});"


def _duckdb_s3(s3: S3Settings) -> list[str]:
    """How DuckDB is told of an S3 server other than AWS."""
    region = [f"REGION '{s3.region}'"] if s3.region else []
    if not s3.endpoint:
        return region
    scheme, _, host = s3.endpoint.partition("://")
    return [
        *region,
        f"ENDPOINT '{host}'",
        f"URL_STYLE '{'path' if s3.path_style else 'vhost'}'",
        f"USE_SSL {str(scheme == 'https').lower()}",
    ]


def _catalog(published: Published) -> list[str]:
    given = {f"s3.{name}": value for name, value in _s3(published).items()}
    more = f", **{given!r}" if given else ""
    return [
        "from pyiceberg.catalog.sql import SqlCatalog",
        "",
        *([_UNSHOWN] if _has_password(published.url) else []),
        f'catalog = SqlCatalog({published.tenant!r}, uri={_sqlalchemy(published)!r}, init_catalog_tables="false"{more})',
    ]


def _loaded(published: Published) -> str:
    return f"catalog.load_table({(published.table.schema, published.table.table)!r})"


def _spark(published: Published) -> str:
    name = published.tenant
    is_sqlite = published.url.startswith("sqlite")
    settings = {
        "spark.jars.packages": f"{_ICEBERG},{_SQLITE_DRIVER if is_sqlite else _POSTGRES_DRIVER}",
        f"spark.sql.catalog.{name}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{name}.type": "jdbc",
        f"spark.sql.catalog.{name}.uri": _jdbc(published),
        f"spark.sql.catalog.{name}.jdbc.schema-version": "V1",
        f"spark.sql.catalog.{name}.warehouse": for_spark(published.warehouse),
    }
    if _is_on_s3(published):
        settings["spark.jars.packages"] += f",{_S3A}"
        settings |= spark_s3(published.s3)
    user = None if is_sqlite else urlsplit(published.url).username
    if user:
        settings[f"spark.sql.catalog.{name}.jdbc.user"] = user
    path = ".".join(f"`{part}`" for part in (name, published.table.schema, published.table.table))
    return "\n".join(
        [
            "from pyspark.sql import SparkSession",
            "",
            *([_UNSHOWN] if _has_password(published.url) else []),
            "builder = SparkSession.builder",
            *(f"builder = builder.config({key!r}, {value!r})" for key, value in settings.items()),
            "spark = builder.getOrCreate()",
            f"frame = spark.table({path!r})",
        ]
    )


def spark_s3(s3: S3Settings) -> dict[str, str]:
    """How Spark reads what others call s3:// with Hadoop's S3A."""
    words = {"endpoint": "fs.s3a.endpoint", "region": "fs.s3a.endpoint.region"}
    known = {words[name]: value for name, value in _known(s3).items()}
    known |= {"fs.s3a.path.style.access": "true"} if s3.path_style else {}
    return {f"spark.hadoop.{name}": value for name, value in {"fs.s3.impl": S3A_FILE_SYSTEM, **known}.items()}


def _is_on_s3(published: Published) -> bool:
    return scheme_of(published.warehouse) == "s3"


def _sqlalchemy(published: Published) -> str:
    if published.url.startswith("sqlite"):
        return published.url
    path = quote(published.schema or "public", safe="")
    return f"postgresql+psycopg://{_server(published.url, with_user=True)}?options=-csearch_path%3D{path}"


def _jdbc(published: Published) -> str:
    if published.url.startswith("sqlite"):
        return f"jdbc:sqlite:{PurePath(published.url.removeprefix('sqlite:///'))}"
    return f"jdbc:postgresql://{_server(published.url)}?currentSchema={quote(published.schema or 'public', safe='')}"


def _server(url: str, *, with_user: bool = False) -> str:
    """Host, port and database of a PostgreSQL URL; never the password."""
    parts = urlsplit(url)
    user = f"{parts.username}@" if with_user and parts.username else ""
    port = f":{parts.port}" if parts.port else ""
    return f"{user}{parts.hostname or 'localhost'}{port}{parts.path}"


def _has_password(url: str) -> bool:
    parts = urlsplit(url)
    return parts.password is not None or "password" in dict(parse_qsl(parts.query))
