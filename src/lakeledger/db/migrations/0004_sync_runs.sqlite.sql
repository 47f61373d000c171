-- Sync runs as people who debug capture look for them; the rows are in pipeline_runs.
create view sync_runs as
    select pipeline_logging_id as id, tenant_id, schema_name, sync_mode, lower(status) as status,
           start_time as started_at, end_time as completed_at, duration_ms,
           records_processed, records_inserted, records_updated, records_deleted, records_failed, bytes_processed,
           config_hash, source_info, destination_info, instance_id, node_id, error_message, error_details, heartbeat_at
      from pipeline_runs
     where run_kind = 'sync';
