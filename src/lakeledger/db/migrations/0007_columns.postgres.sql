-- Columns get ids and physical names: so far the name in the files was the column's own, and only an overwrite of all could drop one.
alter table table_metadata add column columns jsonb not null default '[]';

-- Nothing happened to the tables: no events.
alter table table_metadata disable trigger user;

create temporary table found_columns on commit drop as
select table_id, name_key, name, row_number() over (partition by table_id order by schema_version, position) as id
  from (select distinct on (m.table_id, lower(f.field ->> 'name'))
               m.table_id, lower(f.field ->> 'name') as name_key, f.field ->> 'name' as name, m.schema_version, f.position
          from table_metadata m, jsonb_array_elements(m."schema" -> 'fields') with ordinality f (field, position)
         order by m.table_id, lower(f.field ->> 'name'), m.schema_version) firsts;

update table_metadata m
   set columns = (select jsonb_agg(c.name order by c.id) from found_columns c where c.table_id = m.table_id),
       "schema" = jsonb_build_object('type', 'struct', 'fields', (
           select jsonb_agg(f.field || jsonb_build_object('id', c.id, 'physical_name', f.field ->> 'name') order by f.position)
             from jsonb_array_elements(m."schema" -> 'fields') with ordinality f (field, position)
             join found_columns c on c.table_id = m.table_id and c.name_key = lower(f.field ->> 'name')));

drop table found_columns;

alter table table_metadata enable trigger user;
