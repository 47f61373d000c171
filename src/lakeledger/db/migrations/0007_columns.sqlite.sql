-- Columns get ids and physical names: so far the name in the files was the column's own, and only an overwrite of all could drop one.
alter table table_metadata add column columns jsonb not null default '[]';

create table found_columns as
select fields.table_id, lower(fields.name) as name_key, fields.name,
       row_number() over (partition by fields.table_id order by min(fields.schema_version), fields.position) as id
  from (select m.table_id, m.schema_version, f.key as position, f.value ->> '$.name' as name
          from table_metadata m, json_each(m."schema", '$.fields') f
         order by m.table_id, m.schema_version, f.key) fields
 group by fields.table_id, lower(fields.name);

update table_metadata
   set columns = (select json_group_array(name) from (select name from found_columns c where c.table_id = table_metadata.table_id order by id)),
       "schema" = json_object('type', 'struct', 'fields', (
           select json_group_array(json(field)) from (
               select json_set(f.value, '$.id', c.id, '$.physical_name', f.value ->> '$.name') as field
                 from json_each(table_metadata."schema", '$.fields') f
                 join found_columns c on c.table_id = table_metadata.table_id and c.name_key = lower(f.value ->> '$.name')
                order by f.key)));

drop table found_columns;
