"""Expiry: versions that nobody needs any more leave the table's history; what they did stays known in `expired_snapshots`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from lakeledger import failpoints
from lakeledger.db import Store, Transaction
from lakeledger.maintenance import pins
from lakeledger.maintenance.planning import Needs, Policy, Verdict, Version, dated, judge
from lakeledger.maintenance.policies import sql
from lakeledger.runs import Worker, recovery
from lakeledger.runs import store as run_store
from lakeledger.sync.kinds import VersionsPosition, parse_position
from lakeledger.tables import Table, delta, store

# How many versions leave in one transaction: nobody waits long for it.
VERSIONS_AT_A_TIME = 500

# The oldest version of each table, by its id, that a subscriber has not heard of yet.
Unheard = Callable[[Transaction], Mapping[str, int]]


@dataclass(frozen=True)
class Plan:
    """What becomes of each version of a table, and which version an Iceberg snapshot is."""

    table: Table
    verdicts: list[Verdict]
    by_iceberg_id: Mapping[int, int]

    @property
    def expiring(self) -> list[Version]:
        return [each.version for each in self.verdicts if each.kept is None]

    @property
    def kept(self) -> list[int]:
        return [each.version.number for each in self.verdicts if each.kept is not None]


def plan(tx: Transaction, table: Table, policy: Policy, worker: Worker, unheard: Mapping[str, int], own_run: str | None = None) -> Plan:
    """What becomes of each version of a table now. Raises nothing: what is not certain is kept."""
    rows = tx.all(sql.versions, table_id=table.table_id)
    by_iceberg_id = {row["iceberg_snapshot_id"]: row["version"] for row in rows if row["iceberg_snapshot_id"] is not None}
    needs = _needs(tx, table, worker, by_iceberg_id, own_run)
    if table.table_id in unheard:
        needs = Needs(needs.single, {**needs.onwards, unheard[table.table_id]: "a subscriber has not heard of it"}, needs.since)
    versions = dated([(row["version"], row["committed_at"]) for row in rows])
    return Plan(table, judge(versions, policy, needs, tx.now), by_iceberg_id)


def expire(handle: Store, planned: Plan, worker: Worker, by: str) -> Iterator[list[int]]:
    """Let the planned versions expire, some at a time, in the name of that run; each time it is asked again whether somebody needs them."""
    left = planned.expiring
    while left:
        chunk, left = left[:VERSIONS_AT_A_TIME], left[VERSIONS_AT_A_TIME:]
        with handle.write() as tx:
            pins.remove_dead(tx, planned.table, worker)
            needs = _needs(tx, planned.table, worker, planned.by_iceberg_id, by)
            gone = [version.number for version in chunk if needs.reason(version) is None]
            tx.execute(sql.archive_versions, table_id=planned.table.table_id, versions=gone, expired_by=by)
            tx.execute(sql.remove_versions, table_id=planned.table.table_id, versions=gone)
        failpoints.reach(failpoints.EXPIRED)
        yield gone


def unheard(tx: Transaction) -> Mapping[str, int]:
    """By table, the oldest version that not every subscriber has read in the change log."""
    seqs = [row["seq"] for row in tx.all(sql.cursors)]
    seqs += [row["next_seq"] - 1 for row in tx.all(sql.lanes)]
    return {row["table_id"]: int(row["version"]) for row in tx.all(sql.unread_versions, seq=min(seqs))} if seqs else {}


def _needs(tx: Transaction, table: Table, worker: Worker, by_iceberg_id: Mapping[int, int], own_run: str | None) -> Needs:
    published = store.publication(tx, table)
    single = {pin.version: f"read by {pin.held_by}" for pin in pins.living(tx, table, worker)}
    single |= {row["version"]: f"tag {row['name']}" for row in tx.all(sql.list_tags, table_id=table.table_id)}
    single |= {published.version: "published"} if published and published.version else {}
    if seen := delta.find(tx, table):
        single |= {version: "published as Delta" for version in (seen.version, seen.target_version) if version}
    return Needs(single, _consumers(tx, table, by_iceberg_id), _running(tx, worker, own_run))


def _consumers(tx: Transaction, table: Table, by_iceberg_id: Mapping[int, int]) -> dict[int, str]:
    """From which version on somebody reads the table piece by piece."""
    found: dict[int, str] = {}
    for row in tx.all(sql.readers):
        position = parse_position(row["position_kind"], row["position_data"])
        if isinstance(position, VersionsPosition):
            version = next((position.versions[name] for name, id_ in position.ids.items() if id_ == table.table_id), None)
        else:
            version = by_iceberg_id.get(row["position_data"].get("snapshot_id"))
        if version is not None:
            name = f"{row['schema_name']}.{row['table_name']}" if row["table_name"] else row["schema_name"]
            found[version] = f"source {name} has read up to version {version}"
    return found


def _running(tx: Transaction, worker: Worker, own_run: str | None) -> dict[datetime, str]:
    """Since when the oldest run is at work that may read the table."""
    runs = [run for run in run_store.open_runs(tx) if run.id != own_run and not recovery.is_lost(tx, run, worker)]
    return {run.start_time: f"run {run.id} of {run.pipeline_id} is at work" for run in runs[:1]}
