-- name: add_record
-- A fact that is there already, by its dedupe_key, is left as it is.
insert into metadata_records (
    record_id, tenant_id, kind, source_id, schema_name, table_name, name_key, target_key, target_extras, job_id, run_id, namespace,
    context_extras, payload, produced_at, producer_id, version, quality, extras, dedupe_key, window_start, window_end
) values (
    :record_id, :tenant_id, :kind, :source_id, :schema_name, :table_name, :name_key, :target_key, :target_extras, :job_id, :run_id, :namespace,
    :context_extras, :payload, :produced_at, :producer_id, :version, :quality, :extras, :dedupe_key, :window_start, :window_end
)
on conflict (tenant_id, dedupe_key) do nothing

-- name: find_same
select record_id, seq from metadata_records where tenant_id = :tenant_id and dedupe_key = :dedupe_key

-- name: latest
select * from metadata_records
 where tenant_id = :tenant_id and kind = :kind
   and name_key = :name_key -- optional
   and target_key = :target_key -- optional
 order by produced_at desc, seq desc
 limit 1

-- name: history
select * from metadata_records
 where tenant_id = :tenant_id and kind = :kind
   and name_key = :name_key -- optional
   and target_key = :target_key -- optional
   and produced_at >= :since -- optional
   and produced_at < :until -- optional
   and run_id = :run_id -- optional
   and job_id = :job_id -- optional
   and producer_id = :producer_id -- optional
   and window_start < :window_until -- optional
   and window_end > :window_since -- optional
   and (produced_at, seq) < (:after_produced_at, :after_seq) -- optional
   /* conditions */
 order by produced_at desc, seq desc
 limit :page_size -- optional

-- name: kinds
-- The kinds that there are records of, from one end of the index to the other in steps, however many records there are.
with recursive found (kind) as (
    select min(kind) from metadata_records where tenant_id = :tenant_id
    union all
    select (select min(next.kind) from metadata_records next where next.tenant_id = :tenant_id and next.kind > found.kind)
      from found
     where found.kind is not null
)
select kind from found where kind is not null

-- name: log
select * from metadata_records
 where tenant_id = :tenant_id
   and seq > :after_seq -- optional
   and kind = :kind -- optional
 order by seq
 limit :page_size -- optional

-- name: head
select coalesce(max(seq), 0) as head from metadata_records where tenant_id = :tenant_id

-- name: count_old
select count(*) as number from metadata_records where tenant_id = :tenant_id and kind = :kind and produced_at < :cutoff

-- name: find_old
select seq, kind, produced_at from metadata_records
 where tenant_id = :tenant_id and kind = :kind and produced_at < :cutoff
   and (produced_at, seq) > (:after_at, :after_seq) -- optional
 order by produced_at, seq
 limit :page_size

-- name: forget@sqlite
delete from metadata_records where seq in (select value from json_each(:seqs)) and tenant_id || '' = :tenant_id

-- name: forget@postgres
delete from metadata_records where seq = any(array(select value::bigint from jsonb_array_elements_text(:seqs))) and tenant_id = :tenant_id

-- name: latest_kinds
-- The newest version of every kind that was registered.
select k.* from record_kind k
 where k.tenant_id = :tenant_id
   and k.version = (select max(newest.version) from record_kind newest where newest.tenant_id = :tenant_id and newest.kind = k.kind)
 order by k.kind

-- name: versions_of_kind
select * from record_kind where tenant_id = :tenant_id and kind = :kind order by version desc

-- name: add_kind
insert into record_kind (
    tenant_id, kind, version, schema, compatibility, retention_days, archive, frequency, description, reason, registered_by, registered_at
) values (
    :tenant_id, :kind, :version, :schema, :compatibility, :retention_days, :archive, :frequency, :description, :reason, :registered_by, :now
)

-- name: policy
select policy from record_policy where tenant_id = :tenant_id

-- name: put_policy
insert into record_policy (tenant_id, policy, reason, set_by, set_at) values (:tenant_id, :policy, :reason, :set_by, :now)
    on conflict (tenant_id) do update
   set policy = excluded.policy, reason = excluded.reason, set_by = excluded.set_by, set_at = excluded.set_at

-- name: find_movable
-- Records of a kind that are older than a time and not the last word about their target, oldest first.
select r.* from metadata_records r
 where r.tenant_id = :tenant_id and r.kind = :kind and r.produced_at < :cutoff
   and (r.produced_at, r.seq) > (:after_at, :after_seq) -- optional
   and r.seq <> (select last.seq from metadata_records last
                  where last.tenant_id = :tenant_id and last.kind = :kind and last.target_key = r.target_key
                  order by last.produced_at desc, last.seq desc
                  limit 1)
 order by r.produced_at, r.seq
 limit :page_size

-- name: add_file
insert into record_files (
    record_file_id, tenant_id, kind, file_path, file_size, record_count, first_at, last_at, first_seq, last_seq, status, created_at
) values (
    :record_file_id, :tenant_id, :kind, :file_path, :file_size, :record_count, :first_at, :last_at, :first_seq, :last_seq, 'moving', :now
)

-- name: add_moved
insert into moved_records (tenant_id, dedupe_key, record_file_id, record_id, seq)
values (:tenant_id, :dedupe_key, :record_file_id, :record_id, :seq)
on conflict (tenant_id, dedupe_key) do nothing

-- name: moved@sqlite
select dedupe_key, record_id, seq from moved_records
 where tenant_id = :tenant_id and dedupe_key in (select value from json_each(:dedupe_keys))

-- name: moved@postgres
select dedupe_key, record_id, seq from moved_records
 where tenant_id = :tenant_id and dedupe_key = any(array(select jsonb_array_elements_text(:dedupe_keys)))

-- name: moving_files
select * from record_files where tenant_id = :tenant_id and status = 'moving' order by record_file_id

-- name: file_is_moved
update record_files set status = 'moved' where tenant_id = :tenant_id and record_file_id = :record_file_id

-- name: files_of_kind
-- Those that may have something of a time, the newest first.
select * from record_files
 where tenant_id = :tenant_id and kind = :kind
   and last_at >= :since -- optional
   and first_at < :until -- optional
 order by last_at desc, record_file_id

-- name: file_kinds
select distinct kind from record_files where tenant_id = :tenant_id

-- name: files_behind
-- Those that have something behind a place of the log.
select * from record_files where tenant_id = :tenant_id and last_seq > :after_seq
   and kind = :kind -- optional
 order by first_seq, record_file_id

-- name: old_files
select * from record_files where tenant_id = :tenant_id and kind = :kind and last_at < :cutoff order by last_at, record_file_id

-- name: forget_file
delete from record_files where tenant_id = :tenant_id and record_file_id = :record_file_id

-- name: count_movable
select count(*) as number from metadata_records r
 where r.tenant_id = :tenant_id and r.kind = :kind and r.produced_at < :cutoff
   and r.seq <> (select last.seq from metadata_records last
                  where last.tenant_id = :tenant_id and last.kind = :kind and last.target_key = r.target_key
                  order by last.produced_at desc, last.seq desc
                  limit 1)

-- name: old_records
select * from metadata_records
 where tenant_id = :tenant_id and kind = :kind and produced_at < :cutoff
 order by produced_at, seq
 limit :page_size

-- name: all_files
select * from record_files where tenant_id = :tenant_id order by kind, last_at, record_file_id

-- name: any_file
select record_file_id from record_files where tenant_id = :tenant_id limit 1
