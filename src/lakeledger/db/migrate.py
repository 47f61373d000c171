"""Numbered SQL files, applied forward, once, in order, under the writers' lock."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files

from lakeledger import db
from lakeledger.config import Settings
from lakeledger.db import Database, Store, Transaction, derived
from lakeledger.db.queries import statement
from lakeledger.errors import Failed, Invalid

# Migrations are about the database, not about a tenant's rows; unbound, they reach everybody's (see derived.py).
SYSTEM_TENANT = ""

_FILE = re.compile(r"^(?P<version>\d{4})_(?P<name>\w+?)(?:\.(?P<dialect>sqlite|postgres))?\.sql$")
_CREATE = statement(
    "create table if not exists schema_migrations "
    "(version integer primary key, name text not null, digest text not null, applied_at timestamptz not null)"
)
_APPLIED = statement("select version, name, digest, applied_at from schema_migrations order by version")
_RECORD = statement("insert into schema_migrations (version, name, digest, applied_at) values (:version, :name, :digest, :now)")


@dataclass(frozen=True)
class Migration:
    """One numbered file."""

    version: int
    name: str
    script: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()


@dataclass(frozen=True)
class Step:
    """A migration as a database has it: applied then, or still pending."""

    version: int
    name: str
    applied_at: datetime | None


def available(dialect: str) -> list[Migration]:
    """The migrations of this release for that dialect, in order."""
    found = []
    for file in files("lakeledger.db").joinpath("migrations").iterdir():
        match = _FILE.match(file.name)
        if match and match["dialect"] in (None, dialect):
            found.append(Migration(int(match["version"]), match["name"], file.read_text(encoding="utf-8")))
    return sorted(found, key=lambda migration: migration.version)


def migrate(database: Database, *, must_exist: bool = False) -> list[Migration]:
    """Bring the database to this release. Concurrent callers apply each file once. Returns what was applied.

    Raises Invalid if it must be a ledger already and is none.
    """
    known, applied = available(database.dialect), _read_applied(database)
    if must_exist and not applied:
        raise Invalid(f"no ledger in {database.url}: run `lakeledger db migrate` to make one there, or give another --url")
    if not pending(known, applied):
        return []
    database.make_place()
    with database.transaction(SYSTEM_TENANT, write=True) as tx:
        tx.execute(_CREATE)
        todo = pending(known, _applied(tx))
        for migration in todo:
            database.run_script(tx, migration.script)
            tx.execute(_RECORD, version=migration.version, name=migration.name, digest=migration.digest)
        if todo:
            derived.install(database, tx)
    return todo


def open_store(settings: Settings, schema: str | None = None, *, must_exist: bool = False) -> Store:
    """The ledger's store as the settings' tenant sees it, brought to this release. Raises Invalid, Unavailable, NotInstalled or Failed."""
    database = db.open(settings.database_url, schema, settings.max_connections)
    try:
        migrate(database, must_exist=must_exist)
    except BaseException:
        database.close()
        raise
    return Store(database, settings.tenant, settings.outage_seconds)


def status(database: Database) -> list[Step]:
    """Every migration, applied or pending."""
    applied = _read_applied(database)
    return [
        Step(migration.version, migration.name, applied[migration.version][1] if migration.version in applied else None)
        for migration in available(database.dialect)
    ]


def pending(known: list[Migration], applied: dict[int, tuple[str, datetime]]) -> list[Migration]:
    """What is still to do. Raises Failed if the database is newer than this release or was made by changed files."""
    newest = known[-1].version if known else 0
    if ahead := [version for version in applied if version > newest]:
        raise Failed(f"the ledger has migration {max(ahead)}, this release knows {newest}: upgrade lakeledger")
    for migration in known:
        if migration.version in applied and applied[migration.version][0] != migration.digest:
            raise Failed(
                f"migration {migration.version:04d}_{migration.name} is not the one this ledger was made with: use the release that made it"
            )
    return [migration for migration in known if migration.version not in applied]


def _read_applied(database: Database) -> dict[int, tuple[str, datetime]]:
    exists = statement("select 1 from sqlite_master where name = 'schema_migrations'")
    if database.dialect == "postgres":
        exists = statement("select 1 where to_regclass('schema_migrations') is not null")
    with database.transaction(SYSTEM_TENANT, write=False) as tx:
        return _applied(tx) if tx.one(exists) else {}


def _applied(tx: Transaction) -> dict[int, tuple[str, datetime]]:
    return {row["version"]: (row["digest"], row["applied_at"]) for row in tx.all(_APPLIED)}
