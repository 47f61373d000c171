-- name: add
insert into recon_results (
    recon_result_id, tenant_id, run_id, recon_name, recon_key, check_name, check_type, status, schema_name, table_name, name_key,
    source, target, source_metric, target_metric, difference, difference_percent, thresholds, band, scope, detail, message,
    ingestion_run_ids, frequency, started_at, ended_at
) values (
    :recon_result_id, :tenant_id, :run_id, :recon_name, :recon_key, :check_name, :check_type, :status, :schema_name, :table_name, :name_key,
    :source, :target, :source_metric, :target_metric, :difference, :difference_percent, :thresholds, :band, :scope, :detail, :message,
    :ingestion_run_ids, :frequency, :started_at, :ended_at
)

-- name: history
select * from recon_results
 where tenant_id = :tenant_id
   and recon_key = :recon_key -- optional
   and name_key = :name_key -- optional
   and ended_at >= :since -- optional
   and ended_at < :until -- optional
   and status = :status -- optional
   and (ended_at, recon_result_id) < (:after_ended_at, :after_recon_result_id) -- optional
 order by ended_at desc, recon_result_id desc
 limit :page_size -- optional

-- name: find_by_prefix
-- `tenant_id || ''`: were the tenant something that an index can find, SQLite would rather go through all of its rows.
select * from recon_results
 where tenant_id || '' = :tenant_id and recon_result_id between :first and :last
   and substr(recon_result_id, 1, length(cast(:prefix as text))) = :prefix
 order by recon_result_id
 limit 2

-- name: last_compared
-- When a reconciliation last compared something: what could not be compared is due again.
select ended_at from recon_results
 where tenant_id = :tenant_id and recon_key = :recon_key and status in ('pass', 'warn', 'fail')
 order by ended_at desc
 limit 1

-- name: last_run
select run_id from recon_results
 where tenant_id = :tenant_id and recon_key = :recon_key
 order by ended_at desc, recon_result_id desc
 limit 1
