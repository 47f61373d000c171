-- name: add_run
insert into pipeline_runs (
    pipeline_logging_id, tenant_id, pipeline_id, status, trigger_type, trigger_by, start_time, config_version, parameters, run_kind,
    config_hash, parent_run_id, retry_of, idempotency_key, exclusive, done_by, lease_token,
    schema_name, sync_mode, source_info, destination_info, instance_id, node_id
) values (
    :run_id, :tenant_id, :pipeline_id, 'PENDING', :trigger_type, :trigger_by, :now, :config_version, :parameters, :run_kind,
    :config_hash, :parent_run_id, :retry_of, :idempotency_key, :exclusive, :done_by, 0,
    :schema_name, :sync_mode, :source_info, :destination_info, :instance_id, :node_id
)
returning *

-- name: begin_run
-- The token grows with every run of a pipeline: whoever holds an older one is fenced off.
update pipeline_runs
   set status = 'RUNNING', start_time = :now, heartbeat_at = :now, lease_expires_at = :lease_expires_at,
       worker_instance = :worker_instance, instance_id = coalesce(instance_id, :instance_id), node_id = coalesce(node_id, :node_id),
       lease_token = 1 + coalesce((select other.lease_token from pipeline_runs other
                                    where other.tenant_id = :tenant_id and other.pipeline_id = pipeline_runs.pipeline_id
                                    order by other.lease_token desc limit 1), 0)
 where tenant_id = :tenant_id and pipeline_logging_id = :run_id and status = 'PENDING'
returning *

-- name: holder
select * from pipeline_runs
 where tenant_id = :tenant_id and pipeline_id = :pipeline_id and exclusive and status = 'RUNNING'

-- name: find_by_idempotency_key
select * from pipeline_runs
 where tenant_id = :tenant_id and pipeline_id = :pipeline_id and idempotency_key = :idempotency_key
 order by start_time desc, pipeline_logging_id desc
 limit 1

-- name: get_run
select * from pipeline_runs where tenant_id = :tenant_id and pipeline_logging_id = :run_id

-- name: find_run_by_prefix
-- `tenant_id || ''`: were the tenant something that an index can find, SQLite would rather go through all of its rows.
select * from pipeline_runs
 where tenant_id || '' = :tenant_id and pipeline_logging_id between :first and :last
   and substr(pipeline_logging_id, 1, length(cast(:prefix as text))) = :prefix
 order by pipeline_logging_id
 limit 2

-- name: list_runs
select * from pipeline_runs
 where tenant_id = :tenant_id
   and pipeline_id = :pipeline_id -- optional
   and status = :status -- optional
   and run_kind = :run_kind -- optional
   and (start_time, pipeline_logging_id) < (:after_start_time, :after_pipeline_logging_id) -- optional
 order by start_time desc, pipeline_logging_id desc
 limit :page_size -- optional

-- name: following_runs
select * from pipeline_runs
 where tenant_id = :tenant_id and pipeline_id = :pipeline_id and start_time > :start_time
 order by start_time
 limit 100

-- name: renew
-- A lease is lost by somebody who took over, never by the clock alone: whoever takes over ends the run first.
update pipeline_runs
   set heartbeat_at = :now, lease_expires_at = :lease_expires_at, suspected_at = null
 where tenant_id = :tenant_id and pipeline_logging_id = :run_id and lease_token = :token and status = 'RUNNING'

-- name: is_any_silent
select 1 from pipeline_runs where tenant_id = :tenant_id and status = 'RUNNING' and lease_expires_at <= :now and suspected_at is null limit 1

-- name: suspect
-- The store may have been away when these should have renewed their leases: from now on they have time to do so.
update pipeline_runs set suspected_at = :now
 where tenant_id = :tenant_id and status = 'RUNNING' and lease_expires_at <= :now and suspected_at is null

-- name: finish_run
-- Ends a run once: a run that has ended keeps its first outcome.
update pipeline_runs
   set status = :status, end_time = :now, duration_ms = :duration_ms, error_message = :error_message, error_details = :error_details,
       lease_expires_at = null
 where tenant_id = :tenant_id and pipeline_logging_id = :run_id and status in ('PENDING', 'RUNNING')
returning *

-- name: count_run
update pipeline_runs
   set records_processed = records_processed + :processed, records_inserted = records_inserted + :inserted,
       records_updated = records_updated + :updated, records_deleted = records_deleted + :deleted,
       records_failed = records_failed + :failed, bytes_processed = bytes_processed + :bytes,
       commit_count = commit_count + :commits
 where tenant_id = :tenant_id and pipeline_logging_id = :run_id and status in ('PENDING', 'RUNNING')

-- name: open_runs
select * from pipeline_runs
 where tenant_id = :tenant_id and status = 'RUNNING'
 order by start_time, pipeline_logging_id

