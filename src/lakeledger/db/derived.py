"""What follows from the tables and is therefore generated: change triggers, and on PostgreSQL the tenant policies.

They are made anew after every migration, so a column that a later release adds is logged without anybody thinking of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lakeledger.db import Database, Transaction
from lakeledger.db.queries import parse, statement

# Table → its key column. Every change of a row in these is one row in change_log: an event.
WATCHED = {
    "tables": "table_id",
    "table_metadata": "id",
    "table_files": "id",
    "table_stats": "id",
    "table_snapshots": "snapshot_id",
    "pipeline_runs": "pipeline_logging_id",
    "step_logs": "step_logging_id",
    "dq_results": "dq_result_id",
    "api_keys": "api_key_id",
}
# An event has the row's scalar columns. What it leaves out a subscriber loads by the key, and a change of nothing else is no event:
# documents (every jsonb column: bounds of a file, schema of a table, summary of a snapshot, parameters of a run),
# a checksum, which arrives after its file, as does its state in Iceberg, which whoever publishes would be woken by, that a retired file may
# go soon, a renewed lease, which says that the worker lives, not that the run changed, and the hash of a key, which is nobody's business.
LEFT_OUT = {
    "table_files": ("checksum", "iceberg_metadata_state", "removable_since"),
    "pipeline_runs": ("heartbeat_at", "lease_expires_at", "suspected_at"),
    "api_keys": ("api_key_hash",),
}
# Retention deletes these by the thousand, and nobody must hear of it (see `forget_silently`). Any other delete is an event.
FORGOTTEN = ("pipeline_runs", "step_logs", "dq_results")

_FORGET = parse("""
-- name: begin@postgres
select set_config('lakeledger.retention', 'on', true)

-- name: begin@sqlite
insert into retention_under_way (tenant_id) values (:tenant_id)

-- name: end@postgres
select set_config('lakeledger.retention', '', true)

-- name: end@sqlite
delete from retention_under_way
""")


@contextmanager
def forget_silently(tx: Transaction) -> Iterator[None]:
    """Delete what is forgotten without an event, in this transaction and as long as the block lasts: retention, not somebody by hand."""
    tx.execute(_FORGET.begin)
    yield
    tx.execute(_FORGET.end)


def install(database: Database, tx: Transaction) -> None:
    """Make the triggers and policies for the tables as they are now."""
    build = _postgres_script if database.dialect == "postgres" else _sqlite_script
    database.run_script(tx, build(tx))


def _sqlite_script(tx: Transaction) -> str:
    return "\n".join(_sqlite_triggers(table, key, _sqlite_columns(tx, table)) for table, key in WATCHED.items())


def _sqlite_columns(tx: Transaction, table: str) -> dict[str, str]:
    """The columns of an event and their types."""
    rows = tx.all(statement("select name, type from pragma_table_info(:table_name) order by cid"), table_name=table)
    return {row["name"]: row["type"] for row in rows if row["type"] != "jsonb" and row["name"] not in LEFT_OUT.get(table, ())}


def _sqlite_triggers(table: str, key: str, columns: dict[str, str]) -> str:
    changed = " or ".join(f'old."{name}" is not new."{name}"' for name in columns)
    logged = "not exists (select 1 from retention_under_way)" if table in FORGOTTEN else "true"
    old, new = _sqlite_row("old", columns), _sqlite_row("new", columns)
    return "\n".join(
        (
            _sqlite_trigger(table, "insert", f"new.{key}", "new", "null", new),
            _sqlite_trigger(table, "update", f"new.{key}", "new", _sqlite_changes(columns), new, when=changed),
            _sqlite_trigger(table, "delete", f"old.{key}", "old", old, "null", when=logged),
        )
    )


def _sqlite_trigger(table: str, operation: str, key: str, side: str, before: str, after: str, when: str = "true") -> str:
    return f"""
