"""What is asked of a PostgreSQL server that changes are read from: its slot, its publication, its table, and the changes themselves."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from lakeledger import codec
from lakeledger.errors import Conflict, Failed, Forbidden, Invalid, LakeledgerError, NotFound, NotInstalled, Unavailable
from lakeledger.pipelines.sources.pgoutput import Column, Relation, commit_of
from lakeledger.pipelines.sources.pgoutput_types import SESSION
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

OURS = "lakeledger_"
CREATE_SLOT = "`select pg_create_logical_replication_slot('name', 'pgoutput')`"
CONNECT_SECONDS = 10
# A slot begins once every transaction that is open has ended.
SLOT_SECONDS = 60
FETCHED_ROWS = 5_000
_BOUNDS = {"connect_timeout": CONNECT_SECONDS, "keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
_CHANGES = "insert, update, delete, truncate"

_LOOK = """
select current_setting('wal_level') as wal_level,
       case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end - '0/0'::pg_lsn as current,
       (select to_jsonb(s) || jsonb_build_object('confirmed', s.confirmed_flush_lsn - '0/0'::pg_lsn,
                                                 'is_here', s.database = current_database())
          from pg_replication_slots s where s.slot_name = %(slot)s) as slot,
       (select to_jsonb(p) from pg_publication p where p.pubname = %(publication)s) as publication,
       (select to_jsonb(t) from pg_publication_tables t
         where t.pubname = %(publication)s and t.schemaname = %(schema)s and t.tablename = %(table)s) as published,
       (select c.oid::bigint from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = %(schema)s and c.relname = %(table)s and c.relkind in ('r', 'p')) as oid
"""
_COLUMNS = """
select a.attname as name, a.atttypid::bigint as type_oid, a.atttypmod as type_modifier,
       coalesce(a.attnum = any(i.indkey), false) as is_key
  from pg_attribute a left join pg_index i on i.indrelid = a.attrelid and i.indisprimary
 where a.attrelid = %(oid)s and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
 order by a.attnum
"""
_PEEK = (
    "pg_logical_slot_peek_binary_changes(%(slot)s, %(end)s::pg_lsn, %(most)s, 'proto_version', '1', 'publication_names', %(publication)s)"
)
# Kinds of messages by their first byte: I, U, D and T are changes, C is a commit.
_AHEAD = f"""
select data, bytes::bigint as bytes, changes::bigint as changes
  from (select data, ordinality, sum(octet_length(data)) over so_far as bytes,
               count(*) filter (where get_byte(data, 0) in (73, 85, 68, 84)) over so_far as changes
          from {_PEEK} with ordinality
        window so_far as (order by ordinality)) messages
 where get_byte(data, 0) = 67
 order by ordinality
"""


@dataclass(frozen=True)
class State:
    """The server as a plan finds it. Places in the log are in bytes."""

    current: int
    slot_exists: bool
    relation: Relation
    keys: tuple[str, ...]
    row_filter: str | None = None
    plugin: str = ""
    database: str = ""
    is_here: bool = True
    wal_status: str = ""
    confirmed: int = 0

    @property
    def is_lost(self) -> bool:
        return self.wal_status == "lost"


@dataclass(frozen=True)
class Ahead:
    """A transaction that the slot has, and how much there is up to its end."""

    end_lsn: int
    changes: int
    bytes: int
    transactions: int


@dataclass(frozen=True)
class Exported:
    """A slot that has just been made, and the state of the database at the place where it begins."""

    lsn: int
    name: str


def default_slot(source: str) -> str:
    """A slot's name for a source: of at most 63 lower-case letters, digits and underscores, and no other source's."""
    plain = re.sub(r"[^a-z0-9_]", "_", source.lower())
    if re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*\.[a-z0-9]+(_[a-z0-9]+)*", source) and len(source) <= 40:
        return f"{OURS}{source.replace('.', '__')}"
    return f"{OURS}{plain[:30]}_{codec.digest(source)[-12:]}"


def drop_statement(slot: str) -> str:
    """How a person drops a slot."""
    return f"select pg_drop_replication_slot('{slot}')"


def lsn_text(lsn: int) -> str:
    """A place in the log as PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def split(table: str) -> tuple[str, str]:
    """A table's schema and name."""
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else ("public", table)


