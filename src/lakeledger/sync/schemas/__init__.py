"""What the captured tables look like: every version of every schema, what changed, and whether it may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from lakeledger.codec import Id
from lakeledger.db import Store, pages
from lakeledger.db.cache import Cache
from lakeledger.db.pages import Page
from lakeledger.errors import Invalid
from lakeledger.redaction import SHAPES, scrub, scrub_value
from lakeledger.sync.model import Source, parse_source
from lakeledger.sync.schemas import blocked, store
from lakeledger.sync.schemas.blocked import BlockedChange
from lakeledger.sync.schemas.compatibility import Impact, Policy, Reason, Verdict, parse_policy
from lakeledger.sync.schemas.conversions import from_arrow, from_jdbc, from_spark, to_arrow, to_jdbc, to_spark
from lakeledger.sync.schemas.definition import Column, SchemaDefinition, to_definition
from lakeledger.sync.schemas.evolution import Change, EvolutionType, SchemaDiff, diff, parse_evolution
from lakeledger.sync.schemas.model import SchemaVersion
from lakeledger.sync.schemas.store import NewSchema

__all__ = [
    "BlockedChange",
    "Change",
    "Column",
    "EvolutionType",
    "Impact",
    "NewSchema",
    "Policy",
    "Reason",
    "SchemaDefinition",
    "SchemaDiff",
    "SchemaVersion",
    "Schemas",
    "Verdict",
    "diff",
    "from_arrow",
    "from_jdbc",
    "from_spark",
    "parse_evolution",
    "parse_policy",
    "to_arrow",
    "to_jdbc",
    "to_spark",
]

Definition = SchemaDefinition | Mapping[str, Any]


class Schemas:
    """The schema versions of one tenant's tables. A table is given as `schema.table` or as a source with a table."""

    def __init__(self, ledger_store: Store, actor: str, keep: int = 10) -> None:
        self._store = ledger_store
        self._actor = actor
        self._keep = keep
        self._cache = Cache(ledger_store.database)

    def register(
        self,
        table: str | Source,
        definition: Definition,
        *,
        evolution_type: str | None = None,
        policy: str | None = None,
        run_id: Id | None = None,
    ) -> SchemaVersion:
        """The version with that definition; its `created` says whether it is new. Raises Invalid, or Conflict if the policy refuses it.

        Without a policy, that of the latest version holds; the first has none.
        """
        new = NewSchema(
            table=_table(table),
            definition=_definition(definition),
            evolution_type=parse_evolution(evolution_type) if evolution_type is not None else None,
            policy=_policy(policy),
            run_id=None if run_id is None else str(run_id),
        )
        with self._store.write() as tx:
            return store.register(tx, new, self._actor)

    def get(self, table: str | Source, version: int | None = None) -> SchemaVersion:
        """A version, also an archived one, or the latest. Raises NotFound."""
        with self._store.read() as tx:
            return store.get(tx, _table(table), version)

    def find(self, table: str | Source, version: int | None = None) -> SchemaVersion | None:
        """A version, also an archived one, or the latest; None if it is not there. Remembered for as long as nobody commits anything."""
        return deepcopy(self._cache.get((table, version), lambda: self._read(_table(table), version)))

    def list(self, limit: int | None = None, after: str | None = None) -> Page[SchemaVersion]:
        """The latest version of each table, by name: all, or a page at a time."""
        with self._store.read() as tx:
            return store.list_latest(tx, limit, after)

    def history(self, table: str | Source, limit: int | None = None, after: str | None = None) -> Page[SchemaVersion]:
        """Every version, also archived ones, oldest first: all, or a page at a time. None if the table is not known."""
        with self._store.read() as tx:
            found = store.history(tx, _table(table))
        return pages.cut(found, {"version": int}, lambda version: (version.version,), limit, after)

    def diff(self, table: str | Source, from_version: int, to_version: int | None = None) -> SchemaDiff:
        """What changed from one version to another, in either direction, or to the latest. Raises NotFound."""
        with self._store.read() as tx:
            return store.diff(tx, _table(table), from_version, to_version)

    def check(self, table: str | Source, definition: Definition, policy: str | None = None) -> Verdict:
        """Whether `register` would take the definition, and why. Writes nothing."""
        wanted = _definition(definition)
        with self._store.read() as tx:
            return store.check(tx, _table(table), wanted, _policy(policy))

    def blocked(self, limit: int | None = None, after: str | None = None) -> Page[BlockedChange]:
        """The changes that block the loads of their sources now: all, or a page at a time."""
        with self._store.read() as tx:
            return blocked.list_blocked(tx, limit, after)

    def accept(self, source: str | Source, reason: str | None = None) -> Sequence[BlockedChange]:
        """Let the next load of a source go on with the changes that block it, and give them; again, it is nothing new.

        What that does to the table is their `effect`. Raises NotFound if nothing blocks the source.
        """
        with self._store.write() as tx:
            return blocked.accept(tx, _table(source), self._actor, reason and scrub(reason))

    def held(self, source: str | Source) -> Sequence[BlockedChange]:
        """The changes of a source that block it, or that somebody accepted, applied or not."""
        with self._store.read() as tx:
            return blocked.changes_of(tx, _table(source))

    def archive(self, keep: int | None = None, limit: int = 1000) -> int:
        """Move versions older than the newest `keep` of each table to the records, at most `limit`; how many were moved."""
        with self._store.read() as tx:
            old = store.find_old(self._keep if keep is None else keep, limit, tx)
        with self._store.write() as tx:
            return store.archive(tx, old)

    def _read(self, table: Source, version: int | None) -> SchemaVersion | None:
        with self._store.read() as tx:
            return store.find(tx, table, version)


def _table(table: str | Source) -> Source:
    source = parse_source(table) if isinstance(table, str) else table
    if not source.table_name:
        raise Invalid(f"a schema belongs to a table: write {source.name}.<table>")
    return source


def _definition(given: Definition) -> SchemaDefinition:
    """The definition as it is stored: defaults and comments may hold tokens and the credentials of URLs. Raises Invalid."""
    definition = to_definition(given)
    document = definition.to_dict()
    kept = scrub_value(document, rules=SHAPES)
    return definition if kept == document else SchemaDefinition.from_dict(kept)


def _policy(word: str | None) -> Policy | None:
    return None if word is None else parse_policy(word)
