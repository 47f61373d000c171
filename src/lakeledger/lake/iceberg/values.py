"""Values of a file in Iceberg's words: its bounds as bytes, and the partition that they prove."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from lakeledger import codec
from lakeledger.lake.iceberg import Added

_PACKED = {"boolean": "<?", "int": "<i", "date": "<i", "long": "<q", "float": "<f", "double": "<d", "timestamp": "<q", "timestamptz": "<q"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What files are partitioned by for other engines; by any other type they are not.
DAY, IDENTITY = "day", "identity"
_WITH_DAYS = ("timestamptz", "timestamp", "date")
PARTITION_TYPES = {"boolean": "boolean", "int": "int", "long": "long", "string": "string", "date": {"type": "int", "logicalType": "date"}}


def data_file(file: Added, fields: Mapping[str, tuple[int, Any]], partition: Mapping[str, Any]) -> dict[str, Any]:
    """A file as a manifest tells of it. `fields` are the ids and types of the table's columns, by their names in the files."""
    known = {fields[name]: bounds for name, bounds in file.bounds.items() if name in fields}
    return {
        "content": 0,
        "file_path": file.path,
        "file_format": "PARQUET",
        "partition": dict(partition),
        "record_count": file.rows,
        "file_size_in_bytes": file.size,
        "value_counts": _pairs((id_, file.rows) for (id_, _), bounds in known.items() if "nulls" in bounds),
        "null_value_counts": _pairs((id_, bounds["nulls"]) for (id_, _), bounds in known.items() if "nulls" in bounds),
        "lower_bounds": _pairs(
            (id_, to_bytes(type_, _signed(bounds["min"], "min"))) for (id_, type_), bounds in known.items() if "min" in bounds
        ),
        "upper_bounds": _pairs(
            (id_, to_bytes(type_, _signed(bounds["max"], "max"))) for (id_, type_), bounds in known.items() if "max" in bounds
        ),
    }


def is_partitioning(type_: Any, transform: str) -> bool:
    """Whether other engines take a column of that type for a partition."""
    return isinstance(type_, str) and type_ in (_WITH_DAYS if transform == DAY else PARTITION_TYPES)


def partition_type(part: Mapping[str, Any], types: Mapping[int, Any]) -> Any:
    """The type of a partition's values, by the types of the columns."""
    return "date" if part["transform"] == DAY else types[part["source-id"]]


def proven(file: Added, columns: Mapping[str, tuple[str, Any, str]]) -> dict[str, Any] | None:
    """The partition of a file, if its bounds prove that it is in one; None if they do not.

    `columns` are the partition's fields: name, type and transform, by the column's name in the files. Readers trust the partition, not the
    file.
    """
    found: dict[str, Any] = {}
    for name, (partition_name, type_, transform) in columns.items():
        bounds = file.bounds.get(name, {})
        if bounds.get("nulls") == file.rows:
            found[partition_name] = None
        elif transform == DAY:
            # Text of times, as bounds have it, begins with the day, in UTC.
            days = {str(bounds.get(side, side))[:10] for side in ("min", "max")}
            if bounds.get("nulls") != 0 or len(days) > 1:
                return None
            found[partition_name] = _day(days.pop())
        elif bounds.get("nulls") == 0 and "min" in bounds and bounds["min"] == bounds.get("max"):
            found[partition_name] = _day(bounds["min"]) if type_ == "date" else bounds["min"]
        else:
            return None
    return found


def to_bytes(type_: str, value: Any) -> bytes:
    """A value of a simple type as Iceberg writes single values."""
    if type_ == "string":
        return str(value).encode()
    if type_.startswith("decimal"):
        return _unscaled(Decimal(value), int(type_.rpartition(",")[2].rstrip(")")))
    return struct.pack(_PACKED[type_], _number(type_, value))


def from_bytes(type_: str, content: bytes) -> Any:
    """The value that `to_bytes` made bytes of, as the ledger keeps bounds; that of a type which has become wider is known by its size."""
    if type_ == "string":
        return content.decode()
    if type_.startswith("decimal"):
        number, scale = int.from_bytes(content, "big", signed=True), int(type_.rpartition(",")[2].rstrip(")"))
        return str(Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale)))
    form = {"long": "<i", "double": "<f"}.get(type_, _PACKED[type_]) if len(content) == 4 else _PACKED[type_]
    (value,) = struct.unpack(form, content)
    if type_ == "date":
        return (_EPOCH.date() + timedelta(days=value)).isoformat()
    if type_.startswith("timestamp"):
        at = _EPOCH + timedelta(microseconds=value)
        return codec.to_text(at) if type_ == "timestamptz" else at.replace(tzinfo=None).isoformat()
    return abs(value) if value == 0 and isinstance(value, float) else value


def _number(type_: str, value: Any) -> Any:
    """A value as what is packed into bytes: times are counted from 1970."""
    if type_ == "date":
        return (_day(value) - _EPOCH.date()).days
    return _micros(value) if type_.startswith("timestamp") else value


def _day(value: date | str) -> date:
    return date.fromisoformat(value) if isinstance(value, str) else value


def _signed(value: Any, side: str) -> Any:
    """Zero is below itself as a lower bound and above as an upper one: readers tell the two zeros of floating point apart."""
    return (-0.0 if side == "min" else 0.0) if isinstance(value, float) and value == 0 else value


def _micros(text: str) -> int:
    at = datetime.fromisoformat(text)
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def _unscaled(value: Decimal, scale: int) -> bytes:
    number = int(value.scaleb(scale))
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def _pairs(items: Iterable[tuple[int, Any]]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in items]
