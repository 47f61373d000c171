"""The schema registry: one row per version, the older ones moved to the records, all of them found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from lakeledger import clock, codec, records
from lakeledger.db import Row, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import Conflict, Invalid, NotFound
from lakeledger.records import MetadataContext, MetadataRecord, MetadataTarget
from lakeledger.sync.model import Source
from lakeledger.sync.schemas import blocked, evolution
from lakeledger.sync.schemas.compatibility import Policy, Reason, Verdict, judge, parse_policy
from lakeledger.sync.schemas.definition import Document, SchemaDefinition
from lakeledger.sync.schemas.evolution import EvolutionType, SchemaDiff
from lakeledger.sync.schemas.model import SchemaVersion

ARCHIVED = "schema_version"

sql = load("lakeledger.sync.schemas")


@dataclass(frozen=True)
class NewSchema:
    """A definition to be registered. Without a policy it is judged by that of the latest version."""

    table: Source
    definition: SchemaDefinition
    evolution_type: EvolutionType | None = None
    policy: Policy | None = None
    run_id: str | None = None


def find(tx: Transaction, table: Source, version: int | None = None) -> SchemaVersion | None:
    """A version of a table's schema, or the latest; None if there is none. Archived ones are found too."""
    if version is None:
        row = tx.one(sql.find_latest, name_key=table.key)
        return SchemaVersion(**row) if row else None
    if row := tx.one(sql.find_version, name_key=table.key, version=version):
        return SchemaVersion(**row)
    return next(_archived(tx.all(sql.find_archived, record_key=_record_key(table), version=str(version)), table), None)


def get(tx: Transaction, table: Source, version: int | None = None) -> SchemaVersion:
    """A version of a table's schema, or the latest. Raises NotFound."""
    if found := find(tx, table, version):
        return found
    if latest := find(tx, table):
        raise NotFound(f"{table.name} has no schema version {version}: it has 1 to {latest.version}")
    raise NotFound(f"no schema is registered for {table.name}")


def list_latest(tx: Transaction, limit: int | None = None, after: str | None = None) -> Page[SchemaVersion]:
    """The latest version of each table, by name; `after` is the `next` of the page before."""
    return pages.read(tx, sql.list_latest, {"name_key": str}, lambda row: SchemaVersion(**row), limit, after)


def history(tx: Transaction, table: Source) -> list[SchemaVersion]:
    """Every version of a table's schema, oldest first; archived ones too."""
    archived = sorted(
        _archived(tx.all(sql.list_archived, record_key=_record_key(table)), table),
        key=lambda version: version.version,
    )
    return archived + [SchemaVersion(**row) for row in tx.all(sql.list_versions, name_key=table.key)]


def diff(tx: Transaction, table: Source, from_version: int, to_version: int | None = None) -> SchemaDiff:
    """What changed from one version to another, or to the latest. Raises NotFound."""
    old, new = get(tx, table, from_version), get(tx, table, to_version)
    return replace(evolution.diff(old.definition, new.definition), from_version=old.version, to_version=new.version)


def check(tx: Transaction, table: Source, definition: SchemaDefinition, policy: Policy | None = None) -> Verdict:
    """Whether the definition could be registered."""
    return _verdict(tx, table, definition, policy, find(tx, table))


def register(tx: Transaction, new: NewSchema, by: str) -> SchemaVersion:
    """The version with that definition: the latest if it is the same, else a new one.

    Raises Conflict if the policy refuses a change that nobody accepted. A policy that is given holds from then on, also if nothing else is
    new. A change that was accepted says by whom, and why.
    """
    latest = find(tx, new.table)
    # Hashed anew: what is stored may come from a release that told fewer types apart.
    if latest and latest.definition.hash == new.definition.hash:
        return _under(tx, latest, new.policy)
    verdict = _verdict(tx, new.table, new.definition, new.policy, latest)
    accepted = blocked.accepted(tx, new.table, verdict.reasons) if verdict.reasons else {}
    if any(blocked.key_of(reason.change) not in accepted for reason in verdict.refusals):
        raise Conflict(refusal(new.table, verdict))
    row = tx.one(
        sql.add_version,
        id=clock.new_id(),
        schema_name=new.table.schema_name,
        table_name=new.table.table_name,
        name_key=new.table.key,
        schema_definition=new.definition.to_dict(),
        schema_hash=new.definition.hash,
        ordinal_hash=new.definition.ordinal_hash,
        evolution_type=_evolution(new, verdict).value,
        previous_version=latest.version if latest else None,
        compatibility_status=verdict.status,
        changes=[_with_acceptance(reason, accepted) for reason in verdict.reasons],
        policy=verdict.policy.value,
        registered_by=by,
        sync_run_id=new.run_id,
    )
    return SchemaVersion(**(row or {}), created=True)


