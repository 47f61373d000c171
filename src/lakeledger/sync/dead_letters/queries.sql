-- name: put_letter
-- The same record fails again: one letter, with the newest record. Whoever holds it loses the claim: what was tried did not see this failure.
insert into dead_letter_queue (
    id, tenant_id, sync_run_id, error_log_id, schema_name, table_name, name_key, schema_key, operation_type, item_kind,
    source_record_id, record_data, record_complete, payload_hash, dedupe_key, error_type, error_message, fingerprint, error_count, status,
    created_at, last_failed_at, quarantine_table
) values (
    :id, :tenant_id, :sync_run_id, :error_log_id, :schema_name, :table_name, :name_key, :schema_key, :operation_type, :item_kind,
    :source_record_id, :record_data, :record_complete, :payload_hash, :dedupe_key, :error_type, :error_message, :fingerprint, 1, 'pending',
    :now, :now, :quarantine_table
)
on conflict (tenant_id, dedupe_key) where status in ('pending', 'processing') do update
   set error_count = dead_letter_queue.error_count + 1, last_failed_at = excluded.last_failed_at,
       error_type = excluded.error_type, fingerprint = excluded.fingerprint,
       error_message = coalesce(excluded.error_message, dead_letter_queue.error_message),
       error_log_id = coalesce(dead_letter_queue.error_log_id, excluded.error_log_id),
       sync_run_id = coalesce(excluded.sync_run_id, dead_letter_queue.sync_run_id),
       record_data = excluded.record_data, record_complete = excluded.record_complete, payload_hash = excluded.payload_hash,
       status = 'pending', claimed_by = null, claimed_until = null
returning *

-- name: count_failure
update dead_letter_queue
   set status = 'pending', claimed_by = null, claimed_until = null, error_count = error_count + 1, last_failed_at = :now, error_type = :error_type, fingerprint = :fingerprint,
       error_message = coalesce(:error_message, error_message),
       source_record_id = coalesce(source_record_id, :source_record_id)
 where tenant_id = :tenant_id and id = :id and status in ('pending', 'processing')
returning *

-- name: find_of_error
-- One error may have failed a whole batch: only the letter of the same record is the same letter.
select * from dead_letter_queue
 where tenant_id || '' = :tenant_id and status in ('pending', 'processing')
   and id in (select id from dead_letter_queue where tenant_id = :tenant_id and error_log_id = :error_log_id
              union all select cast(:dead_letter_id as text))
   and payload_hash = :payload_hash and operation_type = :operation_type and item_kind = :item_kind and name_key = :name_key
   and (source_record_id is null or cast(:source_record_id as text) is null or source_record_id = :source_record_id)
 order by created_at, id
 limit 1

-- name: find_error
select id, error_type, error_code, error_message, dead_letter_id from error_log where tenant_id = :tenant_id and id = :error_log_id

-- name: link_error
-- A record has one way back: once it is a letter, the error's own retries end.
update error_log set dead_letter_id = coalesce(dead_letter_id, :id), retry_after = null
 where tenant_id = :tenant_id and id = :error_log_id and status = 'open'

-- name: get_letter
select * from dead_letter_queue where tenant_id = :tenant_id and id = :id

-- name: find_letter_by_prefix
-- `tenant_id || ''` here and below: were the tenant something that an index can find, SQLite would rather go through all of its rows.
select * from dead_letter_queue
 where tenant_id || '' = :tenant_id and id between :first and :last and substr(id, 1, length(cast(:prefix as text))) = :prefix
 order by id
 limit 2

-- name: list_letters
select * from dead_letter_queue
 where tenant_id = :tenant_id
   and name_key = :name_key -- optional
   and schema_key = :schema_key -- optional
   and name_key like :names escape '!' -- optional
   and status = :status -- optional
   and fingerprint = :fingerprint -- optional
   and (created_at, id) < (:after_created_at, :after_id) -- optional
 order by created_at desc, id desc
 limit :page_size -- optional

-- name: count_letters
-- The sample of each group is asked for by its id: PostgreSQL, which cannot know how few groups there are, would join the whole queue.
select counted.*, (select error_type from dead_letter_queue sample where sample.id = counted.sample_id) as error_type,
       (select error_message from dead_letter_queue sample where sample.id = counted.sample_id) as error_message
  from (select fingerprint, schema_name, table_name, status, count(*) as count, min(created_at) as oldest, max(created_at) as newest,
               max(id) as sample_id
          from dead_letter_queue
         where tenant_id = :tenant_id
           and status = :status -- optional
         group by status, fingerprint, schema_name, table_name) counted
 order by counted.sample_id desc

-- name: claimable
-- Letters that stand for quarantined rows are replayed with their loads, and not given to whoever asks for records.
-- What is free and what has expired are two walks, here and below: one over both statuses would go through what is settled, or sort it all.
-- `name_key || ''`: what has expired is found by its time, of whichever table; an index of the table's would lead through what is settled.
select id, fingerprint, error_type, error_message, record_complete from (
    select * from (
        select id, created_at, fingerprint, error_type, error_message, record_complete from dead_letter_queue
         where tenant_id = :tenant_id and status = 'pending' and quarantine_table is null
           and name_key = :name_key -- optional
           and schema_key = :schema_key -- optional
           and name_key like :names escape '!' -- optional
           and fingerprint = :fingerprint -- optional
         order by created_at, id limit :page_size
    ) free
    union all
    select id, created_at, fingerprint, error_type, error_message, record_complete from dead_letter_queue
     where tenant_id = :tenant_id and status = 'processing' and claimed_until <= :now and quarantine_table is null
       and name_key || '' = :name_key -- optional
       and schema_key || '' = :schema_key -- optional
       and name_key like :names escape '!' -- optional
       and fingerprint = :fingerprint -- optional
) claimable order by created_at, id limit :page_size

