-- Who must hear of it. `seq` of a cursor: everything up to it was handled, was parked, or is in a lane that is behind.
alter table subscriber_cursor add column state text not null default 'closed' check (state in ('closed', 'open', 'refreshing'));
alter table subscriber_cursor add column error text;

-- Lanes that are behind: the events of one table of the registry about one table of the lake, of which `next_seq` is the first that a
-- subscriber has not handled. A lane that is not behind has no row.
create table delivery (
    tenant_id      text not null,
    subscriber     text not null,
    registry_table text not null,
    lake_table     text not null,
    next_seq       bigint not null,
    attempts       integer not null,
    retry_at       timestamptz,
    error          text,
    updated_at     timestamptz not null,
    primary key (tenant_id, subscriber, registry_table, lake_table),
    foreign key (tenant_id, subscriber) references subscriber_cursor (tenant_id, subscriber) on delete cascade
);

-- Which process delivers the events of all tenants: at most one row. Who doubts that it lives says so in `suspected_at`.
create table astha_lease (
    id            integer primary key check (id = 1),
    token         bigint not null,
    holder        text,
    instance_id   text,
    lease_seconds double precision not null,
    taken_at      timestamptz not null,
    suspected_at  timestamptz
);
