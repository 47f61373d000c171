"""Where files are: one form of URL for people and for pyarrow, and what Spark is given in its place.

A location is a local path, s3://bucket/…, gs://bucket/…, abfss://container@account…/…, hdfs://host/…, dbfs:/… or /Volumes/….
"""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from lakeledger.errors import Invalid

FORMS = "a local path, s3://bucket/…, gs://bucket/…, abfss://container@account.dfs.core.windows.net/…, hdfs://host/…, dbfs:/… or /Volumes/…"
REMOTE = ("s3", "gs", "abfss", "hdfs")

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/]*)(.*)", re.DOTALL)
_DBFS = re.compile(r"dbfs:/+", re.IGNORECASE)
_ALIASES = {"s3a": "s3"}
# Other names of what is supported, by which people ask for it.
_INSTEAD = {"s3n": "s3", "abfs": "abfss", "wasb": "abfss", "wasbs": "abfss", "adl": "abfss", "gcs": "gs", "webhdfs": "hdfs"}


def is_url(location: str) -> bool:
    """Whether it is a URL and not a path, which may be relative."""
    return "://" in location or _DBFS.match(location) is not None


def scheme_of(location: str) -> str:
    """`s3`, `gs`, `abfss`, `hdfs`, `dbfs` or `file`."""
    if _DBFS.match(location):
        return "dbfs"
    found = _URL.match(location)
    return _ALIASES.get(found[1].lower(), found[1].lower()) if found else "file"


def split(location: str) -> tuple[str, str, str]:
    """The scheme, in its one spelling, the host or bucket, and the path. Raises Invalid for a scheme that is not supported."""
    if _DBFS.match(location):
        return "dbfs", "", "/" + _DBFS.sub("", location, count=1).rstrip("/")
    found = _URL.fullmatch(location)
    if found is None:
        if location.partition("/")[0].endswith(":") and "://" in location:
            raise Invalid(f"{location!r} is no place for files: use {FORMS}")
        return "file", "", location
    scheme, host, path = scheme_of(location), found[2], found[3].rstrip("/")
    if scheme == "file":
        if host not in ("", "localhost"):
            raise Invalid(f"{location!r} names the machine {host!r}: a file URL has three slashes, file:///folder")
        return "file", "", unquote(path)
    if scheme not in REMOTE:
        instead = f"write {_INSTEAD[scheme]}://…" if scheme in _INSTEAD else f"use {FORMS}"
        raise Invalid(f"{scheme}:// is not supported as a place for files: {instead}")
    return scheme, host, path


def normal(location: str) -> str:
    """A location in its one spelling, however it was written; local paths are left as they are. Raises Invalid for what is none.

    Options and credentials have no place in it: they would be stored and shown with every path.
    """
    scheme, host, path = split(location)
    if scheme in ("file", "dbfs"):
        if not path.strip("/") and is_url(location):
            raise Invalid(f"{location!r} names no folder")
        return path if scheme == "file" else f"dbfs:{path}"
    if "?" in path or "#" in path or "?" in host or "#" in host:
        bare = re.split(r"[?#]", location, maxsplit=1)[0]
        raise Invalid(
            f"{bare} is followed by options: leave out what begins with ? or #; endpoint, region and path_style are settings under [s3]"
        )
    if not host and scheme != "hdfs":
        raise Invalid(f"{location!r} names no bucket: write {_example(scheme)}")
    if "@" in host and scheme != "abfss":
        raise Invalid(f"{scheme}://…@{host.rpartition('@')[2]} holds credentials: leave them out, and use {_example(scheme)}")
    if scheme == "abfss" and not re.fullmatch(r"[^@]+@[^@.]+\..+", host):
        raise Invalid(f"{location!r} does not name a container and its account: write {_example(scheme)}")
    if any(part in ("", ".", "..") for part in path.split("/")[1:]):
        raise Invalid(f"{location!r} has an empty part, a '.' or a '..' in its path: an object store takes them for names")
    return f"{scheme}://{host}{path}"


def for_spark(location: str) -> str:
    """The location as Spark is given it: the one place where that is decided."""
    match scheme_of(location):
        case "s3":
            return "s3a" + location[location.index("://") :]
        case "file" if location.startswith("/") and not _is_volume(location):
            # A bare path means another file system where Spark's default is not the local one.
            return f"file://{location}"
    return location


def from_spark(uri: str) -> str:
    """A file that Spark names, as people write its location."""
    path = unquote(uri)
    if path.startswith("s3a://"):
        return "s3" + path[3:]
    return re.sub(r"^file:(?://)?(?=/)", "", path)


def _is_volume(path: str) -> bool:
    """Whether it is a volume of Databricks; elsewhere such a path is what it looks like."""
    return path.startswith("/Volumes/") and "DATABRICKS_RUNTIME_VERSION" in os.environ


def _example(scheme: str) -> str:
    return "abfss://container@account.dfs.core.windows.net/folder" if scheme == "abfss" else f"{scheme}://bucket/folder"
