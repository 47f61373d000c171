-- Jobs of every backend, as we last applied them.

-- name: put_job
insert into jobs (
    id, tenant_id, control_table, module_name, backend, job_id, job_name, settings, settings_hash, rows_hash, control_version,
    state, created_timestamp, updated_timestamp
) values (
    :id, :tenant_id, :control_table, :module_name, :backend, :job_id, :job_name, :settings, :settings_hash, :rows_hash,
    :control_version, :state, :now, :now
)
on conflict (tenant_id, control_table, module_name, backend) do update
   set job_id = excluded.job_id, job_name = excluded.job_name, settings = excluded.settings,
       settings_hash = excluded.settings_hash, rows_hash = excluded.rows_hash, control_version = excluded.control_version, state = excluded.state,
       updated_timestamp = excluded.updated_timestamp
returning *

-- name: find_job
select * from jobs
 where tenant_id = :tenant_id and control_table = :control_table and module_name = :module_name and backend = :backend

-- name: list_jobs
select * from jobs
 where tenant_id = :tenant_id
   and control_table = :control_table -- optional
   and backend = :backend -- optional
 order by control_table, module_name, backend

-- name: job_states
select job_id, state from jobs where tenant_id = :tenant_id and backend = :backend and state <> 'removed'

-- name: find_job_by_id
select * from jobs where tenant_id = :tenant_id and backend = :backend and job_id = :job_id order by updated_timestamp desc limit 1

-- name: note_removed
update jobs set state = 'removed', updated_timestamp = :now where tenant_id = :tenant_id and backend = :backend and job_id = :job_id

-- name: disown_job
delete from jobs where tenant_id = :tenant_id and backend = :backend and job_id = :job_id

-- name: note_rows
update jobs set rows_hash = :rows_hash
 where tenant_id = :tenant_id and control_table = :control_table and module_name = :module_name and backend = :backend and state = 'active'

-- name: remove_job
delete from jobs
 where tenant_id = :tenant_id and control_table = :control_table and module_name = :module_name and backend = :backend

-- Jobs that the ledger keeps.

-- name: add_local
insert into local_jobs (
    job_id, tenant_id, name, settings, module, base, paused, next_run_at, watches, seen, created_at, updated_at, version
) values (
    :job_id, :tenant_id, :name, :settings, :module, :base, :paused, :next_run_at, :watches, :seen, :now, :now, 1
)
returning *

-- name: update_local
update local_jobs
   set name = :name, settings = :settings, module = :module, base = :base, paused = :paused, next_run_at = :next_run_at,
       watches = :watches, updated_at = :now, version = version + 1
 where tenant_id = :tenant_id and job_id = :job_id
returning *

-- name: find_local
select * from local_jobs where tenant_id = :tenant_id and job_id = :job_id

-- name: list_local
select job_id, settings, base from local_jobs where tenant_id = :tenant_id order by name, job_id

-- name: named_local
select job_id, settings, base from local_jobs where tenant_id = :tenant_id and name = :name

-- name: remove_local
delete from local_jobs where tenant_id = :tenant_id and job_id = :job_id

-- name: due_jobs
select * from local_jobs where tenant_id = :tenant_id and next_run_at <= :at order by next_run_at, job_id

-- name: waiting_jobs
select * from local_jobs where tenant_id = :tenant_id and next_run_at > :at order by job_id

-- name: watching_jobs
select * from local_jobs where tenant_id = :tenant_id and watches order by job_id

-- name: set_next_run
update local_jobs set next_run_at = :next_run_at where tenant_id = :tenant_id and job_id = :job_id

-- name: set_seen
update local_jobs set seen = :seen where tenant_id = :tenant_id and job_id = :job_id

-- name: next_due_job
select next_run_at as at from local_jobs where tenant_id = :tenant_id and next_run_at > :at order by next_run_at limit 1

-- name: next_due_run
select start_after as at from local_job_runs
 where tenant_id = :tenant_id and status = 'queued' and start_after > :at
 order by start_after limit 1

-- Their runs.

-- name: add_run
insert into local_job_runs (
    id, tenant_id, job_id, cause, due_at, asked_by, parameters, status, reason, attempt, times_lost, start_after,
    claim_token, created_at, ended_at
) values (
    :id, :tenant_id, :job_id, :cause, :due_at, :asked_by, :parameters, :status, :reason, 1, 0, :due_at, 0, :now, :ended_at
)
on conflict do nothing
returning *

-- name: get_run
select * from local_job_runs where tenant_id = :tenant_id and id = :id

-- name: list_runs
select * from local_job_runs
 where tenant_id = :tenant_id
   and job_id = :job_id -- optional
   and (due_at, id) < (:after_due_at, :after_id) -- optional
 order by due_at desc, id desc
 limit :page_size -- optional

-- What is open is asked for one status at a time: SQLite uses a partial index only for what its condition says, word by word.

-- name: open_runs
select * from local_job_runs where tenant_id = :tenant_id and status = 'queued'
union all
select * from local_job_runs where tenant_id = :tenant_id and status = 'running'

-- name: running_runs
select * from local_job_runs where tenant_id = :tenant_id and status = 'running' order by started_at, id

-- name: queued_runs
select * from local_job_runs where tenant_id = :tenant_id and status = 'queued' and start_after <= :at order by start_after, id

-- name: statuses
select job_id, status from local_job_runs where tenant_id = :tenant_id and status = 'queued'
union all
select job_id, status from local_job_runs where tenant_id = :tenant_id and status = 'running'

-- name: claim
-- The token grows with every claim: whoever holds an older one is fenced off.
update local_job_runs
   set status = 'running', claimed_by = :worker, claimed_on = :instance, claimed_until = :until, started_at = :at, claim_token = claim_token + 1
 where tenant_id = :tenant_id and id = :id and status = 'queued'
returning *

-- name: renew
-- Also after its time: as long as nobody took over, the claim is its holder's.
update local_job_runs set claimed_until = :until
 where tenant_id = :tenant_id and id = :id and status = 'running' and claim_token = :claim_token

-- name: finish
-- Only the claim that is current ends its run: whoever lost it, or was too late, changes nothing.
update local_job_runs
   set status = :status, reason = coalesce(cast(:reason as text), reason), run_id = coalesce(cast(:run_id as text), run_id), ended_at = :at, claimed_until = null
 where tenant_id = :tenant_id and id = :id and status = 'running' and claim_token = :claim_token
returning *

-- name: queue_again
update local_job_runs
   set status = 'queued', attempt = :attempt, times_lost = :times_lost, start_after = :start_after, reason = :reason,
       run_id = coalesce(cast(:run_id as text), run_id), claimed_by = null, claimed_on = null, claimed_until = null, started_at = null
 where tenant_id = :tenant_id and id = :id and status = 'running' and claim_token = :claim_token
returning *

-- name: cancel
update local_job_runs
   set status = 'cancelled', reason = :reason, run_id = coalesce(cast(:run_id as text), run_id), ended_at = :now, claimed_until = null
 where tenant_id = :tenant_id and id = :id and status in ('queued', 'running')
returning *

-- name: forget_ended
delete from local_job_runs where tenant_id = :tenant_id and ended_at < :before

-- name: ledger_run
-- The run that a claim became, also if its worker was lost before it could say so.
select * from pipeline_runs
 where tenant_id = :tenant_id and pipeline_id = :pipeline_id and idempotency_key = :key
 order by start_time desc, pipeline_logging_id desc
 limit 1
