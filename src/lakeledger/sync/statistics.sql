-- name: runs
-- Those that were at work in that time, however long ago they began.
select count(*) as total_runs,
       count(*) filter (where status = 'COMPLETED') as completed_runs,
       count(*) filter (where status = 'FAILED') as failed_runs,
       count(*) filter (where status = 'CANCELLED') as cancelled_runs,
       count(*) filter (where status in ('PENDING', 'RUNNING')) as running_runs,
       sum(records_processed) as total_records_processed, sum(records_inserted) as total_records_inserted,
       sum(records_updated) as total_records_updated, sum(records_deleted) as total_records_deleted,
       sum(records_failed) as total_records_failed, sum(bytes_processed) as total_bytes_processed,
       avg(duration_ms) as avg_duration_ms, max(duration_ms) as max_duration_ms,
       sum(duration_ms) as busy_ms,
       sum(case when end_time is not null then records_processed end) as ended_records,
       sum(case when end_time is not null then bytes_processed end) as ended_bytes
  from (select * from pipeline_runs where tenant_id = :tenant_id and run_kind = 'sync' and end_time is null
        union all
        select * from pipeline_runs where tenant_id = :tenant_id and run_kind = 'sync' and end_time >= :since) at_work
 where tenant_id = :tenant_id
   and lower(schema_name) = lower(:schema_name) -- optional

-- name: errors
select error_type, count(*) as errors,
       count(*) filter (where status = 'open') as open_errors,
       count(*) filter (where status = 'resolved') as resolved_errors,
       count(*) filter (where status = 'ignored') as ignored_errors,
       sum(retry_count) as retries,
       count(*) filter (where retry_count > 0 and (status <> 'open' or dead_letter_id is not null)) as retried_and_settled,
       count(*) filter (where retry_count > 0 and status = 'resolved' and dead_letter_id is null) as retried_and_resolved
  from error_log
 where tenant_id = :tenant_id and occurred_at >= :since
   and lower(schema_name) = lower(:schema_name) -- optional
 group by error_type
 order by error_type

-- name: errors_by_hour@sqlite
select substr(occurred_at, 1, 13) || ':00:00Z' as hour, count(*) as errors
  from error_log
 where tenant_id = :tenant_id and occurred_at >= :since
   and lower(schema_name) = lower(:schema_name) -- optional
 group by 1

-- name: errors_by_hour@postgres
select to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"') as hour, count(*) as errors
  from error_log
 where tenant_id = :tenant_id and occurred_at >= :since
   and lower(schema_name) = lower(:schema_name) -- optional
 group by 1

-- name: dead_letters
-- All of them, however old: a letter waits until somebody settles it.
select status, count(*) as letters, sum(error_count) as failures, min(created_at) as oldest
  from dead_letter_queue
 where tenant_id = :tenant_id
   and lower(schema_name) = lower(:schema_name) -- optional
 group by status

-- name: markers
select count(*) as total, min(last_updated) as oldest_update, max(last_updated) as newest_update
  from sync_markers
 where tenant_id = :tenant_id
   and lower(schema_name) = lower(:schema_name) -- optional