drop trigger if exists log_{table}_{operation};
create trigger log_{table}_{operation} after {operation} on {table} when {when}
begin
    insert into change_log (tenant_id, table_name, operation, key, before, after, at)
    values ({side}.tenant_id, '{table}', '{operation.upper()}', {key}, {before}, {after}, strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z');
end;
"""


def _sqlite_row(side: str, columns: dict[str, str]) -> str:
    pairs = (f"'{name}', {_sqlite_value(side, name, declared)}" for name, declared in columns.items())
    return f"json_object({', '.join(pairs)})"


def _sqlite_changes(columns: dict[str, str]) -> str:
    """What the columns that changed held before, as JSON."""
    each = (
        f"""iif(old."{name}" is new."{name}", '', ',"{name}":' || json_quote({_sqlite_value("old", name, declared)}))"""
        for name, declared in columns.items()
    )
    return f"'{{' || substr({' || '.join(each)}, 2) || '}}'"


def _sqlite_value(side: str, name: str, declared: str) -> str:
    value = f'{side}."{name}"'
    return f"json(case {value} when 1 then 'true' when 0 then 'false' else 'null' end)" if declared == "boolean" else value


def _postgres_script(tx: Transaction) -> str:
    tenant_tables = tx.all(
        statement(
            "select table_name from information_schema.columns join information_schema.tables using (table_schema, table_name)"
            " where table_schema = current_schema() and column_name = 'tenant_id' and table_type = 'BASE TABLE'"
        )
    )
    policies = (_postgres_policy(row["table_name"]) for row in tenant_tables)
    triggers = (_postgres_triggers(table, key, _postgres_documents(tx, table)) for table, key in WATCHED.items())
    return "\n".join((*policies, _POSTGRES_NO_TRUNCATE, *triggers))


# A truncate has no rows to log.
_POSTGRES_NO_TRUNCATE = """
create or replace function lakeledger_no_truncate() returns trigger language plpgsql as $$
begin
    raise exception 'truncate would not be in the change log: use delete from %', tg_table_name;
end
$$;
"""


def _postgres_policy(table: str) -> str:
    # A ledger handle always binds its tenant; a person in psql who has not is not confined. The tenant is compared with what has no
    # column in it: else the planner takes the policy for a filter that leaves next to nothing, and sorts instead of walking an index.
    return f"""
alter table {table} enable row level security;
alter table {table} force row level security;
drop policy if exists tenant_only on {table};
create policy tenant_only on {table}
    using (tenant_id = current_setting('lakeledger.tenant', true) or coalesce(current_setting('lakeledger.tenant', true), '') = '');
"""


def _postgres_documents(tx: Transaction, table: str) -> list[str]:
    columns = tx.all(
        statement(
            "select column_name from information_schema.columns"
            " where table_schema = current_schema() and table_name = :table_name and data_type = 'jsonb' order by ordinal_position"
        ),
        table_name=table,
    )
    return [row["column_name"] for row in columns]


def _postgres_triggers(table: str, key: str, documents: list[str]) -> str:
    arguments = ", ".join(f"'{name}'" for name in (key, *documents, *LEFT_OUT.get(table, ())))
    logged = "when (coalesce(current_setting('lakeledger.retention', true), '') <> 'on')" if table in FORGOTTEN else ""
    return f"""
create or replace trigger order_writers before insert or update or delete on {table}
    for each statement execute function lakeledger_order_writers();
create or replace trigger log_insert after insert on {table} referencing new table as added
    for each statement execute function lakeledger_log_insert({arguments});
create or replace trigger log_update after update on {table} referencing old table as before_it new table as after_it
    for each statement execute function lakeledger_log_update({arguments});
create or replace trigger log_delete after delete on {table} referencing old table as gone
    for each statement {logged} execute function lakeledger_log_delete({arguments});
create or replace trigger no_truncate before truncate on {table}
    for each statement execute function lakeledger_no_truncate();
"""
