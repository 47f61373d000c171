-- Which files of a table a run is just rewriting: a compaction leaves them alone. `paths` without any are all files of the table.
-- A claim counts while its run is under way.
create table table_claims (
    claim_id   text primary key,
    tenant_id  text not null,
    table_id   text not null references tables (table_id) on delete cascade,
    run_id     text not null,
    paths      jsonb not null,
    claimed_at timestamptz not null
);

create index table_claims_by_table on table_claims (table_id, run_id);
