-- Up to where retention has deleted changes of a tenant: whoever reads the change log at its own pace finds out that it missed some.
create table change_log_trimmed (
    tenant_id text primary key,
    seq       bigint not null
);

-- The keys of a tenant's programs and people, as seed 003 has them. The key itself is never stored.
create table api_keys (
    api_key_id   text primary key,
    tenant_id    text not null,
    api_key_hash text not null,
    created_at   timestamptz not null,
    created_by   text,
    expires_at   timestamptz,
    is_active    boolean not null default true,
    last_used_at timestamptz,
    description  text,
    key_prefix   text,
    scopes       jsonb,
    revoked_at   timestamptz,
    revoked_by   text
);

create unique index api_keys_by_hash on api_keys (api_key_hash);
create index api_keys_by_tenant on api_keys (tenant_id, created_at, api_key_id);
