"""How the Spark that we start reaches the warehouse: scheme, endpoint, path style, committer and JARs follow from the settings."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from lakeledger import locations
from lakeledger.config import S3Settings, Settings, SparkSettings
from lakeledger.errors import LakeledgerError, NotInstalled
from lakeledger.lake import stores

_S3A = "spark.hadoop.fs.s3a."
# S3A's own places first: Spark puts there what the driver's variables say, for its executors. The last knows profiles and machines.
_CREDENTIALS = (
    "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider,"
    "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider,"
    "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
)
# S3A's defaults wait for minutes for a store that is not there.
_PATIENCE = {
    "attempts.maximum": str(stores.ATTEMPTS),
    "retry.limit": "2",
    "retry.interval": "250ms",
    "connection.establish.timeout": "15s",
    "connection.timeout": f"{stores.REQUEST_SECONDS:.0f}s",
}
_CONNECTORS = {
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
    "abfss": "org.apache.hadoop:hadoop-azure",
}
_NO_FILE_SYSTEM = re.compile(r'No FileSystem for scheme "(\w+)"|Class \S+\.(S3A|SecureAzureBlob|Azure|GoogleHadoop)FileSystem not found')
_BY_CLASS = {"S3A": "s3", "s3a": "s3", "SecureAzureBlob": "abfss", "Azure": "abfss", "GoogleHadoop": "gs"}


def spark_settings(settings: Settings) -> SparkSettings:
    """How to start Spark for a ledger with these settings; what they say of Spark themselves has the last word.

    A Spark Connect server is configured by whoever runs it.
    """
    spark = settings.spark
    remote = spark.remote or os.environ.get("SPARK_REMOTE") or ""
    if remote.startswith("sc:"):
        return spark
    if "s3" not in (locations.scheme_of(settings.warehouse or ""), *spark.jars):
        return spark
    return replace(spark, conf={**_s3_conf(settings.s3.resolved()), **spark.conf}, jars=tuple(dict.fromkeys((*spark.jars, "s3"))))


def _s3_conf(s3: S3Settings) -> dict[str, str]:
    known = {"endpoint": s3.endpoint, "endpoint.region": s3.region or ("us-east-1" if s3.endpoint else None)}
    given = {name: value for name, value in known.items() if value}
    conf = {**_PATIENCE, **given, "path.style.access": str(bool(s3.path_style)).lower(), "aws.credentials.provider": _CREDENTIALS}
    # Files are uploaded in place and completed at the commit: S3 has no rename.
    return {f"{_S3A}{name}": value for name, value in {**conf, "committer.name": "magic"}.items()}


def storage_failure(told: str) -> LakeledgerError | None:
    """What Spark says of a store that it cannot work with, as ours; None if it is about something else."""
    if found := _NO_FILE_SYSTEM.search(told):
        word = found[1] or found[2]
        return _no_connector(_BY_CLASS.get(word, word))
    about = "\n".join(line for line in told.splitlines() if re.search(r"\bs3a\b|awssdk", line) and not line.lstrip().startswith("at "))
    place = re.search(r"s3a://[^/\s:'\"]+", about)
    return stores.explain(about, place[0], S3Settings()) if place else None


def _no_connector(scheme: str) -> NotInstalled:
    if scheme == "s3":
        return NotInstalled(
            'Spark has no JARs for s3://: run `lakeledger jars fetch s3` once, and set jars = ["s3"] under [spark] if only sources are; '
            "a session of your own needs them in spark.jars"
        )
    connector = _CONNECTORS.get(scheme)
    named = f", {connector}," if connector else ""
    return NotInstalled(
        f"Spark has no connector for {scheme}://: name its JAR{named} in spark.jars or spark.jars.packages under [spark.conf]"
    )
