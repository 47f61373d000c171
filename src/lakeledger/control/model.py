"""What the control table talks about: sources and the settings of their modules, as rows and as one consistent view."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Literal

from lakeledger import codec

Key = tuple[str, str]


@dataclass(frozen=True)
class SourceRow:
    """One source: a row of the control table, its columns in this order. The configs are JSON texts, as people write them in SQL."""

    source_id: str
    module_name: str
    source_type: str
    execution_order: int
    source_config: str
    target_config: str
    transformation_config: str
    is_active: bool
    created_timestamp: datetime | None = None
    updated_timestamp: datetime | None = None

    @property
    def key(self) -> Key:
        return self.module_name, self.source_id

    @property
    def content_hash(self) -> str:
        """What it says, whenever it was written: spelling of JSON and timestamps do not count."""
        return _hash([getattr(self, each.name) for each in fields(self)[:8]])


@dataclass(frozen=True)
class ModuleRow:
    """The settings of one module: a row of `<control table>_modules`. What is None was not said."""

    module_name: str
    description: str | None = None
    schedule: str | None = None
    trigger: str | None = None
    parameters: str | None = None
    tags: str | None = None
    notifications: str | None = None
    timeout_seconds: int | None = None
    max_concurrent_runs: int | None = None
    created_timestamp: datetime | None = None
    updated_timestamp: datetime | None = None

    @property
    def key(self) -> str:
        return self.module_name

    @property
    def content_hash(self) -> str:
        return _hash([getattr(self, each.name) for each in fields(self)[:9]])


@dataclass(frozen=True)
class JobRow:
    """The job of one module on one backend: a row of `<control table>_jobs`, which is kept for whoever asks with SQL."""

    module_name: str
    backend: str
    job_id: str
    job_name: str
    state: str
    settings_hash: str
    control_version: int
    created_timestamp: datetime
    updated_timestamp: datetime

    @property
    def key(self) -> Key:
        return self.module_name, self.backend


@dataclass(frozen=True)
class UnreadableRow:
    """A row that cannot be read, for example one without a source_id or one of two with the same key. `values` is the row as it stands.

    Its key is (module_name, source_id), either of which may be missing; in the modules table there is no source_id.
    """

    row_number: int
    key: tuple[str | None, str | None]
    field: str
    message: str
    table: Literal["sources", "modules", "jobs"] = "sources"
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        name = ".".join(part for part in self.key if part is not None)
        return f"row {self.row_number} of the {self.table}{f' ({name})' if name else ''}: {self.field}: {self.message}"


@dataclass(frozen=True)
class Snapshot:
    """Both tables at one moment: their versions and rows. Rows that cannot be read are among the problems instead.

    A modules table that is not there has version -1.
    """

    version: int
    modules_version: int
    sources: Mapping[Key, SourceRow] = field(default_factory=dict)
    modules: Mapping[str, ModuleRow] = field(default_factory=dict)
    problems: tuple[UnreadableRow, ...] = ()


@dataclass(frozen=True)
class Edit:
    """What is to change: a row to put, or None to delete the one with that key."""

    sources: Mapping[Key, SourceRow | None] = field(default_factory=dict)
    modules: Mapping[str, ModuleRow | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.sources or self.modules)

    def applied(self, to: Snapshot, at: datetime) -> Snapshot:
        """The rows after the edit. Only what differs gets a new timestamp."""
        return replace(to, sources=_put(to.sources, self.sources, at), modules=_put(to.modules, self.modules, at))


@dataclass(frozen=True)
class Commit:
    """One version of the control table, or of its modules table: who made it, when, how and why."""

    version: int
    at: datetime
    by: str | None
    operation: str
    detail: dict[str, Any]
    table: str = ""
    touched: frozenset[str] | None = None

    def may_touch(self, module: str | None) -> bool:
        """Whether it may have changed that module, or any."""
        return module is None or self.touched is None or module in self.touched

    @property
    def reason(self) -> str:
        return str(self.detail.get("reason") or "")


def _put(rows: Mapping[Any, Any], edits: Mapping[Any, Any], at: datetime) -> dict[Any, Any]:
    result = dict(rows)
    for key, row in edits.items():
        before = rows.get(key)
        if row is None:
            result.pop(key, None)
        elif before is None:
            result[key] = replace(row, created_timestamp=row.created_timestamp or at, updated_timestamp=row.updated_timestamp or at)
        elif row.content_hash != before.content_hash:
            result[key] = replace(row, created_timestamp=before.created_timestamp or at, updated_timestamp=at)
    return result


def _hash(values: list[Any]) -> str:
    try:
        return codec.digest([_content(value) for value in values])
    except (ValueError, RecursionError):
        return codec.digest(values)  # Python reads more than JSON knows: NaN, 1e999, half of a surrogate pair


def _content(value: Any) -> Any:
    """A JSON text as what it says, anything else as it is."""
    if not isinstance(value, str) or value[:1] not in "{[":
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