-- name: letters_of_rows
-- All that wait are in one index, and few of them are held.
select * from dead_letter_queue
 where tenant_id = :tenant_id and quarantine_table is not null and status in ('pending', 'processing')
   and (status = 'pending' or claimed_until <= :now or claimed_by like :workers)
   and name_key || '' = :name_key -- optional
   and schema_key || '' = :schema_key -- optional
   and name_key like :names escape '!' -- optional
   and fingerprint || '' = :fingerprint -- optional
 order by created_at, id
 limit :page_size

-- name: claim@sqlite
update dead_letter_queue
   set status = 'processing', claimed_by = :worker, claimed_until = :until
 where id in (
    select id from (
        select id, created_at from (
            select id, created_at from dead_letter_queue
             where tenant_id = :tenant_id and status = 'pending' and quarantine_table is null
               and name_key = :name_key -- optional
               and schema_key = :schema_key -- optional
               and name_key like :names escape '!' -- optional
               and fingerprint = :fingerprint -- optional
             order by created_at, id limit :page_size
        ) free
        union all
        select id, created_at from dead_letter_queue
         where tenant_id = :tenant_id and status = 'processing' and claimed_until <= :now and quarantine_table is null
           and name_key || '' = :name_key -- optional
           and schema_key || '' = :schema_key -- optional
           and name_key like :names escape '!' -- optional
           and fingerprint = :fingerprint -- optional
    ) claimable order by created_at, id limit :page_size)
returning *

-- name: claim@postgres
-- As an array it is found once; a planner without statistics may otherwise find it again for every letter in the queue.
update dead_letter_queue
   set status = 'processing', claimed_by = :worker, claimed_until = :until
 where id = any(array(
    select id from (
        select id, created_at from (
            select id, created_at from dead_letter_queue
             where tenant_id = :tenant_id and status = 'pending' and quarantine_table is null
               and name_key = :name_key -- optional
               and schema_key = :schema_key -- optional
               and name_key like :names escape '!' -- optional
               and fingerprint = :fingerprint -- optional
             order by created_at, id limit :page_size
        ) free
        union all
        select id, created_at from dead_letter_queue
         where tenant_id = :tenant_id and status = 'processing' and claimed_until <= :now and quarantine_table is null
           and name_key || '' = :name_key -- optional
           and schema_key || '' = :schema_key -- optional
           and name_key like :names escape '!' -- optional
           and fingerprint = :fingerprint -- optional
    ) claimable order by created_at, id limit :page_size))
returning *

-- name: claim_these@sqlite
update dead_letter_queue
   set status = 'processing', claimed_by = :worker, claimed_until = :until
 where tenant_id || '' = :tenant_id and id in (select value from json_each(:ids))
   and (status = 'pending' or (status = 'processing' and claimed_until <= :now))
   and name_key = :name_key -- optional
   and schema_key = :schema_key -- optional
   and name_key like :names escape '!' -- optional
   and fingerprint = :fingerprint -- optional
returning *

-- name: claim_these@postgres
update dead_letter_queue
   set status = 'processing', claimed_by = :worker, claimed_until = :until
 where tenant_id = :tenant_id and id = any(array(select jsonb_array_elements_text(:ids)))
   and (status = 'pending' or (status = 'processing' and claimed_until <= :now))
   and name_key = :name_key -- optional
   and schema_key = :schema_key -- optional
   and name_key like :names escape '!' -- optional
   and fingerprint = :fingerprint -- optional
returning *

-- name: renew
update dead_letter_queue set claimed_until = :until
 where tenant_id = :tenant_id and id = :id and status = 'processing' and claimed_by = :worker
returning *

-- name: renew_all
update dead_letter_queue set claimed_until = :until
 where tenant_id = :tenant_id and status = 'processing' and claimed_by = :worker

-- name: release
update dead_letter_queue set status = 'pending', claimed_by = null, claimed_until = null
 where tenant_id = :tenant_id and id = :id and status = 'processing' and claimed_by = :worker
returning *

-- name: fail_again
update dead_letter_queue
   set status = 'pending', claimed_by = null, claimed_until = null, error_count = error_count + 1, last_failed_at = :now,
       error_type = :error_type, error_message = :error_message, fingerprint = :fingerprint
 where tenant_id = :tenant_id and id = :id and status in ('pending', 'processing')
returning *

-- name: settle
update dead_letter_queue
   set status = :status, resolved_at = :now, resolved_by = :by, resolution_method = :method, resolution_note = :note,
       claimed_by = null, claimed_until = null
 where tenant_id = :tenant_id and id = :id and status in ('pending', 'processing')
returning *

-- name: settle_errors
-- An error that failed a whole batch stays open until the last of its letters is settled. The errors are found by id, and the tenant
-- only there: with it here, SQLite would rather go through every open error.
update error_log
   set status = :status, resolved_at = :now, resolved_by = :by, resolution_note = :note, retry_after = null,
       claimed_by = null, claimed_until = null
 where status = 'open'
   and id in (select id from error_log where tenant_id = :tenant_id and dead_letter_id = :id
              union all
              select error_log_id from dead_letter_queue where tenant_id = :tenant_id and id = :id)
   and not exists (select 1 from dead_letter_queue other
                    where other.tenant_id = :tenant_id and other.error_log_id = error_log.id
                      and other.status in ('pending', 'processing'))
