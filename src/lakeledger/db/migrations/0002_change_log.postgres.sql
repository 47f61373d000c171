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
-- other up. Whoever types by hand and leaves the transaction open does not lock everybody out for good. Whoever waits for a commit hears
-- of it, as of that of a ledger's transaction.
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
    perform pg_notify('lakeledger', tg_table_schema);
    return null;
end
$$;

-- Each logs all rows of a statement at once. Arguments: the key column, then the columns that an event leaves out.
create function lakeledger_log_insert() returns trigger language plpgsql as $$
begin
    execute format('insert into %I.change_log (tenant_id, table_name, operation, key, after)
                    select each ->> ''tenant_id'', $1, ''INSERT'', each ->> $2, each from (select to_jsonb(added) - $3 from added) rows (each)',
                   tg_table_schema)
        using tg_table_name, tg_argv[0], coalesce(tg_argv[1:], '{}');
    return null;
end
$$;

-- `before` has only what changed, and a change of nothing else than what is left out is no event.
create function lakeledger_log_update() returns trigger language plpgsql as $$
begin
    execute format('insert into %I.change_log (tenant_id, table_name, operation, key, before, after)
                    select became ->> ''tenant_id'', $1, ''UPDATE'', became ->> $2, changed, became
                      from (select to_jsonb(before_it) - $3, to_jsonb(after_it) - $3
                              from before_it join after_it on before_it.%I = after_it.%I) rows (was, became),
                           lateral (select jsonb_object_agg(each.key, each.value) from jsonb_each(was) each
                                     where each.value <> became -> each.key) differences (changed)
                     where changed is not null', tg_table_schema, tg_argv[0], tg_argv[0])
        using tg_table_name, tg_argv[0], coalesce(tg_argv[1:], '{}');
    return null;
end
$$;

create function lakeledger_log_delete() returns trigger language plpgsql as $$
begin
    execute format('insert into %I.change_log (tenant_id, table_name, operation, key, before)
                    select each ->> ''tenant_id'', $1, ''DELETE'', each ->> $2, each from (select to_jsonb(gone) - $3 from gone) rows (each)',
                   tg_table_schema)
        using tg_table_name, tg_argv[0], coalesce(tg_argv[1:], '{}');
    return null;
end
$$;
