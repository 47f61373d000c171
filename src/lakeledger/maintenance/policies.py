"""Policies: how long things are kept. A table has what its schema says, and that what is said of all tables, unless it says otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.db import Transaction
from lakeledger.db.queries import load
from lakeledger.errors import Invalid
from lakeledger.maintenance.planning import Policy
from lakeledger.names import TableName

sql = load("lakeledger.maintenance")

# What all tables have unless they or their schema say otherwise.
EVERYWHERE = ""
SETTINGS = tuple(field.name for field in fields(Policy))
LONGEST = timedelta(days=36_500)
SPANS = ("keep_for", "grace", "snapshot_every")
SWITCHES = ("snapshot_query",)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}(\.[A-Za-z_][A-Za-z0-9_]{0,127})?")


@dataclass(frozen=True)
class Scope:
    """What is said of a table, of a schema or of all tables: a row of `maintenance_policies`. Time spans are seconds."""

    tenant_id: str
    scope: str
    settings: dict[str, Any]
    updated_at: datetime
    updated_by: str


def of_table(tx: Transaction, name: TableName) -> Policy:
    """The policy of a table, with what it inherits."""
    said = {row["scope"]: row["settings"] for row in tx.all(sql.policies_of, schema=codec.fold(name.schema), name=name.key)}
    found: dict[str, Any] = {}
    for scope in (EVERYWHERE, codec.fold(name.schema), name.key):
        for key, value in said.get(scope, {}).items():
            found[key] = timedelta(seconds=value) if key in SPANS and value is not None else value
    return Policy(**found)


def listed(tx: Transaction) -> list[Scope]:
    """What is said, of all tables first."""
    return [Scope(**row) for row in tx.all(sql.list_policies)]


def put(tx: Transaction, scope: str, changes: Mapping[str, Any], by: str) -> dict[str, Any]:
    """Say it of that scope: what is given, on top of what it says already; INHERIT takes a setting back. Raises Invalid."""
    key = check_scope(scope)
    for name in changes:
        check_name(name)
    row = tx.one(sql.get_policy, scope=key)
    said = {**(row["settings"] if row else {}), **{name: check(name, value) for name, value in changes.items() if value is not INHERIT}}
    left = {name: value for name, value in said.items() if changes.get(name) is not INHERIT}
    if left:
        tx.execute(sql.put_policy, scope=key, settings=left, updated_by=by)
    else:
        tx.execute(sql.remove_policy, scope=key)
    return left


class Inherit:
    """The type of INHERIT."""

    def __repr__(self) -> str:
        return "INHERIT"


INHERIT = Inherit()


def check_scope(scope: str) -> str:
    """The key of a scope: '' for all tables, a schema, or a schema and a table. Raises Invalid."""
    if scope != EVERYWHERE and not _NAME.fullmatch(scope):
        raise Invalid(f"{scope!r} is neither a schema nor a table: write `silver`, or `silver.orders`")
    return codec.fold(scope)


def check_name(name: str) -> None:
    """Raise Invalid if there is no such setting."""
    if name not in SETTINGS:
        raise Invalid(f"no setting {name!r}{suggest(name, list(SETTINGS))}: there are {', '.join(SETTINGS)}")


def check(name: str, value: Any) -> float | int | None:
    """A setting's value as it is kept. Raises Invalid."""
    check_name(name)
    is_optional = name.startswith("snapshot_") and name not in SWITCHES
    if value is None and is_optional:
        return None
    if name in SWITCHES:
        if isinstance(value, bool):
            return value
        raise Invalid(f"{name} must be on or off, not {value!r}")
    if name in SPANS:
        if isinstance(value, timedelta) and timedelta(0) <= value <= LONGEST:
            return value.total_seconds()
        raise Invalid(f"{name} must be a time span of at most {LONGEST.days} days, not {value!r}: for example 7d")
    if isinstance(value, int) and not isinstance(value, bool) and value >= (0 if is_optional else 1):
        return value
    raise Invalid(f"{name} must be {'a whole number' if is_optional else 'at least 1'}, not {value!r}")