@contextmanager
def connect(url: str, **more: Any) -> Iterator[Connection[dict[str, Any]]]:
    """A connection whose texts mean the same everywhere. Raises NotInstalled, Unavailable, Forbidden, Conflict or Failed."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
        from psycopg.rows import dict_row
    except ImportError as error:
        raise NotInstalled("PostgreSQL as a source needs psycopg: pip install 'lakeledger[postgres]'") from error
    try:
        given: dict[str, Any] = {**_BOUNDS, **conninfo_to_dict(url)}
        options = f"{given.pop('options', '')} {SESSION} -c lock_timeout=30s"
        with psycopg.connect(**given, options=options, autocommit=True, row_factory=dict_row, **more) as connection:
            yield cast("Connection[dict[str, Any]]", connection)
    except psycopg.Error as error:
        raise _translated(error) from error


def look(connection: Connection[dict[str, Any]], slot: str, publication: str, table: str) -> State:
    """The server's log, the slot if it is there, and the table. Raises Invalid if one of them is not as it must be."""
    schema, name = split(table)
    asked = {"slot": slot, "publication": publication, "schema": schema, "table": name}
    row = connection.execute(_LOOK, asked).fetchone() or {}
    if row["wal_level"] != "logical":
        raise Invalid(f"the server has wal_level {row['wal_level']}: run `alter system set wal_level = logical` and restart it")
    if row["oid"] is None:
        raise Invalid(f"there is no table {schema}.{name} on the server: check the source's table")
    if row["publication"] is None:
        raise Invalid(f'there is no publication {publication}: run `create publication "{publication}" for table "{schema}"."{name}"`')
    if row["published"] is None:
        raise Invalid(f'{schema}.{name} is not published: run `alter publication "{publication}" add table "{schema}"."{name}"`')
    left_out = [each for each in _CHANGES.split(", ") if not row["publication"][f"pub{each}"]]
    if left_out:
        raise Invalid(
            f'the publication {publication} leaves out {", ".join(left_out)}: run `alter publication "{publication}" '
            f"set (publish = '{_CHANGES}')`"
        )
    wanted = row["published"].get("attnames")
    found = connection.execute(_COLUMNS, {"oid": row["oid"]}).fetchall()
    columns = tuple(Column(**each) for each in found if wanted is None or each["name"] in wanted)
    relation = Relation(row["oid"], schema, name, "d", columns)
    keys = tuple(column.name for column in columns if column.is_key)
    there = row["slot"] or {}
    state: dict[str, Any] = {name: there.get(name) or "" for name in ("plugin", "database", "wal_status")}
    state |= {"confirmed": int(there.get("confirmed") or 0), "is_here": there.get("is_here", True)}
    return State(int(row["current"]), row["slot"] is not None, relation, keys, row["published"].get("rowfilter"), **state)


def ahead(connection: Connection[dict[str, Any]], slot: str, publication: str, max_changes: int) -> list[Ahead]:
    """The transactions that the slot has, whole ones, until there are so many messages. They stay there."""
    asked = {"slot": slot, "end": None, "most": max_changes, "publication": f'"{publication}"'}
    rows = connection.execute(_AHEAD, asked).fetchall()
    return [Ahead(commit_of(row["data"]).end_lsn, row["changes"], row["bytes"], number) for number, row in enumerate(rows, start=1)]


def choose(found: Sequence[Ahead], max_bytes: int) -> Ahead | None:
    """The transaction to read up to: as many as fit, at least the first with a change; None if nothing changed."""
    changed = [each for each in found if each.changes]
    return next((each for each in reversed(changed) if each.bytes <= max_bytes), changed[0]) if changed else None


def peek(connection: Connection[dict[str, Any]], slot: str, publication: str, end: int) -> Iterator[bytes]:
    """The messages that the slot has up to a place in the log. They stay there."""
    asked = {"slot": slot, "end": lsn_text(end), "most": None, "publication": f'"{publication}"'}
    with connection.transaction(), connection.cursor(name="changes", binary=True) as cursor:
        cursor.itersize = FETCHED_ROWS
        cursor.execute(f"select data from {_PEEK}", asked)
        for row in cursor:
            yield row["data"]


def copy(
    connection: Connection[dict[str, Any]], state: State, snapshot: str | None = None, limit: int | None = None
) -> Iterator[tuple[str | None, ...]]:
    """The rows of the table, all or the first ones, as they are, or were at a snapshot that another connection holds open."""
    from psycopg import sql

    columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in state.relation.columns)
    chosen = sql.SQL("select {} from {}").format(columns, sql.Identifier(state.relation.schema, state.relation.name))
    if state.row_filter:
        chosen += sql.SQL(" where ") + sql.SQL(state.row_filter)  # the publication's own text
    if limit is not None:
        chosen += sql.SQL(" limit {}").format(sql.Literal(limit))
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        if snapshot is not None:
            connection.execute(sql.SQL("set transaction snapshot {}").format(sql.Literal(snapshot)))
        with _copying(connection.cursor(), sql.SQL("copy ({}) to stdout").format(chosen)) as rows:
            yield from rows


