"""The kinds of records: what each looks like, in every version; and what becomes of a record that does not look like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

from lakeledger import codec, schemas
from lakeledger.db import Row, Store, Transaction
from lakeledger.errors import Conflict, Invalid, NotFound
from lakeledger.records.compatibility import MODES, incompatibilities
from lakeledger.records.model import MetadataRecord, check_kind
from lakeledger.records.retention import FOREVER
from lakeledger.records.store import sql

MOST_PROBLEMS = 3


class Policy(StrEnum):
    """What becomes of a record whose kind is not registered, or whose payload is not valid by it."""

    STRICT = "strict"  # it is refused
    QUARANTINE = "quarantine"  # it is set aside as a dead letter
    OPEN = "open"  # it is kept


@dataclass(frozen=True)
class Kind:
    """One version of a kind. `retention_days` None keeps its records for good, or as the settings say if it `follows_settings`."""

    kind: str
    version: int
    schema: dict[str, Any]
    compatibility: str = "backward"
    retention_days: float | None = None
    follows_settings: bool = False
    archive: bool = False
    frequency: str | None = None
    description: str | None = None
    reason: str | None = None
    registered_by: str = "lakeledger"
    registered_at: datetime | None = None


@dataclass(frozen=True)
class NewKind:
    """A version to be registered. What is None stays as it is in the version before."""

    kind: str
    schema: dict[str, Any]
    compatibility: str | None = None
    retention_days: float | None = None
    archive: bool | None = None
    frequency: str | None = None
    description: str | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        check_kind(self.kind)
        check_schema(self.kind, self.schema)
        if self.compatibility is not None and self.compatibility not in MODES:
            raise Invalid(f"{self.compatibility!r} is no compatibility: use {', '.join(MODES)}")
        if self.retention_days is not None and not 0 <= self.retention_days < float("inf"):
            raise Invalid(f"records of the kind {self.kind} cannot be kept for {self.retention_days} days")


@dataclass(frozen=True)
class Check:
    """Whether a schema could be registered, and what stands against it."""

    kind: str
    version: int
    compatibility: str
    problems: list[str] = field(default_factory=list)

    @property
    def is_compatible(self) -> bool:
        return not self.problems


@dataclass(frozen=True)
class Kinds:
    """The kinds of records of one tenant: those of lakeledger, and those that were registered."""

    _store: Store
    _actor: str

    def list(self) -> list[Kind]:
        """The newest version of every kind, by name."""
        with self._store.read() as tx:
            registered = {row["kind"]: _kind(row) for row in tx.all(sql.latest_kinds)}
        own = {name: builtin(name) for name in schemas.KINDS}
        return [kind for _, kind in sorted({**own, **registered}.items())]

    def get(self, kind: str, version: int | None = None) -> Kind:
        """A version of a kind, or its newest. Raises NotFound."""
        with self._store.read() as tx:
            return find(tx, kind, version)

    def versions(self, kind: str) -> Sequence[Kind]:
        """Every version of a kind, newest first. Raises NotFound."""
        with self._store.read() as tx:
            return versions(tx, kind)

    def check(self, new: NewKind) -> Check:
        """Whether a schema could be registered."""
        with self._store.read() as tx:
            return check(tx, new)

    def register(self, new: NewKind) -> Kind:
        """Register a version of a kind; the newest one if it says the same. Raises Conflict if it is not compatible with the one before."""
        with self._store.write() as tx:
            return register(tx, new, self._actor)

    @property
    def policy(self) -> Policy:
        """What becomes of records that do not look like their kind."""
        with self._store.read() as tx:
            return policy_of(tx)

    def set_policy(self, policy: str, reason: str | None = None) -> Policy:
        """Say what becomes of them from now on. Raises Invalid."""
        if policy not in list(Policy):
            raise Invalid(f"{policy!r} is no policy: use {', '.join(Policy)}")
        with self._store.write() as tx:
            tx.execute(sql.put_policy, policy=policy, reason=reason, set_by=self._actor)
        return Policy(policy)


def builtin(name: str) -> Kind:
    """A kind of lakeledger's own. Raises NotFound."""
    schema = schemas.kind(name)
    return Kind(
        name,
        int(schema["version"]),
        schema,
        follows_settings=schema.get("retention") == "rolling",
        frequency=schema.get("frequency"),
        description=schema.get("description"),
    )


def versions(tx: Transaction, kind: str) -> list[Kind]:
    """Every version of a kind, newest first. Raises NotFound."""
    found = [_kind(row) for row in tx.all(sql.versions_of_kind, kind=kind)]
    if kind in schemas.KINDS:
        found.append(builtin(kind))
    if not found:
        raise NotFound(f"no kind {kind!r} is registered: `lakeledger kinds list` shows those that are, `kinds register` adds one")
    return found


def find(tx: Transaction, kind: str, version: int | None = None) -> Kind:
    """A version of a kind, or its newest. Raises NotFound."""
    found = versions(tx, kind)
    chosen = found[0] if version is None else next((each for each in found if each.version == version), None)
    if chosen is None:
        raise NotFound(f"kind {kind} has no version {version}: it has {', '.join(str(each.version) for each in reversed(found))}")
    return chosen


