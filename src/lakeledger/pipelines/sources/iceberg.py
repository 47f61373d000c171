"""An Iceberg table as a source, without JARs: pyiceberg reads its metadata, and Spark the Parquet files that are new.

Snapshots that append give their files; those that replace files by others with the same rows (a compaction) are no news.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from lakeledger import codec
from lakeledger.errors import Invalid, NotInstalled, Unavailable
from lakeledger.locations import from_spark
from lakeledger.pipelines.read import OPTIONS, literal
from lakeledger.pipelines.sources import Reading, Seen, refuse_lost_position
from lakeledger.sync import Advance, IcebergPosition
from lakeledger.sync import Source as SourceName

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot
    from pyspark.sql import DataFrame, SparkSession

_TYPES = {
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "binary": "binary",
}


@dataclass(frozen=True)
class Iceberg:
    """Which table, and what is read of it: `full`, all rows whenever they changed, or `append`, the rows that were added.

    The table is `namespace.name` in the catalog with these properties (pyiceberg's: `type`, `uri`, `warehouse` …), or, without any, the
    path of its metadata file.
    """

    table: str
    load: Literal["full", "append"] = "append"
    catalog: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class IcebergSource:
    """An Iceberg table that somebody else writes."""

    name: SourceName
    config: Iceberg

    def plan(self, seen: Seen) -> Reading | None:
        if seen.marker is None and self.config.load != "full":
            refuse_lost_position(self.name, seen, "load it into another table")
        table = self._open()
        current = table.current_snapshot()
        if current is None:
            return None
        if seen.marker is None:
            return self._whole(seen, table, current)
        known = int(seen.marker.position_data["snapshot_id"])
        if known == current.snapshot_id:
            return None
        new = self._since(table, current, known)
        changed = [each for each in new if _operation(each) != "replace"]
        if not changed:
            return Reading(None, move=self._move(seen, current), message="nothing new", detail={"snapshots": len(new)})
        if self.config.load == "full":
            return self._whole(seen, table, current)
        if other := next((each for each in changed if _operation(each) != "append"), None):
            raise Invalid(
                f"snapshot {other.snapshot_id} of {self.config.table} is an {_operation(other)}, which changed rows, not only added some: "
                f"load it with load full"
            )
        paths = [path for snapshot in changed for path in _added(table, snapshot)]
        return self._reading(seen, table, current, paths, known)

    def _whole(self, seen: Seen, table: Table, current: Snapshot) -> Reading | None:
        tasks = list(table.scan(snapshot_id=current.snapshot_id).plan_files())
        if any(task.delete_files for task in tasks):
            raise Invalid(
                f"{self.config.table} has delete files, which need Iceberg's own reader: rewrite its data files, or write it copy-on-write"
            )
        return self._reading(seen, table, current, [task.file.file_path for task in tasks], None)

    def _reading(self, seen: Seen, table: Table, current: Snapshot, paths: list[str], begin: int | None) -> Reading | None:
        _check_columns(table, self.config.table)
        if not paths and self.config.load != "full":
            return None
        columns = _columns(table.schema(), self.config.table)
        return Reading(
            frame=lambda spark: self._frame(spark, columns, paths),
            batch_id=codec.digest(["iceberg", self.name.name, self.config.load, begin, current.snapshot_id]),
            move=self._move(seen, current),
            summary={"source": self.name.name, "source_snapshot": current.snapshot_id},
            detail={"files": len(paths), "source_snapshot": current.snapshot_id},
            is_slice=begin is not None,
        )

    @contextmanager
    def _frame(self, spark: SparkSession, columns: str, paths: list[str]) -> Iterator[DataFrame]:
        if not paths:
            yield spark.createDataFrame([], columns)
            return
        yield spark.read.schema(columns).options(**OPTIONS).parquet(*(literal(from_spark(path)) for path in paths))

    def _since(self, table: Table, current: Snapshot, known: int) -> list[Snapshot]:
        """The snapshots that led from the known one to the current one, oldest first. Raises Invalid if the known one is none of them."""
        found: list[Snapshot] = []
        snapshot: Snapshot | None = current
        while snapshot is not None and snapshot.snapshot_id != known:
            found.append(snapshot)
            snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id is not None else None
        if snapshot is None:
            raise Invalid(
                f"snapshot {known} of {self.config.table}, up to which it was read, is expired or rolled back: what changed since is not "
                f"known; load it under another source_id"
            )
        return found[::-1]

    def _open(self) -> Table:
        if not self.config.catalog:
            return open_metadata(self.config.table)
        with _opening(self.config.table):
            from pyiceberg.catalog import load_catalog

            return load_catalog("source", **self.config.catalog).load_table(self.config.table)

    def _move(self, seen: Seen, snapshot: Snapshot) -> Advance:
        # Tables of version 1 have no sequence numbers.
        position = IcebergPosition(snapshot.snapshot_id, snapshot.sequence_number or None)
        return Advance(self.name, position, seen.marker.version if seen.marker else 0)


def open_metadata(path: str) -> Table:
    """An Iceberg table by its metadata file. Raises Invalid if there is none, Unavailable or NotInstalled."""
    with _opening(path):
        from pyiceberg.table import StaticTable

        return StaticTable.from_metadata(path)


@contextmanager
def _opening(name: str) -> Iterator[None]:
    try:
        from pyiceberg.exceptions import NoSuchTableError
    except ImportError as error:
        raise NotInstalled("Iceberg as a source needs pyiceberg: pip install 'lakeledger[iceberg]'") from error
    try:
        yield
    except (NoSuchTableError, FileNotFoundError) as error:
        raise Invalid(f"there is no Iceberg table {name}: check the source's table and catalog") from error
    except OSError as error:
        raise Unavailable(f"the Iceberg table {name} cannot be read: {error}") from error


def _operation(snapshot: Snapshot) -> str:
    return snapshot.summary.operation.value if snapshot.summary else "overwrite"


def _added(table: Table, snapshot: Snapshot) -> Iterator[str]:
    """The data files that a snapshot added."""
    from pyiceberg.manifest import ManifestContent, ManifestEntryStatus

    for manifest in snapshot.manifests(table.io):
        if manifest.content == ManifestContent.DATA and manifest.added_snapshot_id == snapshot.snapshot_id:
            for entry in manifest.fetch_manifest_entry(table.io):
                if entry.status == ManifestEntryStatus.ADDED:
                    yield entry.data_file.file_path


def _check_columns(table: Table, name: str) -> None:
    """Raise Invalid if a name stands for several columns over time, or a column had several names: Spark reads files by name."""
    ids: dict[str, set[int]] = {}
    names: dict[int, set[str]] = {}
    for schema in table.schemas().values():
        for column in schema.fields:
            ids.setdefault(column.name, set()).add(column.field_id)
            names.setdefault(column.field_id, set()).add(column.name)
    if renamed := sorted(each for found in names.values() if len(found) > 1 for each in found):
        raise Invalid(
            f"{name} renamed a column ({', '.join(renamed)}), which needs Iceberg's own reader: rewrite its data files into another table"
        )
    if again := sorted(each for each, found in ids.items() if len(found) > 1):
        raise Invalid(
            f"{name} dropped and added the column {again[0]} again, which needs Iceberg's own reader: rewrite it into another table"
        )


def _columns(schema: Schema, table: str) -> str:
    return ", ".join(f"`{each.name}` {_type(each.field_type, f'{table}.{each.name}')}" for each in schema.fields)


def _type(type_: Any, name: str) -> str:
    from pyiceberg.types import ListType, MapType, StructType

    match type_:
        case ListType():
            return f"array<{_type(type_.element_type, name)}>"
        case MapType():
            return f"map<{_type(type_.key_type, name)},{_type(type_.value_type, name)}>"
        case StructType():
            return f"struct<{', '.join(f'`{each.name}`: {_type(each.field_type, name)}' for each in type_.fields)}>"
    text = str(type_)
    if text.startswith("decimal"):
        return text.replace(" ", "")
    if text.startswith("fixed"):
        return "binary"
    if text not in _TYPES:
        raise Invalid(f"{name} is a {text}, which Spark cannot read from Parquet: cast it in the table that is read")
    return _TYPES[text]
