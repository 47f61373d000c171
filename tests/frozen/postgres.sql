--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: frozen; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA frozen;


--
-- Name: lakeledger_log_delete(); Type: FUNCTION; Schema: frozen; Owner: -
--

CREATE FUNCTION frozen.lakeledger_log_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
begin
    execute format('insert into %I.change_log (tenant_id, table_name, operation, key, before)
                    select each ->> ''tenant_id'', $1, ''DELETE'', each ->> $2, each from (select to_jsonb(gone) - $3 from gone) rows (each)',
                   tg_table_schema)
        using tg_table_name, tg_argv[0], coalesce(tg_argv[1:], '{}');
    return null;
end
$_$;


--
-- Name: lakeledger_log_insert(); Type: FUNCTION; Schema: frozen; Owner: -
--

CREATE FUNCTION frozen.lakeledger_log_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
begin
    execute format('insert into %I.change_log (tenant_id, table_name, operation, key, after)
                    select each ->> ''tenant_id'', $1, ''INSERT'', each ->> $2, each from (select to_jsonb(added) - $3 from added) rows (each)',
                   tg_table_schema)
        using tg_table_name, tg_argv[0], coalesce(tg_argv[1:], '{}');
    return null;
end
$_$;


--
-- Name: lakeledger_log_update(); Type: FUNCTION; Schema: frozen; Owner: -
--

CREATE FUNCTION frozen.lakeledger_log_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
begin
    execute format('insert into %I.change_log (tenant_id, table_name, operation, key, before, after)
                    select became ->> ''tenant_id'', $1, ''UPDATE'', became ->> $2, changed, became
                      from (select to_jsonb(before_it) - $3, to_jsonb(after_it) - $3
                              from before_it join after_it on before_it.%I = after_it.%I) rows (was, became),
                           lateral (select jsonb_object_agg(each.key, each.value) from jsonb_each(was) each
                                     where each.value <> became -> each.key) differences (changed)
                     where changed is not null', tg_table_schema, tg_argv[0], tg_argv[0])
        using tg_table_name, tg_argv[0], coalesce(tg_argv[1:], '{}');
    return null;
end
$_$;


--
-- Name: lakeledger_no_truncate(); Type: FUNCTION; Schema: frozen; Owner: -
--

CREATE FUNCTION frozen.lakeledger_no_truncate() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception 'truncate would not be in the change log: use delete from %', tg_table_name;
end
$$;


--
-- Name: lakeledger_order_writers(); Type: FUNCTION; Schema: frozen; Owner: -
--

CREATE FUNCTION frozen.lakeledger_order_writers() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
    tenant text := coalesce(current_setting('lakeledger.tenant', true), '');
begin
    if tenant = '' then
        if current_setting('idle_in_transaction_session_timeout') = '0' then
            perform set_config('idle_in_transaction_session_timeout', '60s', true);
        end if;
        perform pg_advisory_xact_lock(hashtext('lakeledger.writer'), hashtext(tg_table_schema));
    else
        perform pg_advisory_xact_lock_shared(hashtext('lakeledger.writer'), hashtext(tg_table_schema));
        perform pg_advisory_xact_lock(hashtext('lakeledger.writer.' || tg_table_schema), hashtext(tenant));
    end if;
    perform pg_notify('lakeledger', tg_table_schema);
    return null;
end
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: change_log; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.change_log (
    seq bigint NOT NULL,
    tenant_id text NOT NULL,
    table_name text NOT NULL,
    operation text NOT NULL,
    key text NOT NULL,
    before jsonb,
    after jsonb,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT change_log_operation_check CHECK ((operation = ANY (ARRAY['INSERT'::text, 'UPDATE'::text, 'DELETE'::text])))
);

ALTER TABLE ONLY frozen.change_log FORCE ROW LEVEL SECURITY;


--
-- Name: change_log_seq_seq; Type: SEQUENCE; Schema: frozen; Owner: -
--

ALTER TABLE frozen.change_log ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME frozen.change_log_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: control_cursors; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.control_cursors (
    id text NOT NULL,
    tenant_id text NOT NULL,
    control_table text NOT NULL,
    watcher text NOT NULL,
    "position" jsonb NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY frozen.control_cursors FORCE ROW LEVEL SECURITY;


--
-- Name: control_imports; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.control_imports (
    id text NOT NULL,
    tenant_id text NOT NULL,
    control_table text NOT NULL,
    module_name text NOT NULL,
    source_id text,
    file text NOT NULL,
    imported jsonb NOT NULL,
    imported_at timestamp with time zone NOT NULL,
    imported_by text NOT NULL
);

ALTER TABLE ONLY frozen.control_imports FORCE ROW LEVEL SECURITY;


--
-- Name: dead_letter_queue; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.dead_letter_queue (
    id text NOT NULL,
    tenant_id text NOT NULL,
    sync_run_id text,
    error_log_id text,
    schema_name text NOT NULL,
    table_name text,
    name_key text NOT NULL,
    schema_key text NOT NULL,
    operation_type text NOT NULL,
    item_kind text NOT NULL,
    source_record_id text,
    record_data jsonb NOT NULL,
    record_complete boolean NOT NULL,
    payload_hash text NOT NULL,
    dedupe_key text NOT NULL,
    error_type text NOT NULL,
    error_message text,
    fingerprint text NOT NULL,
    error_count integer NOT NULL,
    status text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_failed_at timestamp with time zone NOT NULL,
    claimed_by text,
    claimed_until timestamp with time zone,
    resolved_at timestamp with time zone,
    resolved_by text,
    resolution_method text,
    resolution_note text,
    CONSTRAINT dead_letter_queue_item_kind_check CHECK ((item_kind = ANY (ARRAY['record'::text, 'event'::text, 'metadata'::text]))),
    CONSTRAINT dead_letter_queue_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'resolved'::text, 'discarded'::text])))
);

ALTER TABLE ONLY frozen.dead_letter_queue FORCE ROW LEVEL SECURITY;


--
-- Name: error_log; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.error_log (
    id text NOT NULL,
    tenant_id text NOT NULL,
    sync_run_id text,
    step_id text,
    schema_name text NOT NULL,
    table_name text,
    name_key text NOT NULL,
    schema_key text NOT NULL,
    error_type text NOT NULL,
    error_code text,
    error_message text NOT NULL,
    error_details jsonb,
    stack_trace text,
    record_data jsonb,
    record_complete boolean NOT NULL,
    operation_type text,
    fingerprint text NOT NULL,
    status text NOT NULL,
    retry_count integer NOT NULL,
    max_retries integer NOT NULL,
    retry_after timestamp with time zone,
    last_retry_at timestamp with time zone,
    dead_letter_id text,
    claimed_by text,
    claimed_until timestamp with time zone,
    occurred_at timestamp with time zone NOT NULL,
    resolved_at timestamp with time zone,
    resolved_by text,
    resolution_note text,
    CONSTRAINT error_log_status_check CHECK ((status = ANY (ARRAY['open'::text, 'resolved'::text, 'ignored'::text])))
);

ALTER TABLE ONLY frozen.error_log FORCE ROW LEVEL SECURITY;


--
-- Name: forgotten_runs; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.forgotten_runs (
    run_id text NOT NULL,
    tenant_id text NOT NULL,
    forgotten_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY frozen.forgotten_runs FORCE ROW LEVEL SECURITY;


--
-- Name: jobs; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.jobs (
    id text NOT NULL,
    tenant_id text NOT NULL,
    control_table text NOT NULL,
    module_name text NOT NULL,
    backend text NOT NULL,
    job_id text NOT NULL,
    job_name text NOT NULL,
    settings jsonb NOT NULL,
    settings_hash text NOT NULL,
    rows_hash text,
    control_version bigint NOT NULL,
    state text NOT NULL,
    created_timestamp timestamp with time zone NOT NULL,
    updated_timestamp timestamp with time zone NOT NULL,
    CONSTRAINT jobs_state_check CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'removed'::text])))
);

ALTER TABLE ONLY frozen.jobs FORCE ROW LEVEL SECURITY;


--
-- Name: local_job_runs; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.local_job_runs (
    id text NOT NULL,
    tenant_id text NOT NULL,
    job_id text NOT NULL,
    cause text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    asked_by text NOT NULL,
    parameters jsonb NOT NULL,
    status text NOT NULL,
    reason text,
    attempt integer NOT NULL,
    times_lost integer NOT NULL,
    start_after timestamp with time zone NOT NULL,
    run_id text,
    claim_token bigint NOT NULL,
    claimed_by text,
    claimed_on text,
    claimed_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT local_job_runs_cause_check CHECK ((cause = ANY (ARRAY['schedule'::text, 'file_arrival'::text, 'table_update'::text, 'asked'::text]))),
    CONSTRAINT local_job_runs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'failed'::text, 'skipped'::text, 'cancelled'::text])))
);

ALTER TABLE ONLY frozen.local_job_runs FORCE ROW LEVEL SECURITY;


--
-- Name: local_jobs; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.local_jobs (
    job_id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    settings jsonb NOT NULL,
    module jsonb NOT NULL,
    base text NOT NULL,
    paused boolean NOT NULL,
    next_run_at timestamp with time zone,
    watches boolean NOT NULL,
    seen jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL
);

ALTER TABLE ONLY frozen.local_jobs FORCE ROW LEVEL SECURITY;


--
-- Name: metadata_records; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.metadata_records (
    record_id text NOT NULL,
    tenant_id text NOT NULL,
    kind text NOT NULL,
    source_id text NOT NULL,
    schema_name text,
    table_name text,
    name_key text,
    target_extras jsonb NOT NULL,
    job_id text,
    run_id text,
    namespace text,
    context_extras jsonb NOT NULL,
    payload jsonb NOT NULL,
    produced_at timestamp with time zone NOT NULL,
    producer_id text NOT NULL,
    version text,
    quality jsonb,
    extras jsonb NOT NULL,
    dedupe_key text
);

ALTER TABLE ONLY frozen.metadata_records FORCE ROW LEVEL SECURITY;


--
-- Name: pipeline_runs; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.pipeline_runs (
    pipeline_logging_id text NOT NULL,
    tenant_id text NOT NULL,
    pipeline_id text NOT NULL,
    status text NOT NULL,
    trigger_type text NOT NULL,
    trigger_by text NOT NULL,
    start_time timestamp with time zone NOT NULL,
    end_time timestamp with time zone,
    duration_ms bigint,
    config_version text,
    worker_instance text,
    error_message text,
    parameters jsonb NOT NULL,
    run_kind text NOT NULL,
    schema_name text,
    sync_mode text,
    config_hash text,
    source_info jsonb,
    destination_info jsonb,
    instance_id text,
    node_id text,
    records_processed bigint DEFAULT 0 NOT NULL,
    records_inserted bigint DEFAULT 0 NOT NULL,
    records_updated bigint DEFAULT 0 NOT NULL,
    records_deleted bigint DEFAULT 0 NOT NULL,
    records_failed bigint DEFAULT 0 NOT NULL,
    bytes_processed bigint DEFAULT 0 NOT NULL,
    commit_count bigint DEFAULT 0 NOT NULL,
    done_by text DEFAULT 'end'::text NOT NULL,
    error_details jsonb,
    parent_run_id text,
    retry_of text,
    idempotency_key text,
    exclusive boolean NOT NULL,
    heartbeat_at timestamp with time zone,
    lease_token bigint NOT NULL,
    lease_expires_at timestamp with time zone,
    suspected_at timestamp with time zone,
    CONSTRAINT pipeline_runs_done_by_check CHECK ((done_by = ANY (ARRAY['end'::text, 'commit'::text, 'steps'::text]))),
    CONSTRAINT pipeline_runs_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'RUNNING'::text, 'COMPLETED'::text, 'FAILED'::text, 'CANCELLED'::text, 'SKIPPED'::text])))
);

ALTER TABLE ONLY frozen.pipeline_runs FORCE ROW LEVEL SECURITY;


--
-- Name: schema_migrations; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamp with time zone NOT NULL
);


--
-- Name: schema_registry; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.schema_registry (
    id text NOT NULL,
    tenant_id text NOT NULL,
    schema_name text NOT NULL,
    table_name text NOT NULL,
    name_key text NOT NULL,
    version integer NOT NULL,
    schema_definition jsonb NOT NULL,
    schema_hash text NOT NULL,
    ordinal_hash text NOT NULL,
    evolution_type text NOT NULL,
    previous_version integer,
    compatibility_status text NOT NULL,
    changes jsonb NOT NULL,
    policy text NOT NULL,
    registered_at timestamp with time zone NOT NULL,
    registered_by text NOT NULL,
    sync_run_id text,
    CONSTRAINT schema_registry_compatibility_status_check CHECK ((compatibility_status = ANY (ARRAY['compatible'::text, 'breaking'::text, 'unknown'::text])))
);

ALTER TABLE ONLY frozen.schema_registry FORCE ROW LEVEL SECURITY;


--
-- Name: source_files; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.source_files (
    id text NOT NULL,
    tenant_id text NOT NULL,
    marker_id text NOT NULL,
    file_path text NOT NULL,
    file_size bigint NOT NULL,
    modified_at timestamp with time zone NOT NULL,
    content_hash text NOT NULL,
    registered_at timestamp with time zone NOT NULL,
    run_id text NOT NULL
);

ALTER TABLE ONLY frozen.source_files FORCE ROW LEVEL SECURITY;


--
-- Name: state_transitions; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.state_transitions (
    transition_id text NOT NULL,
    tenant_id text NOT NULL,
    entity text NOT NULL,
    entity_id text NOT NULL,
    from_status text,
    to_status text NOT NULL,
    at timestamp with time zone NOT NULL,
    reason text,
    actor text NOT NULL
);

ALTER TABLE ONLY frozen.state_transitions FORCE ROW LEVEL SECURITY;


--
-- Name: step_logs; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.step_logs (
    step_logging_id text NOT NULL,
    tenant_id text NOT NULL,
    pipeline_logging_id text NOT NULL,
    step_name text NOT NULL,
    step_type text NOT NULL,
    step_index integer NOT NULL,
    status text NOT NULL,
    start_time timestamp with time zone NOT NULL,
    end_time timestamp with time zone,
    duration_ms bigint,
    rows_processed bigint,
    bytes_processed bigint,
    error_message text,
    metadata jsonb NOT NULL,
    attempt integer DEFAULT 1 NOT NULL,
    target_table text,
    done_by text DEFAULT 'end'::text NOT NULL,
    committed_at timestamp with time zone,
    CONSTRAINT step_logs_done_by_check CHECK ((done_by = ANY (ARRAY['end'::text, 'commit'::text]))),
    CONSTRAINT step_logs_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'RUNNING'::text, 'COMPLETED'::text, 'FAILED'::text, 'CANCELLED'::text, 'SKIPPED'::text])))
);

ALTER TABLE ONLY frozen.step_logs FORCE ROW LEVEL SECURITY;


