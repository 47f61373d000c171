"""A version of a table's schema as it is kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lakeledger.sync.schemas.definition import SchemaDefinition


@dataclass(frozen=True)
class SchemaVersion:
    """One version: a row of `schema_registry`, or what an archived one was. Versions of a table count from 1 without a gap.

    `changes` says what changed since `previous_version`, why it matters and what to do about it. `created` tells whoever registered it
    whether it is new; `archived` whether it has been moved out of the registry.
    """

    id: str
    tenant_id: str
    schema_name: str
    table_name: str
    name_key: str
    version: int
    schema_definition: dict[str, Any]
    schema_hash: str
    ordinal_hash: str
    evolution_type: str
    previous_version: int | None
    compatibility_status: str
    changes: list[dict[str, Any]]
    policy: str
    registered_at: datetime
    registered_by: str
    sync_run_id: str | None
    created: bool = field(default=False, compare=False)
    archived: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """The table."""
        return f"{self.schema_name}.{self.table_name}"

    @property
    def definition(self) -> SchemaDefinition:
        return SchemaDefinition.from_dict(self.schema_definition)
