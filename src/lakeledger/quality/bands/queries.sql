-- name: volumes
-- What loads brought to a table, newest first, with how the step or the run ended that did it.
select r.record_id, r.produced_at, r.source_id, r.payload, p.run_kind, coalesce(s.status, p.status) as status
  from metadata_records r
  left join pipeline_runs p on p.pipeline_logging_id = r.run_id
  left join step_logs s on s.step_logging_id = r.context_extras ->> 'step_id'
 where r.tenant_id = :tenant_id and r.kind = 'ingestion_volume' and r.name_key = :name_key
   and r.produced_at >= :since and r.produced_at < :until
 order by r.produced_at desc, r.record_id desc
 limit :most

-- name: decisions
-- What was decided about the points of a series, the newest last.
select * from band_decisions
 where tenant_id = :tenant_id and name_key = :name_key and kind = :kind
 order by decision_id

-- name: add_decision
insert into band_decisions (decision_id, tenant_id, name_key, kind, point, decision, reason, decided_by, decided_at)
values (:decision_id, :tenant_id, :name_key, :kind, :point, :decision, :reason, :decided_by, :now)
returning *

-- name: last_verdicts
-- Each table with the last record whose volume was judged.
select t.schema_name, t.table_name, t.name_key, r.record_id, r.produced_at, r.source_id, r.payload, r.quality
  from tables t
  join metadata_records r on r.record_id = (
       select newest.record_id from metadata_records newest
        where newest.tenant_id = :tenant_id and newest.kind = 'ingestion_volume' and newest.name_key = t.name_key and newest.quality is not null
        order by newest.produced_at desc, newest.record_id desc limit 1)
 where t.tenant_id = :tenant_id
   and t.name_key > :after_key -- optional
 order by t.name_key
 limit :page_size
