"""A Delta table as a source, without JARs: its log is read here, and Spark reads the Parquet files that are new.

A table that others only append to gives the files of the new versions. One whose rows change gives its changes, if it has a change feed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from lakeledger import codec
from lakeledger.config import S3Settings
from lakeledger.errors import Invalid, Unavailable
from lakeledger.lake import Storage
from lakeledger.lake.storage import AS_AWS
from lakeledger.locations import is_url
from lakeledger.pipelines.read import OPTIONS, literal
from lakeledger.pipelines.sources import Reading, Seen, changes, refuse_lost_position
from lakeledger.pipelines.sources.files import Where
from lakeledger.sync import Advance, DeltaPosition
from lakeledger.sync import Source as SourceName

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FEED = "delta.enableChangeDataFeed"
MAPPING = "delta.columnMapping.mode"
_CHANGE_DATA = "_change_data"
_FEED_TYPES = {"insert": changes.INSERT, "update_postimage": changes.UPDATE, "delete": changes.DELETE}


@dataclass(frozen=True)
class Delta:
    """Which table, and what is read of it: `full`, all rows whenever they changed; `append`, the rows that were added; `changes`.

    The first load reads all rows in any case. A later one takes up to `max_versions` of the table's. `storage_options` are delta-rs's.
    """

    path: str
    load: Literal["full", "append", "changes"] = "append"
    max_versions: int = 100
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Version:
    """What a commit of the table's log says. What only moved rows from file to file (a compaction) is no news."""

    version: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    feed: tuple[str, ...] = ()
    has_deletion_vectors: bool = False

    @property
    def is_news(self) -> bool:
        return bool(self.added or self.removed or self.feed)

    @classmethod
    def of(cls, version: int, actions: Iterable[Mapping[str, Any]]) -> Version:
        """The version that these actions make."""
        found: dict[str, list[str]] = {"add": [], "remove": [], "cdc": []}
        vectors = False
        for action in actions:
            for kind, paths in found.items():
                each = action.get(kind)
                if each and (kind == "cdc" or each.get("dataChange", True)):
                    paths.append(each["path"])
                    vectors |= kind == "add" and bool(each.get("deletionVector"))
        return cls(version, tuple(found["add"]), tuple(found["remove"]), tuple(found["cdc"]), vectors)


