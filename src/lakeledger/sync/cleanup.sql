-- name: count_letters
select count(*) as number from dead_letter_queue
 where tenant_id = :tenant_id and status in ('resolved', 'discarded') and resolved_at < :cutoff

-- name: delete_letters
delete from dead_letter_queue
 where id in (select id from dead_letter_queue
               where tenant_id = :tenant_id and status in ('resolved', 'discarded') and resolved_at < :cutoff
               order by resolved_at limit :chunk)

-- name: count_errors
select count(*) as number from error_log
 where tenant_id = :tenant_id and status <> 'open' and resolved_at < :cutoff
   and not exists (select 1 from dead_letter_queue letter
                    where letter.tenant_id = :tenant_id and letter.error_log_id = error_log.id and letter.status in ('pending', 'processing'))

-- name: delete_errors
-- An error that a waiting letter came from is kept with it.
delete from error_log
 where id in (select id from error_log
               where tenant_id = :tenant_id and status <> 'open' and resolved_at < :cutoff
                 and not exists (select 1 from dead_letter_queue letter
                                  where letter.tenant_id = :tenant_id and letter.error_log_id = error_log.id
                                    and letter.status in ('pending', 'processing'))
               order by resolved_at limit :chunk)

-- name: count_history
select count(*) as number from sync_marker_history
 where tenant_id = :tenant_id and updated_at < :cutoff and not forced
   and version < (select version from sync_markers marker where marker.id = sync_marker_history.marker_id)

-- name: delete_history
-- Where a source stands now, and every time that somebody forced it, stays known.
delete from sync_marker_history
 where id in (select id from sync_marker_history
               where tenant_id = :tenant_id and updated_at < :cutoff and not forced
                 and version < (select version from sync_markers marker where marker.id = sync_marker_history.marker_id)
               order by updated_at limit :chunk)

-- name: count_runs
select count(*) as number from pipeline_runs
 where tenant_id = :tenant_id and status in ('COMPLETED', 'FAILED', 'CANCELLED', 'SKIPPED') and end_time < :cutoff
   and not exists (select 1 from error_log error
                    where error.tenant_id = :tenant_id and error.sync_run_id = pipeline_logging_id and error.status = 'open')
   and not exists (select 1 from dead_letter_queue letter
                    where letter.tenant_id = :tenant_id and letter.sync_run_id = pipeline_logging_id
                      and letter.status in ('pending', 'processing'))

-- name: delete_transitions
-- Of the runs that delete_runs deletes next, and of their steps.
with over as (
    select pipeline_logging_id from pipeline_runs
     where tenant_id = :tenant_id and status in ('COMPLETED', 'FAILED', 'CANCELLED', 'SKIPPED') and end_time < :cutoff
       and not exists (select 1 from error_log error
                        where error.tenant_id = :tenant_id and error.sync_run_id = pipeline_logging_id and error.status = 'open')
       and not exists (select 1 from dead_letter_queue letter
                        where letter.tenant_id = :tenant_id and letter.sync_run_id = pipeline_logging_id
                          and letter.status in ('pending', 'processing'))
     order by end_time, pipeline_logging_id limit :chunk
)
delete from state_transitions
 where entity_id in (select pipeline_logging_id from over
                     union all
                     select step_logging_id from step_logs where pipeline_logging_id in (select pipeline_logging_id from over))

-- name: delete_runs
-- A run that an open error or a waiting letter came from is kept with it.
delete from pipeline_runs
 where pipeline_logging_id in (
    select pipeline_logging_id from pipeline_runs
     where tenant_id = :tenant_id and status in ('COMPLETED', 'FAILED', 'CANCELLED', 'SKIPPED') and end_time < :cutoff
       and not exists (select 1 from error_log error
                        where error.tenant_id = :tenant_id and error.sync_run_id = pipeline_logging_id and error.status = 'open')
       and not exists (select 1 from dead_letter_queue letter
                        where letter.tenant_id = :tenant_id and letter.sync_run_id = pipeline_logging_id
                          and letter.status in ('pending', 'processing'))
     order by end_time, pipeline_logging_id limit :chunk
)
