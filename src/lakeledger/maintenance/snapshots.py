"""The versions of tables as people keep them: by tags, by policies, and by reading them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakeledger import codec
from lakeledger.background import Failures
from lakeledger.db import Store, Transaction
from lakeledger.db.pages import Page
from lakeledger.errors import Conflict, Invalid, NotFound
from lakeledger.maintenance import expiry, policies
from lakeledger.maintenance.model import Tag
from lakeledger.maintenance.pins import Pin
from lakeledger.maintenance.planning import Policy
from lakeledger.maintenance.policies import Scope, sql
from lakeledger.names import parse_name
from lakeledger.publishing import Publisher
from lakeledger.runs import Worker, user_name
from lakeledger.tables import Publication, Snapshot, Table, store

LONGEST_TAG = 200


@dataclass(frozen=True)
class Kept:
    """A version of a table, its tags, and why it is kept; None if it expires with the next maintenance."""

    snapshot: Snapshot
    tags: list[str]
    kept: str | None


@dataclass(frozen=True)
class Created:
    """What other engines see of a table now, and the tag that its version got, if any."""

    publication: Publication | None
    tag: Tag | None


@dataclass(frozen=True)
class Snapshots:
    """The versions of the tables of one tenant."""

    _store: Store
    _worker: Worker
    _publisher: Publisher
    _unheard: expiry.Unheard
    _lease_seconds: float
    _failures: Callable[[], Failures]

    def list(self, name: str, limit: int | None = 100, after: str | None = None) -> Page[Kept]:
        """The versions of a table, newest first, a page at a time, with why each is kept. Raises NotFound."""
        with self._store.read() as tx:
            table = store.get(tx, parse_name(name))
            found = store.history(tx, table, limit, after)
            planned = expiry.plan(tx, table, policies.of_table(tx, table.name), self._worker, self._unheard(tx))
            tags = self._tags(tx, table)
        kept = {each.version.number: each.kept for each in planned.verdicts}
        named: dict[int, list[str]] = {}
        for tag in tags:
            named.setdefault(tag.version, []).append(tag.name)
        return Page([Kept(each, named.get(each.version, []), kept.get(each.version)) for each in found], found.next)

    def tags(self, name: str) -> Sequence[Tag]:
        """The tags of a table, oldest version first. Raises NotFound."""
        with self._store.read() as tx:
            return self._tags(tx, store.get(tx, parse_name(name)))

    def tag(self, name: str, tag: str, version: int | None = None, comment: str | None = None, by: str | None = None) -> Tag:
        """Give a version a name, by default the current one: it is kept until the name is taken away. Other engines see it as a tag.

        Raises NotFound, or Conflict if another version has the name.
        """
        if not tag.strip() or len(tag) > LONGEST_TAG or not tag.isprintable():
            raise Invalid(f"a tag needs a name of at most {LONGEST_TAG} characters, not {tag[:50]!r}")

        def add(tx: Transaction, table: Table) -> Tag:
            chosen = store.snapshot(tx, table, version).version
            told = {"version": chosen, "comment": comment, "created_by": by or user_name()}
            if row := tx.one(sql.add_tag, table_id=table.table_id, name=tag, **told):
                return Tag(**row)
            there = Tag(**(tx.one(sql.get_tag, table_id=table.table_id, name=tag) or {}))
            if there.version == chosen:
                return there
            raise Conflict(f"version {there.version} of {table.name} is called {tag!r} already: untag it first, or choose another name")

        return self._publisher.retag(name, add)

    def untag(self, name: str, tag: str) -> Tag:
        """Take a name away: the version is kept no longer than the policy says. Raises NotFound."""

        def remove(tx: Transaction, table: Table) -> Tag:
            if row := tx.one(sql.remove_tag, table_id=table.table_id, name=tag):
                return Tag(**row)
            raise NotFound(f"{table.name} has no tag {tag!r}: `lakeledger snapshots list {table.name}` shows them")

        return self._publisher.retag(name, remove)

    def create(self, name: str, tag: str | None = None, comment: str | None = None, by: str | None = None) -> Created:
        """Let other engines see the table as it is now, and with a `tag` keep that version. Raises NotFound, Unpublishable or Conflict."""
        made = self._publisher.publish(name)
        return Created(made, self.tag(name, tag, made.version if made else None, comment, by) if tag else None)

    def fresh(self, name: str) -> Publication:
        """See to it that other engines see the table as it is now, for whoever is about to read it with one.

        Raises NotFound or Unpublishable, or Conflict if they do not, and by its policy or its mode a read does not publish the table.
        """
        with self._store.read() as tx:
            table = store.get(tx, parse_name(name))
            seen, policy = store.publication(tx, table), policies.of_table(tx, table.name)
            mode = self._publisher.mode(tx, table)
        is_behind = seen is None or seen.version < table.current_version
        if is_behind and (mode == "off" or not policy.snapshot_query):
            why = "metadata is off" if mode == "off" else "its policy has snapshot_query=off"
            said = f"version {seen.version}" if seen and seen.version else "no version"
            raise Conflict(
                f"other engines see {said} of {table.name}, not {table.current_version}, and a read does not publish it ({why}): "
                f"`lakeledger tables publish {table.name}` does"
            )
        made = self._publisher.publish(name, trigger="query")
        if made is None:
            raise Conflict(f"{table.name} has no columns to publish yet: write to it first")
        return made

    def policy(self, name: str) -> Policy:
        """How long the versions of that table are kept, whether it is there yet or not. Raises Invalid for what is no name."""
        with self._store.read() as tx:
            return policies.of_table(tx, parse_name(name))

    def policies(self) -> Sequence[Scope]:
        """What is said of all tables (the scope is ''), of schemas and of tables."""
        with self._store.read() as tx:
            return policies.listed(tx)

    def set_policy(self, scope: str, by: str | None = None, **changes: Any) -> Mapping[str, Any]:
        """Say how long versions are kept, in that schema, of that table, or with '' of all: `set_policy("silver", keep_versions=5)`.

        A value of `policies.INHERIT` takes a setting back. What the scope says then is given back. Raises Invalid.
        """
        with self._store.write() as tx:
            return policies.put(tx, scope, changes, by or user_name())

    def pin(self, name: str, version: int | str | None = None, at: datetime | str | None = None) -> Pin:
        """A reader of a version, to be used in a `with` block, which gives its view: until it ends, the version does not expire."""
        moment = None if at is None else codec.to_moment(at)
        return Pin(self._store, self._worker, self._lease_seconds, self._failures(), parse_name(name), version, moment)

    def _tags(self, tx: Transaction, table: Table) -> Sequence[Tag]:
        return [Tag(**row) for row in tx.all(sql.list_tags, table_id=table.table_id)]
