-- name: add_record
insert into metadata_records (
    record_id, tenant_id, kind, source_id, schema_name, table_name, name_key, target_extras, job_id, run_id, namespace, context_extras,
    payload, produced_at, producer_id, version, quality, extras
) values (
    :record_id, :tenant_id, :kind, :source_id, :schema_name, :table_name, :name_key, :target_extras, :job_id, :run_id, :namespace, :context_extras,
    :payload, :now, :producer_id, :version, :quality, :extras
)

-- name: history
select * from metadata_records
 where tenant_id = :tenant_id and kind = :kind
   and name_key = :name_key -- optional
   and produced_at >= :since -- optional
   and produced_at < :until -- optional
   and (produced_at, record_id) < (:after_produced_at, :after_record_id) -- optional
 order by produced_at desc, record_id desc
 limit :page_size -- optional
