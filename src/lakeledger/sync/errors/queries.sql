-- name: add_error
insert into error_log (
    id, tenant_id, sync_run_id, step_id, schema_name, table_name, name_key, schema_key, error_type, error_code, error_message, error_details, stack_trace,
    record_data, record_complete, operation_type, fingerprint, status, retry_count, max_retries, retry_after, dead_letter_id, occurred_at
) values (
    :id, :tenant_id, :sync_run_id, :step_id, :schema_name, :table_name, :name_key, :schema_key, :error_type, :error_code, :error_message, :error_details, :stack_trace,
    :record_data, :record_complete, :operation_type, :fingerprint, 'open', 0, :max_retries, :retry_after, :dead_letter_id, :now
)

-- name: get_error
select * from error_log where tenant_id = :tenant_id and id = :id

-- name: find_error_by_prefix
-- `tenant_id || ''` here and below: were the tenant something that an index can find, SQLite would rather go through all of its rows.
select * from error_log
 where tenant_id || '' = :tenant_id and id between :first and :last and substr(id, 1, length(cast(:prefix as text))) = :prefix
 order by id
 limit 2

-- name: list_errors
select * from error_log
 where tenant_id = :tenant_id
   and name_key = :name_key -- optional
   and schema_key = :schema_key -- optional
   and name_key like :names escape '!' -- optional
   and status = :status -- optional
   and error_type = :error_type -- optional
   and fingerprint = :fingerprint -- optional
   and (occurred_at, id) < (:after_occurred_at, :after_id) -- optional
 order by occurred_at desc, id desc
 limit :page_size -- optional

-- name: claim_due@sqlite
update error_log set claimed_by = :claim, claimed_until = :until
 where id in (
    select id from error_log
     where tenant_id = :tenant_id and status = 'open' and retry_after is not null and retry_after <= :now
       and (claimed_until is null or claimed_until <= :now)
     order by retry_after, id limit :page_size)
returning *

-- name: claim_due@postgres
-- As an array it is found once; a planner without statistics may otherwise find it again for every error in the log.
update error_log set claimed_by = :claim, claimed_until = :until
 where id = any(array(
    select id from error_log
     where tenant_id = :tenant_id and status = 'open' and retry_after is not null and retry_after <= :now
       and (claimed_until is null or claimed_until <= :now)
     order by retry_after, id limit :page_size))
returning *

-- name: renew
update error_log set claimed_until = :until
 where tenant_id = :tenant_id and id = :id and status = 'open' and claimed_by = :claim
returning *

-- name: count_errors
-- The sample of each group is asked for by its id: PostgreSQL, which cannot know how few groups there are, would join the whole log.
select counted.*, (select error_type from error_log sample where sample.id = counted.sample_id) as error_type,
       (select error_code from error_log sample where sample.id = counted.sample_id) as error_code,
       (select error_message from error_log sample where sample.id = counted.sample_id) as error_message
  from (select fingerprint, schema_name, table_name, status, count(*) as count, min(occurred_at) as first_seen,
               max(occurred_at) as last_seen, max(id) as sample_id
          from error_log
         where tenant_id = :tenant_id
           and status = :status -- optional
         group by status, fingerprint, schema_name, table_name) counted
 order by counted.sample_id desc

-- name: note_retry
update error_log
   set retry_count = :retry_count, last_retry_at = :now, retry_after = :retry_after, error_details = :error_details,
       dead_letter_id = :dead_letter_id, claimed_by = null, claimed_until = null
 where tenant_id = :tenant_id and id = :id and status = 'open'
returning *

-- name: retry_now
-- What is exhausted gets one attempt more.
update error_log
   set retry_after = :now, max_retries = case when max_retries > retry_count then max_retries else retry_count + 1 end
 where tenant_id = :tenant_id and id = :id and status = 'open'
returning *

-- name: settle
update error_log
   set status = :status, resolved_at = :now, resolved_by = :by, resolution_note = :note, retry_after = null,
       claimed_by = null, claimed_until = null
 where tenant_id = :tenant_id and id = :id and status = 'open'
returning *

-- name: waiting_letters
select id from dead_letter_queue
 where tenant_id || '' = :tenant_id and status in ('pending', 'processing')
   and id in (select id from dead_letter_queue where tenant_id = :tenant_id and error_log_id = :error_log_id
              union all select cast(:dead_letter_id as text))
 order by created_at, id

-- name: settle_letter
-- The retry wrote the record, so nobody must write it again.
update dead_letter_queue
   set status = 'resolved', resolved_at = :now, resolved_by = :by, resolution_method = 'retried', resolution_note = :note,
       claimed_by = null, claimed_until = null
 where tenant_id = :tenant_id and id = :id and status in ('pending', 'processing')

-- name: has_step_errors
select 1 as found from error_log
 where tenant_id = :tenant_id and name_key = :name_key and status = 'open' and step_id is not null
 limit 1

-- name: settle_step_errors
-- So many at a time: a source may have failed every minute for weeks.
update error_log
   set status = 'resolved', resolved_at = :now, resolved_by = :by, resolution_note = :note, retry_after = null
 where id in (select id from error_log
               where tenant_id = :tenant_id and name_key = :name_key and status = 'open' and step_id is not null
               limit :page_size)
