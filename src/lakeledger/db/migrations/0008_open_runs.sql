-- What waits and what is under way is found without looking at what has ended. SQLite uses no partial index for one of several statuses.

create index local_job_runs_queued on local_job_runs (tenant_id, start_after, id) where status = 'queued';
create index local_job_runs_running on local_job_runs (tenant_id, started_at, id) where status = 'running';
drop index local_job_runs_open;
