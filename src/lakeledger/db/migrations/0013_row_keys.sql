-- By which the rows of a file are found in their table, whatever the file is called now; null if they were not written so.
alter table source_files add column row_key text;
