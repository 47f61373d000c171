create table change_log (
    seq        bigint generated always as identity primary key,
    tenant_id  text not null,
    table_name text not null,
    operation  text not null check (operation in ('INSERT', 'UPDATE', 'DELETE')),
    key        text not null,
    before     jsonb,
    after      jsonb,
    at         timestamptz not null default clock_timestamp()
);

create index change_log_by_tenant on change_log (tenant_id, seq);
create index change_log_by_table on change_log (tenant_id, table_name, seq);

-- Writers of a tenant go one after the other, so that seq is the order of its commits; SQL typed by hand, which is bound to no tenant,
-- goes alone. The locks are those that a ledger's transaction begins with, taken before any row is, so two writers cannot hold each
-- other up. Whoever types by hand and leaves the transaction open does not lock everybody out for good.
create function lakeledger_order_writers() returns trigger language plpgsql as $$
declare
    tenant text := coalesce(current_setting('lakeledger.tenant', true), '');
begin
    if tenant = '' then
        if current_setting('idle_in_transaction_session_timeout') = '0' then
            perform set_config('idle_in_transaction_session_timeout', '60s', true);
        end if;
        perform pg_advisory_xact_lock(hashtext('lakeledger.writer'), hashtext(tg_table_schema));
    else
        perform pg_advisory_xact_lock_shared(hashtext('lakeledger.writer'), hashtext(tg_table_schema));
        perform pg_advisory_xact_lock(hashtext('lakeledger.writer.' || tg_table_schema), hashtext(tenant));
    end if;
    return null;
end
$$;

-- Arguments: the key column, then the columns that an event leaves out. `before` of an update has only what changed.
create function lakeledger_log_change() returns trigger language plpgsql as $$
declare
    old_row jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) - coalesce(tg_argv[1:], '{}') end;
    new_row jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) - coalesce(tg_argv[1:], '{}') end;
    subject jsonb := coalesce(new_row, old_row);
begin
    if tg_op = 'UPDATE' then
        old_row := (select jsonb_object_agg(each.key, each.value) from jsonb_each(old_row) each where each.value <> new_row -> each.key);
        if old_row is null then
            return null;
        end if;
    end if;
    execute format('insert into %I.change_log (tenant_id, table_name, operation, key, before, after) values ($1, $2, $3, $4, $5, $6)', tg_table_schema)
        using subject ->> 'tenant_id', tg_table_name, tg_op, subject ->> tg_argv[0], old_row, new_row;
    return null;
end
$$;
