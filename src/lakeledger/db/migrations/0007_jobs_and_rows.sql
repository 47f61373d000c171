-- A tracked job keeps its settings, and a hash of the rows that they were made from: while both are the same, a plan need not read on.
-- What the job runs is with its backend.

alter table jobs drop column module;
alter table jobs add column rows_hash text;
