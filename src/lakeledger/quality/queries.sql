-- name: add_result
insert into dq_results (
    dq_result_id, tenant_id, pipeline_logging_id, step_logging_id, target_table, name_key, dq_config_id, executed_at,
    expectations_passed, expectations_failed, failed_expectations, overall_status, ingestion_date, fail_on_error, is_visible,
    table_version, scope
) values (
    :dq_result_id, :tenant_id, :run_id, :step_id, :target_table, :name_key, :dq_config_id, :now,
    :expectations_passed, :expectations_failed, :failed_expectations, :overall_status, :ingestion_date, :fail_on_error, :is_visible,
    :table_version, :scope
)
on conflict (dq_result_id) do nothing

-- name: add_check
insert into dq_checks (
    dq_check_id, tenant_id, dq_result_id, check_index, name_key, executed_at, expectation, check_name, column_name, severity, action,
    success, observed, element_count, unexpected_count, unexpected_percent, sample, error_message, declared
) values (
    :dq_check_id, :tenant_id, :dq_result_id, :check_index, :name_key, :now, :expectation, :check_name, :column_name, :severity, :action,
    :success, :observed, :element_count, :unexpected_count, :unexpected_percent, :sample, :error_message, :declared
)

-- name: get_result
select * from dq_results where tenant_id = :tenant_id and dq_result_id = :dq_result_id

-- name: find_result_by_prefix
-- `tenant_id || ''`: were the tenant something that an index can find, SQLite would rather go through all of its rows.
select * from dq_results
 where tenant_id || '' = :tenant_id and dq_result_id between :first and :last
   and substr(dq_result_id, 1, length(cast(:prefix as text))) = :prefix
 order by dq_result_id
 limit 2

-- name: checks_of
select * from dq_checks where dq_result_id = :dq_result_id order by check_index

-- name: history
select * from dq_results
 where tenant_id = :tenant_id
   and name_key = :name_key -- optional
   and dq_config_id = :dq_config_id -- optional
   and overall_status = :status -- optional
   and executed_at >= :since -- optional
   and executed_at < :until -- optional
   and (executed_at, dq_result_id) < (:after_executed_at, :after_dq_result_id) -- optional
 order by executed_at desc, dq_result_id desc
 limit :page_size -- optional

-- name: of_run
select * from dq_results where tenant_id = :tenant_id and pipeline_logging_id = :run_id order by executed_at, dq_result_id

-- name: check_history
select * from dq_checks
 where tenant_id = :tenant_id and name_key = :name_key and check_name = :check_name
   and executed_at >= :since -- optional
   and executed_at < :until -- optional
   and (executed_at, dq_check_id) < (:after_executed_at, :after_dq_check_id) -- optional
 order by executed_at desc, dq_check_id desc
 limit :page_size -- optional
