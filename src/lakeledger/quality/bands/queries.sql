-- name: volumes
-- What loads brought to a table, newest first, with how the runs ended that did it.
select r.record_id, r.produced_at, r.source_id, r.context_extras, r.payload, p.run_kind, p.status
  from metadata_records r
  left join pipeline_runs p on p.pipeline_logging_id = r.run_id
 where r.tenant_id = :tenant_id and r.kind = 'ingestion_volume' and r.name_key = :name_key
   and r.produced_at >= :since and r.produced_at < :until
 order by r.produced_at desc, r.seq desc
 limit :most

-- name: deletes
-- What said that it takes rows of a table back, of those that deleted some.
select s.summary from table_snapshots s
 where s.table_id = (select t.table_id from tables t where t.tenant_id = :tenant_id and t.name_key = :name_key)
   and s.committed_at >= :since and s.operation = 'delete'

-- name: volumes_of_days
-- The same of many loads: only what days are summed up from.
select r.record_id, r.produced_at, r.source_id, r.payload ->> 'rows' as rows, r.payload ->> 'bytes' as bytes, r.payload ->> 'load' as load,
       r.payload ->> 'logical_date' as logical_date
  from metadata_records r
 where r.tenant_id = :tenant_id and r.kind = 'ingestion_volume' and r.name_key = :name_key
   and r.produced_at >= :since and r.produced_at < :until
 order by r.produced_at desc, r.seq desc
 limit :most

-- name: results
-- What a check of a table measured, newest first; the check is looked for among the table's records of that time.
select r.record_id, r.produced_at, r.payload
  from metadata_records r
 where r.tenant_id = :tenant_id and r.kind = :kind and r.name_key = :name_key
   and r.produced_at >= :since and r.produced_at < :until
   and r.payload ->> 'check' = :check -- optional
 order by r.produced_at desc, r.seq desc
 limit :most

-- name: broken_steps@sqlite
-- Those of some steps that failed.
select step_logging_id as id from step_logs
 where step_logging_id in (select value from json_each(:ids)) and status in ('FAILED', 'CANCELLED')

-- name: broken_steps@postgres
-- A condition on a part of a document is no way into an index where row-level security counts: the ids are given.
select step_logging_id as id from step_logs
 where step_logging_id = any(array(select jsonb_array_elements_text(:ids))) and status in ('FAILED', 'CANCELLED')

-- name: decisions
-- What was decided about the points of a series, the newest last.
select * from band_decisions
 where tenant_id = :tenant_id and name_key = :name_key and kind = :kind
 order by decision_id

-- name: add_decision
insert into band_decisions (decision_id, tenant_id, name_key, kind, point, decision, reason, decided_by, decided_at)
values (:decision_id, :tenant_id, :name_key, :kind, :point, :decision, :reason, :decided_by, :now)
returning *

-- name: last_verdicts@postgres
select t.schema_name, t.table_name, t.name_key, r.record_id, r.produced_at, r.source_id, r.payload, r.quality
  from tables t
  join lateral (
       select * from metadata_records newest
        where newest.tenant_id = :tenant_id and newest.kind = 'ingestion_volume' and newest.name_key = t.name_key and newest.quality is not null
        order by newest.produced_at desc, newest.seq desc limit 1) r on true
 where t.tenant_id = :tenant_id
   and t.name_key > :after_key -- optional
   and r.quality ->> 'status' in (:warn, :fail) -- optional
 order by t.name_key
 limit :page_size

-- name: last_verdicts@sqlite
-- Each table with the last record whose volume was judged.
select t.schema_name, t.table_name, t.name_key, r.record_id, r.produced_at, r.source_id, r.payload, r.quality
  from tables t
  join metadata_records r on r.record_id = (
       select newest.record_id from metadata_records newest
        where newest.tenant_id = :tenant_id and newest.kind = 'ingestion_volume' and newest.name_key = t.name_key and newest.quality is not null
        order by newest.produced_at desc, newest.seq desc limit 1)
 where t.tenant_id = :tenant_id
   and t.name_key > :after_key -- optional
   and r.quality ->> 'status' in (:warn, :fail) -- optional
 order by t.name_key
 limit :page_size
