-- name: changes_after
select * from change_log
 where tenant_id = :tenant_id
   and seq > :after_seq -- optional
   and table_name = :table_name -- optional
 order by seq
 limit :page_size -- optional

-- name: last_changes
select * from change_log
 where tenant_id = :tenant_id
   and table_name = :table_name -- optional
 order by seq desc
 limit :page_size

-- name: heads
-- The tenants of the change log with the newest change of each, from one end of its index to the other in steps, however long it is.
with recursive tenants (tenant_id) as (
    select min(tenant_id) from change_log
    union all
    select (select min(next.tenant_id) from change_log next where next.tenant_id > tenants.tenant_id)
      from tenants
     where tenants.tenant_id is not null
)
select tenant_id, (select max(seq) from change_log newest where newest.tenant_id = tenants.tenant_id) as head
  from tenants
 where tenant_id is not null

-- name: tenants
-- Those whose changes were all cleaned up, too.
with recursive owners (tenant_id) as (
    select min(tenant_id) from tables
    union all
    select (select min(next.tenant_id) from tables next where next.tenant_id > owners.tenant_id)
      from owners
     where owners.tenant_id is not null
)
select tenant_id from owners where tenant_id is not null
union
select tenant_id from subscriber_cursor

-- name: head
select coalesce(max(seq), 0) as head from change_log where tenant_id = :tenant_id

-- name: lane_after
-- Of one lane of the table, whose rows tell in that column what they are about.
select * from change_log
 where tenant_id = :tenant_id and table_name = :table_name and seq > :after_seq and seq <= :last_seq
   and coalesce(after ->> cast(:lane_column as text), before ->> cast(:lane_column as text), '') = :subject
 order by seq
 limit :page_size

-- name: oldest_after
select seq, at from change_log where tenant_id = :tenant_id and seq > :after_seq order by seq limit 1

-- name: count_after
select count(*) as number from change_log where tenant_id = :tenant_id and seq > :after_seq

-- name: cursors
select * from subscriber_cursor where tenant_id = :tenant_id order by subscriber

-- name: put_cursor
insert into subscriber_cursor (tenant_id, subscriber, seq, state, error, updated_at)
values (:tenant_id, :subscriber, :seq, :state, :error, :now)
    on conflict (tenant_id, subscriber) do update
   set seq = excluded.seq, state = excluded.state, error = excluded.error,
       updated_at = case when subscriber_cursor.seq = excluded.seq then subscriber_cursor.updated_at else excluded.updated_at end

-- name: forget_cursor
delete from subscriber_cursor where tenant_id = :tenant_id and subscriber = :subscriber

-- name: lanes
-- With the name of the table of the lake, if it is there still.
select delivery.*, tables.schema_name, tables.table_name
  from delivery
  left join tables on tables.table_id = delivery.lake_table
 where delivery.tenant_id = :tenant_id
 order by subscriber, registry_table, lake_table

-- name: put_lane
insert into delivery (tenant_id, subscriber, registry_table, lake_table, next_seq, attempts, retry_at, error, updated_at)
values (:tenant_id, :subscriber, :registry_table, :lake_table, :next_seq, :attempts, :retry_at, :error, :now)
    on conflict (tenant_id, subscriber, registry_table, lake_table) do update
   set next_seq = excluded.next_seq, attempts = excluded.attempts, retry_at = excluded.retry_at, error = excluded.error,
       updated_at = excluded.updated_at

-- name: drop_lane
delete from delivery
 where tenant_id = :tenant_id and subscriber = :subscriber and registry_table = :registry_table and lake_table = :lake_table

-- name: drop_lanes
delete from delivery where tenant_id = :tenant_id and subscriber = :subscriber

-- name: find_lease
select * from astha_lease

-- name: add_lease
insert into astha_lease (id, token, holder, instance_id, lease_seconds, taken_at)
values (1, 1, :holder, :instance_id, :lease_seconds, :now)
    on conflict (id) do nothing
returning *

-- name: take_lease
update astha_lease
   set token = token + 1, holder = :holder, instance_id = :instance_id, lease_seconds = :lease_seconds, taken_at = :now, suspected_at = null
 where token = :token
returning *

-- name: suspect_lease
update astha_lease set suspected_at = :now where token = :token and suspected_at is null

-- name: answer_lease
update astha_lease set suspected_at = null where token = :token

-- name: release_lease
update astha_lease set holder = null, instance_id = null, suspected_at = null where token = :token
