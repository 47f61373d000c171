-- What let other engines see a version. `trigger` is what started the run that made it.
alter table table_snapshots add column publish_trigger text check (publish_trigger in ('commit', 'time', 'size', 'manual', 'query'));
