-- The quarantine table whose rows a letter stands for; null if it holds a record of its own.
alter table dead_letter_queue add column quarantine_table text;

update dead_letter_queue set quarantine_table = record_data ->> 'quarantine'
 where record_data ->> 'quarantine' like '%__quarantine' and record_data ->> 'run_id' is not null
   and record_data ->> 'reason' is not null and record_data ->> 'rows' is not null;

create index dead_letter_queue_of_rows on dead_letter_queue (tenant_id, created_at, id)
    where quarantine_table is not null and status in ('pending', 'processing');
