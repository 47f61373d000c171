-- name: list_imports
select module_name, source_id, file, imported from control_imports
 where tenant_id = :tenant_id and control_table = :control_table

-- name: forget_source
delete from control_imports
 where tenant_id = :tenant_id and control_table = :control_table and module_name = :module_name and source_id = :source_id

-- name: forget_module
delete from control_imports
 where tenant_id = :tenant_id and control_table = :control_table and module_name = :module_name and source_id is null

-- name: add_import
insert into control_imports (id, tenant_id, control_table, module_name, source_id, file, imported, imported_at, imported_by)
values (:id, :tenant_id, :control_table, :module_name, :source_id, :file, :imported, :now, :by)

-- name: find_cursor
select position from control_cursors where tenant_id = :tenant_id and control_table = :control_table and watcher = :watcher

-- name: put_cursor
insert into control_cursors (id, tenant_id, control_table, watcher, position, updated_at)
values (:id, :tenant_id, :control_table, :watcher, :position, :now)
on conflict (tenant_id, control_table, watcher) do update set position = excluded.position, updated_at = excluded.updated_at

-- name: applied_to_module
select * from step_logs
 where tenant_id = :tenant_id and step_type = 'job' and step_name = :module_name
   and step_logging_id < :before_id -- optional
 order by step_logging_id desc
 limit :page_size