@dataclass(frozen=True)
class DeltaSource:
    """A Delta table that somebody else writes. A relative path is meant from `base`."""

    name: SourceName
    config: Delta
    base: Path = Path()
    s3: S3Settings = AS_AWS

    @property
    def path(self) -> str:
        return Where(self.base, self.s3).whole(self.config.path).rstrip("/")

    def plan(self, seen: Seen) -> Reading | None:
        if seen.marker is None and self.config.load != "full":
            refuse_lost_position(self.name, seen, "load it into another table")
        table = self._open()
        current, identity = table.version(), str(table.metadata().id)
        if seen.marker is None:
            return self._whole(seen, table, identity)
        self._check_same(seen.marker.position_data, current, identity)
        known = int(seen.marker.position_data["version"])
        if known == current:
            return None
        versions = self._versions(known + 1, current if self.config.load == "full" else min(current, known + self.config.max_versions))
        if not any(version.is_news for version in versions):
            move = self._move(seen, versions[-1].version, identity)
            return Reading(None, move=move, message="nothing new", detail={"versions": len(versions)})
        if self.config.load == "full":
            return self._whole(seen, table, identity)
        return self._since(seen, table, versions, identity)

    def _whole(self, seen: Seen, table: DeltaTable, identity: str) -> Reading | None:
        if list(table.deletion_vectors()):
            raise Invalid(f"{self.path} has deletion vectors, which need Delta's own reader: run `reorg table … apply (purge)` on it")
        version = table.version()
        paths = self._full(table.get_add_actions(flatten=True).column("path").to_pylist())
        read = [Part(version, changes.READ, paths)]
        return self._reading(seen, table, read, identity, version) if paths or self.config.load == "full" else None

    def _since(self, seen: Seen, table: DeltaTable, versions: list[Version], identity: str) -> Reading:
        changed = [version for version in versions if version.removed or version.feed]
        has_feed = str(table.metadata().configuration.get(FEED, "false")).lower() == "true"
        if changed and self.config.load == "append":
            fix = "load its changes" if has_feed else "load it with load full"
            raise Invalid(f"version {changed[0].version} of {self.path} changed rows, not only added some: {fix}")
        if changed and not has_feed:
            raise Invalid(
                f"version {changed[0].version} of {self.path} changed rows, and the table has no change feed: run `alter table … "
                f"set tblproperties ({FEED} = true)` for what comes, and load it anew"
            )
        if vectors := [version for version in versions if version.has_deletion_vectors and not version.feed]:
            raise Invalid(f"version {vectors[0].version} of {self.path} has deletion vectors without a change feed: load it with load full")
        parts = [part for version in versions for part in self._parts(version)]
        return self._reading(seen, table, parts, identity, versions[-1].version)

    def _parts(self, version: Version) -> Iterator[Part]:
        """What is read of a version: its change feed if it wrote one, else its files."""
        if version.feed:
            yield Part(version.version, None, self._full(version.feed))
            return
        if version.removed:
            yield Part(version.version, changes.DELETE, self._full(version.removed))
        if version.added:
            yield Part(version.version, changes.INSERT, self._full(version.added))

    def _reading(self, seen: Seen, table: DeltaTable, parts: list[Part], identity: str, to: int) -> Reading:
        schema = json.loads(table.schema().to_json())
        partitioned = bool(table.metadata().partition_columns)
        begin = seen.marker.position_data["version"] if seen.marker else None
        return Reading(
            frame=lambda spark: self._frame(spark, parts, schema, partitioned=partitioned),
            batch_id=codec.digest(["delta", self.name.name, self.config.load, identity, begin if self.config.load != "full" else None, to]),
            move=self._move(seen, to, identity),
            summary={"source": self.name.name, "source_version": to},
            detail={"files": sum(len(part.paths) for part in parts), "source_version": to},
            is_slice=self.config.load != "full" and seen.marker is not None,
        )

    @contextmanager
    def _frame(self, spark: SparkSession, parts: list[Part], schema: dict[str, Any], *, partitioned: bool) -> Iterator[DataFrame]:
        from pyspark.sql.types import StructType

        columns = StructType.fromJson(schema)
        root = self.path
        if not any(part.paths for part in parts):
            yield spark.createDataFrame([], columns)
            return
        if self.config.load != "changes":
            yield _read(spark, columns, [path for part in parts for path in part.paths], root if partitioned else None)
            return
        yield reduce(
            lambda one, other: one.union(other), (self._changes(spark, columns, part, root, partitioned=partitioned) for part in parts)
        )

    def _changes(self, spark: SparkSession, columns: StructType, part: Part, root: str, *, partitioned: bool) -> DataFrame:
        """The rows of one version with what happened to them. Of an update, the row as it is afterwards."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import StringType, StructField, StructType

        names = [F.col(f"`{name}`") for name in columns.names]
        if part.change:
            frame = _read(spark, columns, part.paths, root if partitioned else None)
            change = F.lit(part.change)
        else:
            with_type = StructType([*columns.fields, StructField(changes.CHANGE_TYPE, StringType())])
            frame = _read(spark, with_type, part.paths, f"{root}/{_CHANGE_DATA}" if partitioned else None)
            frame = frame.where(F.col(changes.CHANGE_TYPE).isin(*_FEED_TYPES))
            change = F.lit(None).cast("string")
            for theirs, ours in _FEED_TYPES.items():
                change = F.when(F.col(changes.CHANGE_TYPE) == theirs, F.lit(ours)).otherwise(change)
        # In one version a row can go and come again: then it is there.
        order = F.when(change == changes.DELETE, F.lit(0)).otherwise(F.lit(1)).cast("bigint")
        sequence = F.array(F.lit(part.version).cast("bigint"), order)
        return frame.select(*names, change.alias(changes.CHANGE_TYPE), sequence.alias(changes.SEQUENCE))

    def _open(self) -> DeltaTable:
        return open_table(self.path, self.config.storage_options)

    def _versions(self, first: int, last: int) -> list[Version]:
        """What the log says of these versions. Raises Invalid if entries were cleaned up."""
        storage = Storage(self.path, self.s3)

        def one(version: int) -> Version:
            try:
                text = storage.read(f"_delta_log/{version:020}.json").decode()
            except FileNotFoundError as error:
                raise Invalid(
                    f"the log of {self.path} has no entry of version {version} any more: what changed since is not known; load it "
                    f"anew, and more often than delta.logRetentionDuration"
                ) from error
            return Version.of(version, (json.loads(line) for line in text.splitlines() if line.strip()))

        return [one(version) for version in range(first, last + 1)]

    def _check_same(self, position: Mapping[str, Any], current: int, identity: str) -> None:
        if position.get("table_id", identity) != identity:
            raise Invalid(f"{self.path} is another table than the one that was read: load it under another source_id")
        if int(position["version"]) > current:
            raise Invalid(
                f"{self.path} is at version {current}, before {position['version']} that was read: load it under another source_id"
            )

    def _move(self, seen: Seen, version: int, identity: str) -> Advance:
        return Advance(self.name, DeltaPosition(version, {"table_id": identity}), seen.marker.version if seen.marker else 0)

    def _full(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Paths as the log has them, relative to the table and escaped, from where Spark is."""
        root = self.path
        return tuple(unquote(path) if is_url(path) else f"{root}/{unquote(path)}" for path in paths)


def open_table(path: str, storage_options: Mapping[str, str] | None = None) -> DeltaTable:
    """A Delta table by its path. Raises Invalid if there is none, or one that maps its columns, and Unavailable."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        table = DeltaTable(path, storage_options=dict(storage_options or {}) or None)
    except TableNotFoundError as error:
        raise Invalid(f"there is no Delta table at {path}: check the path") from error
    except (DeltaError, OSError) as error:
        raise Unavailable(f"the Delta table at {path} cannot be read: {str(error).partition(chr(10))[0]}") from error
    mode = table.metadata().configuration.get(MAPPING, "none")
    if mode != "none":
        raise Invalid(f"{path} maps its columns by {mode}, which needs Delta's own reader: read it with a query of your own")
    return table


@dataclass(frozen=True)
class Part:
    """Files of one version whose rows all came to be in one way, or (None) say so themselves."""

    version: int
    change: str | None
    paths: tuple[str, ...]


def _read(spark: SparkSession, columns: StructType, paths: Iterable[str], base: str | None) -> DataFrame:
    from pyspark.sql import functions as F

    reader = spark.read.schema(columns).options(**OPTIONS)
    if base:
        reader = reader.option("basePath", base)
    # Columns that stand in the names of folders come last.
    return reader.parquet(*(literal(path) for path in paths)).select(*(F.col(f"`{name}`") for name in columns.names))