@contextmanager
def new_slot(url: str, slot: str) -> Iterator[Exported]:
    """Make a slot, and hold the state of the database at its beginning open. One that a dead first load left is replaced.

    Raises Conflict if another load is at it, and Unavailable if open transactions do not end in time.
    """
    with connect(url) as guard, connect(url, replication="database") as connection:
        asked = guard.execute("select pg_try_advisory_lock(hashtext('lakeledger'), hashtext(%s)) as mine", (slot,)).fetchone() or {}
        if not asked["mine"]:
            raise Conflict(f"another load is copying the table of the slot {slot}: wait for it")
        _drop(guard, slot)
        timer = threading.Timer(SLOT_SECONDS, connection.cancel)
        timer.start()
        try:
            made = connection.pgconn.exec_(f'CREATE_REPLICATION_SLOT "{slot}" LOGICAL pgoutput EXPORT_SNAPSHOT'.encode())
        finally:
            timer.cancel()
        if made.ntuples != 1:
            raise _not_made(slot, connection.pgconn.get_error_message().strip().partition("\n")[0])
        high, low = (int(part, 16) for part in (made.get_value(0, 1) or b"").decode().split("/"))
        yield Exported((high << 32) + low, (made.get_value(0, 2) or b"").decode())


def advance(connection: Connection[dict[str, Any]], slot: str, lsn: int) -> None:
    """Let the slot forget what is before a place in the log."""
    connection.execute("select pg_replication_slot_advance(%s, %s::pg_lsn)", (slot, lsn_text(lsn)))


def advance_if_possible(url: str, slot: str, lsn: int) -> None:
    """Let the slot forget what the ledger has. If that fails, the next plan does it."""
    with suppress(LakeledgerError), connect(url) as connection:
        advance(connection, slot, lsn)


def drop_slot(url: str, slot: str) -> None:
    """Drop a slot. If that fails, the next first load does it."""
    with suppress(LakeledgerError), connect(url) as connection:
        _drop(connection, slot)


def lag(connection: Connection[dict[str, Any]], slot: str) -> int:
    """How many bytes of the log are after what the slot's reader has. Raises NotFound."""
    statement = """select pg_wal_lsn_diff(pg_current_wal_flush_lsn(), confirmed_flush_lsn)::bigint as lag
                     from pg_replication_slots where slot_name = %s"""
    row = connection.execute(statement, (slot,)).fetchone()
    if row is None:
        raise NotFound(f"there is no slot {slot}")
    return int(row["lag"])


def _drop(connection: Connection[dict[str, Any]], slot: str) -> None:
    connection.execute("select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = %s", (slot,))


@contextmanager
def _copying(cursor: Cursor[Any], statement: Any) -> Iterator[Iterator[tuple[str | None, ...]]]:
    with cursor, cursor.copy(statement) as rows:
        yield cast("Iterator[tuple[str | None, ...]]", rows.rows())


def _not_made(slot: str, told: str) -> LakeledgerError:
    if "canceling" in told or "cancelled" in told:
        return Unavailable(f"the slot {slot} could not be made in time: a transaction is open that does not end; see pg_stat_activity")
    if "replication slots are in use" in told:
        return Invalid(f"the slot {slot} could not be made: {told}; raise max_replication_slots or drop one that nobody reads")
    return Failed(f"the slot {slot} could not be made: {scrub(told)}")


def _translated(error: Exception) -> LakeledgerError:
    from psycopg import errors

    told = scrub(str(error).strip().partition("\n")[0])
    # While it connects, psycopg knows no code.
    is_refused = isinstance(error, errors.InsufficientPrivilege) or re.search("replication role|WAL sender", told)
    match error:
        case _ if is_refused:
            return Forbidden(f"PostgreSQL refuses: {told}; the source's user needs REPLICATION (`alter role … replication`) and SELECT")
        case errors.ObjectInUse():
            return Conflict(f"PostgreSQL refuses: {told}; somebody else reads from the slot", retryable=True)
        case errors.OperationalError() if error.sqlstate is None or error.sqlstate[:2] in ("08", "57", "53"):
            return Unavailable(f"PostgreSQL is not reached: {told}")
        case _:
            return Failed(f"PostgreSQL refuses: {told}")
