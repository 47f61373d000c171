"""What follows from the tables and is therefore generated: change triggers, and on PostgreSQL the tenant policies.

They are made anew after every migration, so a column that a later release adds is logged without anybody thinking of it.
"""

from __future__ import annotations

from lakeledger.db import Database, Transaction
from lakeledger.db.queries import statement

# Table → its key column. Every change of a row in these is one row in change_log.
WATCHED = {
    "tables": "table_id",
    "table_metadata": "id",
    "table_files": "id",
    "table_stats": "id",
    "table_snapshots": "snapshot_id",
    "pipeline_runs": "pipeline_logging_id",
}
# A renewed lease says that the worker lives, not that the run changed.
QUIET = {"pipeline_runs": ("heartbeat_at", "lease_expires_at", "suspected_at")}


def install(database: Database, tx: Transaction) -> None:
    """Make the triggers and policies for the tables as they are now."""
    build = _postgres_script if database.dialect == "postgres" else _sqlite_script
    database.run_script(tx, build(tx))


def _sqlite_script(tx: Transaction) -> str:
    return "\n".join(_sqlite_triggers(table, key, _sqlite_columns(tx, table)) for table, key in WATCHED.items())


def _sqlite_columns(tx: Transaction, table: str) -> dict[str, str]:
    rows = tx.all(statement("select name, type from pragma_table_info(:table_name) order by cid"), table_name=table)
    return {row["name"]: row["type"] for row in rows}


def _sqlite_triggers(table: str, key: str, columns: dict[str, str]) -> str:
    changed = " or ".join(f'old."{name}" is not new."{name}"' for name in columns if name not in QUIET.get(table, ()))
    return "\n".join(
        (
            _sqlite_trigger(table, "insert", f"new.{key}", "new", None, _sqlite_row("new", columns)),
            _sqlite_trigger(table, "update", f"new.{key}", "new", _sqlite_row("old", columns), _sqlite_row("new", columns), when=changed),
            _sqlite_trigger(table, "delete", f"old.{key}", "old", _sqlite_row("old", columns), None),
        )
    )


def _sqlite_trigger(table: str, operation: str, key: str, side: str, before: str | None, after: str | None, when: str = "") -> str:
    return f"""
drop trigger if exists log_{table}_{operation};
create trigger log_{table}_{operation} after {operation} on {table} {f"when {when}" if when else ""}
begin
    insert into change_log (tenant_id, table_name, operation, key, before, after, at)
    values ({side}.tenant_id, '{table}', '{operation.upper()}', {key}, {before or "null"}, {after or "null"},
            strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z');
end;
"""


def _sqlite_row(side: str, columns: dict[str, str]) -> str:
    return f"json_object({', '.join(_sqlite_value(side, name, declared) for name, declared in columns.items())})"


def _sqlite_value(side: str, name: str, declared: str) -> str:
    value = f'{side}."{name}"'
    if declared == "boolean":
        value = f"json(case {value} when 1 then 'true' when 0 then 'false' else 'null' end)"
    elif declared == "jsonb":
        value = f"json({value})"
    return f"'{name}', {value}"


def _postgres_script(tx: Transaction) -> str:
    tenant_tables = tx.all(
        statement(
            "select table_name from information_schema.columns join information_schema.tables using (table_schema, table_name)"
            " where table_schema = current_schema() and column_name = 'tenant_id' and table_type = 'BASE TABLE'"
        )
    )
    policies = (_postgres_policy(row["table_name"]) for row in tenant_tables)
    triggers = (_postgres_triggers(table, key) for table, key in WATCHED.items())
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


def _postgres_triggers(table: str, key: str) -> str:
    arguments = ", ".join(f"'{name}'" for name in (key, *QUIET.get(table, ())))
    return f"""
create or replace trigger order_writers before insert or update or delete on {table}
    for each statement execute function lakeledger_order_writers();
create or replace trigger log_change after insert or update or delete on {table}
    for each row execute function lakeledger_log_change({arguments});
create or replace trigger no_truncate before truncate on {table}
    for each statement execute function lakeledger_no_truncate();
"""