-- name: add_step
insert into step_logs (
    step_logging_id, tenant_id, pipeline_logging_id, step_name, step_type, step_index, status, start_time, metadata, attempt,
    target_table, done_by
) values (
    :step_id, :tenant_id, :run_id, :step_name, :step_type,
    (select count(*) from step_logs where pipeline_logging_id = :run_id), 'PENDING', :now, :metadata, :attempt,
    :target_table, :done_by
)
returning *

-- name: set_done_by
update pipeline_runs set done_by = :done_by where tenant_id = :tenant_id and pipeline_logging_id = :run_id

-- name: begin_step
update step_logs set status = 'RUNNING', start_time = :now
 where tenant_id = :tenant_id and step_logging_id = :step_id and status = 'PENDING'
returning *

-- name: finish_step
update step_logs
   set status = :status, end_time = :now, duration_ms = :duration_ms, error_message = :error_message,
       rows_processed = coalesce(:rows_processed, rows_processed), bytes_processed = coalesce(:bytes_processed, bytes_processed),
       metadata = :metadata
 where tenant_id = :tenant_id and step_logging_id = :step_id and status in ('PENDING', 'RUNNING')
returning *

-- name: commit_step
update step_logs
   set committed_at = :now, rows_processed = coalesce(rows_processed, 0) + :rows_processed,
       bytes_processed = coalesce(bytes_processed, 0) + :bytes_processed, target_table = coalesce(target_table, :target_table)
 where tenant_id = :tenant_id and step_logging_id = :step_id and status = 'RUNNING'

-- name: get_step
select * from step_logs where tenant_id = :tenant_id and step_logging_id = :step_id

-- name: list_steps
select * from step_logs
 where tenant_id = :tenant_id and pipeline_logging_id = :run_id
   and (step_index, step_logging_id) > (:after_step_index, :after_step_logging_id) -- optional
 order by step_index, step_logging_id
 limit :page_size -- optional

-- name: recent_steps
-- The steps that completed in the latest runs of a pipeline.
select step.step_name, step.duration_ms
  from (select pipeline_logging_id from pipeline_runs
         where tenant_id = :tenant_id and pipeline_id = :pipeline_id
         order by start_time desc, pipeline_logging_id desc
         limit :runs) latest
  join step_logs step on step.pipeline_logging_id = latest.pipeline_logging_id
 where step.status = 'COMPLETED' and step.duration_ms is not null

-- name: earlier_attempts
-- Of a step: how often it was tried and not done, in this run and in those that it repeats. Of a run: how many it repeats.
with recursive repeated (run_id, retry_of) as (
    select pipeline_logging_id, retry_of from pipeline_runs where tenant_id = :tenant_id and pipeline_logging_id = :run_id
    union
    select earlier.pipeline_logging_id, earlier.retry_of
      from pipeline_runs earlier join repeated on earlier.pipeline_logging_id = repeated.retry_of
     where earlier.tenant_id = :tenant_id
)
select case when cast(:step_name as text) is null then (select count(*) - 1 from repeated)
            else (select count(*) from step_logs join repeated on step_logs.pipeline_logging_id = repeated.run_id
                   where step_logs.step_name = :step_name and step_logs.status in ('FAILED', 'CANCELLED')) end as number

-- name: add_transition
insert into state_transitions (transition_id, tenant_id, entity, entity_id, from_status, to_status, at, reason, actor)
values (:transition_id, :tenant_id, :entity, :entity_id, :from_status, :to_status, :now, :reason, :actor)

-- name: list_transitions
select * from state_transitions where tenant_id = :tenant_id and entity_id = :entity_id order by transition_id

-- name: put_output
-- A step that was given up may still print: what is kept last is what is kept.
insert into step_output (step_logging_id, tenant_id, output, left_out, traceback, kept_at)
values (:step_id, :tenant_id, :output, :left_out, :traceback, :now)
on conflict (step_logging_id) do update
   set output = excluded.output, left_out = excluded.left_out, traceback = coalesce(excluded.traceback, step_output.traceback),
       kept_at = excluded.kept_at

-- name: list_output
select step_output.* from step_output join step_logs on step_logs.step_logging_id = step_output.step_logging_id
 where step_logs.tenant_id = :tenant_id and step_logs.pipeline_logging_id = :run_id
   and step_logs.step_index between :first and :last -- optional
 order by step_logs.step_index

-- name: is_forgotten
select 1 from forgotten_runs where tenant_id = :tenant_id and run_id = :run_id

-- name: forget_again
update forgotten_runs set forgotten_at = :now where tenant_id = :tenant_id and run_id = :run_id

-- name: remove_forgotten
delete from forgotten_runs where tenant_id = :tenant_id and forgotten_at <= :before