def count_old(tx: Transaction, keep: int) -> int:
    """How many versions are not among a table's newest `keep`."""
    row = tx.one(sql.count_old, keep=keep) or {}
    return int(row["number"])


def find_old(keep: int, limit: int, tx: Transaction, last: Row | None = None) -> list[Row]:
    """Versions that are not among a table's newest `keep`, at most `limit`; after the `last` of the page before. Raises Invalid."""
    if keep < 1:
        raise Invalid(f"the current version of a schema cannot be archived: keep at least 1, not {keep}")
    after = {"after_key": last["name_key"], "after_version": last["version"]} if last else {}
    return tx.all(sql.list_old, keep=keep, page_size=limit, **after)


def archive(tx: Transaction, versions: list[Row]) -> int:
    """Move these versions to the records, unless somebody else has; how many."""
    removed = {row["id"] for row in tx.all(sql.remove_versions, ids=[row["id"] for row in versions])}
    for row in versions:
        if row["id"] in removed:
            records.add(tx, _record(row, tx.now))
    return len(removed)


def _verdict(tx: Transaction, table: Source, definition: SchemaDefinition, policy: Policy | None, latest: SchemaVersion | None) -> Verdict:
    if latest is None:
        return judge(policy or Policy.NONE, definition, {})
    applied = policy or parse_policy(latest.policy)
    earlier = history(tx, table) if applied.transitive else [latest]
    return judge(applied, definition, {version.version: version.definition for version in earlier})


def _under(tx: Transaction, version: SchemaVersion, policy: Policy | None) -> SchemaVersion:
    """The version, under that policy from now on if one is given."""
    if policy is None or policy.value == version.policy:
        return version
    tx.execute(sql.set_policy, id=version.id, policy=policy.value)
    return replace(version, policy=policy.value)


def refusal(table: Source, verdict: Verdict) -> str:
    """Why a policy lets a definition not pass, in words."""
    reasons = "; ".join(reason.words() for reason in verdict.refusals)
    return f"the schema of {table.name} may not change like this under the policy {verdict.policy.value!r}: {reasons}"


def _with_acceptance(reason: Reason, accepted: Mapping[str, blocked.BlockedChange]) -> Document:
    if found := accepted.get(blocked.key_of(reason.change)):
        return {**reason.to_dict(), "accepted_by": found.accepted_by, "accepted_reason": found.accepted_reason}
    return reason.to_dict()


def _evolution(new: NewSchema, verdict: Verdict) -> EvolutionType:
    """What was declared if it is part of what happened, else what happened."""
    changes = [reason.change for reason in verdict.reasons]
    if not changes:
        return EvolutionType.CREATE
    if new.evolution_type in {change.kind for change in changes}:
        return new.evolution_type
    return evolution.infer(changes)


def _record(row: Row, at: datetime) -> MetadataRecord:
    return MetadataRecord(
        target=MetadataTarget(row["schema_name"], row["schema_name"], row["table_name"]),
        context=MetadataContext(run_id=row["sync_run_id"]),
        kind=ARCHIVED,
        payload=codec.to_plain(row),
        producer_id=row["registered_by"],
        version=str(row["version"]),
        produced_at=at,
        dedupe_key=f"{ARCHIVED}:{row['id']}",
        verbatim=True,  # Scrubbed when it was registered; a page of old versions must not be scrubbed inside a transaction.
    )


def _record_key(table: Source) -> str:
    return codec.fold(table.name)


def _archived(rows: Iterable[Row], table: Source) -> Iterator[SchemaVersion]:
    """Records know a table by its written name only, which `a.b`.`c` and `a`.`b.c` share."""
    for row in rows:
        payload = row["payload"]
        if payload["name_key"] == table.key:
            yield SchemaVersion(**{**payload, "registered_at": codec.to_time(payload["registered_at"])}, archived=True)
