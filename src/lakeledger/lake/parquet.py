"""Parquet: the footer knows the rows and, per column, the bounds and the nulls."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.lake import Bounds, FileFacts, Storage

if TYPE_CHECKING:
    from pyarrow import DataType, Schema, parquet

TEXT_LIMIT = 64


class Parquet:
    """The default format."""

    name = "parquet"
    spark_name = "parquet"
    needs_observed_bounds = False

    def inspect(self, storage: Storage, path: str, observed: Mapping[str, Any], columns: Container[str]) -> FileFacts:  # noqa: ARG002 - the footer knows
        return facts_of(read_footer(storage, path), columns)


def read_footer(storage: Storage, path: str) -> parquet.FileMetaData:
    """What is at the end of a file. Raises FileNotFoundError, or pyarrow's error for what is no Parquet."""
    from pyarrow import parquet

    with storage.reading(path):
        return parquet.read_metadata(storage.inner(path), filesystem=storage.filesystem)


def facts_of(footer: parquet.FileMetaData, columns: Container[str]) -> FileFacts:
    """Facts about a file, with bounds of these columns."""
    first = footer.row_group(0).column(0) if footer.num_row_groups and footer.num_columns else None
    return FileFacts(footer.num_rows, first.compression.lower() if first else "none", _bounds(footer, columns))


def footer_types(storage: Storage, path: str) -> dict[str, Any] | None:
    """The columns of a file in the shape of Spark's schemas, but in pyarrow's words; None if it is no Parquet, or not there."""
    from pyarrow import ArrowInvalid, parquet

    try:
        schema = parquet.read_schema(storage.inner(path), filesystem=storage.filesystem)
    except (ArrowInvalid, OSError):
        return None
    return shape_of(schema)


def shape_of(schema: Schema) -> dict[str, Any]:
    """Columns in the shape of Spark's schemas, but in pyarrow's words."""
    return {"type": "struct", "fields": [{"name": field.name, "type": _shape(field.type)} for field in schema]}


def _shape(type_: DataType) -> Any:
    from pyarrow import types

    if types.is_struct(type_):
        return {"type": "struct", "fields": [{"name": field.name, "type": _shape(field.type)} for field in type_]}
    if types.is_map(type_):
        return {"type": "map", "keyType": _shape(type_.key_type), "valueType": _shape(type_.item_type)}
    if any(is_list(type_) for is_list in (types.is_list, types.is_large_list, types.is_fixed_size_list)):
        return {"type": "array", "elementType": _shape(type_.value_type)}
    return _shape(type_.value_type) if types.is_dictionary(type_) else str(type_)


def _bounds(footer: parquet.FileMetaData, columns: Container[str]) -> Bounds:
    """The bounds of these columns. A path with a dot is a leaf of a nested column, whose bounds say nothing about whole values."""
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    paths = [footer.schema.column(index).path for index in range(footer.num_columns)] if groups else []
    return {
        path: _column([group.column(index) for group in groups]) for index, path in enumerate(paths) if path in columns and "." not in path
    }


def _column(chunks: list[parquet.ColumnChunkMetaData]) -> dict[str, Any]:
    statistics = [chunk.statistics for chunk in chunks]
    known: dict[str, Any] = {}
    if all(each is not None and each.has_null_count for each in statistics):
        known["nulls"] = sum(each.null_count for each in statistics)
    with_values = [each for each in statistics if each is None or each.num_values]
    if with_values and all(each is not None and each.has_min_max for each in with_values):
        try:
            known |= bound("min", min(each.min for each in with_values)) | bound("max", max(each.max for each in with_values))
        except (OverflowError, ValueError):
            return known  # Spark's time goes beyond the year 9999, Python's does not.
    return known


def bound(side: str, value: Any) -> dict[str, Any]:
    """A bound as it is stored. Long text is cut, which is still a lower bound but no upper one; what JSON cannot hold is left out."""
    if value is None or isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value)):
        return {}
    if isinstance(value, str) and "\0" in value:
        return {}
    if isinstance(value, str) and len(value) > TEXT_LIMIT:
        return {side: value[:TEXT_LIMIT]} if side == "min" else {}
    return {side: codec.to_plain(value)}