--
-- Name: step_output; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.step_output (
    step_logging_id text NOT NULL,
    tenant_id text NOT NULL,
    output text NOT NULL,
    left_out bigint NOT NULL,
    traceback text,
    kept_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY frozen.step_output FORCE ROW LEVEL SECURITY;


--
-- Name: subscriber_cursor; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.subscriber_cursor (
    tenant_id text NOT NULL,
    subscriber text NOT NULL,
    seq bigint NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY frozen.subscriber_cursor FORCE ROW LEVEL SECURITY;


--
-- Name: sync_marker_history; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.sync_marker_history (
    id text NOT NULL,
    tenant_id text NOT NULL,
    marker_id text NOT NULL,
    version bigint NOT NULL,
    position_kind text NOT NULL,
    position_data jsonb NOT NULL,
    order_key text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    updated_by text NOT NULL,
    sync_run_id text,
    forced boolean NOT NULL,
    reason text,
    appended_rows bigint
);

ALTER TABLE ONLY frozen.sync_marker_history FORCE ROW LEVEL SECURITY;


--
-- Name: sync_markers; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.sync_markers (
    id text NOT NULL,
    tenant_id text NOT NULL,
    schema_name text NOT NULL,
    table_name text,
    name_key text NOT NULL,
    marker_type text NOT NULL,
    position_kind text NOT NULL,
    position_data jsonb NOT NULL,
    order_key text NOT NULL,
    version bigint NOT NULL,
    last_updated timestamp with time zone NOT NULL,
    sync_run_id text,
    CONSTRAINT sync_markers_marker_type_check CHECK ((marker_type = ANY (ARRAY['stream'::text, 'batch'::text, 'initial'::text])))
);

ALTER TABLE ONLY frozen.sync_markers FORCE ROW LEVEL SECURITY;


--
-- Name: sync_runs; Type: VIEW; Schema: frozen; Owner: -
--

CREATE VIEW frozen.sync_runs WITH (security_invoker='true') AS
 SELECT pipeline_runs.pipeline_logging_id AS id,
    pipeline_runs.tenant_id,
    pipeline_runs.schema_name,
    pipeline_runs.sync_mode,
    lower(pipeline_runs.status) AS status,
    pipeline_runs.start_time AS started_at,
    pipeline_runs.end_time AS completed_at,
    pipeline_runs.duration_ms,
    pipeline_runs.records_processed,
    pipeline_runs.records_inserted,
    pipeline_runs.records_updated,
    pipeline_runs.records_deleted,
    pipeline_runs.records_failed,
    pipeline_runs.bytes_processed,
    pipeline_runs.config_hash,
    pipeline_runs.source_info,
    pipeline_runs.destination_info,
    pipeline_runs.instance_id,
    pipeline_runs.node_id,
    pipeline_runs.error_message,
    pipeline_runs.error_details,
    pipeline_runs.heartbeat_at
   FROM frozen.pipeline_runs
  WHERE (pipeline_runs.run_kind = 'sync'::text);


--
-- Name: table_files; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.table_files (
    id text NOT NULL,
    tenant_id text NOT NULL,
    table_id text NOT NULL,
    file_name text NOT NULL,
    file_path text NOT NULL,
    file_size bigint NOT NULL,
    file_type text NOT NULL,
    partition_path text NOT NULL,
    row_count bigint NOT NULL,
    checksum text,
    is_compressed boolean NOT NULL,
    column_bounds jsonb NOT NULL,
    state text NOT NULL,
    added_version bigint NOT NULL,
    removed_version bigint,
    run_id text NOT NULL,
    iceberg_metadata_state text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    modified_at timestamp with time zone NOT NULL,
    CONSTRAINT table_files_state_check CHECK ((state = ANY (ARRAY['live'::text, 'retired'::text])))
);

ALTER TABLE ONLY frozen.table_files FORCE ROW LEVEL SECURITY;


--
-- Name: table_metadata; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.table_metadata (
    id text NOT NULL,
    tenant_id text NOT NULL,
    table_id text NOT NULL,
    schema_version integer NOT NULL,
    schema jsonb NOT NULL,
    schema_hash text NOT NULL,
    storage_engine text NOT NULL,
    engine_config jsonb NOT NULL,
    format text NOT NULL,
    compression text NOT NULL,
    partition_by jsonb NOT NULL,
    sort_by jsonb NOT NULL,
    properties jsonb NOT NULL,
    last_modified timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    columns jsonb DEFAULT '[]'::jsonb NOT NULL
);

ALTER TABLE ONLY frozen.table_metadata FORCE ROW LEVEL SECURITY;


--
-- Name: table_snapshots; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.table_snapshots (
    snapshot_id text NOT NULL,
    tenant_id text NOT NULL,
    table_id text NOT NULL,
    version bigint NOT NULL,
    parent_version bigint,
    operation text NOT NULL,
    summary jsonb NOT NULL,
    schema_version integer NOT NULL,
    run_id text NOT NULL,
    batch_id text,
    trigger text NOT NULL,
    committed_at timestamp with time zone NOT NULL,
    manifest_list text
);

ALTER TABLE ONLY frozen.table_snapshots FORCE ROW LEVEL SECURITY;


--
-- Name: table_stats; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.table_stats (
    id text NOT NULL,
    tenant_id text NOT NULL,
    table_id text NOT NULL,
    row_count bigint NOT NULL,
    file_count bigint NOT NULL,
    total_size bigint NOT NULL,
    last_modified timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY frozen.table_stats FORCE ROW LEVEL SECURITY;


--
-- Name: tables; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.tables (
    table_id text NOT NULL,
    tenant_id text NOT NULL,
    schema_name text NOT NULL,
    table_name text NOT NULL,
    name_key text NOT NULL,
    location text NOT NULL,
    current_version bigint NOT NULL,
    content_version bigint NOT NULL,
    row_count bigint NOT NULL,
    total_size bigint NOT NULL,
    file_count bigint NOT NULL,
    last_modified timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY frozen.tables FORCE ROW LEVEL SECURITY;


--
-- Name: warehouses; Type: TABLE; Schema: frozen; Owner: -
--

CREATE TABLE frozen.warehouses (
    tenant_id text NOT NULL,
    location text NOT NULL,
    relative_location text,
    claimed_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY frozen.warehouses FORCE ROW LEVEL SECURITY;


--
-- Data for Name: change_log; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (1, 'default', 'pipeline_runs', 'INSERT', '01a1e845-83e1-7079-8e9b-4155530e9860', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:32.28829+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-83e1-7079-8e9b-4155530e9860"}', '2026-11-17 06:50:32.295893+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (2, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-83e1-7079-8e9b-4155530e9860', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:32.28829+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-83e1-7079-8e9b-4155530e9860"}', '2026-11-17 06:50:32.301755+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (3, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-83e1-7079-8e9b-4155530e9860', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:32.357414+00:00", "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:32.28829+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 69, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-83e1-7079-8e9b-4155530e9860"}', '2026-11-17 06:50:32.366021+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (4, 'default', 'pipeline_runs', 'INSERT', '01a1e845-84b4-7364-bc22-0da3660a2ddc', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:32.499446+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-84b4-7364-bc22-0da3660a2ddc"}', '2026-11-17 06:50:32.503865+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (5, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-84b4-7364-bc22-0da3660a2ddc', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:32.499446+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 2, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-84b4-7364-bc22-0da3660a2ddc"}', '2026-11-17 06:50:32.508827+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (6, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-84b4-7364-bc22-0da3660a2ddc', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:32.571069+00:00", "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:32.499446+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 72, "instance_id": "0000240fab1b0fe2", "lease_token": 2, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-84b4-7364-bc22-0da3660a2ddc"}', '2026-11-17 06:50:32.576679+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (7, 'default', 'pipeline_runs', 'INSERT', '01a1e845-86ab-774f-a316-d7237c6eb482', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.002352+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-86ab-774f-a316-d7237c6eb482"}', '2026-11-17 06:50:33.004072+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (8, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-86ab-774f-a316-d7237c6eb482', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.002352+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 3, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-86ab-774f-a316-d7237c6eb482"}', '2026-11-17 06:50:33.006951+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (9, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-86ab-774f-a316-d7237c6eb482', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:33.058635+00:00", "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.002352+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 56, "instance_id": "0000240fab1b0fe2", "lease_token": 3, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-86ab-774f-a316-d7237c6eb482"}', '2026-11-17 06:50:33.064331+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (10, 'default', 'pipeline_runs', 'INSERT', '01a1e845-877a-74a2-a1e8-9e5c35663836', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.21001+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-877a-74a2-a1e8-9e5c35663836"}', '2026-11-17 06:50:33.214511+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (11, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-877a-74a2-a1e8-9e5c35663836', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.21001+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 4, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-877a-74a2-a1e8-9e5c35663836"}', '2026-11-17 06:50:33.218948+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (12, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-877a-74a2-a1e8-9e5c35663836', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:33.269272+00:00", "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.21001+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 59, "instance_id": "0000240fab1b0fe2", "lease_token": 4, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-877a-74a2-a1e8-9e5c35663836"}', '2026-11-17 06:50:33.276553+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (13, 'default', 'pipeline_runs', 'INSERT', '01a1e845-8842-7310-9b0d-d96af4e74837', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.410066+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-8842-7310-9b0d-d96af4e74837"}', '2026-11-17 06:50:33.411674+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (14, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-8842-7310-9b0d-d96af4e74837', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.410066+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 5, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-8842-7310-9b0d-d96af4e74837"}', '2026-11-17 06:50:33.414415+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (15, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-8842-7310-9b0d-d96af4e74837', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:33.478902+00:00", "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.410066+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 69, "instance_id": "0000240fab1b0fe2", "lease_token": 5, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-8842-7310-9b0d-d96af4e74837"}', '2026-11-17 06:50:33.484069+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (16, 'default', 'pipeline_runs', 'INSERT', '01a1e845-8a4a-704a-92ed-d76a9f7066af', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.929819+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-8a4a-704a-92ed-d76a9f7066af"}', '2026-11-17 06:50:33.936685+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (17, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-8a4a-704a-92ed-d76a9f7066af', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.929819+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 6, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-8a4a-704a-92ed-d76a9f7066af"}', '2026-11-17 06:50:33.941824+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (18, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-8a4a-704a-92ed-d76a9f7066af', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:34.029104+00:00", "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:33.929819+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 99, "instance_id": "0000240fab1b0fe2", "lease_token": 6, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-8a4a-704a-92ed-d76a9f7066af"}', '2026-11-17 06:50:34.03411+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (19, 'default', 'pipeline_runs', 'INSERT', '01a1e845-9124-7261-ba3c-b0aa0d317af6', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:35.683831+00:00", "trigger_by": "host:1938", "config_hash": "5a04f0db4670ec17d530cb14b17e1a90627a8772274b0db8b41c87353d94d216", "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "module2", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": "5a04f0db4670ec17d530cb14b17e1a90627a8772274b0db8b41c87353d94d216", "records_failed": 0, "bytes_processed": 0, "idempotency_key": "01a1e845-8ad4-74c8-81c8-5b266a177631/1", "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9124-7261-ba3c-b0aa0d317af6"}', '2026-11-17 06:50:35.689122+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (20, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9124-7261-ba3c-b0aa0d317af6', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:35.683831+00:00", "trigger_by": "host:1938", "config_hash": "5a04f0db4670ec17d530cb14b17e1a90627a8772274b0db8b41c87353d94d216", "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "module2", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": "5a04f0db4670ec17d530cb14b17e1a90627a8772274b0db8b41c87353d94d216", "records_failed": 0, "bytes_processed": 0, "idempotency_key": "01a1e845-8ad4-74c8-81c8-5b266a177631/1", "records_deleted": 0, "records_updated": 0, "worker_instance": "host:2370", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9124-7261-ba3c-b0aa0d317af6"}', '2026-11-17 06:50:35.693394+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (21, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9124-7261-ba3c-b0aa0d317af6', '{"done_by": "end"}', '{"status": "RUNNING", "done_by": "steps", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:35.683831+00:00", "trigger_by": "host:1938", "config_hash": "5a04f0db4670ec17d530cb14b17e1a90627a8772274b0db8b41c87353d94d216", "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "module2", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": "5a04f0db4670ec17d530cb14b17e1a90627a8772274b0db8b41c87353d94d216", "records_failed": 0, "bytes_processed": 0, "idempotency_key": "01a1e845-8ad4-74c8-81c8-5b266a177631/1", "records_deleted": 0, "records_updated": 0, "worker_instance": "host:2370", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9124-7261-ba3c-b0aa0d317af6"}', '2026-11-17 06:50:35.701947+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (22, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9124-7261-ba3c-b0aa0d317af6', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "steps", "node_id": "host", "end_time": "2026-11-17T06:50:35.737771+00:00", "retry_of": null, "run_kind": "pipeline", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:35.683831+00:00", "trigger_by": "host:1938", "config_hash": "5a04f0db4670ec17d530cb14b17e1a90627a8772274b0db8b41c87353d94d216", "duration_ms": 54, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "module2", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": "5a04f0db4670ec17d530cb14b17e1a90627a8772274b0db8b41c87353d94d216", "records_failed": 0, "bytes_processed": 0, "idempotency_key": "01a1e845-8ad4-74c8-81c8-5b266a177631/1", "records_deleted": 0, "records_updated": 0, "worker_instance": "host:2370", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9124-7261-ba3c-b0aa0d317af6"}', '2026-11-17 06:50:35.741725+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (23, 'default', 'pipeline_runs', 'INSERT', '01a1e845-92af-77e9-b02a-081efec8c3b5', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:36.078655+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-92af-77e9-b02a-081efec8c3b5"}', '2026-11-17 06:50:36.080046+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (24, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-92af-77e9-b02a-081efec8c3b5', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:36.078655+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 7, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-92af-77e9-b02a-081efec8c3b5"}', '2026-11-17 06:50:36.082974+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (25, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-92af-77e9-b02a-081efec8c3b5', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:36.126749+00:00", "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:36.078655+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 48, "instance_id": "0000240fab1b0fe2", "lease_token": 7, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-92af-77e9-b02a-081efec8c3b5"}', '2026-11-17 06:50:36.129937+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (26, 'default', 'pipeline_runs', 'INSERT', '01a1e845-96e8-7669-a0dc-3de746f0420e', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:37.160168+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-96e8-7669-a0dc-3de746f0420e"}', '2026-11-17 06:50:37.161244+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (27, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-96e8-7669-a0dc-3de746f0420e', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:37.160168+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 8, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-96e8-7669-a0dc-3de746f0420e"}', '2026-11-17 06:50:37.163013+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (28, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-96e8-7669-a0dc-3de746f0420e', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:37.221749+00:00", "retry_of": null, "run_kind": "maintenance", "exclusive": true, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:37.160168+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 62, "instance_id": "0000240fab1b0fe2", "lease_token": 8, "pipeline_id": "apply:etl_control", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-96e8-7669-a0dc-3de746f0420e"}', '2026-11-17 06:50:37.225098+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (29, 'default', 'pipeline_runs', 'INSERT', '01a1e845-9c19-73ed-9095-ea9fc8a1252c', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.489541+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "load", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c19-73ed-9095-ea9fc8a1252c"}', '2026-11-17 06:50:38.493299+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (30, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c19-73ed-9095-ea9fc8a1252c', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.489541+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "load", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c19-73ed-9095-ea9fc8a1252c"}', '2026-11-17 06:50:38.496645+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (31, 'default', 'tables', 'INSERT', '01a1e845-9c24-7482-b91d-ba32209fc3d8', NULL, '{"location": "silver/orders", "name_key": "silver.orders", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 0, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 0, "table_name": "orders", "total_size": 0, "updated_at": "2026-11-17T06:50:38.498728+00:00", "schema_name": "silver", "last_modified": "2026-11-17T06:50:38.498728+00:00", "content_version": 0, "current_version": 0}', '2026-11-17 06:50:38.501433+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (32, 'default', 'table_metadata', 'INSERT', '01a1e845-9c26-7423-a9f2-535ad6fd28b1', NULL, '{"id": "01a1e845-9c26-7423-a9f2-535ad6fd28b1", "format": "parquet", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "updated_at": "2026-11-17T06:50:38.498728+00:00", "compression": "snappy", "schema_hash": "7bc9c71a7253f0d5ab3e3fd78d72bbf91cb175c2efa9d7a93a619415904845a4", "last_modified": "2026-11-17T06:50:38.498728+00:00", "schema_version": 1, "storage_engine": "lakeledger"}', '2026-11-17 06:50:38.503247+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (33, 'default', 'table_files', 'INSERT', '01a1e845-9c27-765f-b9b4-5be2df31edfe', NULL, '{"id": "01a1e845-9c27-765f-b9b4-5be2df31edfe", "state": "live", "run_id": "01a1e845-9c19-73ed-9095-ea9fc8a1252c", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "file_name": "a", "file_path": "data/run/day=mon/a", "file_size": 100, "file_type": "parquet", "row_count": 10, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "modified_at": "2026-01-02T03:04:05.000006+00:00", "added_version": 1, "is_compressed": true, "partition_path": "day=mon", "removed_version": null, "iceberg_metadata_state": "pending"}', '2026-11-17 06:50:38.505018+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (34, 'default', 'table_files', 'INSERT', '01a1e845-9c27-765f-b9b4-5be38abb4284', NULL, '{"id": "01a1e845-9c27-765f-b9b4-5be38abb4284", "state": "live", "run_id": "01a1e845-9c19-73ed-9095-ea9fc8a1252c", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "file_name": "b", "file_path": "data/run/day=tue/b", "file_size": 100, "file_type": "parquet", "row_count": 10, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "modified_at": "2026-01-02T03:04:05.000006+00:00", "added_version": 1, "is_compressed": true, "partition_path": "day=tue", "removed_version": null, "iceberg_metadata_state": "pending"}', '2026-11-17 06:50:38.505068+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (35, 'default', 'tables', 'UPDATE', '01a1e845-9c24-7482-b91d-ba32209fc3d8', '{"row_count": 0, "file_count": 0, "total_size": 0, "content_version": 0, "current_version": 0}', '{"location": "silver/orders", "name_key": "silver.orders", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "table_name": "orders", "total_size": 200, "updated_at": "2026-11-17T06:50:38.498728+00:00", "schema_name": "silver", "last_modified": "2026-11-17T06:50:38.498728+00:00", "content_version": 1, "current_version": 1}', '2026-11-17 06:50:38.506413+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (36, 'default', 'table_stats', 'INSERT', '01a1e845-9c2a-7454-96df-8e191223c6b0', NULL, '{"id": "01a1e845-9c2a-7454-96df-8e191223c6b0", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "total_size": 200, "updated_at": "2026-11-17T06:50:38.498728+00:00", "last_modified": "2026-11-17T06:50:38.498728+00:00"}', '2026-11-17 06:50:38.508925+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (37, 'default', 'table_snapshots', 'INSERT', '01a1e845-9c22-72ba-ba43-8b07b27aeca7', NULL, '{"run_id": "01a1e845-9c19-73ed-9095-ea9fc8a1252c", "trigger": "manual", "version": 1, "batch_id": null, "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "operation": "append", "tenant_id": "default", "snapshot_id": "01a1e845-9c22-72ba-ba43-8b07b27aeca7", "committed_at": "2026-11-17T06:50:38.498728+00:00", "manifest_list": null, "parent_version": null, "schema_version": 1}', '2026-11-17 06:50:38.511203+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (38, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c19-73ed-9095-ea9fc8a1252c', '{"commit_count": 0, "bytes_processed": 0, "records_inserted": 0, "records_processed": 0}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.489541+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "load", "schema_name": null, "commit_count": 1, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 200, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 20, "records_processed": 20, "pipeline_logging_id": "01a1e845-9c19-73ed-9095-ea9fc8a1252c"}', '2026-11-17 06:50:38.513284+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (39, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c19-73ed-9095-ea9fc8a1252c', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:38.518249+00:00", "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.489541+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 29, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "load", "schema_name": null, "commit_count": 1, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 200, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 20, "records_processed": 20, "pipeline_logging_id": "01a1e845-9c19-73ed-9095-ea9fc8a1252c"}', '2026-11-17 06:50:38.521739+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (40, 'default', 'pipeline_runs', 'INSERT', '01a1e845-9c3c-7399-87cc-8b261978681a', NULL, '{"status": "PENDING", "done_by": "commit", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.524446+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c3c-7399-87cc-8b261978681a"}', '2026-11-17 06:50:38.525093+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (41, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c3c-7399-87cc-8b261978681a', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "commit", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.524446+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c3c-7399-87cc-8b261978681a"}', '2026-11-17 06:50:38.526843+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (42, 'default', 'table_metadata', 'INSERT', '01a1e845-9c43-72fb-b49f-dc183ad5e757', NULL, '{"id": "01a1e845-9c43-72fb-b49f-dc183ad5e757", "format": "parquet", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "tenant_id": "default", "created_at": "2026-11-17T06:50:38.527763+00:00", "updated_at": "2026-11-17T06:50:38.527763+00:00", "compression": "none", "schema_hash": "4ea7c0026442b921ff0f09591bb38b026f3a6a1b259f8d6ec6504cbf00998792", "last_modified": "2026-11-17T06:50:38.527763+00:00", "schema_version": 2, "storage_engine": "lakeledger"}', '2026-11-17 06:50:38.532116+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (43, 'default', 'tables', 'UPDATE', '01a1e845-9c24-7482-b91d-ba32209fc3d8', '{"updated_at": "2026-11-17T06:50:38.498728+00:00", "current_version": 1}', '{"location": "silver/orders", "name_key": "silver.orders", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "table_name": "orders", "total_size": 200, "updated_at": "2026-11-17T06:50:38.527763+00:00", "schema_name": "silver", "last_modified": "2026-11-17T06:50:38.498728+00:00", "content_version": 1, "current_version": 2}', '2026-11-17 06:50:38.533314+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (44, 'default', 'table_stats', 'UPDATE', '01a1e845-9c2a-7454-96df-8e191223c6b0', '{"updated_at": "2026-11-17T06:50:38.498728+00:00", "last_modified": "2026-11-17T06:50:38.498728+00:00"}', '{"id": "01a1e845-9c2a-7454-96df-8e191223c6b0", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "total_size": 200, "updated_at": "2026-11-17T06:50:38.527763+00:00", "last_modified": "2026-11-17T06:50:38.527763+00:00"}', '2026-11-17 06:50:38.534005+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (45, 'default', 'table_snapshots', 'INSERT', '01a1e845-9c40-7788-86b5-08ee816e702d', NULL, '{"run_id": "01a1e845-9c3c-7399-87cc-8b261978681a", "trigger": "api", "version": 2, "batch_id": "alter:01a1e845-9c3b-736e-b97d-385f3014280a", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "operation": "alter", "tenant_id": "default", "snapshot_id": "01a1e845-9c40-7788-86b5-08ee816e702d", "committed_at": "2026-11-17T06:50:38.527763+00:00", "manifest_list": null, "parent_version": 1, "schema_version": 2}', '2026-11-17 06:50:38.534748+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (46, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c3c-7399-87cc-8b261978681a', '{"commit_count": 0}', '{"status": "RUNNING", "done_by": "commit", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.524446+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 1, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c3c-7399-87cc-8b261978681a"}', '2026-11-17 06:50:38.536303+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (47, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c3c-7399-87cc-8b261978681a', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "commit", "node_id": "host", "end_time": "2026-11-17T06:50:38.527763+00:00", "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.524446+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 3, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 1, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c3c-7399-87cc-8b261978681a"}', '2026-11-17 06:50:38.541164+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (48, 'default', 'pipeline_runs', 'INSERT', '01a1e845-9c50-70ab-8c0c-ce1dde689a16', NULL, '{"status": "PENDING", "done_by": "commit", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.544722+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c50-70ab-8c0c-ce1dde689a16"}', '2026-11-17 06:50:38.545452+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (49, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c50-70ab-8c0c-ce1dde689a16', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "commit", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.544722+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 2, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c50-70ab-8c0c-ce1dde689a16"}', '2026-11-17 06:50:38.547325+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (50, 'default', 'table_metadata', 'INSERT', '01a1e845-9c56-76a2-92bf-eb6969d4ca48', NULL, '{"id": "01a1e845-9c56-76a2-92bf-eb6969d4ca48", "format": "parquet", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "tenant_id": "default", "created_at": "2026-11-17T06:50:38.54846+00:00", "updated_at": "2026-11-17T06:50:38.54846+00:00", "compression": "none", "schema_hash": "e5c7e8bd24298143d3f20ffb5ee4557554e883dcfd21513acee5c8f536fb0a9a", "last_modified": "2026-11-17T06:50:38.54846+00:00", "schema_version": 3, "storage_engine": "lakeledger"}', '2026-11-17 06:50:38.551338+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (51, 'default', 'tables', 'UPDATE', '01a1e845-9c24-7482-b91d-ba32209fc3d8', '{"updated_at": "2026-11-17T06:50:38.527763+00:00", "current_version": 2}', '{"location": "silver/orders", "name_key": "silver.orders", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "table_name": "orders", "total_size": 200, "updated_at": "2026-11-17T06:50:38.54846+00:00", "schema_name": "silver", "last_modified": "2026-11-17T06:50:38.498728+00:00", "content_version": 1, "current_version": 3}', '2026-11-17 06:50:38.556205+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (52, 'default', 'table_stats', 'UPDATE', '01a1e845-9c2a-7454-96df-8e191223c6b0', '{"updated_at": "2026-11-17T06:50:38.527763+00:00", "last_modified": "2026-11-17T06:50:38.527763+00:00"}', '{"id": "01a1e845-9c2a-7454-96df-8e191223c6b0", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "total_size": 200, "updated_at": "2026-11-17T06:50:38.54846+00:00", "last_modified": "2026-11-17T06:50:38.54846+00:00"}', '2026-11-17 06:50:38.557264+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (53, 'default', 'table_snapshots', 'INSERT', '01a1e845-9c55-710e-a977-bb0ab80aec5f', NULL, '{"run_id": "01a1e845-9c50-70ab-8c0c-ce1dde689a16", "trigger": "api", "version": 3, "batch_id": "alter:01a1e845-9c4f-70f2-a84a-1c436a40a2d3", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "operation": "alter", "tenant_id": "default", "snapshot_id": "01a1e845-9c55-710e-a977-bb0ab80aec5f", "committed_at": "2026-11-17T06:50:38.54846+00:00", "manifest_list": null, "parent_version": 2, "schema_version": 3}', '2026-11-17 06:50:38.558065+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (54, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c50-70ab-8c0c-ce1dde689a16', '{"commit_count": 0}', '{"status": "RUNNING", "done_by": "commit", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.544722+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 2, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 1, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c50-70ab-8c0c-ce1dde689a16"}', '2026-11-17 06:50:38.559491+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (55, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c50-70ab-8c0c-ce1dde689a16', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "commit", "node_id": "host", "end_time": "2026-11-17T06:50:38.54846+00:00", "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.544722+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 4, "instance_id": "0000240fab1b0fe2", "lease_token": 2, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 1, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c50-70ab-8c0c-ce1dde689a16"}', '2026-11-17 06:50:38.561235+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (56, 'default', 'pipeline_runs', 'INSERT', '01a1e845-9c69-705e-b770-3a15cb864c1d', NULL, '{"status": "PENDING", "done_by": "commit", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.569437+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c69-705e-b770-3a15cb864c1d"}', '2026-11-17 06:50:38.570244+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (57, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c69-705e-b770-3a15cb864c1d', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "commit", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.569437+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 3, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c69-705e-b770-3a15cb864c1d"}', '2026-11-17 06:50:38.572151+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (58, 'default', 'table_metadata', 'INSERT', '01a1e845-9c6f-72af-9a52-c21708ebf8f5', NULL, '{"id": "01a1e845-9c6f-72af-9a52-c21708ebf8f5", "format": "parquet", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "tenant_id": "default", "created_at": "2026-11-17T06:50:38.57335+00:00", "updated_at": "2026-11-17T06:50:38.57335+00:00", "compression": "none", "schema_hash": "4ea7c0026442b921ff0f09591bb38b026f3a6a1b259f8d6ec6504cbf00998792", "last_modified": "2026-11-17T06:50:38.57335+00:00", "schema_version": 4, "storage_engine": "lakeledger"}', '2026-11-17 06:50:38.576163+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (59, 'default', 'tables', 'UPDATE', '01a1e845-9c24-7482-b91d-ba32209fc3d8', '{"updated_at": "2026-11-17T06:50:38.54846+00:00", "current_version": 3}', '{"location": "silver/orders", "name_key": "silver.orders", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "table_name": "orders", "total_size": 200, "updated_at": "2026-11-17T06:50:38.57335+00:00", "schema_name": "silver", "last_modified": "2026-11-17T06:50:38.498728+00:00", "content_version": 1, "current_version": 4}', '2026-11-17 06:50:38.577099+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (60, 'default', 'table_stats', 'UPDATE', '01a1e845-9c2a-7454-96df-8e191223c6b0', '{"updated_at": "2026-11-17T06:50:38.54846+00:00", "last_modified": "2026-11-17T06:50:38.54846+00:00"}', '{"id": "01a1e845-9c2a-7454-96df-8e191223c6b0", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "total_size": 200, "updated_at": "2026-11-17T06:50:38.57335+00:00", "last_modified": "2026-11-17T06:50:38.57335+00:00"}', '2026-11-17 06:50:38.577777+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (61, 'default', 'table_snapshots', 'INSERT', '01a1e845-9c6e-775d-8b5f-c1434f33a530', NULL, '{"run_id": "01a1e845-9c69-705e-b770-3a15cb864c1d", "trigger": "api", "version": 4, "batch_id": "alter:01a1e845-9c63-724c-85f7-d6642ca756a5", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "operation": "alter", "tenant_id": "default", "snapshot_id": "01a1e845-9c6e-775d-8b5f-c1434f33a530", "committed_at": "2026-11-17T06:50:38.57335+00:00", "manifest_list": null, "parent_version": 3, "schema_version": 4}', '2026-11-17 06:50:38.578498+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (62, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c69-705e-b770-3a15cb864c1d', '{"commit_count": 0}', '{"status": "RUNNING", "done_by": "commit", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.569437+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 3, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 1, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c69-705e-b770-3a15cb864c1d"}', '2026-11-17 06:50:38.579829+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (63, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c69-705e-b770-3a15cb864c1d', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "commit", "node_id": "host", "end_time": "2026-11-17T06:50:38.57335+00:00", "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.569437+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 4, "instance_id": "0000240fab1b0fe2", "lease_token": 3, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 1, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c69-705e-b770-3a15cb864c1d"}', '2026-11-17 06:50:38.585967+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (64, 'default', 'pipeline_runs', 'INSERT', '01a1e845-9c7e-7095-862c-596036f8097b', NULL, '{"status": "PENDING", "done_by": "commit", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.590016+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c7e-7095-862c-596036f8097b"}', '2026-11-17 06:50:38.590896+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (65, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c7e-7095-862c-596036f8097b', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "commit", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.590016+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 4, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c7e-7095-862c-596036f8097b"}', '2026-11-17 06:50:38.592866+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (66, 'default', 'table_metadata', 'INSERT', '01a1e845-9c87-7184-bea1-2a7cc3de7d19', NULL, '{"id": "01a1e845-9c87-7184-bea1-2a7cc3de7d19", "format": "parquet", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "tenant_id": "default", "created_at": "2026-11-17T06:50:38.596483+00:00", "updated_at": "2026-11-17T06:50:38.596483+00:00", "compression": "none", "schema_hash": "5cd5298286c03ffe645ec5a242f4027648f4c79196b7d64eba0039fa6c5550a5", "last_modified": "2026-11-17T06:50:38.596483+00:00", "schema_version": 5, "storage_engine": "lakeledger"}', '2026-11-17 06:50:38.600032+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (67, 'default', 'tables', 'UPDATE', '01a1e845-9c24-7482-b91d-ba32209fc3d8', '{"updated_at": "2026-11-17T06:50:38.57335+00:00", "current_version": 4}', '{"location": "silver/orders", "name_key": "silver.orders", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "table_name": "orders", "total_size": 200, "updated_at": "2026-11-17T06:50:38.596483+00:00", "schema_name": "silver", "last_modified": "2026-11-17T06:50:38.498728+00:00", "content_version": 1, "current_version": 5}', '2026-11-17 06:50:38.601067+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (68, 'default', 'table_stats', 'UPDATE', '01a1e845-9c2a-7454-96df-8e191223c6b0', '{"updated_at": "2026-11-17T06:50:38.57335+00:00", "last_modified": "2026-11-17T06:50:38.57335+00:00"}', '{"id": "01a1e845-9c2a-7454-96df-8e191223c6b0", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "total_size": 200, "updated_at": "2026-11-17T06:50:38.596483+00:00", "last_modified": "2026-11-17T06:50:38.596483+00:00"}', '2026-11-17 06:50:38.601833+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (69, 'default', 'table_snapshots', 'INSERT', '01a1e845-9c85-73c1-994e-fb5e2107250f', NULL, '{"run_id": "01a1e845-9c7e-7095-862c-596036f8097b", "trigger": "api", "version": 5, "batch_id": "alter:01a1e845-9c7c-77c7-ae0f-cbef91c4d169", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "operation": "alter", "tenant_id": "default", "snapshot_id": "01a1e845-9c85-73c1-994e-fb5e2107250f", "committed_at": "2026-11-17T06:50:38.596483+00:00", "manifest_list": null, "parent_version": 4, "schema_version": 5}', '2026-11-17 06:50:38.602634+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (70, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c7e-7095-862c-596036f8097b', '{"commit_count": 0}', '{"status": "RUNNING", "done_by": "commit", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.590016+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 4, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 1, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c7e-7095-862c-596036f8097b"}', '2026-11-17 06:50:38.604207+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (71, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c7e-7095-862c-596036f8097b', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "commit", "node_id": "host", "end_time": "2026-11-17T06:50:38.596483+00:00", "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.590016+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 6, "instance_id": "0000240fab1b0fe2", "lease_token": 4, "pipeline_id": "silver.orders", "schema_name": null, "commit_count": 1, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c7e-7095-862c-596036f8097b"}', '2026-11-17 06:50:38.610231+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (72, 'default', 'pipeline_runs', 'INSERT', '01a1e845-9c9c-73ad-9d46-fe2ca617627a', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.616373+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "load", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c9c-73ad-9d46-fe2ca617627a"}', '2026-11-17 06:50:38.621415+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (73, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c9c-73ad-9d46-fe2ca617627a', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.616373+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 2, "pipeline_id": "load", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9c9c-73ad-9d46-fe2ca617627a"}', '2026-11-17 06:50:38.624085+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (74, 'default', 'table_files', 'UPDATE', '01a1e845-9c27-765f-b9b4-5be2df31edfe', '{"state": "live", "removed_version": null}', '{"id": "01a1e845-9c27-765f-b9b4-5be2df31edfe", "state": "retired", "run_id": "01a1e845-9c19-73ed-9095-ea9fc8a1252c", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "file_name": "a", "file_path": "data/run/day=mon/a", "file_size": 100, "file_type": "parquet", "row_count": 10, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "modified_at": "2026-01-02T03:04:05.000006+00:00", "added_version": 1, "is_compressed": true, "partition_path": "day=mon", "removed_version": 6, "iceberg_metadata_state": "pending"}', '2026-11-17 06:50:38.634021+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (75, 'default', 'table_files', 'INSERT', '01a1e845-9caa-7332-a257-0295b209ce05', NULL, '{"id": "01a1e845-9caa-7332-a257-0295b209ce05", "state": "live", "run_id": "01a1e845-9c9c-73ad-9d46-fe2ca617627a", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "file_name": "c", "file_path": "data/run/day=mon/c", "file_size": 100, "file_type": "parquet", "row_count": 10, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.628729+00:00", "modified_at": "2026-01-02T03:04:05.000006+00:00", "added_version": 6, "is_compressed": true, "partition_path": "day=mon", "removed_version": null, "iceberg_metadata_state": "pending"}', '2026-11-17 06:50:38.635087+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (76, 'default', 'tables', 'UPDATE', '01a1e845-9c24-7482-b91d-ba32209fc3d8', '{"updated_at": "2026-11-17T06:50:38.596483+00:00", "current_version": 5}', '{"location": "silver/orders", "name_key": "silver.orders", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "table_name": "orders", "total_size": 200, "updated_at": "2026-11-17T06:50:38.628729+00:00", "schema_name": "silver", "last_modified": "2026-11-17T06:50:38.498728+00:00", "content_version": 1, "current_version": 6}', '2026-11-17 06:50:38.636247+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (77, 'default', 'table_stats', 'UPDATE', '01a1e845-9c2a-7454-96df-8e191223c6b0', '{"updated_at": "2026-11-17T06:50:38.596483+00:00", "last_modified": "2026-11-17T06:50:38.596483+00:00"}', '{"id": "01a1e845-9c2a-7454-96df-8e191223c6b0", "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "row_count": 20, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.498728+00:00", "file_count": 2, "total_size": 200, "updated_at": "2026-11-17T06:50:38.628729+00:00", "last_modified": "2026-11-17T06:50:38.628729+00:00"}', '2026-11-17 06:50:38.640981+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (78, 'default', 'table_snapshots', 'INSERT', '01a1e845-9ca4-71b3-bf42-139edf8a9009', NULL, '{"run_id": "01a1e845-9c9c-73ad-9d46-fe2ca617627a", "trigger": "manual", "version": 6, "batch_id": null, "table_id": "01a1e845-9c24-7482-b91d-ba32209fc3d8", "operation": "replace", "tenant_id": "default", "snapshot_id": "01a1e845-9ca4-71b3-bf42-139edf8a9009", "committed_at": "2026-11-17T06:50:38.628729+00:00", "manifest_list": null, "parent_version": 5, "schema_version": 5}', '2026-11-17 06:50:38.642037+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (79, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c9c-73ad-9d46-fe2ca617627a', '{"commit_count": 0, "bytes_processed": 0, "records_inserted": 0, "records_processed": 0}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.616373+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 2, "pipeline_id": "load", "schema_name": null, "commit_count": 1, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 100, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 10, "records_processed": 10, "pipeline_logging_id": "01a1e845-9c9c-73ad-9d46-fe2ca617627a"}', '2026-11-17 06:50:38.643931+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (80, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9c9c-73ad-9d46-fe2ca617627a', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:38.650477+00:00", "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.616373+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 34, "instance_id": "0000240fab1b0fe2", "lease_token": 2, "pipeline_id": "load", "schema_name": null, "commit_count": 1, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 100, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 10, "records_processed": 10, "pipeline_logging_id": "01a1e845-9c9c-73ad-9d46-fe2ca617627a"}', '2026-11-17 06:50:38.654859+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (81, 'default', 'pipeline_runs', 'INSERT', '01a1e845-9cc4-7159-964d-3567d16137f1', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.6602+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "shop", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9cc4-7159-964d-3567d16137f1"}', '2026-11-17 06:50:38.661269+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (82, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9cc4-7159-964d-3567d16137f1', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.6602+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "shop", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9cc4-7159-964d-3567d16137f1"}', '2026-11-17 06:50:38.663677+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (83, 'default', 'tables', 'INSERT', '01a1e845-9cd3-72e2-8b0f-cb9ac285c057', NULL, '{"location": "bronze/orders", "name_key": "bronze.orders", "table_id": "01a1e845-9cd3-72e2-8b0f-cb9ac285c057", "row_count": 0, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.672564+00:00", "file_count": 0, "table_name": "orders", "total_size": 0, "updated_at": "2026-11-17T06:50:38.672564+00:00", "schema_name": "bronze", "last_modified": "2026-11-17T06:50:38.672564+00:00", "content_version": 0, "current_version": 0}', '2026-11-17 06:50:38.676363+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (84, 'default', 'table_metadata', 'INSERT', '01a1e845-9cd4-710c-8f42-70ca4c257b52', NULL, '{"id": "01a1e845-9cd4-710c-8f42-70ca4c257b52", "format": "parquet", "table_id": "01a1e845-9cd3-72e2-8b0f-cb9ac285c057", "tenant_id": "default", "created_at": "2026-11-17T06:50:38.672564+00:00", "updated_at": "2026-11-17T06:50:38.672564+00:00", "compression": "snappy", "schema_hash": "b583be5d383e30d8e8e5850cca313a33a18c759ddbb2a1f7d81ca931d6cb1451", "last_modified": "2026-11-17T06:50:38.672564+00:00", "schema_version": 1, "storage_engine": "lakeledger"}', '2026-11-17 06:50:38.678859+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (85, 'default', 'table_files', 'INSERT', '01a1e845-9cd7-72db-bc5c-53a3bc5a2b88', NULL, '{"id": "01a1e845-9cd7-72db-bc5c-53a3bc5a2b88", "state": "live", "run_id": "01a1e845-9cc4-7159-964d-3567d16137f1", "table_id": "01a1e845-9cd3-72e2-8b0f-cb9ac285c057", "file_name": "d", "file_path": "data/run/d", "file_size": 100, "file_type": "parquet", "row_count": 10, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.672564+00:00", "modified_at": "2026-01-02T03:04:05.000006+00:00", "added_version": 1, "is_compressed": true, "partition_path": "", "removed_version": null, "iceberg_metadata_state": "pending"}', '2026-11-17 06:50:38.680054+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (86, 'default', 'tables', 'UPDATE', '01a1e845-9cd3-72e2-8b0f-cb9ac285c057', '{"row_count": 0, "file_count": 0, "total_size": 0, "content_version": 0, "current_version": 0}', '{"location": "bronze/orders", "name_key": "bronze.orders", "table_id": "01a1e845-9cd3-72e2-8b0f-cb9ac285c057", "row_count": 10, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.672564+00:00", "file_count": 1, "table_name": "orders", "total_size": 100, "updated_at": "2026-11-17T06:50:38.672564+00:00", "schema_name": "bronze", "last_modified": "2026-11-17T06:50:38.672564+00:00", "content_version": 1, "current_version": 1}', '2026-11-17 06:50:38.68111+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (87, 'default', 'table_stats', 'INSERT', '01a1e845-9cd9-7618-8fea-61aea11be9bd', NULL, '{"id": "01a1e845-9cd9-7618-8fea-61aea11be9bd", "table_id": "01a1e845-9cd3-72e2-8b0f-cb9ac285c057", "row_count": 10, "tenant_id": "default", "created_at": "2026-11-17T06:50:38.672564+00:00", "file_count": 1, "total_size": 100, "updated_at": "2026-11-17T06:50:38.672564+00:00", "last_modified": "2026-11-17T06:50:38.672564+00:00"}', '2026-11-17 06:50:38.684705+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (88, 'default', 'table_snapshots', 'INSERT', '01a1e845-9cd0-7482-ae0a-ec82f31dfb85', NULL, '{"run_id": "01a1e845-9cc4-7159-964d-3567d16137f1", "trigger": "manual", "version": 1, "batch_id": null, "table_id": "01a1e845-9cd3-72e2-8b0f-cb9ac285c057", "operation": "append", "tenant_id": "default", "snapshot_id": "01a1e845-9cd0-7482-ae0a-ec82f31dfb85", "committed_at": "2026-11-17T06:50:38.672564+00:00", "manifest_list": null, "parent_version": null, "schema_version": 1}', '2026-11-17 06:50:38.685473+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (89, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9cc4-7159-964d-3567d16137f1', '{"commit_count": 0, "bytes_processed": 0, "records_inserted": 0, "records_processed": 0}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.6602+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "shop", "schema_name": null, "commit_count": 1, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 100, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 10, "records_processed": 10, "pipeline_logging_id": "01a1e845-9cc4-7159-964d-3567d16137f1"}', '2026-11-17 06:50:38.689906+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (90, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9cc4-7159-964d-3567d16137f1', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:38.698111+00:00", "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.6602+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 38, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "shop", "schema_name": null, "commit_count": 1, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 100, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 10, "records_processed": 10, "pipeline_logging_id": "01a1e845-9cc4-7159-964d-3567d16137f1"}', '2026-11-17 06:50:38.702242+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (91, 'default', 'pipeline_runs', 'INSERT', '01a1e845-9cf3-73ed-b619-e69fb93c3662', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.707294+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "broken", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": "once", "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9cf3-73ed-b619-e69fb93c3662"}', '2026-11-17 06:50:38.708714+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (92, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9cf3-73ed-b619-e69fb93c3662', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.707294+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "broken", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": "once", "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9cf3-73ed-b619-e69fb93c3662"}', '2026-11-17 06:50:38.711549+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (93, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9cf3-73ed-b619-e69fb93c3662', '{"status": "RUNNING", "end_time": null, "duration_ms": null, "error_message": null}', '{"status": "FAILED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:38.722892+00:00", "retry_of": null, "run_kind": "pipeline", "exclusive": false, "sync_mode": null, "tenant_id": "default", "start_time": "2026-11-17T06:50:38.707294+00:00", "trigger_by": "ann", "config_hash": null, "duration_ms": 16, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "broken", "schema_name": null, "commit_count": 0, "trigger_type": "manual", "error_message": "ValueError: no such day", "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": "once", "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9cf3-73ed-b619-e69fb93c3662"}', '2026-11-17 06:50:38.730345+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (94, 'default', 'pipeline_runs', 'INSERT', '01a1e845-9d1e-7484-b9a6-6d5159420675', NULL, '{"status": "PENDING", "done_by": "end", "node_id": null, "end_time": null, "retry_of": null, "run_kind": "sync", "exclusive": false, "sync_mode": "stream", "tenant_id": "default", "start_time": "2026-11-17T06:50:38.749721+00:00", "trigger_by": "host:1938", "config_hash": null, "duration_ms": null, "instance_id": null, "lease_token": 0, "pipeline_id": "sync:crm", "schema_name": "crm", "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": null, "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9d1e-7484-b9a6-6d5159420675"}', '2026-11-17 06:50:38.751028+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (95, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9d1e-7484-b9a6-6d5159420675', '{"status": "PENDING", "node_id": null, "instance_id": null, "lease_token": 0, "worker_instance": null}', '{"status": "RUNNING", "done_by": "end", "node_id": "host", "end_time": null, "retry_of": null, "run_kind": "sync", "exclusive": false, "sync_mode": "stream", "tenant_id": "default", "start_time": "2026-11-17T06:50:38.749721+00:00", "trigger_by": "host:1938", "config_hash": null, "duration_ms": null, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "sync:crm", "schema_name": "crm", "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9d1e-7484-b9a6-6d5159420675"}', '2026-11-17 06:50:38.754059+00');
INSERT INTO frozen.change_log OVERRIDING SYSTEM VALUE VALUES (96, 'default', 'pipeline_runs', 'UPDATE', '01a1e845-9d1e-7484-b9a6-6d5159420675', '{"status": "RUNNING", "end_time": null, "duration_ms": null}', '{"status": "COMPLETED", "done_by": "end", "node_id": "host", "end_time": "2026-11-17T06:50:38.762466+00:00", "retry_of": null, "run_kind": "sync", "exclusive": false, "sync_mode": "stream", "tenant_id": "default", "start_time": "2026-11-17T06:50:38.749721+00:00", "trigger_by": "host:1938", "config_hash": null, "duration_ms": 13, "instance_id": "0000240fab1b0fe2", "lease_token": 1, "pipeline_id": "sync:crm", "schema_name": "crm", "commit_count": 0, "trigger_type": "api", "error_message": null, "parent_run_id": null, "config_version": null, "records_failed": 0, "bytes_processed": 0, "idempotency_key": null, "records_deleted": 0, "records_updated": 0, "worker_instance": "host:1938", "records_inserted": 0, "records_processed": 0, "pipeline_logging_id": "01a1e845-9d1e-7484-b9a6-6d5159420675"}', '2026-11-17 06:50:38.765323+00');


--
-- Data for Name: control_cursors; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.control_cursors VALUES ('01a1e845-87bf-7205-af82-49655a6e1305', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'monitor', '{"version": 11}', '2026-11-17 06:50:33.485886+00');


--
-- Data for Name: control_imports; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.control_imports VALUES ('01a1e845-8499-7724-9b15-eec22e9a599c', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'module1', 'totals', '/frozen/examples/metadata_examples.yaml', '{"is_active": true, "source_id": "totals", "module_name": "module1", "source_type": "sql", "source_config": "{}", "target_config": "{\"schema\":\"gold\",\"table\":\"totals\"}", "execution_order": 1, "transformation_config": "{\"depends_on\":[\"orders\"],\"sql_task\":{\"sql_query\":\"select count(*) as orders from silver.orders\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:32.471125+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-8499-7724-9b15-eec300b9fd2d', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'module2', 'greet', '/frozen/examples/metadata_examples.yaml', '{"is_active": true, "source_id": "greet", "module_name": "module2", "source_type": "task", "source_config": "{}", "target_config": "{}", "execution_order": 1, "transformation_config": "{\"python_task\":{\"function\":\"steps:greet\"},\"task_type\":\"python\"}"}', '2026-11-17 06:50:32.471125+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-8499-7724-9b15-eec46f22209e', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'module1', NULL, '/frozen/examples/metadata_examples.yaml', '{"tags": null, "trigger": null, "schedule": "{\"quartz_cron_expression\":\"0 0 5 * * ?\"}", "parameters": null, "description": "Orders, and what they add up to", "module_name": "module1", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '2026-11-17 06:50:32.471125+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-8499-7724-9b15-eec51686d038', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'module2', NULL, '/frozen/examples/metadata_examples.yaml', '{"tags": null, "trigger": null, "schedule": null, "parameters": null, "description": null, "module_name": "module2", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '2026-11-17 06:50:32.471125+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-868d-76cd-a3da-6c0e1c06f4eb', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'module1', 'orders', '/frozen/examples/metadata_examples.yaml', '{"is_active": true, "source_id": "orders", "module_name": "module1", "source_type": "sql", "source_config": "{}", "target_config": "{\"schema\":\"silver\",\"table\":\"orders\"}", "execution_order": 1, "transformation_config": "{\"sql_task\":{\"sql_query\":\"select 2 as id\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:32.97222+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-873c-7316-a703-b679c27769fd', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'crm', NULL, '/frozen/metadata_volume/crm.yaml', '{"tags": null, "trigger": null, "schedule": null, "parameters": null, "description": null, "module_name": "crm", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '2026-11-17 06:50:33.142963+00', 'host:1938');
INSERT INTO frozen.control_imports VALUES ('01a1e845-880b-759b-bcc1-fdcd6c1aab4b', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'billing', 'invoices', '/frozen/metadata_volume/billing.yaml', '{"is_active": true, "source_id": "invoices", "module_name": "billing", "source_type": "sql", "source_config": "{}", "target_config": "{\"schema\":\"silver\",\"table\":\"invoices\"}", "execution_order": 1, "transformation_config": "{\"sql_task\":{\"sql_query\":\"select ''Ada'' as name\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:33.354109+00', 'host:1938');
INSERT INTO frozen.control_imports VALUES ('01a1e845-880b-759b-bcc1-fdceb831bdd7', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'crm', 'people', '/frozen/metadata_volume/crm.yaml', '{"is_active": true, "source_id": "people", "module_name": "crm", "source_type": "sql", "source_config": "{}", "target_config": "{\"schema\":\"silver\",\"table\":\"people\"}", "execution_order": 1, "transformation_config": "{\"sql_task\":{\"sql_query\":\"select ''Grace'' as name\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:33.354109+00', 'host:1938');
INSERT INTO frozen.control_imports VALUES ('01a1e845-880b-759b-bcc1-fdcf7814a1b6', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'billing', NULL, '/frozen/metadata_volume/billing.yaml', '{"tags": null, "trigger": null, "schedule": null, "parameters": null, "description": null, "module_name": "billing", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '2026-11-17 06:50:33.354109+00', 'host:1938');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db0d0aa13f6a', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'crm', 'people', '/frozen/backup.yaml', '{"is_active": false, "source_id": "people", "module_name": "crm", "source_type": "sql", "source_config": "{}", "target_config": "{\"schema\":\"silver\",\"table\":\"people\"}", "execution_order": 1, "transformation_config": "{\"sql_task\":{\"sql_query\":\"select ''Grace'' as name\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db0eb4043415', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'module1', 'orders', '/frozen/backup.yaml', '{"is_active": true, "source_id": "orders", "module_name": "module1", "source_type": "sql", "source_config": "{}", "target_config": "{\"schema\":\"silver\",\"table\":\"orders\"}", "execution_order": 1, "transformation_config": "{\"sql_task\":{\"sql_query\":\"select 2 as id\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db0fab27c36c', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'module1', 'totals', '/frozen/backup.yaml', '{"is_active": false, "source_id": "totals", "module_name": "module1", "source_type": "sql", "source_config": "{}", "target_config": "{\"schema\":\"gold\",\"table\":\"totals\"}", "execution_order": 1, "transformation_config": "{\"depends_on\":[\"orders\"],\"sql_task\":{\"sql_query\":\"select count(*) as orders from silver.orders\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db104ba02d2b', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'module2', 'welcome', '/frozen/backup.yaml', '{"is_active": true, "source_id": "welcome", "module_name": "module2", "source_type": "task", "source_config": "{}", "target_config": "{}", "execution_order": 4, "transformation_config": "{\"python_task\":{\"function\":\"steps:greet\"},\"task_type\":\"python\"}"}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db111950807d', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'module3', 'new_sql_task', '/frozen/backup.yaml', '{"is_active": true, "source_id": "new_sql_task", "module_name": "module3", "source_type": "sql", "source_config": "{}", "target_config": "{\"catalog\":\"bronze\",\"schema\":\"data\",\"table\":\"customers\"}", "execution_order": 1, "transformation_config": "{\"sql_task\":{\"sql_query\":\"SELECT * FROM bronze.customers\",\"warehouse_id\":\"abc123\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db12d3972d2a', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'my_module', 'existing_source', '/frozen/backup.yaml', '{"is_active": true, "source_id": "existing_source", "module_name": "my_module", "source_type": "sql", "source_config": "{}", "target_config": "{\"catalog\":\"bronze\",\"schema\":\"data\",\"table\":\"existing_source\"}", "execution_order": 2, "transformation_config": "{\"sql_task\":{\"sql_query\":\"SELECT id, name FROM bronze.customers\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db13779168a3', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'my_module', 'new_sql_task', '/frozen/backup.yaml', '{"is_active": true, "source_id": "new_sql_task", "module_name": "my_module", "source_type": "sql", "source_config": "{}", "target_config": "{\"catalog\":\"bronze\",\"schema\":\"data\",\"table\":\"customers\"}", "execution_order": 1, "transformation_config": "{\"sql_task\":{\"sql_query\":\"SELECT * FROM bronze.customers\",\"warehouse_id\":\"abc123\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db145203b56e', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'my_module', 'old_source', '/frozen/backup.yaml', '{"is_active": false, "source_id": "old_source", "module_name": "my_module", "source_type": "sql", "source_config": "{}", "target_config": "{\"catalog\":\"bronze\",\"schema\":\"data\",\"table\":\"old_source\"}", "execution_order": 1, "transformation_config": "{\"sql_task\":{\"sql_query\":\"SELECT * FROM bronze.customers\",\"warehouse_id\":\"abc123\"},\"task_type\":\"sql_query\"}"}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db15a1b1949e', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'crm', NULL, '/frozen/backup.yaml', '{"tags": null, "trigger": null, "schedule": null, "parameters": null, "description": null, "module_name": "crm", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db164c60948d', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'module1', NULL, '/frozen/backup.yaml', '{"tags": null, "trigger": null, "schedule": "{\"quartz_cron_expression\":\"0 0 5 * * ?\"}", "parameters": null, "description": "Orders, and what they add up to", "module_name": "module1", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db170baf3a82', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'module2', NULL, '/frozen/backup.yaml', '{"tags": null, "trigger": null, "schedule": null, "parameters": null, "description": null, "module_name": "module2", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db18b24dad26', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'module3', NULL, '/frozen/backup.yaml', '{"tags": null, "trigger": null, "schedule": null, "parameters": null, "description": null, "module_name": "module3", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '2026-11-17 06:50:37.394593+00', 'ann');
INSERT INTO frozen.control_imports VALUES ('01a1e845-97de-7595-97f7-db194643fa5e', 'default', 'aa7b810b-f424-4406-bd7d-765b835d6b5b', 'my_module', NULL, '/frozen/backup.yaml', '{"tags": null, "trigger": null, "schedule": null, "parameters": null, "description": null, "module_name": "my_module", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '2026-11-17 06:50:37.394593+00', 'ann');


--
-- Data for Name: dead_letter_queue; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.dead_letter_queue VALUES ('01a1e845-9d24-72d6-8c9e-16c7b55aadae', 'default', NULL, '01a1e845-9d23-77ac-8f8d-0f520ea9dfbb', 'crm', 'people', 'crm/people', 'crm', 'unknown', 'record', NULL, '{"id": 1}', true, '037c9214eef74cc3887f3a4f085b4e17d76280dafd273b0ee160c09c4ba1cfd4', 'be3048f3a5382285f9ce615b7bb4a9095f2d269b6c7f32bf621c622df3077fc3', 'validation', 'ValueError: no such person', '3fefc0dc67ea3658', 1, 'pending', '2026-11-17 06:50:38.755934+00', '2026-11-17 06:50:38.755934+00', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO frozen.dead_letter_queue VALUES ('01a1e845-9d29-727c-99b8-175c9fc7d20d', 'default', NULL, NULL, 'crm', 'people', 'crm/people', 'crm', 'insert', 'record', NULL, '{"id": 1}', true, '037c9214eef74cc3887f3a4f085b4e17d76280dafd273b0ee160c09c4ba1cfd4', '49a08c930c94ef8cc6a40ca0bbaf10bebbc6e4929980bea1c31efe788a299040', 'unknown', NULL, '762e3942c6c28905', 1, 'pending', '2026-11-17 06:50:38.76114+00', '2026-11-17 06:50:38.76114+00', NULL, NULL, NULL, NULL, NULL, NULL);


--
-- Data for Name: error_log; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.error_log VALUES ('01a1e845-9d23-77ac-8f8d-0f520ea9dfbb', 'default', NULL, NULL, 'crm', 'people', 'crm/people', 'crm', 'validation', NULL, 'ValueError: no such person', NULL, 'ValueError: no such person', '{"id": 1}', true, NULL, '3fefc0dc67ea3658', 'open', 0, 0, NULL, NULL, '01a1e845-9d24-72d6-8c9e-16c7b55aadae', NULL, NULL, '2026-11-17 06:50:38.755934+00', NULL, NULL, NULL);


--
-- Data for Name: forgotten_runs; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.forgotten_runs VALUES ('gone', 'default', '2026-11-17 06:50:38.770211+00');


--
-- Data for Name: jobs; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.jobs VALUES ('01a1e845-8411-759b-a5f0-dcdb025e998d', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'my_module', 'local', '01a1e845-840d-73f7-8b6b-6c34d1a2382f', 'my_module', '{"name": "my_module", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "my_module", "lakeledger_content": "35c99b3a01501a19"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "new_sql_task", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "my_module", "--source", "new_sql_task"], "entry_point": "lakeledger", "package_name": "lakeledger"}}, {"run_if": "ALL_SUCCESS", "task_key": "existing_source", "depends_on": [{"task_key": "new_sql_task"}], "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "my_module", "--source", "existing_source"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', 'b79ec0e7cd09687952e8c4f4c0d02cb8018ba2dc607fa326ca54c8f952437faa', '7b6f75af068acc875695aafefcf4c9cb4c5c8db29c048ec9cdce18ea54c33877', 5, 'active', '2026-11-17 06:50:32.335656+00', '2026-11-17 06:50:32.335656+00');
INSERT INTO frozen.jobs VALUES ('01a1e845-84dd-75f1-aa9f-da5e442d6af4', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'module1', 'local', '01a1e845-84da-7317-a052-6ef78ee28bf8', 'module1', '{"name": "module1", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "module1", "lakeledger_content": "2b370f9768a99e8c"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "orders", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "module1", "--source", "orders"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "schedule": {"timezone_id": "UTC", "pause_status": "UNPAUSED", "quartz_cron_expression": "0 0 5 * * ?"}, "description": "Orders, and what they add up to", "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', '9532a7051bf754c8c71d4a41d62e4c536d38617e39ed857d52c92a61ad14f6b5', '85d2746bb671f747c75ae69e28998c6142191772e6c3de02715e4dee3169c1e3', 9, 'active', '2026-11-17 06:50:32.540175+00', '2026-11-17 06:50:33.036989+00');
INSERT INTO frozen.jobs VALUES ('01a1e845-8866-7723-bf2a-8672a9a1aa85', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'billing', 'local', '01a1e845-8863-74e0-9a6a-f7daab9308a1', 'billing', '{"name": "billing", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "billing", "lakeledger_content": "f536fba025ad14f2"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "invoices", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "billing", "--source", "invoices"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', '3586d5747954f9d301d89f163468636940af63ade38fda270752fec91c5af67d', NULL, 15, 'paused', '2026-11-17 06:50:33.444626+00', '2026-11-17 06:50:33.975285+00');
INSERT INTO frozen.jobs VALUES ('01a1e845-87a1-7583-9395-6736a5291d29', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'crm', 'local', '01a1e845-879e-7117-af68-240b8685805a', 'crm', '{"name": "crm", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "crm", "lakeledger_content": "121206272f12d8a7"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "people", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "crm", "--source", "people"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', '2d5832c414f55541a695552aa30ff63e9604d1aaf85df61e6cc07298fa439058', '69702a92cf2b3723d1c4183f768e5013aa0f18c3d42f9d332ae5e3b9db85370c', 15, 'paused', '2026-11-17 06:50:33.2476+00', '2026-11-17 06:50:33.986646+00');
INSERT INTO frozen.jobs VALUES ('01a1e845-84e8-726f-8d16-57ebd877cc50', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'module2', 'local', '01a1e845-970a-74e6-a2b8-f7f75bb31f43', 'module2', '{"name": "module2", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "module2", "lakeledger_content": "814bf07e9753884c"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "welcome", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "module2", "--source", "welcome"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', 'e1c916dedaaf9300f9503bcd13403ccede29c615a9e7665a829013c7b0f0111e', 'e362dcbc81789c644212615aca8844c3527986e95b69bc69bffbf12037fb89ea', 16, 'active', '2026-11-17 06:50:32.551375+00', '2026-11-17 06:50:37.195242+00');
INSERT INTO frozen.jobs VALUES ('01a1e845-8a97-72ea-a465-ed5a0eec0292', 'default', 'bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9', 'module3', 'local', '01a1e845-8a95-73f6-a59b-5bf5c215942e', 'module3', '{"name": "module3", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "module3", "lakeledger_content": "226e6b9eebb48247"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "new_sql_task", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "module3", "--source", "new_sql_task"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', 'ffcc4e87dadb6ce81360a20a2f1157d5974f1a60cbaba23eb8b9e404d28a4d93', '9512286ae5d15d565c6fa874d793b4133e96ac987b058cab4f2f920a6848645a', 15, 'active', '2026-11-17 06:50:34.006551+00', '2026-11-17 06:50:34.006551+00');


--
-- Data for Name: local_job_runs; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.local_job_runs VALUES ('01a1e845-9d30-72f8-b029-e6c12a872961', 'default', '01a1e845-8863-74e0-9a6a-f7daab9308a1', 'asked', '2026-11-17 06:50:38.768222+00', 'host:1938', '{}', 'queued', NULL, 1, 0, '2026-11-17 06:50:38.768222+00', NULL, 0, NULL, NULL, NULL, '2026-11-17 06:50:38.768222+00', NULL, NULL);


--
-- Data for Name: local_jobs; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.local_jobs VALUES ('01a1e845-840d-73f7-8b6b-6c34d1a2382f', 'default', 'my_module', '{"name": "my_module", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "my_module", "lakeledger_content": "35c99b3a01501a19"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "new_sql_task", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "my_module", "--source", "new_sql_task"], "entry_point": "lakeledger", "package_name": "lakeledger"}}, {"run_if": "ALL_SUCCESS", "task_key": "existing_source", "depends_on": [{"task_key": "new_sql_task"}], "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "my_module", "--source", "existing_source"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', '{"tags": {}, "sources": [{"run_if": "ALL_SUCCESS", "is_active": true, "source_id": "new_sql_task", "depends_on": [], "max_retries": 0, "source_type": "sql", "retry_seconds": null, "source_config": {}, "target_config": {"table": "customers", "format": null, "schema": "data", "catalog": "bronze", "write_mode": null, "partition_by": null}, "execution_order": 1, "timeout_seconds": null, "transformation_config": {"sql_task": {"query_id": null, "sql_query": "SELECT * FROM bronze.customers", "parameters": {}, "warehouse_id": "abc123", "sql_file_path": null}, "task_type": "sql_query"}}, {"run_if": "ALL_SUCCESS", "is_active": false, "source_id": "old_source", "depends_on": [], "max_retries": 0, "source_type": "sql", "retry_seconds": null, "source_config": {}, "target_config": {"table": "old_source", "format": null, "schema": "data", "catalog": "bronze", "write_mode": null, "partition_by": null}, "execution_order": 1, "timeout_seconds": null, "transformation_config": {"sql_task": {"query_id": null, "sql_query": "SELECT * FROM bronze.customers", "parameters": {}, "warehouse_id": "abc123", "sql_file_path": null}, "task_type": "sql_query"}}, {"run_if": "ALL_SUCCESS", "is_active": true, "source_id": "existing_source", "depends_on": [], "max_retries": 0, "source_type": "sql", "retry_seconds": null, "source_config": {}, "target_config": {"table": "existing_source", "format": null, "schema": "data", "catalog": "bronze", "write_mode": null, "partition_by": null}, "execution_order": 2, "timeout_seconds": null, "transformation_config": {"sql_task": {"query_id": null, "sql_query": "SELECT id, name FROM bronze.customers", "parameters": {}, "warehouse_id": null, "sql_file_path": null}, "task_type": "sql_query"}}], "trigger": null, "schedule": null, "parameters": {}, "description": null, "module_name": "my_module", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '/frozen', false, NULL, false, '{}', '2026-11-17 06:50:32.333367+00', '2026-11-17 06:50:32.333367+00', 1);
INSERT INTO frozen.local_jobs VALUES ('01a1e845-84da-7317-a052-6ef78ee28bf8', 'default', 'module1', '{"name": "module1", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "module1", "lakeledger_content": "2b370f9768a99e8c"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "orders", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "module1", "--source", "orders"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "schedule": {"timezone_id": "UTC", "pause_status": "UNPAUSED", "quartz_cron_expression": "0 0 5 * * ?"}, "description": "Orders, and what they add up to", "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', '{"tags": {}, "sources": [{"run_if": "ALL_SUCCESS", "is_active": true, "source_id": "orders", "depends_on": [], "max_retries": 0, "source_type": "sql", "retry_seconds": null, "source_config": {}, "target_config": {"table": "orders", "format": null, "schema": "silver", "catalog": null, "write_mode": null, "partition_by": null}, "execution_order": 1, "timeout_seconds": null, "transformation_config": {"sql_task": {"query_id": null, "sql_query": "select 2 as id", "parameters": {}, "warehouse_id": null, "sql_file_path": null}, "task_type": "sql_query"}}, {"run_if": "ALL_SUCCESS", "is_active": false, "source_id": "totals", "depends_on": ["orders"], "max_retries": 0, "source_type": "sql", "retry_seconds": null, "source_config": {}, "target_config": {"table": "totals", "format": null, "schema": "gold", "catalog": null, "write_mode": null, "partition_by": null}, "execution_order": 1, "timeout_seconds": null, "transformation_config": {"sql_task": {"query_id": null, "sql_query": "select count(*) as orders from silver.orders", "parameters": {}, "warehouse_id": null, "sql_file_path": null}, "task_type": "sql_query"}}], "trigger": null, "schedule": {"cron": null, "timezone_id": "UTC", "pause_status": "UNPAUSED", "quartz_cron_expression": "0 0 5 * * ?"}, "parameters": {}, "description": "Orders, and what they add up to", "module_name": "module1", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '/frozen', false, '2026-11-18 05:00:00+00', false, '{}', '2026-11-17 06:50:32.537779+00', '2026-11-17 06:50:33.0343+00', 2);
INSERT INTO frozen.local_jobs VALUES ('01a1e845-8863-74e0-9a6a-f7daab9308a1', 'default', 'billing', '{"name": "billing", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "billing", "lakeledger_content": "f536fba025ad14f2"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "invoices", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "billing", "--source", "invoices"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', '{"tags": {}, "sources": [{"run_if": "ALL_SUCCESS", "is_active": true, "source_id": "invoices", "depends_on": [], "max_retries": 0, "source_type": "sql", "retry_seconds": null, "source_config": {}, "target_config": {"table": "invoices", "format": null, "schema": "silver", "catalog": null, "write_mode": null, "partition_by": null}, "execution_order": 1, "timeout_seconds": null, "transformation_config": {"sql_task": {"query_id": null, "sql_query": "select ''Ada'' as name", "parameters": {}, "warehouse_id": null, "sql_file_path": null}, "task_type": "sql_query"}}], "trigger": null, "schedule": null, "parameters": {}, "description": null, "module_name": "billing", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '/frozen', false, NULL, false, '{}', '2026-11-17 06:50:33.443019+00', '2026-11-17 06:50:33.973368+00', 2);
INSERT INTO frozen.local_jobs VALUES ('01a1e845-879e-7117-af68-240b8685805a', 'default', 'crm', '{"name": "crm", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "crm", "lakeledger_content": "121206272f12d8a7"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "people", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "crm", "--source", "people"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', '{"tags": {}, "sources": [{"run_if": "ALL_SUCCESS", "is_active": false, "source_id": "people", "depends_on": [], "max_retries": 0, "source_type": "sql", "retry_seconds": null, "source_config": {}, "target_config": {"table": "people", "format": null, "schema": "silver", "catalog": null, "write_mode": null, "partition_by": null}, "execution_order": 1, "timeout_seconds": null, "transformation_config": {"sql_task": {"query_id": null, "sql_query": "select ''Grace'' as name", "parameters": {}, "warehouse_id": null, "sql_file_path": null}, "task_type": "sql_query"}}], "trigger": null, "schedule": null, "parameters": {}, "description": null, "module_name": "crm", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '/frozen', false, NULL, false, '{}', '2026-11-17 06:50:33.245752+00', '2026-11-17 06:50:33.984769+00', 3);
INSERT INTO frozen.local_jobs VALUES ('01a1e845-8a95-73f6-a59b-5bf5c215942e', 'default', 'module3', '{"name": "module3", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "module3", "lakeledger_content": "226e6b9eebb48247"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "new_sql_task", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "module3", "--source", "new_sql_task"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', '{"tags": {}, "sources": [{"run_if": "ALL_SUCCESS", "is_active": true, "source_id": "new_sql_task", "depends_on": [], "max_retries": 0, "source_type": "sql", "retry_seconds": null, "source_config": {}, "target_config": {"table": "customers", "format": null, "schema": "data", "catalog": "bronze", "write_mode": null, "partition_by": null}, "execution_order": 1, "timeout_seconds": null, "transformation_config": {"sql_task": {"query_id": null, "sql_query": "SELECT * FROM bronze.customers", "parameters": {}, "warehouse_id": "abc123", "sql_file_path": null}, "task_type": "sql_query"}}], "trigger": null, "schedule": null, "parameters": {}, "description": null, "module_name": "module3", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '/frozen', false, NULL, false, '{}', '2026-11-17 06:50:34.005067+00', '2026-11-17 06:50:34.005067+00', 1);
INSERT INTO frozen.local_jobs VALUES ('01a1e845-970a-74e6-a2b8-f7f75bb31f43', 'default', 'module2', '{"name": "module2", "tags": {"lakeledger": "/frozen/control/etl_control", "lakeledger_module": "module2", "lakeledger_content": "814bf07e9753884c"}, "tasks": [{"run_if": "ALL_SUCCESS", "task_key": "welcome", "environment_key": "lakeledger", "python_wheel_task": {"parameters": ["run", "--control", "/frozen/control/etl_control", "--module", "module2", "--source", "welcome"], "entry_point": "lakeledger", "package_name": "lakeledger"}}], "environments": [{"spec": {"dependencies": ["lakeledger"], "environment_version": "2"}, "environment_key": "lakeledger"}], "max_concurrent_runs": 1}', '{"tags": {}, "sources": [{"run_if": "ALL_SUCCESS", "is_active": true, "source_id": "welcome", "depends_on": [], "max_retries": 0, "source_type": "task", "retry_seconds": null, "source_config": {}, "target_config": null, "execution_order": 4, "timeout_seconds": null, "transformation_config": {"task_type": "python", "python_task": {"function": "steps:greet", "parameters": {}}}}], "trigger": null, "schedule": null, "parameters": {}, "description": null, "module_name": "module2", "notifications": null, "timeout_seconds": null, "max_concurrent_runs": null}', '/frozen', false, NULL, false, '{}', '2026-11-17 06:50:37.194191+00', '2026-11-17 06:50:37.194191+00', 1);


--
-- Data for Name: metadata_records; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.metadata_records VALUES ('01a1e845-9c34-7500-b51d-d35fd6da0385', 'default', 'ingestion_volume', 'load', 'silver', 'orders', 'silver.orders', '{}', 'load', '01a1e845-9c19-73ed-9095-ea9fc8a1252c', 'default', '{}', '{"rows": 20, "bytes": 200, "files": 2, "operation": "append", "watermark": null, "source_files": 0, "table_version": 1}', '2026-11-17 06:50:38.498728+00', 'ingestion.v1', NULL, NULL, '{}', NULL);
INSERT INTO frozen.metadata_records VALUES ('01a1e845-9c35-72b8-a4fb-7c8b0bc3fde7', 'default', 'ingestion_runtime', 'load', 'silver', 'orders', 'silver.orders', '{}', 'load', '01a1e845-9c19-73ed-9095-ea9fc8a1252c', 'default', '{}', '{"retries": 0, "duration_ms": 0, "table_version": 1}', '2026-11-17 06:50:38.498728+00', 'ingestion.v1', NULL, NULL, '{}', NULL);
INSERT INTO frozen.metadata_records VALUES ('01a1e845-9cb8-7348-9e33-939040c86e6b', 'default', 'ingestion_volume', 'load', 'silver', 'orders', 'silver.orders', '{}', 'load', '01a1e845-9c9c-73ad-9d46-fe2ca617627a', 'default', '{}', '{"rows": 10, "bytes": 100, "files": 1, "operation": "replace", "watermark": null, "source_files": 0, "table_version": 6}', '2026-11-17 06:50:38.628729+00', 'ingestion.v1', NULL, NULL, '{}', NULL);
INSERT INTO frozen.metadata_records VALUES ('01a1e845-9cb9-721f-a9cc-9502e018565b', 'default', 'ingestion_runtime', 'load', 'silver', 'orders', 'silver.orders', '{}', 'load', '01a1e845-9c9c-73ad-9d46-fe2ca617627a', 'default', '{}', '{"retries": 0, "duration_ms": 0, "table_version": 6}', '2026-11-17 06:50:38.628729+00', 'ingestion.v1', NULL, NULL, '{}', NULL);
INSERT INTO frozen.metadata_records VALUES ('01a1e845-9ce3-7354-b7a9-ceb35d6f52e6', 'default', 'ingestion_volume', 'shop.orders', 'bronze', 'orders', 'bronze.orders', '{}', 'shop', '01a1e845-9cc4-7159-964d-3567d16137f1', 'default', '{}', '{"rows": 10, "bytes": 100, "files": 1, "operation": "append", "watermark": {"value": 7}, "source_files": 1, "table_version": 1}', '2026-11-17 06:50:38.672564+00', 'ingestion.v1', NULL, NULL, '{}', NULL);
INSERT INTO frozen.metadata_records VALUES ('01a1e845-9ce4-759f-8fd9-608664f01081', 'default', 'ingestion_runtime', 'shop.orders', 'bronze', 'orders', 'bronze.orders', '{}', 'shop', '01a1e845-9cc4-7159-964d-3567d16137f1', 'default', '{}', '{"retries": 0, "duration_ms": 0, "table_version": 1}', '2026-11-17 06:50:38.672564+00', 'ingestion.v1', NULL, NULL, '{}', NULL);


--
-- Data for Name: pipeline_runs; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-877a-74a2-a1e8-9e5c35663836', 'default', 'apply:etl_control', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:33.21001+00', '2026-11-17 06:50:33.269272+00', 59, NULL, 'host:1938', NULL, '{"digest": "e90fc7634240f3d482e4362b6373c05482494e470e2a46de1602bd354d2500fc", "backend": "local", "version": 10, "control_table": "/frozen/control/etl_control", "control_table_id": "bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9"}', 'maintenance', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'end', NULL, NULL, NULL, NULL, true, '2026-11-17 06:50:33.21001+00', 4, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-83e1-7079-8e9b-4155530e9860', 'default', 'apply:etl_control', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:32.28829+00', '2026-11-17 06:50:32.357414+00', 69, NULL, 'host:1938', NULL, '{"digest": "1c107822795b691cbca48264c51e466256ccaf59db197f8c67dd92840e33be06", "backend": "local", "version": 5, "control_table": "/frozen/control/etl_control", "control_table_id": "bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9"}', 'maintenance', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'end', NULL, NULL, NULL, NULL, true, '2026-11-17 06:50:32.28829+00', 1, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-84b4-7364-bc22-0da3660a2ddc', 'default', 'apply:etl_control', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:32.499446+00', '2026-11-17 06:50:32.571069+00', 72, NULL, 'host:1938', NULL, '{"digest": "9326e396991462eb819ae1ea182022fb64324bc2d60a3f5b1d660acc0fa0fabb", "backend": "local", "version": 6, "control_table": "/frozen/control/etl_control", "control_table_id": "bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9"}', 'maintenance', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'end', NULL, NULL, NULL, NULL, true, '2026-11-17 06:50:32.499446+00', 2, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-86ab-774f-a316-d7237c6eb482', 'default', 'apply:etl_control', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:33.002352+00', '2026-11-17 06:50:33.058635+00', 56, NULL, 'host:1938', NULL, '{"digest": "ee9e11d64c67dab91f913533f73d6ec3fb1cc77df3e059bb84bdeb9b688182f0", "backend": "local", "version": 9, "control_table": "/frozen/control/etl_control", "control_table_id": "bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9"}', 'maintenance', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'end', NULL, NULL, NULL, NULL, true, '2026-11-17 06:50:33.002352+00', 3, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-8842-7310-9b0d-d96af4e74837', 'default', 'apply:etl_control', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:33.410066+00', '2026-11-17 06:50:33.478902+00', 69, NULL, 'host:1938', NULL, '{"digest": "6a173c9215b2c2c88f08feb0961aed13a835c59198f4ba939d1f24dc151a17ce", "backend": "local", "version": 11, "control_table": "/frozen/control/etl_control", "control_table_id": "bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9"}', 'maintenance', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'end', NULL, NULL, NULL, NULL, true, '2026-11-17 06:50:33.410066+00', 5, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-8a4a-704a-92ed-d76a9f7066af', 'default', 'apply:etl_control', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:33.929819+00', '2026-11-17 06:50:34.029104+00', 99, NULL, 'host:1938', NULL, '{"digest": "59a165eb491e826cbfbeda3f9031415837b15ab09cdf42e6d33d029a43eb75db", "backend": "local", "version": 15, "control_table": "/frozen/control/etl_control", "control_table_id": "bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9"}', 'maintenance', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'end', NULL, NULL, NULL, NULL, true, '2026-11-17 06:50:33.929819+00', 6, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-9124-7261-ba3c-b0aa0d317af6', 'default', 'module2', 'COMPLETED', 'manual', 'host:1938', '2026-11-17 06:50:35.683831+00', '2026-11-17 06:50:35.737771+00', 54, '5a04f0db4670ec17d530cb14b17e1a90627a8772274b0db8b41c87353d94d216', 'host:2370', NULL, '{}', 'pipeline', NULL, NULL, '5a04f0db4670ec17d530cb14b17e1a90627a8772274b0db8b41c87353d94d216', NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'steps', NULL, NULL, NULL, '01a1e845-8ad4-74c8-81c8-5b266a177631/1', true, '2026-11-17 06:50:35.683831+00', 1, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-92af-77e9-b02a-081efec8c3b5', 'default', 'apply:etl_control', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:36.078655+00', '2026-11-17 06:50:36.126749+00', 48, NULL, 'host:1938', NULL, '{"digest": "8aff65fce4ceb8f77b16f5efd663f7ec404b59c3fa10d08ebe358c0722a62086", "backend": "local", "version": 16, "control_table": "/frozen/control/etl_control", "control_table_id": "bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9"}', 'maintenance', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'end', NULL, NULL, NULL, NULL, true, '2026-11-17 06:50:36.078655+00', 7, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-96e8-7669-a0dc-3de746f0420e', 'default', 'apply:etl_control', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:37.160168+00', '2026-11-17 06:50:37.221749+00', 62, NULL, 'host:1938', NULL, '{"digest": "dcbc09b3403df1f2fd27c9ad6da09e8389d6e2bc2c480c17e2110dc6a1f4c124", "backend": "local", "version": 16, "control_table": "/frozen/control/etl_control", "control_table_id": "bcf86ce4-2b38-4c67-9d33-70e44bdf0cf9"}', 'maintenance', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'end', NULL, NULL, NULL, NULL, true, '2026-11-17 06:50:37.160168+00', 8, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-9c3c-7399-87cc-8b261978681a', 'default', 'silver.orders', 'COMPLETED', 'api', 'ann', '2026-11-17 06:50:38.524446+00', '2026-11-17 06:50:38.527763+00', 3, NULL, 'host:1938', NULL, '{}', 'pipeline', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 1, 'commit', NULL, NULL, NULL, NULL, false, '2026-11-17 06:50:38.524446+00', 1, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-9c19-73ed-9095-ea9fc8a1252c', 'default', 'load', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:38.489541+00', '2026-11-17 06:50:38.518249+00', 29, NULL, 'host:1938', NULL, '{}', 'pipeline', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 20, 20, 0, 0, 0, 200, 1, 'end', NULL, NULL, NULL, NULL, false, '2026-11-17 06:50:38.489541+00', 1, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-9c69-705e-b770-3a15cb864c1d', 'default', 'silver.orders', 'COMPLETED', 'api', 'ann', '2026-11-17 06:50:38.569437+00', '2026-11-17 06:50:38.57335+00', 4, NULL, 'host:1938', NULL, '{}', 'pipeline', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 1, 'commit', NULL, NULL, NULL, NULL, false, '2026-11-17 06:50:38.569437+00', 3, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-9c50-70ab-8c0c-ce1dde689a16', 'default', 'silver.orders', 'COMPLETED', 'api', 'ann', '2026-11-17 06:50:38.544722+00', '2026-11-17 06:50:38.54846+00', 4, NULL, 'host:1938', NULL, '{}', 'pipeline', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 1, 'commit', NULL, NULL, NULL, NULL, false, '2026-11-17 06:50:38.544722+00', 2, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-9c7e-7095-862c-596036f8097b', 'default', 'silver.orders', 'COMPLETED', 'api', 'ann', '2026-11-17 06:50:38.590016+00', '2026-11-17 06:50:38.596483+00', 6, NULL, 'host:1938', NULL, '{}', 'pipeline', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 1, 'commit', NULL, NULL, NULL, NULL, false, '2026-11-17 06:50:38.590016+00', 4, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-9c9c-73ad-9d46-fe2ca617627a', 'default', 'load', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:38.616373+00', '2026-11-17 06:50:38.650477+00', 34, NULL, 'host:1938', NULL, '{}', 'pipeline', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 10, 10, 0, 0, 0, 100, 1, 'end', NULL, NULL, NULL, NULL, false, '2026-11-17 06:50:38.616373+00', 2, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-9cc4-7159-964d-3567d16137f1', 'default', 'shop', 'COMPLETED', 'manual', 'ann', '2026-11-17 06:50:38.6602+00', '2026-11-17 06:50:38.698111+00', 38, NULL, 'host:1938', NULL, '{}', 'pipeline', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 10, 10, 0, 0, 0, 100, 1, 'end', NULL, NULL, NULL, NULL, false, '2026-11-17 06:50:38.6602+00', 1, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-9cf3-73ed-b619-e69fb93c3662', 'default', 'broken', 'FAILED', 'manual', 'ann', '2026-11-17 06:50:38.707294+00', '2026-11-17 06:50:38.722892+00', 16, NULL, 'host:1938', 'ValueError: no such day', '{"day": "mon"}', 'pipeline', NULL, NULL, NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'end', '{"type": "ValueError", "traceback": "/project/tests/frozen/make.py:103 in fill_runs\nValueError: no such day"}', NULL, NULL, 'once', false, '2026-11-17 06:50:38.707294+00', 1, NULL, NULL);
INSERT INTO frozen.pipeline_runs VALUES ('01a1e845-9d1e-7484-b9a6-6d5159420675', 'default', 'sync:crm', 'COMPLETED', 'api', 'host:1938', '2026-11-17 06:50:38.749721+00', '2026-11-17 06:50:38.762466+00', 13, NULL, 'host:1938', NULL, '{}', 'sync', 'crm', 'stream', NULL, NULL, NULL, '0000240fab1b0fe2', 'host', 0, 0, 0, 0, 0, 0, 0, 'end', NULL, NULL, NULL, NULL, false, '2026-11-17 06:50:38.749721+00', 1, NULL, NULL);


--
-- Data for Name: schema_migrations; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.schema_migrations VALUES (1, 'ledger', 'fc2eafeaee42490165de4e34be47e4830996e930465514ba229751580f09d6b0', '2026-11-17 06:50:31.919745+00');
INSERT INTO frozen.schema_migrations VALUES (2, 'change_log', '6baaf48264fb22f46f89d1f6a1ed9ed80020d8240b6338ee9e168bc8ce0b3641', '2026-11-17 06:50:31.919745+00');
INSERT INTO frozen.schema_migrations VALUES (3, 'capture', '067b40e77d2e5b6306d940d2a70cf0480fd6605018dfb963e62339194ae07fd8', '2026-11-17 06:50:31.919745+00');
INSERT INTO frozen.schema_migrations VALUES (4, 'sync_runs', '20e024c12052c683c94bf46819bc7fe28fbfc65587817a4889cbda3e785715d2', '2026-11-17 06:50:31.919745+00');
INSERT INTO frozen.schema_migrations VALUES (5, 'jobs', 'b6dfd6799fd15e2f1242306aff386198278681b2509e3c84dc6dd4d26581d640', '2026-11-17 06:50:31.919745+00');
INSERT INTO frozen.schema_migrations VALUES (6, 'control', '7bcce7b13bc4388ed4aa69937608c3a9765ed735dcf2b1c51977ff244eb4b2f4', '2026-11-17 06:50:31.919745+00');
INSERT INTO frozen.schema_migrations VALUES (7, 'columns', 'd4bf7e05e24637d9e2291970f89fa82abc5a4d22b8bec8b761f6308c033bbb48', '2026-11-17 06:50:31.919745+00');


--
-- Data for Name: schema_registry; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.schema_registry VALUES ('01a1e845-9d16-7158-a656-aee04b62afcc', 'default', 'crm', 'people', 'crm/people', 1, '{"columns": [{"name": "id", "type": "string"}], "indexes": [], "constraints": [], "primary_keys": ["id"]}', '4b6490767cae410542b9c38cfd7c3f3fc32a1565925ac92db8a3be89f7eae96c', 'a5f67430626e7c7145afff3f94ccb3ade498b74fad51f67359985e26b04a5f11', 'create', NULL, 'compatible', '[]', 'none', '2026-11-17 06:50:38.741051+00', 'host:1938', NULL);
INSERT INTO frozen.schema_registry VALUES ('01a1e845-9d1b-766d-bd80-89933095d8bb', 'default', 'crm', 'people', 'crm/people', 2, '{"columns": [{"name": "id", "type": "string"}, {"name": "name", "type": "string"}], "indexes": [], "constraints": [], "primary_keys": ["id"]}', '171d00a5fd917b7e22111bea1651b7f95b801bae219d4941e4f08bc1f3cdee3f', 'd355b003bf9eba3549a91610914297c1036c0e0ed09e7f978902e982189d98e1', 'add_column', 1, 'compatible', '[{"fix": null, "kind": "add_column", "after": {"name": "name", "type": "string", "nullable": true}, "words": "name string was added (may be NULL)", "before": null, "reason": "old rows have NULL or the default in it", "status": "compatible", "forward": "ok", "subject": "name", "backward": "ok", "relation": null}]', 'none', '2026-11-17 06:50:38.746057+00', 'host:1938', NULL);


--
-- Data for Name: source_files; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.source_files VALUES ('01a1e845-9ce6-759d-a629-d85b83690ae3', 'default', '01a1e845-9cde-7187-9dc8-316582eb3768', 'in/1.csv', 10, '2026-01-02 03:04:05.000006+00', 'sha256:1', '2026-11-17 06:50:38.672564+00', '01a1e845-9cc4-7159-964d-3567d16137f1');


--
-- Data for Name: state_transitions; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.state_transitions VALUES ('01a1e845-83e9-7585-aa25-4173732f7fee', 'default', 'run', '01a1e845-83e1-7079-8e9b-4155530e9860', NULL, 'PENDING', '2026-11-17 06:50:32.28829+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-83ee-73c1-bdff-d09f6f97e8fd', 'default', 'run', '01a1e845-83e1-7079-8e9b-4155530e9860', 'PENDING', 'RUNNING', '2026-11-17 06:50:32.28829+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8409-73cd-b967-7eece0ca9224', 'default', 'step', '01a1e845-8406-75c1-abcf-6d8a7bf33cbd', NULL, 'PENDING', '2026-11-17 06:50:32.326416+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-840a-7147-9a67-adf16e547cff', 'default', 'step', '01a1e845-8406-75c1-abcf-6d8a7bf33cbd', 'PENDING', 'RUNNING', '2026-11-17 06:50:32.326416+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8414-777a-b192-ee1c3037bda7', 'default', 'step', '01a1e845-8406-75c1-abcf-6d8a7bf33cbd', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:32.338841+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-842e-70f9-a599-ebff6f8d3d8c', 'default', 'run', '01a1e845-83e1-7079-8e9b-4155530e9860', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:32.357414+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-84b8-7376-9940-4fa10a8636da', 'default', 'run', '01a1e845-84b4-7364-bc22-0da3660a2ddc', NULL, 'PENDING', '2026-11-17 06:50:32.499446+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-84bd-746d-9603-124cd6d9c5fc', 'default', 'run', '01a1e845-84b4-7364-bc22-0da3660a2ddc', 'PENDING', 'RUNNING', '2026-11-17 06:50:32.499446+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-84d6-7177-8d6f-03a8bb786d41', 'default', 'step', '01a1e845-84d3-76a7-8411-d297e1427351', NULL, 'PENDING', '2026-11-17 06:50:32.531821+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-84d7-7248-aaed-7b7c22224c90', 'default', 'step', '01a1e845-84d3-76a7-8411-d297e1427351', 'PENDING', 'RUNNING', '2026-11-17 06:50:32.531821+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-84e0-72ea-950b-02c0a78f8a58', 'default', 'step', '01a1e845-84d3-76a7-8411-d297e1427351', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:32.543007+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-84e2-70f2-8ecf-98bf4c5d7ea3', 'default', 'step', '01a1e845-84e0-72ea-950b-02c1b0ff4d60', NULL, 'PENDING', '2026-11-17 06:50:32.545005+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-84e3-70a4-a59c-7eace36db50a', 'default', 'step', '01a1e845-84e0-72ea-950b-02c1b0ff4d60', 'PENDING', 'RUNNING', '2026-11-17 06:50:32.545005+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-84eb-7343-a00a-156f5588641e', 'default', 'step', '01a1e845-84e0-72ea-950b-02c1b0ff4d60', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:32.554173+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8500-71a3-8e99-4968106371d3', 'default', 'run', '01a1e845-84b4-7364-bc22-0da3660a2ddc', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:32.571069+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-86ac-7308-a66b-88969d403ee5', 'default', 'run', '01a1e845-86ab-774f-a316-d7237c6eb482', NULL, 'PENDING', '2026-11-17 06:50:33.002352+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-86af-771b-9973-549aa64e6141', 'default', 'run', '01a1e845-86ab-774f-a316-d7237c6eb482', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.002352+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-86c7-760c-954a-d42a62265389', 'default', 'step', '01a1e845-86c5-72e5-aacf-f9de47a37b51', NULL, 'PENDING', '2026-11-17 06:50:33.029377+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-86c8-77f8-812c-bfb23ba1516e', 'default', 'step', '01a1e845-86c5-72e5-aacf-f9de47a37b51', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.029377+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-86d0-750f-9a2e-49f038e73ea2', 'default', 'step', '01a1e845-86c5-72e5-aacf-f9de47a37b51', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:33.039736+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-86e8-77dc-b194-62a8c70c2494', 'default', 'run', '01a1e845-86ab-774f-a316-d7237c6eb482', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:33.058635+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-877f-74f0-ae9e-5fe7e5444195', 'default', 'run', '01a1e845-877a-74a2-a1e8-9e5c35663836', NULL, 'PENDING', '2026-11-17 06:50:33.21001+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8783-7050-bc8c-b3f32503b43e', 'default', 'run', '01a1e845-877a-74a2-a1e8-9e5c35663836', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.21001+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-879a-70ac-a5bb-397e716a1f79', 'default', 'step', '01a1e845-8797-76f6-85f9-9cdfb88bb702', NULL, 'PENDING', '2026-11-17 06:50:33.239709+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-879b-73f9-bf54-6ec02088adcd', 'default', 'step', '01a1e845-8797-76f6-85f9-9cdfb88bb702', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.239709+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-87a3-75e1-81aa-82197a549315', 'default', 'step', '01a1e845-8797-76f6-85f9-9cdfb88bb702', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:33.25029+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-87bc-7073-ac17-19bc34f564ff', 'default', 'run', '01a1e845-877a-74a2-a1e8-9e5c35663836', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:33.269272+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8843-700e-a328-5aec22004fe6', 'default', 'run', '01a1e845-8842-7310-9b0d-d96af4e74837', NULL, 'PENDING', '2026-11-17 06:50:33.410066+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8846-771b-9749-4dd7f82a8885', 'default', 'run', '01a1e845-8842-7310-9b0d-d96af4e74837', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.410066+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-885f-7038-b354-b0b2985ea34f', 'default', 'step', '01a1e845-885c-730d-8aba-b8fb2c5d2f6e', NULL, 'PENDING', '2026-11-17 06:50:33.436695+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8860-70c6-b67b-6f4a41a6e65d', 'default', 'step', '01a1e845-885c-730d-8aba-b8fb2c5d2f6e', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.436695+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8868-70a8-a979-bd321de64fbc', 'default', 'step', '01a1e845-885c-730d-8aba-b8fb2c5d2f6e', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:33.447371+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-886b-7442-8abd-dd8f7c8eb201', 'default', 'step', '01a1e845-8869-742b-b2a2-8b12e9b7b6b8', NULL, 'PENDING', '2026-11-17 06:50:33.449468+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-886c-7776-8f84-920825344578', 'default', 'step', '01a1e845-8869-742b-b2a2-8b12e9b7b6b8', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.449468+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8874-720a-9fc8-da13e45eef6f', 'default', 'step', '01a1e845-8869-742b-b2a2-8b12e9b7b6b8', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:33.459739+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-888c-7018-b8be-abb638d5688d', 'default', 'run', '01a1e845-8842-7310-9b0d-d96af4e74837', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:33.478902+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a51-703a-8543-bbd361a8d097', 'default', 'run', '01a1e845-8a4a-704a-92ed-d76a9f7066af', NULL, 'PENDING', '2026-11-17 06:50:33.929819+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a56-7481-b934-ff016c0f4356', 'default', 'run', '01a1e845-8a4a-704a-92ed-d76a9f7066af', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.929819+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a72-7100-86e2-1683fd3626d7', 'default', 'step', '01a1e845-8a6f-73a1-81f6-096f865060e6', NULL, 'PENDING', '2026-11-17 06:50:33.967705+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a73-7192-9015-e343e1213113', 'default', 'step', '01a1e845-8a6f-73a1-81f6-096f865060e6', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.967705+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a7b-7074-b278-f1a181116d8b', 'default', 'step', '01a1e845-8a6f-73a1-81f6-096f865060e6', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:33.978193+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a7d-75ae-93d5-01ad5abd2a64', 'default', 'step', '01a1e845-8a7b-7074-b278-f1a2f45b60ff', NULL, 'PENDING', '2026-11-17 06:50:33.980154+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a7e-7068-8452-d73d81979bf1', 'default', 'step', '01a1e845-8a7b-7074-b278-f1a2f45b60ff', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.980154+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a86-7171-97bf-27bfa3eaf89b', 'default', 'step', '01a1e845-8a7b-7074-b278-f1a2f45b60ff', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:33.989349+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a88-7686-8813-0272e102884c', 'default', 'step', '01a1e845-8a87-7494-ac98-08d0a97cd167', NULL, 'PENDING', '2026-11-17 06:50:33.991324+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a89-7490-a2db-15796e5f993a', 'default', 'step', '01a1e845-8a87-7494-ac98-08d0a97cd167', 'PENDING', 'RUNNING', '2026-11-17 06:50:33.991324+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a90-76c3-930a-eafc29fa766c', 'default', 'step', '01a1e845-8a87-7494-ac98-08d0a97cd167', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:33.999422+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a92-7530-b3ad-dd7e5908cf73', 'default', 'step', '01a1e845-8a91-75f5-8b4a-06ff64602cca', NULL, 'PENDING', '2026-11-17 06:50:34.001331+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a93-71ec-b5a3-381a958228d0', 'default', 'step', '01a1e845-8a91-75f5-8b4a-06ff64602cca', 'PENDING', 'RUNNING', '2026-11-17 06:50:34.001331+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8a9a-7511-9d6f-b562eecd6a4b', 'default', 'step', '01a1e845-8a91-75f5-8b4a-06ff64602cca', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:34.009087+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-8ab2-7288-9542-1629071ead42', 'default', 'run', '01a1e845-8a4a-704a-92ed-d76a9f7066af', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:34.029104+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9129-7776-b18f-9a94be0192d5', 'default', 'run', '01a1e845-9124-7261-ba3c-b0aa0d317af6', NULL, 'PENDING', '2026-11-17 06:50:35.683831+00', NULL, 'host:2370');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-912d-7760-b8d2-64e90db39e5a', 'default', 'run', '01a1e845-9124-7261-ba3c-b0aa0d317af6', 'PENDING', 'RUNNING', '2026-11-17 06:50:35.683831+00', NULL, 'host:2370');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9134-7710-92d4-774ccc5cadd1', 'default', 'step', '01a1e845-9130-734c-ae93-64a9bbd6ceb1', NULL, 'PENDING', '2026-11-17 06:50:35.696928+00', NULL, 'host:2370');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-913e-7157-80da-1992f35bc4de', 'default', 'step', '01a1e845-9130-734c-ae93-64a9bbd6ceb1', 'PENDING', 'RUNNING', '2026-11-17 06:50:35.70984+00', NULL, 'host:2370');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9157-73a5-9d35-b46dc390dcdf', 'default', 'step', '01a1e845-9130-734c-ae93-64a9bbd6ceb1', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:35.734408+00', NULL, 'host:2370');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-915d-728f-9793-52189c5c8fad', 'default', 'run', '01a1e845-9124-7261-ba3c-b0aa0d317af6', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:35.737771+00', NULL, 'host:2370');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-92b0-736a-afaa-837982f24edd', 'default', 'run', '01a1e845-92af-77e9-b02a-081efec8c3b5', NULL, 'PENDING', '2026-11-17 06:50:36.078655+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-92b3-77fb-aed9-f4656068c305', 'default', 'run', '01a1e845-92af-77e9-b02a-081efec8c3b5', 'PENDING', 'RUNNING', '2026-11-17 06:50:36.078655+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-92c9-7584-b955-9ab2d70edace', 'default', 'step', '01a1e845-92c8-758d-9511-f43aa31633ab', NULL, 'PENDING', '2026-11-17 06:50:36.104224+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-92c9-7584-b955-9ab3b0524087', 'default', 'step', '01a1e845-92c8-758d-9511-f43aa31633ab', 'PENDING', 'RUNNING', '2026-11-17 06:50:36.104224+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-92ce-70d2-8729-a99b89f798e9', 'default', 'step', '01a1e845-92c8-758d-9511-f43aa31633ab', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:36.109938+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-92e2-7409-aaf7-58e547a7b1ac', 'default', 'run', '01a1e845-92af-77e9-b02a-081efec8c3b5', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:36.126749+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-96e9-759b-94d7-eef381433e19', 'default', 'run', '01a1e845-96e8-7669-a0dc-3de746f0420e', NULL, 'PENDING', '2026-11-17 06:50:37.160168+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-96eb-709a-ac51-2b7ef92fdf7a', 'default', 'run', '01a1e845-96e8-7669-a0dc-3de746f0420e', 'PENDING', 'RUNNING', '2026-11-17 06:50:37.160168+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9708-728d-a710-83c8544815c8', 'default', 'step', '01a1e845-9707-718c-9e8c-647a9e7952d8', NULL, 'PENDING', '2026-11-17 06:50:37.191547+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9709-7542-b870-9c02bcdce7c8', 'default', 'step', '01a1e845-9707-718c-9e8c-647a9e7952d8', 'PENDING', 'RUNNING', '2026-11-17 06:50:37.191547+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-970d-71ce-a906-1e81924f89ff', 'default', 'step', '01a1e845-9707-718c-9e8c-647a9e7952d8', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:37.196959+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9729-7273-a0c1-23d3ea31fd4b', 'default', 'run', '01a1e845-96e8-7669-a0dc-3de746f0420e', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:37.221749+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c1d-7005-b7f6-fca8d5785487', 'default', 'run', '01a1e845-9c19-73ed-9095-ea9fc8a1252c', NULL, 'PENDING', '2026-11-17 06:50:38.489541+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c20-7595-8645-bb3d6ab174dc', 'default', 'run', '01a1e845-9c19-73ed-9095-ea9fc8a1252c', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.489541+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c39-7359-b00d-9e6b33774682', 'default', 'run', '01a1e845-9c19-73ed-9095-ea9fc8a1252c', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:38.518249+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c3d-7389-9920-c246b28c878f', 'default', 'run', '01a1e845-9c3c-7399-87cc-8b261978681a', NULL, 'PENDING', '2026-11-17 06:50:38.524446+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c3f-74c5-9a91-028cf10e6a27', 'default', 'run', '01a1e845-9c3c-7399-87cc-8b261978681a', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.524446+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c4d-7637-98b5-e7da1f3e21e3', 'default', 'run', '01a1e845-9c3c-7399-87cc-8b261978681a', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:38.527763+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c51-7514-9a00-83d2f7bcf670', 'default', 'run', '01a1e845-9c50-70ab-8c0c-ce1dde689a16', NULL, 'PENDING', '2026-11-17 06:50:38.544722+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c53-7420-96b3-12a6441bf56b', 'default', 'run', '01a1e845-9c50-70ab-8c0c-ce1dde689a16', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.544722+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c61-7428-95e4-c836cdd49c97', 'default', 'run', '01a1e845-9c50-70ab-8c0c-ce1dde689a16', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:38.54846+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c6a-7106-80d7-eff857058bf5', 'default', 'run', '01a1e845-9c69-705e-b770-3a15cb864c1d', NULL, 'PENDING', '2026-11-17 06:50:38.569437+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c6c-74a9-bf95-d78811adb454', 'default', 'run', '01a1e845-9c69-705e-b770-3a15cb864c1d', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.569437+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c7a-750e-a2ec-6e8e7c5b7e0a', 'default', 'run', '01a1e845-9c69-705e-b770-3a15cb864c1d', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:38.57335+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c7f-7771-a647-d76cfd6eb976', 'default', 'run', '01a1e845-9c7e-7095-862c-596036f8097b', NULL, 'PENDING', '2026-11-17 06:50:38.590016+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c81-72fb-b721-b7ba6eaae941', 'default', 'run', '01a1e845-9c7e-7095-862c-596036f8097b', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.590016+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c92-74dd-8418-743609419f94', 'default', 'run', '01a1e845-9c7e-7095-862c-596036f8097b', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:38.596483+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9c9d-731f-b35c-aa200ac0535b', 'default', 'run', '01a1e845-9c9c-73ad-9d46-fe2ca617627a', NULL, 'PENDING', '2026-11-17 06:50:38.616373+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9ca0-73be-8280-06bbff10a42d', 'default', 'run', '01a1e845-9c9c-73ad-9d46-fe2ca617627a', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.616373+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9cbf-73a2-95de-655168f873cc', 'default', 'run', '01a1e845-9c9c-73ad-9d46-fe2ca617627a', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:38.650477+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9cc5-721f-a0c1-fd66d5133dea', 'default', 'run', '01a1e845-9cc4-7159-964d-3567d16137f1', NULL, 'PENDING', '2026-11-17 06:50:38.6602+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9cc8-72dd-810d-8c0a358fbb47', 'default', 'run', '01a1e845-9cc4-7159-964d-3567d16137f1', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.6602+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9cce-72a4-a387-57d1fcee1c31', 'default', 'step', '01a1e845-9ccc-71dd-b506-2df0e651c250', NULL, 'PENDING', '2026-11-17 06:50:38.668529+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9ccf-7132-9cbc-284f3fd9e023', 'default', 'step', '01a1e845-9ccc-71dd-b506-2df0e651c250', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.668529+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9ce9-71f4-9199-408c55f156e8', 'default', 'step', '01a1e845-9ccc-71dd-b506-2df0e651c250', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:38.69632+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9cee-7097-bc14-0162d5a016f9', 'default', 'run', '01a1e845-9cc4-7159-964d-3567d16137f1', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:38.698111+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9cf4-75e7-b81d-36ed973a1163', 'default', 'run', '01a1e845-9cf3-73ed-b619-e69fb93c3662', NULL, 'PENDING', '2026-11-17 06:50:38.707294+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9cf7-71ec-9fb5-9d5479615ece', 'default', 'run', '01a1e845-9cf3-73ed-b619-e69fb93c3662', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.707294+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9cfc-70d6-a0eb-32b88fa9fb4f', 'default', 'step', '01a1e845-9cf9-744c-8b63-805478a7dd02', NULL, 'PENDING', '2026-11-17 06:50:38.714067+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9cfd-77cf-aa1f-38bfb72aabc7', 'default', 'step', '01a1e845-9cf9-744c-8b63-805478a7dd02', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.714067+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9d01-76b9-976f-e7dc898f8627', 'default', 'step', '01a1e845-9cf9-744c-8b63-805478a7dd02', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:38.720647+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9d0b-71a4-a971-a12c65f0a4e2', 'default', 'run', '01a1e845-9cf3-73ed-b619-e69fb93c3662', 'RUNNING', 'FAILED', '2026-11-17 06:50:38.722892+00', 'ValueError: no such day', 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9d1f-7123-b0ed-3fdb55aa9840', 'default', 'run', '01a1e845-9d1e-7484-b9a6-6d5159420675', NULL, 'PENDING', '2026-11-17 06:50:38.749721+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9d22-74c4-966e-03e133da3cda', 'default', 'run', '01a1e845-9d1e-7484-b9a6-6d5159420675', 'PENDING', 'RUNNING', '2026-11-17 06:50:38.749721+00', NULL, 'host:1938');
INSERT INTO frozen.state_transitions VALUES ('01a1e845-9d2d-702d-b9ef-84043d4d62f6', 'default', 'run', '01a1e845-9d1e-7484-b9a6-6d5159420675', 'RUNNING', 'COMPLETED', '2026-11-17 06:50:38.762466+00', NULL, 'host:1938');


--
-- Data for Name: step_logs; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.step_logs VALUES ('01a1e845-8406-75c1-abcf-6d8a7bf33cbd', 'default', '01a1e845-83e1-7079-8e9b-4155530e9860', 'my_module', 'job', 0, 'COMPLETED', '2026-11-17 06:50:32.326416+00', '2026-11-17 06:50:32.338841+00', 12, NULL, NULL, NULL, '{"action": "create", "job_id": "01a1e845-840d-73f7-8b6b-6c34d1a2382f", "changes": []}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-84d3-76a7-8411-d297e1427351', 'default', '01a1e845-84b4-7364-bc22-0da3660a2ddc', 'module1', 'job', 0, 'COMPLETED', '2026-11-17 06:50:32.531821+00', '2026-11-17 06:50:32.543007+00', 11, NULL, NULL, NULL, '{"action": "create", "job_id": "01a1e845-84da-7317-a052-6ef78ee28bf8", "changes": []}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-8a91-75f5-8b4a-06ff64602cca', 'default', '01a1e845-8a4a-704a-92ed-d76a9f7066af', 'module3', 'job', 3, 'COMPLETED', '2026-11-17 06:50:34.001331+00', '2026-11-17 06:50:34.009087+00', 8, NULL, NULL, NULL, '{"action": "create", "job_id": "01a1e845-8a95-73f6-a59b-5bf5c215942e", "changes": []}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-84e0-72ea-950b-02c1b0ff4d60', 'default', '01a1e845-84b4-7364-bc22-0da3660a2ddc', 'module2', 'job', 1, 'COMPLETED', '2026-11-17 06:50:32.545005+00', '2026-11-17 06:50:32.554173+00', 9, NULL, NULL, NULL, '{"action": "create", "job_id": "01a1e845-84e6-74cc-954b-3aca4075c797", "changes": []}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-86c5-72e5-aacf-f9de47a37b51', 'default', '01a1e845-86ab-774f-a316-d7237c6eb482', 'module1', 'job', 0, 'COMPLETED', '2026-11-17 06:50:33.029377+00', '2026-11-17 06:50:33.039736+00', 10, NULL, NULL, NULL, '{"action": "update", "job_id": "01a1e845-84da-7317-a052-6ef78ee28bf8", "changes": ["what its sources do has changed", "tasks.totals is removed"]}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-8797-76f6-85f9-9cdfb88bb702', 'default', '01a1e845-877a-74a2-a1e8-9e5c35663836', 'crm', 'job', 0, 'COMPLETED', '2026-11-17 06:50:33.239709+00', '2026-11-17 06:50:33.25029+00', 11, NULL, NULL, NULL, '{"action": "create", "job_id": "01a1e845-879e-7117-af68-240b8685805a", "changes": []}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-9130-734c-ae93-64a9bbd6ceb1', 'default', '01a1e845-9124-7261-ba3c-b0aa0d317af6', 'greet', 'python', 0, 'COMPLETED', '2026-11-17 06:50:35.70984+00', '2026-11-17 06:50:35.734408+00', 25, NULL, NULL, NULL, '{"module": "module2", "execution_order": 4}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-885c-730d-8aba-b8fb2c5d2f6e', 'default', '01a1e845-8842-7310-9b0d-d96af4e74837', 'billing', 'job', 0, 'COMPLETED', '2026-11-17 06:50:33.436695+00', '2026-11-17 06:50:33.447371+00', 11, NULL, NULL, NULL, '{"action": "create", "job_id": "01a1e845-8863-74e0-9a6a-f7daab9308a1", "changes": []}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-8869-742b-b2a2-8b12e9b7b6b8', 'default', '01a1e845-8842-7310-9b0d-d96af4e74837', 'crm', 'job', 1, 'COMPLETED', '2026-11-17 06:50:33.449468+00', '2026-11-17 06:50:33.459739+00', 10, NULL, NULL, NULL, '{"action": "update", "job_id": "01a1e845-879e-7117-af68-240b8685805a", "changes": ["what its sources do has changed"]}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-8a6f-73a1-81f6-096f865060e6', 'default', '01a1e845-8a4a-704a-92ed-d76a9f7066af', 'billing', 'job', 0, 'COMPLETED', '2026-11-17 06:50:33.967705+00', '2026-11-17 06:50:33.978193+00', 10, NULL, NULL, NULL, '{"action": "pause", "job_id": "01a1e845-8863-74e0-9a6a-f7daab9308a1", "changes": []}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-92c8-758d-9511-f43aa31633ab', 'default', '01a1e845-92af-77e9-b02a-081efec8c3b5', 'module2', 'job', 0, 'COMPLETED', '2026-11-17 06:50:36.104224+00', '2026-11-17 06:50:36.109938+00', 6, NULL, NULL, NULL, '{"action": "update", "job_id": "01a1e845-84e6-74cc-954b-3aca4075c797", "changes": ["what its sources do has changed", "tasks.greet is removed", "tasks.welcome is added"]}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-8a7b-7074-b278-f1a2f45b60ff', 'default', '01a1e845-8a4a-704a-92ed-d76a9f7066af', 'crm', 'job', 1, 'COMPLETED', '2026-11-17 06:50:33.980154+00', '2026-11-17 06:50:33.989349+00', 9, NULL, NULL, NULL, '{"action": "pause", "job_id": "01a1e845-879e-7117-af68-240b8685805a", "changes": []}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-8a87-7494-ac98-08d0a97cd167', 'default', '01a1e845-8a4a-704a-92ed-d76a9f7066af', 'module2', 'job', 2, 'COMPLETED', '2026-11-17 06:50:33.991324+00', '2026-11-17 06:50:33.999422+00', 8, NULL, NULL, NULL, '{"action": "update", "job_id": "01a1e845-84e6-74cc-954b-3aca4075c797", "changes": ["what its sources do has changed"]}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-9707-718c-9e8c-647a9e7952d8', 'default', '01a1e845-96e8-7669-a0dc-3de746f0420e', 'module2', 'job', 0, 'COMPLETED', '2026-11-17 06:50:37.191547+00', '2026-11-17 06:50:37.196959+00', 5, NULL, NULL, NULL, '{"action": "recreate", "job_id": "01a1e845-970a-74e6-a2b8-f7f75bb31f43", "changes": []}', 1, NULL, 'end', NULL);
INSERT INTO frozen.step_logs VALUES ('01a1e845-9ccc-71dd-b506-2df0e651c250', 'default', '01a1e845-9cc4-7159-964d-3567d16137f1', 'orders', 'task', 0, 'COMPLETED', '2026-11-17 06:50:38.668529+00', '2026-11-17 06:50:38.69632+00', 28, 10, 100, NULL, '{}', 1, 'bronze.orders', 'end', '2026-11-17 06:50:38.672564+00');
INSERT INTO frozen.step_logs VALUES ('01a1e845-9cf9-744c-8b63-805478a7dd02', 'default', '01a1e845-9cf3-73ed-b619-e69fb93c3662', 'load', 'task', 0, 'COMPLETED', '2026-11-17 06:50:38.714067+00', '2026-11-17 06:50:38.720647+00', 7, NULL, NULL, NULL, '{}', 1, NULL, 'end', NULL);


--
-- Data for Name: step_output; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.step_output VALUES ('01a1e845-9cf9-744c-8b63-805478a7dd02', 'default', 'printed', 0, 'a trace', '2026-11-17 06:50:38.718351+00');


--
-- Data for Name: subscriber_cursor; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.subscriber_cursor VALUES ('default', 'dashboard', 7, '2026-11-17 06:50:38.771374+00');


--
-- Data for Name: sync_marker_history; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.sync_marker_history VALUES ('01a1e845-9cdf-7282-9054-7d88c3ff3656', 'default', '01a1e845-9cde-7187-9dc8-316582eb3768', 1, 'number', '{"value": 7}', '09223372036854775815', '2026-11-17 06:50:38.672564+00', 'host:1938', '01a1e845-9cc4-7159-964d-3567d16137f1', false, NULL, 10);
INSERT INTO frozen.sync_marker_history VALUES ('01a1e845-9d10-7186-b830-f80f098f723e', 'default', '01a1e845-9d0f-71d0-afc8-6d912d29ad76', 1, 'lsn', '{"lsn": "0/16B3748"}', '00000000000023803720', '2026-11-17 06:50:38.734392+00', 'host:1938', NULL, false, NULL, NULL);
INSERT INTO frozen.sync_marker_history VALUES ('01a1e845-9d12-73d3-b429-10602ff8244a', 'default', '01a1e845-9d0f-71d0-afc8-6d912d29ad76', 2, 'lsn', '{"lsn": "0/16B3800"}', '00000000000023803904', '2026-11-17 06:50:38.737422+00', 'host:1938', NULL, false, NULL, NULL);


--
-- Data for Name: sync_markers; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.sync_markers VALUES ('01a1e845-9cde-7187-9dc8-316582eb3768', 'default', 'shop', 'orders', 'shop/orders', 'batch', 'number', '{"value": 7}', '09223372036854775815', 1, '2026-11-17 06:50:38.672564+00', '01a1e845-9cc4-7159-964d-3567d16137f1');
INSERT INTO frozen.sync_markers VALUES ('01a1e845-9d0f-71d0-afc8-6d912d29ad76', 'default', 'crm', NULL, 'crm/', 'batch', 'lsn', '{"lsn": "0/16B3800"}', '00000000000023803904', 2, '2026-11-17 06:50:38.737422+00', NULL);


--
-- Data for Name: table_files; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.table_files VALUES ('01a1e845-9c27-765f-b9b4-5be38abb4284', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 'b', 'data/run/day=tue/b', 100, 'parquet', 'day=tue', 10, NULL, true, '{"id": {"max": 10, "min": 1, "nulls": 0}}', 'live', 1, NULL, '01a1e845-9c19-73ed-9095-ea9fc8a1252c', 'pending', '2026-11-17 06:50:38.498728+00', '2026-01-02 03:04:05.000006+00');
INSERT INTO frozen.table_files VALUES ('01a1e845-9c27-765f-b9b4-5be2df31edfe', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 'a', 'data/run/day=mon/a', 100, 'parquet', 'day=mon', 10, NULL, true, '{"id": {"max": 10, "min": 1, "nulls": 0}}', 'retired', 1, 6, '01a1e845-9c19-73ed-9095-ea9fc8a1252c', 'pending', '2026-11-17 06:50:38.498728+00', '2026-01-02 03:04:05.000006+00');
INSERT INTO frozen.table_files VALUES ('01a1e845-9caa-7332-a257-0295b209ce05', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 'c', 'data/run/day=mon/c', 100, 'parquet', 'day=mon', 10, NULL, true, '{"id": {"max": 10, "min": 1, "nulls": 0}}', 'live', 6, NULL, '01a1e845-9c9c-73ad-9d46-fe2ca617627a', 'pending', '2026-11-17 06:50:38.628729+00', '2026-01-02 03:04:05.000006+00');
INSERT INTO frozen.table_files VALUES ('01a1e845-9cd7-72db-bc5c-53a3bc5a2b88', 'default', '01a1e845-9cd3-72e2-8b0f-cb9ac285c057', 'd', 'data/run/d', 100, 'parquet', '', 10, NULL, true, '{"id": {"max": 10, "min": 1, "nulls": 0}}', 'live', 1, NULL, '01a1e845-9cc4-7159-964d-3567d16137f1', 'pending', '2026-11-17 06:50:38.672564+00', '2026-01-02 03:04:05.000006+00');


--
-- Data for Name: table_metadata; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.table_metadata VALUES ('01a1e845-9c26-7423-a9f2-535ad6fd28b1', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 1, '{"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "metadata": {}, "nullable": true, "physical_name": "id"}, {"id": 2, "name": "day", "type": "string", "metadata": {}, "nullable": true, "physical_name": "day"}]}', '7bc9c71a7253f0d5ab3e3fd78d72bbf91cb175c2efa9d7a93a619415904845a4', 'lakeledger', '{}', 'parquet', 'snappy', '["day"]', '[]', '{}', '2026-11-17 06:50:38.498728+00', '2026-11-17 06:50:38.498728+00', '2026-11-17 06:50:38.498728+00', '["id", "day"]');
INSERT INTO frozen.table_metadata VALUES ('01a1e845-9c43-72fb-b49f-dc183ad5e757', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 2, '{"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "metadata": {}, "nullable": true, "physical_name": "id"}, {"id": 2, "name": "weekday", "type": "string", "metadata": {}, "nullable": true, "physical_name": "day"}]}', '4ea7c0026442b921ff0f09591bb38b026f3a6a1b259f8d6ec6504cbf00998792', 'lakeledger', '{}', 'parquet', 'none', '["weekday"]', '[]', '{}', '2026-11-17 06:50:38.527763+00', '2026-11-17 06:50:38.527763+00', '2026-11-17 06:50:38.527763+00', '["id", "day"]');
INSERT INTO frozen.table_metadata VALUES ('01a1e845-9c56-76a2-92bf-eb6969d4ca48', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 3, '{"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "metadata": {}, "nullable": true, "physical_name": "id"}, {"id": 2, "name": "weekday", "type": "string", "metadata": {}, "nullable": true, "physical_name": "day"}, {"id": 3, "name": "note", "type": "string", "metadata": {}, "nullable": true, "physical_name": "note"}]}', 'e5c7e8bd24298143d3f20ffb5ee4557554e883dcfd21513acee5c8f536fb0a9a', 'lakeledger', '{}', 'parquet', 'none', '["weekday"]', '[]', '{}', '2026-11-17 06:50:38.54846+00', '2026-11-17 06:50:38.54846+00', '2026-11-17 06:50:38.54846+00', '["id", "day", "note"]');
INSERT INTO frozen.table_metadata VALUES ('01a1e845-9c6f-72af-9a52-c21708ebf8f5', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 4, '{"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "metadata": {}, "nullable": true, "physical_name": "id"}, {"id": 2, "name": "weekday", "type": "string", "metadata": {}, "nullable": true, "physical_name": "day"}]}', '4ea7c0026442b921ff0f09591bb38b026f3a6a1b259f8d6ec6504cbf00998792', 'lakeledger', '{}', 'parquet', 'none', '["weekday"]', '[]', '{}', '2026-11-17 06:50:38.57335+00', '2026-11-17 06:50:38.57335+00', '2026-11-17 06:50:38.57335+00', '["id", "day", "note"]');
INSERT INTO frozen.table_metadata VALUES ('01a1e845-9c87-7184-bea1-2a7cc3de7d19', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 5, '{"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "metadata": {}, "nullable": true, "physical_name": "id"}, {"id": 2, "name": "weekday", "type": "string", "metadata": {}, "nullable": true, "physical_name": "day"}, {"id": 4, "name": "note", "type": {"type": "array", "elementType": "string", "containsNull": true}, "metadata": {}, "nullable": true, "physical_name": "note_4"}]}', '5cd5298286c03ffe645ec5a242f4027648f4c79196b7d64eba0039fa6c5550a5', 'lakeledger', '{}', 'parquet', 'none', '["weekday"]', '[]', '{}', '2026-11-17 06:50:38.596483+00', '2026-11-17 06:50:38.596483+00', '2026-11-17 06:50:38.596483+00', '["id", "day", "note", "note_4"]');
INSERT INTO frozen.table_metadata VALUES ('01a1e845-9cd4-710c-8f42-70ca4c257b52', 'default', '01a1e845-9cd3-72e2-8b0f-cb9ac285c057', 1, '{"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "metadata": {}, "nullable": true, "physical_name": "id"}]}', 'b583be5d383e30d8e8e5850cca313a33a18c759ddbb2a1f7d81ca931d6cb1451', 'lakeledger', '{}', 'parquet', 'snappy', '[]', '[]', '{}', '2026-11-17 06:50:38.672564+00', '2026-11-17 06:50:38.672564+00', '2026-11-17 06:50:38.672564+00', '["id"]');


--
-- Data for Name: table_snapshots; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.table_snapshots VALUES ('01a1e845-9c22-72ba-ba43-8b07b27aeca7', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 1, NULL, 'append', '{"added_rows": 20, "total_rows": 20, "added_bytes": 200, "added_files": 2, "total_bytes": 200, "total_files": 2, "removed_rows": 0, "removed_files": 0}', 1, '01a1e845-9c19-73ed-9095-ea9fc8a1252c', NULL, 'manual', '2026-11-17 06:50:38.498728+00', NULL);
INSERT INTO frozen.table_snapshots VALUES ('01a1e845-9c40-7788-86b5-08ee816e702d', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 2, 1, 'alter', '{"added_rows": 0, "total_rows": 20, "added_bytes": 0, "added_files": 0, "total_bytes": 200, "total_files": 2, "removed_rows": 0, "removed_files": 0}', 2, '01a1e845-9c3c-7399-87cc-8b261978681a', 'alter:01a1e845-9c3b-736e-b97d-385f3014280a', 'api', '2026-11-17 06:50:38.527763+00', NULL);
INSERT INTO frozen.table_snapshots VALUES ('01a1e845-9c55-710e-a977-bb0ab80aec5f', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 3, 2, 'alter', '{"added_rows": 0, "total_rows": 20, "added_bytes": 0, "added_files": 0, "total_bytes": 200, "total_files": 2, "removed_rows": 0, "removed_files": 0}', 3, '01a1e845-9c50-70ab-8c0c-ce1dde689a16', 'alter:01a1e845-9c4f-70f2-a84a-1c436a40a2d3', 'api', '2026-11-17 06:50:38.54846+00', NULL);
INSERT INTO frozen.table_snapshots VALUES ('01a1e845-9c6e-775d-8b5f-c1434f33a530', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 4, 3, 'alter', '{"added_rows": 0, "total_rows": 20, "added_bytes": 0, "added_files": 0, "total_bytes": 200, "total_files": 2, "removed_rows": 0, "removed_files": 0}', 4, '01a1e845-9c69-705e-b770-3a15cb864c1d', 'alter:01a1e845-9c63-724c-85f7-d6642ca756a5', 'api', '2026-11-17 06:50:38.57335+00', NULL);
INSERT INTO frozen.table_snapshots VALUES ('01a1e845-9c85-73c1-994e-fb5e2107250f', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 5, 4, 'alter', '{"added_rows": 0, "total_rows": 20, "added_bytes": 0, "added_files": 0, "total_bytes": 200, "total_files": 2, "removed_rows": 0, "removed_files": 0}', 5, '01a1e845-9c7e-7095-862c-596036f8097b', 'alter:01a1e845-9c7c-77c7-ae0f-cbef91c4d169', 'api', '2026-11-17 06:50:38.596483+00', NULL);
INSERT INTO frozen.table_snapshots VALUES ('01a1e845-9ca4-71b3-bf42-139edf8a9009', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 6, 5, 'replace', '{"added_rows": 10, "total_rows": 20, "added_bytes": 100, "added_files": 1, "total_bytes": 200, "total_files": 2, "removed_rows": 10, "removed_files": 1}', 5, '01a1e845-9c9c-73ad-9d46-fe2ca617627a', NULL, 'manual', '2026-11-17 06:50:38.628729+00', NULL);
INSERT INTO frozen.table_snapshots VALUES ('01a1e845-9cd0-7482-ae0a-ec82f31dfb85', 'default', '01a1e845-9cd3-72e2-8b0f-cb9ac285c057', 1, NULL, 'append', '{"added_rows": 10, "total_rows": 10, "added_bytes": 100, "added_files": 1, "total_bytes": 100, "total_files": 1, "removed_rows": 0, "source_files": 1, "removed_files": 0}', 1, '01a1e845-9cc4-7159-964d-3567d16137f1', NULL, 'manual', '2026-11-17 06:50:38.672564+00', NULL);


--
-- Data for Name: table_stats; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.table_stats VALUES ('01a1e845-9c2a-7454-96df-8e191223c6b0', 'default', '01a1e845-9c24-7482-b91d-ba32209fc3d8', 20, 2, 200, '2026-11-17 06:50:38.628729+00', '2026-11-17 06:50:38.498728+00', '2026-11-17 06:50:38.628729+00');
INSERT INTO frozen.table_stats VALUES ('01a1e845-9cd9-7618-8fea-61aea11be9bd', 'default', '01a1e845-9cd3-72e2-8b0f-cb9ac285c057', 10, 1, 100, '2026-11-17 06:50:38.672564+00', '2026-11-17 06:50:38.672564+00', '2026-11-17 06:50:38.672564+00');


--
-- Data for Name: tables; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.tables VALUES ('01a1e845-9c24-7482-b91d-ba32209fc3d8', 'default', 'silver', 'orders', 'silver.orders', 'silver/orders', 6, 1, 20, 200, 2, '2026-11-17 06:50:38.498728+00', '2026-11-17 06:50:38.498728+00', '2026-11-17 06:50:38.628729+00');
INSERT INTO frozen.tables VALUES ('01a1e845-9cd3-72e2-8b0f-cb9ac285c057', 'default', 'bronze', 'orders', 'bronze.orders', 'bronze/orders', 1, 1, 10, 100, 1, '2026-11-17 06:50:38.672564+00', '2026-11-17 06:50:38.672564+00', '2026-11-17 06:50:38.672564+00');


--
-- Data for Name: warehouses; Type: TABLE DATA; Schema: frozen; Owner: -
--

INSERT INTO frozen.warehouses VALUES ('default', '/frozen/warehouse', NULL, '2026-11-17 06:50:38.487867+00');


--
-- Name: change_log_seq_seq; Type: SEQUENCE SET; Schema: frozen; Owner: -
--

SELECT pg_catalog.setval('frozen.change_log_seq_seq', 96, true);


--
-- Name: change_log change_log_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.change_log
    ADD CONSTRAINT change_log_pkey PRIMARY KEY (seq);


--
-- Name: control_cursors control_cursors_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.control_cursors
    ADD CONSTRAINT control_cursors_pkey PRIMARY KEY (id);


--
-- Name: control_imports control_imports_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.control_imports
    ADD CONSTRAINT control_imports_pkey PRIMARY KEY (id);


--
-- Name: dead_letter_queue dead_letter_queue_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.dead_letter_queue
    ADD CONSTRAINT dead_letter_queue_pkey PRIMARY KEY (id);


--
-- Name: error_log error_log_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.error_log
    ADD CONSTRAINT error_log_pkey PRIMARY KEY (id);


--
-- Name: forgotten_runs forgotten_runs_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.forgotten_runs
    ADD CONSTRAINT forgotten_runs_pkey PRIMARY KEY (run_id);


--
-- Name: jobs jobs_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);


--
-- Name: local_job_runs local_job_runs_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.local_job_runs
    ADD CONSTRAINT local_job_runs_pkey PRIMARY KEY (id);


--
-- Name: local_jobs local_jobs_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.local_jobs
    ADD CONSTRAINT local_jobs_pkey PRIMARY KEY (job_id);


--
-- Name: metadata_records metadata_records_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.metadata_records
    ADD CONSTRAINT metadata_records_pkey PRIMARY KEY (record_id);


--
-- Name: pipeline_runs pipeline_runs_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.pipeline_runs
    ADD CONSTRAINT pipeline_runs_pkey PRIMARY KEY (pipeline_logging_id);


--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);


--
-- Name: schema_registry schema_registry_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.schema_registry
    ADD CONSTRAINT schema_registry_pkey PRIMARY KEY (id);


--
-- Name: source_files source_files_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.source_files
    ADD CONSTRAINT source_files_pkey PRIMARY KEY (id);


--
-- Name: state_transitions state_transitions_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.state_transitions
    ADD CONSTRAINT state_transitions_pkey PRIMARY KEY (transition_id);


--
-- Name: step_logs step_logs_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.step_logs
    ADD CONSTRAINT step_logs_pkey PRIMARY KEY (step_logging_id);


--
-- Name: step_output step_output_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.step_output
    ADD CONSTRAINT step_output_pkey PRIMARY KEY (step_logging_id);


--
-- Name: subscriber_cursor subscriber_cursor_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.subscriber_cursor
    ADD CONSTRAINT subscriber_cursor_pkey PRIMARY KEY (tenant_id, subscriber);


--
-- Name: sync_marker_history sync_marker_history_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.sync_marker_history
    ADD CONSTRAINT sync_marker_history_pkey PRIMARY KEY (id);


--
-- Name: sync_markers sync_markers_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.sync_markers
    ADD CONSTRAINT sync_markers_pkey PRIMARY KEY (id);


--
-- Name: table_files table_files_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.table_files
    ADD CONSTRAINT table_files_pkey PRIMARY KEY (id);


--
-- Name: table_metadata table_metadata_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.table_metadata
    ADD CONSTRAINT table_metadata_pkey PRIMARY KEY (id);


--
-- Name: table_metadata table_metadata_table_id_schema_version_key; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.table_metadata
    ADD CONSTRAINT table_metadata_table_id_schema_version_key UNIQUE (table_id, schema_version);


--
-- Name: table_snapshots table_snapshots_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.table_snapshots
    ADD CONSTRAINT table_snapshots_pkey PRIMARY KEY (snapshot_id);


--
-- Name: table_stats table_stats_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.table_stats
    ADD CONSTRAINT table_stats_pkey PRIMARY KEY (id);


--
-- Name: table_stats table_stats_table_id_key; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.table_stats
    ADD CONSTRAINT table_stats_table_id_key UNIQUE (table_id);


--
-- Name: tables tables_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.tables
    ADD CONSTRAINT tables_pkey PRIMARY KEY (table_id);


--
-- Name: warehouses warehouses_pkey; Type: CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.warehouses
    ADD CONSTRAINT warehouses_pkey PRIMARY KEY (tenant_id);


--
-- Name: change_log_by_table; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX change_log_by_table ON frozen.change_log USING btree (tenant_id, table_name, seq);


--
-- Name: change_log_by_tenant; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX change_log_by_tenant ON frozen.change_log USING btree (tenant_id, seq);


--
-- Name: control_cursors_by_watcher; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX control_cursors_by_watcher ON frozen.control_cursors USING btree (tenant_id, control_table, watcher);


--
-- Name: control_imports_by_module; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX control_imports_by_module ON frozen.control_imports USING btree (tenant_id, control_table, module_name) WHERE (source_id IS NULL);


--
-- Name: control_imports_by_source; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX control_imports_by_source ON frozen.control_imports USING btree (tenant_id, control_table, module_name, source_id) WHERE (source_id IS NOT NULL);


--
-- Name: dead_letter_queue_by_cause; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_by_cause ON frozen.dead_letter_queue USING btree (tenant_id, fingerprint, created_at, id);


--
-- Name: dead_letter_queue_by_schema; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_by_schema ON frozen.dead_letter_queue USING btree (tenant_id, schema_key, created_at, id);


--
-- Name: dead_letter_queue_by_status; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_by_status ON frozen.dead_letter_queue USING btree (tenant_id, status, created_at, id);


--
-- Name: dead_letter_queue_by_table; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_by_table ON frozen.dead_letter_queue USING btree (tenant_id, name_key, created_at, id);


--
-- Name: dead_letter_queue_by_time; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_by_time ON frozen.dead_letter_queue USING btree (tenant_id, created_at DESC, id DESC);


--
-- Name: dead_letter_queue_claimed; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_claimed ON frozen.dead_letter_queue USING btree (tenant_id, claimed_until) WHERE (status = 'processing'::text);


--
-- Name: dead_letter_queue_groups; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_groups ON frozen.dead_letter_queue USING btree (tenant_id, status, fingerprint, created_at, id, schema_name, table_name, error_count);


--
-- Name: dead_letter_queue_of_error; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_of_error ON frozen.dead_letter_queue USING btree (tenant_id, error_log_id) WHERE (error_log_id IS NOT NULL);


--
-- Name: dead_letter_queue_of_run; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_of_run ON frozen.dead_letter_queue USING btree (tenant_id, sync_run_id) WHERE (sync_run_id IS NOT NULL);


--
-- Name: dead_letter_queue_once; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX dead_letter_queue_once ON frozen.dead_letter_queue USING btree (tenant_id, dedupe_key) WHERE (status = ANY (ARRAY['pending'::text, 'processing'::text]));


--
-- Name: dead_letter_queue_pending_of_schema; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_pending_of_schema ON frozen.dead_letter_queue USING btree (tenant_id, schema_key, created_at, id) WHERE (status = 'pending'::text);


--
-- Name: dead_letter_queue_pending_of_table; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_pending_of_table ON frozen.dead_letter_queue USING btree (tenant_id, name_key, created_at, id) WHERE (status = 'pending'::text);


--
-- Name: dead_letter_queue_settled; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX dead_letter_queue_settled ON frozen.dead_letter_queue USING btree (tenant_id, resolved_at, id) WHERE (status = ANY (ARRAY['resolved'::text, 'discarded'::text]));


--
-- Name: error_log_by_cause; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_by_cause ON frozen.error_log USING btree (tenant_id, fingerprint, occurred_at DESC, id DESC);


--
-- Name: error_log_by_schema; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_by_schema ON frozen.error_log USING btree (tenant_id, schema_key, occurred_at DESC, id DESC);


--
-- Name: error_log_by_status; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_by_status ON frozen.error_log USING btree (tenant_id, status, occurred_at DESC, id DESC);


--
-- Name: error_log_by_table; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_by_table ON frozen.error_log USING btree (tenant_id, name_key, occurred_at DESC, id DESC);


--
-- Name: error_log_by_time; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_by_time ON frozen.error_log USING btree (tenant_id, occurred_at DESC, id DESC);


--
-- Name: error_log_by_type; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_by_type ON frozen.error_log USING btree (tenant_id, error_type, occurred_at DESC, id DESC);


--
-- Name: error_log_due; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_due ON frozen.error_log USING btree (tenant_id, retry_after) WHERE ((status = 'open'::text) AND (retry_after IS NOT NULL));


--
-- Name: error_log_groups; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_groups ON frozen.error_log USING btree (tenant_id, status, fingerprint, schema_name, table_name, occurred_at, id);


--
-- Name: error_log_of_letter; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_of_letter ON frozen.error_log USING btree (tenant_id, dead_letter_id) WHERE (dead_letter_id IS NOT NULL);


--
-- Name: error_log_of_run; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_of_run ON frozen.error_log USING btree (tenant_id, sync_run_id) WHERE (sync_run_id IS NOT NULL);


--
-- Name: error_log_of_steps; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_of_steps ON frozen.error_log USING btree (tenant_id, name_key) WHERE ((status = 'open'::text) AND (step_id IS NOT NULL));


--
-- Name: error_log_settled; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX error_log_settled ON frozen.error_log USING btree (tenant_id, resolved_at, id) WHERE (status <> 'open'::text);


--
-- Name: jobs_by_module; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX jobs_by_module ON frozen.jobs USING btree (tenant_id, control_table, module_name, backend);


--
-- Name: local_job_runs_by_job; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX local_job_runs_by_job ON frozen.local_job_runs USING btree (tenant_id, job_id, due_at DESC, id DESC);


--
-- Name: local_job_runs_by_time; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX local_job_runs_by_time ON frozen.local_job_runs USING btree (tenant_id, due_at DESC, id DESC);


--
-- Name: local_job_runs_ended; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX local_job_runs_ended ON frozen.local_job_runs USING btree (tenant_id, ended_at, id) WHERE (ended_at IS NOT NULL);


--
-- Name: local_job_runs_once; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX local_job_runs_once ON frozen.local_job_runs USING btree (job_id, due_at) WHERE (cause <> 'asked'::text);


--
-- Name: local_job_runs_queued; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX local_job_runs_queued ON frozen.local_job_runs USING btree (tenant_id, start_after, id) WHERE (status = 'queued'::text);


--
-- Name: local_job_runs_running; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX local_job_runs_running ON frozen.local_job_runs USING btree (tenant_id, started_at, id) WHERE (status = 'running'::text);


--
-- Name: local_jobs_due; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX local_jobs_due ON frozen.local_jobs USING btree (tenant_id, next_run_at) WHERE (next_run_at IS NOT NULL);


--
-- Name: local_jobs_watching; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX local_jobs_watching ON frozen.local_jobs USING btree (tenant_id, job_id) WHERE watches;


--
-- Name: metadata_records_by_kind; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX metadata_records_by_kind ON frozen.metadata_records USING btree (tenant_id, kind, produced_at DESC, record_id DESC);


--
-- Name: metadata_records_by_run; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX metadata_records_by_run ON frozen.metadata_records USING btree (tenant_id, run_id);


--
-- Name: metadata_records_by_table; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX metadata_records_by_table ON frozen.metadata_records USING btree (tenant_id, kind, name_key, produced_at DESC, record_id DESC);


--
-- Name: metadata_records_by_time; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX metadata_records_by_time ON frozen.metadata_records USING btree (tenant_id, produced_at, record_id) WHERE (kind <> 'schema_version'::text);


--
-- Name: metadata_records_once; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX metadata_records_once ON frozen.metadata_records USING btree (tenant_id, dedupe_key) WHERE (dedupe_key IS NOT NULL);


--
-- Name: pipeline_runs_by_key; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX pipeline_runs_by_key ON frozen.pipeline_runs USING btree (tenant_id, pipeline_id, idempotency_key, start_time DESC, pipeline_logging_id DESC) WHERE (idempotency_key IS NOT NULL);


--
-- Name: pipeline_runs_by_kind; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX pipeline_runs_by_kind ON frozen.pipeline_runs USING btree (tenant_id, run_kind, start_time DESC, pipeline_logging_id DESC);


--
-- Name: pipeline_runs_by_pipeline; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX pipeline_runs_by_pipeline ON frozen.pipeline_runs USING btree (tenant_id, pipeline_id, start_time DESC, pipeline_logging_id DESC);


--
-- Name: pipeline_runs_by_status; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX pipeline_runs_by_status ON frozen.pipeline_runs USING btree (tenant_id, status, start_time DESC, pipeline_logging_id DESC);


--
-- Name: pipeline_runs_by_time; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX pipeline_runs_by_time ON frozen.pipeline_runs USING btree (tenant_id, start_time DESC, pipeline_logging_id DESC);


--
-- Name: pipeline_runs_by_token; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX pipeline_runs_by_token ON frozen.pipeline_runs USING btree (tenant_id, pipeline_id, lease_token DESC);


--
-- Name: pipeline_runs_ended; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX pipeline_runs_ended ON frozen.pipeline_runs USING btree (tenant_id, end_time, pipeline_logging_id) WHERE ((end_time IS NOT NULL) AND (idempotency_key IS NULL));


--
-- Name: pipeline_runs_ended_keyed; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX pipeline_runs_ended_keyed ON frozen.pipeline_runs USING btree (tenant_id, end_time, pipeline_logging_id) WHERE ((end_time IS NOT NULL) AND (idempotency_key IS NOT NULL));


--
-- Name: pipeline_runs_exclusive; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX pipeline_runs_exclusive ON frozen.pipeline_runs USING btree (tenant_id, pipeline_id) WHERE (exclusive AND (status = 'RUNNING'::text));


--
-- Name: pipeline_runs_idempotent; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX pipeline_runs_idempotent ON frozen.pipeline_runs USING btree (tenant_id, pipeline_id, idempotency_key) WHERE ((idempotency_key IS NOT NULL) AND (status = ANY (ARRAY['PENDING'::text, 'RUNNING'::text, 'COMPLETED'::text])));


--
-- Name: pipeline_runs_of_sync; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX pipeline_runs_of_sync ON frozen.pipeline_runs USING btree (tenant_id, end_time) WHERE (run_kind = 'sync'::text);


--
-- Name: schema_registry_by_version; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX schema_registry_by_version ON frozen.schema_registry USING btree (tenant_id, name_key, version);


--
-- Name: source_files_by_path; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX source_files_by_path ON frozen.source_files USING btree (marker_id, file_path);


--
-- Name: state_transitions_by_entity; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX state_transitions_by_entity ON frozen.state_transitions USING btree (entity_id, transition_id);


--
-- Name: step_logs_by_run; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX step_logs_by_run ON frozen.step_logs USING btree (pipeline_logging_id, step_index, step_logging_id);


--
-- Name: step_logs_by_time; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX step_logs_by_time ON frozen.step_logs USING btree (tenant_id, start_time DESC);


--
-- Name: step_logs_of_job; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX step_logs_of_job ON frozen.step_logs USING btree (tenant_id, step_name, step_logging_id DESC) WHERE (step_type = 'job'::text);


--
-- Name: sync_marker_history_by_time; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX sync_marker_history_by_time ON frozen.sync_marker_history USING btree (tenant_id, updated_at, id);


--
-- Name: sync_marker_history_by_version; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX sync_marker_history_by_version ON frozen.sync_marker_history USING btree (marker_id, version);


--
-- Name: sync_markers_by_source; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX sync_markers_by_source ON frozen.sync_markers USING btree (tenant_id, name_key, marker_type);


--
-- Name: table_files_by_path; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX table_files_by_path ON frozen.table_files USING btree (table_id, file_path);


--
-- Name: table_files_by_version; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX table_files_by_version ON frozen.table_files USING btree (table_id, added_version, file_path);


--
-- Name: table_files_live; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX table_files_live ON frozen.table_files USING btree (table_id, partition_path) WHERE (state = 'live'::text);


--
-- Name: table_files_removed; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX table_files_removed ON frozen.table_files USING btree (table_id, removed_version) WHERE (removed_version IS NOT NULL);


--
-- Name: table_snapshots_by_batch; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX table_snapshots_by_batch ON frozen.table_snapshots USING btree (table_id, batch_id, version) WHERE (batch_id IS NOT NULL);


--
-- Name: table_snapshots_by_run; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX table_snapshots_by_run ON frozen.table_snapshots USING btree (tenant_id, run_id);


--
-- Name: table_snapshots_by_time; Type: INDEX; Schema: frozen; Owner: -
--

CREATE INDEX table_snapshots_by_time ON frozen.table_snapshots USING btree (table_id, committed_at);


--
-- Name: table_snapshots_by_version; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX table_snapshots_by_version ON frozen.table_snapshots USING btree (table_id, version);


--
-- Name: tables_by_name; Type: INDEX; Schema: frozen; Owner: -
--

CREATE UNIQUE INDEX tables_by_name ON frozen.tables USING btree (tenant_id, name_key);


--
-- Name: pipeline_runs log_delete; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_delete AFTER DELETE ON frozen.pipeline_runs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT WHEN ((COALESCE(current_setting('lakeledger.retention'::text, true), ''::text) <> 'on'::text)) EXECUTE FUNCTION frozen.lakeledger_log_delete('pipeline_logging_id', 'parameters', 'source_info', 'destination_info', 'error_details', 'heartbeat_at', 'lease_expires_at', 'suspected_at');


--
-- Name: table_files log_delete; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_delete AFTER DELETE ON frozen.table_files REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_delete('id', 'column_bounds', 'checksum');


--
-- Name: table_metadata log_delete; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_delete AFTER DELETE ON frozen.table_metadata REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_delete('id', 'schema', 'engine_config', 'partition_by', 'sort_by', 'properties', 'columns');


--
-- Name: table_snapshots log_delete; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_delete AFTER DELETE ON frozen.table_snapshots REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_delete('snapshot_id', 'summary');


--
-- Name: table_stats log_delete; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_delete AFTER DELETE ON frozen.table_stats REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_delete('id');


--
-- Name: tables log_delete; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_delete AFTER DELETE ON frozen.tables REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_delete('table_id');


--
-- Name: pipeline_runs log_insert; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_insert AFTER INSERT ON frozen.pipeline_runs REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_insert('pipeline_logging_id', 'parameters', 'source_info', 'destination_info', 'error_details', 'heartbeat_at', 'lease_expires_at', 'suspected_at');


--
-- Name: table_files log_insert; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_insert AFTER INSERT ON frozen.table_files REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_insert('id', 'column_bounds', 'checksum');


--
-- Name: table_metadata log_insert; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_insert AFTER INSERT ON frozen.table_metadata REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_insert('id', 'schema', 'engine_config', 'partition_by', 'sort_by', 'properties', 'columns');


--
-- Name: table_snapshots log_insert; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_insert AFTER INSERT ON frozen.table_snapshots REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_insert('snapshot_id', 'summary');


--
-- Name: table_stats log_insert; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_insert AFTER INSERT ON frozen.table_stats REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_insert('id');


--
-- Name: tables log_insert; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_insert AFTER INSERT ON frozen.tables REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_insert('table_id');


--
-- Name: pipeline_runs log_update; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_update AFTER UPDATE ON frozen.pipeline_runs REFERENCING OLD TABLE AS before_it NEW TABLE AS after_it FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_update('pipeline_logging_id', 'parameters', 'source_info', 'destination_info', 'error_details', 'heartbeat_at', 'lease_expires_at', 'suspected_at');


--
-- Name: table_files log_update; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_update AFTER UPDATE ON frozen.table_files REFERENCING OLD TABLE AS before_it NEW TABLE AS after_it FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_update('id', 'column_bounds', 'checksum');


--
-- Name: table_metadata log_update; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_update AFTER UPDATE ON frozen.table_metadata REFERENCING OLD TABLE AS before_it NEW TABLE AS after_it FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_update('id', 'schema', 'engine_config', 'partition_by', 'sort_by', 'properties', 'columns');


--
-- Name: table_snapshots log_update; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_update AFTER UPDATE ON frozen.table_snapshots REFERENCING OLD TABLE AS before_it NEW TABLE AS after_it FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_update('snapshot_id', 'summary');


--
-- Name: table_stats log_update; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_update AFTER UPDATE ON frozen.table_stats REFERENCING OLD TABLE AS before_it NEW TABLE AS after_it FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_update('id');


--
-- Name: tables log_update; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER log_update AFTER UPDATE ON frozen.tables REFERENCING OLD TABLE AS before_it NEW TABLE AS after_it FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_log_update('table_id');


--
-- Name: pipeline_runs no_truncate; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON frozen.pipeline_runs FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_no_truncate();


--
-- Name: table_files no_truncate; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON frozen.table_files FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_no_truncate();


--
-- Name: table_metadata no_truncate; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON frozen.table_metadata FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_no_truncate();


--
-- Name: table_snapshots no_truncate; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON frozen.table_snapshots FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_no_truncate();


--
-- Name: table_stats no_truncate; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON frozen.table_stats FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_no_truncate();


--
-- Name: tables no_truncate; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON frozen.tables FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_no_truncate();


--
-- Name: pipeline_runs order_writers; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER order_writers BEFORE INSERT OR DELETE OR UPDATE ON frozen.pipeline_runs FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_order_writers();


--
-- Name: table_files order_writers; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER order_writers BEFORE INSERT OR DELETE OR UPDATE ON frozen.table_files FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_order_writers();


--
-- Name: table_metadata order_writers; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER order_writers BEFORE INSERT OR DELETE OR UPDATE ON frozen.table_metadata FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_order_writers();


--
-- Name: table_snapshots order_writers; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER order_writers BEFORE INSERT OR DELETE OR UPDATE ON frozen.table_snapshots FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_order_writers();


--
-- Name: table_stats order_writers; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER order_writers BEFORE INSERT OR DELETE OR UPDATE ON frozen.table_stats FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_order_writers();


--
-- Name: tables order_writers; Type: TRIGGER; Schema: frozen; Owner: -
--

CREATE TRIGGER order_writers BEFORE INSERT OR DELETE OR UPDATE ON frozen.tables FOR EACH STATEMENT EXECUTE FUNCTION frozen.lakeledger_order_writers();


--
-- Name: local_job_runs local_job_runs_job_id_fkey; Type: FK CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.local_job_runs
    ADD CONSTRAINT local_job_runs_job_id_fkey FOREIGN KEY (job_id) REFERENCES frozen.local_jobs(job_id) ON DELETE CASCADE;


--
-- Name: source_files source_files_marker_id_fkey; Type: FK CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.source_files
    ADD CONSTRAINT source_files_marker_id_fkey FOREIGN KEY (marker_id) REFERENCES frozen.sync_markers(id) ON DELETE CASCADE;


--
-- Name: step_logs step_logs_pipeline_logging_id_fkey; Type: FK CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.step_logs
    ADD CONSTRAINT step_logs_pipeline_logging_id_fkey FOREIGN KEY (pipeline_logging_id) REFERENCES frozen.pipeline_runs(pipeline_logging_id) ON DELETE CASCADE;


--
-- Name: step_output step_output_step_logging_id_fkey; Type: FK CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.step_output
    ADD CONSTRAINT step_output_step_logging_id_fkey FOREIGN KEY (step_logging_id) REFERENCES frozen.step_logs(step_logging_id) ON DELETE CASCADE;


--
-- Name: sync_marker_history sync_marker_history_marker_id_fkey; Type: FK CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.sync_marker_history
    ADD CONSTRAINT sync_marker_history_marker_id_fkey FOREIGN KEY (marker_id) REFERENCES frozen.sync_markers(id) ON DELETE CASCADE;


--
-- Name: table_files table_files_table_id_fkey; Type: FK CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.table_files
    ADD CONSTRAINT table_files_table_id_fkey FOREIGN KEY (table_id) REFERENCES frozen.tables(table_id) ON DELETE CASCADE;


--
-- Name: table_metadata table_metadata_table_id_fkey; Type: FK CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.table_metadata
    ADD CONSTRAINT table_metadata_table_id_fkey FOREIGN KEY (table_id) REFERENCES frozen.tables(table_id) ON DELETE CASCADE;


--
-- Name: table_snapshots table_snapshots_table_id_fkey; Type: FK CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.table_snapshots
    ADD CONSTRAINT table_snapshots_table_id_fkey FOREIGN KEY (table_id) REFERENCES frozen.tables(table_id) ON DELETE CASCADE;


--
-- Name: table_stats table_stats_table_id_fkey; Type: FK CONSTRAINT; Schema: frozen; Owner: -
--

ALTER TABLE ONLY frozen.table_stats
    ADD CONSTRAINT table_stats_table_id_fkey FOREIGN KEY (table_id) REFERENCES frozen.tables(table_id) ON DELETE CASCADE;


--
-- Name: change_log; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.change_log ENABLE ROW LEVEL SECURITY;

--
-- Name: control_cursors; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.control_cursors ENABLE ROW LEVEL SECURITY;

--
-- Name: control_imports; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.control_imports ENABLE ROW LEVEL SECURITY;

--
-- Name: dead_letter_queue; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.dead_letter_queue ENABLE ROW LEVEL SECURITY;

--
-- Name: error_log; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.error_log ENABLE ROW LEVEL SECURITY;

--
-- Name: forgotten_runs; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.forgotten_runs ENABLE ROW LEVEL SECURITY;

--
-- Name: jobs; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.jobs ENABLE ROW LEVEL SECURITY;

--
-- Name: local_job_runs; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.local_job_runs ENABLE ROW LEVEL SECURITY;

--
-- Name: local_jobs; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.local_jobs ENABLE ROW LEVEL SECURITY;

--
-- Name: metadata_records; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.metadata_records ENABLE ROW LEVEL SECURITY;

--
-- Name: pipeline_runs; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.pipeline_runs ENABLE ROW LEVEL SECURITY;

--
-- Name: schema_registry; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.schema_registry ENABLE ROW LEVEL SECURITY;

--
-- Name: source_files; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.source_files ENABLE ROW LEVEL SECURITY;

--
-- Name: state_transitions; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.state_transitions ENABLE ROW LEVEL SECURITY;

--
-- Name: step_logs; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.step_logs ENABLE ROW LEVEL SECURITY;

--
-- Name: step_output; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.step_output ENABLE ROW LEVEL SECURITY;

--
-- Name: subscriber_cursor; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.subscriber_cursor ENABLE ROW LEVEL SECURITY;

--
-- Name: sync_marker_history; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.sync_marker_history ENABLE ROW LEVEL SECURITY;

--
-- Name: sync_markers; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.sync_markers ENABLE ROW LEVEL SECURITY;

--
-- Name: table_files; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.table_files ENABLE ROW LEVEL SECURITY;

--
-- Name: table_metadata; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.table_metadata ENABLE ROW LEVEL SECURITY;

--
-- Name: table_snapshots; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.table_snapshots ENABLE ROW LEVEL SECURITY;

--
-- Name: table_stats; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.table_stats ENABLE ROW LEVEL SECURITY;

--
-- Name: tables; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.tables ENABLE ROW LEVEL SECURITY;

--
-- Name: change_log tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.change_log USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: control_cursors tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.control_cursors USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: control_imports tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.control_imports USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: dead_letter_queue tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.dead_letter_queue USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: error_log tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.error_log USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: forgotten_runs tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.forgotten_runs USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: jobs tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.jobs USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: local_job_runs tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.local_job_runs USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: local_jobs tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.local_jobs USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: metadata_records tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.metadata_records USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: pipeline_runs tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.pipeline_runs USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: schema_registry tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.schema_registry USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: source_files tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.source_files USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: state_transitions tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.state_transitions USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: step_logs tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.step_logs USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: step_output tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.step_output USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: subscriber_cursor tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.subscriber_cursor USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: sync_marker_history tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.sync_marker_history USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: sync_markers tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.sync_markers USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: table_files tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.table_files USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: table_metadata tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.table_metadata USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: table_snapshots tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.table_snapshots USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: table_stats tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.table_stats USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: tables tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.tables USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: warehouses tenant_only; Type: POLICY; Schema: frozen; Owner: -
--

CREATE POLICY tenant_only ON frozen.warehouses USING (((tenant_id = current_setting('lakeledger.tenant'::text, true)) OR (COALESCE(current_setting('lakeledger.tenant'::text, true), ''::text) = ''::text)));


--
-- Name: warehouses; Type: ROW SECURITY; Schema: frozen; Owner: -
--

ALTER TABLE frozen.warehouses ENABLE ROW LEVEL SECURITY;

--
-- PostgreSQL database dump complete
--