def check(tx: Transaction, new: NewKind) -> Check:
    """Whether a schema could be registered as the next version of its kind."""
    try:
        last = find(tx, new.kind)
    except NotFound:
        return Check(new.kind, 1, new.compatibility or "backward")
    mode = new.compatibility or last.compatibility
    return Check(new.kind, last.version + 1, mode, incompatibilities(last.schema, new.schema, mode))


def register(tx: Transaction, new: NewKind, by: str) -> Kind:
    """Register a version of a kind, or find that it is the newest one. Raises Conflict."""
    said = check(tx, new)
    last = find(tx, new.kind) if said.version > 1 else None
    if last and _says_the_same(new, last):
        return last
    if said.problems:
        raise Conflict(
            f"version {said.version} of kind {new.kind} is not {said.compatibility}-compatible with the one before: "
            f"{'; '.join(said.problems[:MOST_PROBLEMS])}"
        )
    tx.execute(
        sql.add_kind,
        kind=new.kind,
        version=said.version,
        schema=new.schema,
        compatibility=said.compatibility,
        retention_days=_days(new, last),
        archive=new.archive if new.archive is not None else bool(last and last.archive),
        frequency=new.frequency or new.schema.get("frequency") or (last.frequency if last else None),
        description=new.description or new.schema.get("description") or (last.description if last else None),
        reason=new.reason,
        registered_by=by,
    )
    return find(tx, new.kind, said.version)


def _days(new: NewKind, last: Kind | None) -> float | None:
    """So many days; -1 for as many as the settings say, and null for good."""
    if new.retention_days is not None:
        return new.retention_days
    if new.schema.get("retention") == "forever" or (last and last.retention_days is None and not last.follows_settings):
        return None
    return last.retention_days if last and last.retention_days is not None else -1


def _says_the_same(new: NewKind, last: Kind) -> bool:
    asked = {"compatibility": new.compatibility, "retention_days": new.retention_days, "archive": new.archive, "frequency": new.frequency}
    same = all(value is None or getattr(last, name) == value for name, value in asked.items())
    return same and codec.to_json(new.schema) == codec.to_json(last.schema)


def policy_of(tx: Transaction) -> Policy:
    """What becomes of records that do not look like their kind."""
    row = tx.one(sql.policy)
    return Policy(row["policy"]) if row else Policy.OPEN


def problems(tx: Transaction, record: MetadataRecord, known: dict[tuple[str, str | None], Kind | str]) -> str | None:
    """Why a record does not look like its kind, in words; None if it does. `known` keeps what was looked up in between."""
    key = record.kind, record.version
    if key not in known:
        try:
            known[key] = find(tx, record.kind, _version(record))
        except NotFound as error:
            known[key] = str(error)
    kind = known[key]
    if isinstance(kind, str):
        return kind
    found = list(invalid(kind.schema, record.payload))
    return f"the payload is not valid by version {kind.version} of kind {kind.kind}: {'; '.join(found)}" if found else None


def _version(record: MetadataRecord) -> int | None:
    """The version that a record says it is of; None for the newest."""
    if record.version is None:
        return None
    return int(record.version) if record.version.isdecimal() else -1


def invalid(schema: Mapping[str, Any], payload: Mapping[str, Any]) -> Iterator[str]:
    """What is not as the schema says, each with where it is; at most a few."""
    validator = _validator(codec.to_json(schema))
    # The validator knows what JSON knows; whoever emits may have times and decimals.
    said = codec.to_plain(payload)
    if validator.is_valid(said):
        return
    for number, error in enumerate(validator.iter_errors(said)):
        if number == MOST_PROBLEMS:
            yield "…"
            return
        where = ".".join(["payload", *map(str, error.instance_path)])
        yield f"{where}: {error.message}"


def check_schema(kind: str, schema: object) -> None:
    """Raise Invalid for what is no JSON Schema of an object, or that leads elsewhere."""
    import jsonschema_rs

    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise Invalid(f'the schema of kind {kind} must be a JSON Schema of an object: it needs "type": "object"')
    if elsewhere := next((ref for ref in _references(schema) if not ref.startswith("#")), None):
        raise Invalid(f"the schema of kind {kind} refers to {elsewhere!r}: write what it needs into it, under $defs")
    try:
        jsonschema_rs.meta.validate(schema)
        _validator(codec.to_json(schema))
    except (ValueError, jsonschema_rs.ValidationError) as error:
        raise Invalid(f"the schema of kind {kind} is no JSON Schema (2020-12): {str(error).partition(chr(10))[0]}") from error


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    import json

    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(json.loads(schema))


def _kind(row: Row) -> Kind:
    days = row["retention_days"]
    follows = days is not None and days < 0
    given = {name: value for name, value in row.items() if name not in ("tenant_id", "retention_days")}
    return Kind(**given, retention_days=None if follows or row["kind"] in FOREVER else days, follows_settings=follows)
