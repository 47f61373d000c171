"""The file systems of pyarrow, by the scheme of a location, with bounded waits; and their failures in our words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from lakeledger import locations
from lakeledger.config import S3Settings
from lakeledger.errors import Failed, Invalid, LakeledgerError, NotInstalled, Unavailable

if TYPE_CHECKING:
    from pyarrow import fs

# Nobody waits for minutes for a store that is not there: the SDK's own defaults would.
CONNECT_SECONDS = 4.0
REQUEST_SECONDS = 30.0
ATTEMPTS = 3

# What the AWS SDK calls them, in pyarrow's messages and in those of S3A alike.
_CODE = re.compile(r"AWS Error (\w+)(?: \(HTTP status (\d+)\))?")
_REFUSED = re.compile(
    r"ACCESS_?DENIED|INVALID_?ACCESS_?KEY_?ID|INVALID_?CLIENT_?TOKEN_?ID|SIGNATURE_?DOES_?NOT_?MATCH|(EXPIRED|INVALID)_?TOKEN|UNRECOGNIZED_?CLIENT"
    r"|MISSING_?AUTHENTICATION_?TOKEN|HTTP status (401|403)|status code:? 40[13]|NO_?AUTH_?WITH_?AWS|unable to load credentials",
    re.IGNORECASE,
)
_NO_BUCKET = re.compile(
    r"NO_?SUCH_?BUCKET|BUCKET_?NOT_?FOUND|Bucket '[^']*' not found|Bucket does not exist|UnknownStoreException", re.IGNORECASE
)
_UNREACHABLE = re.compile(
    r"NETWORK_CONNECTION|REQUEST_?TIME(D_?)?OUT|SERVICE_?UNAVAILABLE|SLOW_?DOWN|THROTTLING|INTERNAL_?(FAILURE|ERROR)|HTTP status 5\d\d"
    r"|curlCode|Could\s?n.t (connect|resolve)|Connection (refused|reset)|UnknownHostException|ConnectException"
    r"|Unable to execute HTTP request|ApiCallTimeout|timed? ?out|status code:? 5\d\d",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Opened:
    """A file system, the path of the location in it, and whether it is reached over a network, with buckets or without."""

    filesystem: fs.FileSystem
    base: str
    is_remote: bool = False
    bucket: str | None = None


def open(location: str, s3: S3Settings) -> Opened:
    """The file system of a location. Raises Invalid for one that is not supported, and NotInstalled or Unavailable."""
    scheme, host, path = locations.split(location)
    match scheme:
        case "s3":
            return _s3(host, path, s3.resolved())
        case "gs":
            return Opened(_gcs(), f"{host}{path}", is_remote=True, bucket=host)
        case "abfss":
            container, _, account = host.partition("@")
            return Opened(_azure(*account.split(".", 1)), f"{container}{path}", is_remote=True, bucket=container)
        case "hdfs":
            return Opened(_hdfs(host), path or "/", is_remote=True)
        case "dbfs":
            return Opened(_local(), _mounted("/dbfs", f"/dbfs{path}", location))
        case _:
            return Opened(_local(), _mounted("/Volumes", path, location) if path.startswith("/Volumes/") else path)


def failure(error: OSError, doing: str, location: str, s3: S3Settings) -> LakeledgerError:
    """What a remote file system says, as ours: Unavailable with the fix for what is not reached, not allowed or not there, else Failed."""
    return explain(str(error), location, s3) or Failed(f"cannot {doing}: {reason(error)}")


def explain(told: str, location: str, s3: S3Settings) -> Unavailable | None:
    """The failure of a store that the message of pyarrow or of Spark tells of; None if it is none of the store itself."""
    scheme, host, _ = locations.split(location)
    at = f" at {endpoint}" if scheme == "s3" and (endpoint := s3.resolved().endpoint) else ""
    place = f"{scheme}://{host}{at}"
    code = found[1] if (found := _CODE.search(told)) else None
    if _NO_BUCKET.search(told):
        return missing_bucket(location, s3)
    if refused := _REFUSED.search(told):
        return Unavailable(
            f"{place} refuses access ({code or refused[0]}): {_CREDENTIALS.get(scheme, 'check your rights')}", retryable=False
        )
    if unreachable := _UNREACHABLE.search(told):
        settings = "; check the endpoint under [s3] or in AWS_ENDPOINT_URL" if at else ""
        return Unavailable(f"{place} cannot be reached ({code or unreachable[0]}): is it running, and the network up?{settings}")
    return None


_CREDENTIALS = {
    "s3": "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, of one who may list, read, write and delete there",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`",
    "abfss": "run `az login`, or set AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET",
}


def missing_bucket(location: str, s3: S3Settings) -> Unavailable:
    """The error for a bucket that is not there."""
    _, host, _ = locations.split(location)
    at = f" at {endpoint}" if (endpoint := s3.resolved().endpoint) else ""
    return Unavailable(f"there is no bucket {host!r}{at}: create it, or correct the URL", retryable=False)


def reason(error: OSError) -> str:
    """The telling line of an error."""
    return error.strerror or str(error).partition("\n")[0]


def _s3(bucket: str, path: str, s3: S3Settings) -> Opened:
    region = s3.region or ("us-east-1" if s3.endpoint else _region(bucket))
    return Opened(_s3_filesystem(s3.endpoint, region, s3.path_style), f"{bucket}{path}", is_remote=True, bucket=bucket)


# One for all tables: it keeps the connections.
@lru_cache(maxsize=8)
def _s3_filesystem(endpoint: str | None, region: str, path_style: bool | None) -> fs.FileSystem:
    from pyarrow import fs

    scheme, _, address = (endpoint or "https://").partition("://")
    return fs.S3FileSystem(
        region=region,
        scheme=scheme,
        endpoint_override=address or None,
        force_virtual_addressing=not path_style,
        connect_timeout=CONNECT_SECONDS,
        request_timeout=REQUEST_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
    )


@lru_cache(maxsize=64)
def _region(bucket: str) -> str:
    from pyarrow import fs

    try:
        return str(fs.resolve_s3_region(bucket))
    except OSError as error:
        location = f"s3://{bucket}"
        raise failure(error, f"find the region of {location}", location, S3Settings()) from error


@lru_cache(maxsize=1)
def _gcs() -> fs.FileSystem:
    from pyarrow import fs

    try:
        return fs.GcsFileSystem(retry_time_limit=timedelta(seconds=REQUEST_SECONDS))
    except (ImportError, NotImplementedError) as error:
        raise NotInstalled("this pyarrow has no Google Cloud Storage: install one from PyPI") from error


@lru_cache(maxsize=8)
def _azure(account: str, suffix: str) -> fs.FileSystem:
    from pyarrow import fs

    try:
        return fs.AzureFileSystem(
            account, dfs_storage_authority=f".{suffix}", blob_storage_authority=f".{suffix.replace('dfs.', 'blob.', 1)}"
        )
    except (ImportError, NotImplementedError) as error:
        raise NotInstalled("this pyarrow has no Azure storage: install one from PyPI") from error


@lru_cache(maxsize=8)
def _hdfs(host: str) -> fs.FileSystem:
    from pyarrow import fs

    name, _, port = host.partition(":")
    try:
        return fs.HadoopFileSystem(f"hdfs://{name}" if name else "default", int(port or 0) or (8020 if name else 0))
    except (ImportError, NotImplementedError) as error:
        raise NotInstalled("this pyarrow has no HDFS: install one from PyPI") from error
    except OSError as error:
        if "libhdfs" in str(error) or "libjvm" in str(error) or "CLASSPATH" in str(error):
            raise NotInstalled(
                f"hdfs:// needs Hadoop here: set HADOOP_HOME, JAVA_HOME and CLASSPATH=$(hadoop classpath --glob) ({reason(error)})"
            ) from error
        raise Unavailable(f"hdfs://{host} cannot be reached: {reason(error)}") from error


def _local() -> fs.FileSystem:
    from pyarrow import fs

    return fs.LocalFileSystem()


def _mounted(mount: str, path: str, location: str) -> str:
    """The path, if Databricks has mounted it here. Raises Invalid."""
    if not Path(mount).is_dir():
        raise Invalid(f"{location} is a place of Databricks, which this machine does not have: run it there, or choose another warehouse")
    return path
