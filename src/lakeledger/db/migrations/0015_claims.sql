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

-- Which versions a compaction made is asked at every look at a table, which may have had a million.
create index table_snapshots_replacing on table_snapshots (table_id, version) where operation = 'replace';
create index expired_snapshots_replacing on expired_snapshots (table_id, version) where operation = 'replace';
