"""Arrow tables become Parquet files as Spark writes them: one for each partition, with bounds from their footers."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakeledger import clock, failpoints
from lakeledger.errors import Invalid
from lakeledger.lake import Storage
from lakeledger.lake.parquet import facts_of
from lakeledger.pipelines import observe
from lakeledger.tables import NewFile
from lakeledger.tables.schema import Schema, stored, stored_names, type_text

if TYPE_CHECKING:
    import pyarrow as pa

# As Spark calls the folder of rows without a value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# What Spark escapes in the name of a folder.
_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^").union(map(chr, range(1, 32)))
# What Spark's files are like, too: no other schema beside that of Parquet, and small decimals as numbers.
PARQUET = {"compression": "snappy", "version": "2.6", "store_schema": False, "store_decimal_as_integer": True}


@dataclass(frozen=True)
class Part:
    """Rows for one table, under the physical names of its schema. `keys` are columns whose bounds are kept, however many there are."""

    table: pa.Table
    schema: Schema
    partition_by: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


def save(storage: Storage, folder: str, part: Part) -> list[NewFile]:
    """Write the rows below that folder, nothing if there are none. Raises Invalid, Failed or Unavailable."""
    columns = stored(part.schema)
    partition_by = stored_names(part.schema, part.partition_by)
    bounded = observe.bounded(columns, {*partition_by, *part.keys})
    return [
        _write(storage, f"{folder}/{_folders(path)}part-{clock.new_id()}.snappy.parquet", path, rows, bounded)
        for path, rows in by_partition(part.table, partition_by)
        if len(rows)
    ]


def check_partitions(table: str, schema: Schema, partition_by: Sequence[str]) -> None:
    """Raise Invalid for columns that rows cannot be partitioned by without Spark: only it knows how it writes their values as text."""
    types = {each["physical_name"]: each["type"] for each in schema["fields"]}
    for name in stored_names(schema, partition_by):
        if not isinstance(types[name], str) or types[name] in ("float", "double"):
            raise Invalid(
                f"a stream writer cannot partition {table} by {name}, a {type_text(types[name])}: "
                "partition by text, whole numbers, dates, times or decimals"
            )


def partition_text(value: Any) -> str:
    """A value as Spark names its folder: one text for each. An underscore in front tells '' and whatever begins with one apart."""
    match value:
        case None:
            return NO_VALUE
        case bool():
            text = str(value).lower()
        case datetime():
            plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            text = plain.isoformat(" ").rstrip("0") if plain.microsecond else plain.isoformat(" ")
        case date():
            text = value.isoformat()
        case Decimal():
            text = f"{value:f}"
        case bytes():
            text = value.hex().upper()
        case _:
            text = str(value)
    text = f"_{text}" if not text or text.startswith("_") else text
    return "".join(f"%{ord(each):02X}" if each in _ESCAPED else each for each in text)


def by_partition(table: pa.Table, partition_by: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each partition, in their order, with its path; all of them if there are no partitions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not partition_by:
        yield "", table
        return
    # Each combination of values has a number; rows sorted by it are slices of one table.
    numbers = pa.array([0] * len(table), pa.int64())
    for name in partition_by:
        codes = table.column(name).combine_chunks().dictionary_encode(null_encoding="encode")
        numbers = pc.add(pc.multiply(numbers, len(codes.dictionary)), codes.indices.cast(pa.int64()))
    order = pc.sort_indices(numbers)
    counted = pc.value_counts(numbers.take(order))
    start = 0
    for length in counted.field("counts").to_pylist():
        rows = table.take(order.slice(start, length))
        values = ((name, rows.column(name)[0].as_py()) for name in partition_by)
        yield "/".join(f"{name}={partition_text(value)}" for name, value in values), rows
        start += length


def _folders(path: str) -> str:
    """The folders of a partition, named as Spark's: for copies of the columns, which stay in the files."""
    return "".join(f"by_{part}/" for part in path.split("/")) if path else ""


def _write(storage: Storage, path: str, partition_path: str, rows: pa.Table, bounded: Container[str]) -> NewFile:
    from pyarrow import parquet

    footers: list[parquet.FileMetaData] = []
    with storage.writing(path) as stream:
        with parquet.ParquetWriter(stream, rows.schema, metadata_collector=footers, **PARQUET) as writer:
            writer.write_table(rows)
            failpoints.reach(failpoints.MID_WRITE, storage.inner(path.rpartition("/")[0]))
        size = stream.tell()
    facts = facts_of(footers[0], bounded)
    return NewFile(path, size, facts.rows, partition_path, facts.compression, facts.bounds, clock.now())
