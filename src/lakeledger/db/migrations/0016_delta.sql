-- In which formats other engines see a table; null where the ledger's setting counts.
alter table table_publications add column formats jsonb;

-- What they see as Delta. An entry of the log is the commit there: it is noted as the target before it is written, so that whoever
-- finishes it after a crash writes the same. `version` is 0 before the first is published.
create table delta_publications (
    table_id           text primary key references tables (table_id) on delete cascade,
    tenant_id          text not null,
    version            bigint not null,
    delta_version      bigint,
    log_id             text not null,
    checkpoint_version bigint,
    target_version     bigint,
    target_delta       bigint,
    target_at          timestamptz,
    problem            text,
    problem_version    bigint,
    updated_at         timestamptz not null
);

-- The version that a version has in the Delta log.
alter table table_snapshots add column delta_version bigint;
