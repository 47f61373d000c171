"""The source that a module declares, made from what the document says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit, urlunsplit

from lakeledger import clock
from lakeledger.control import documents
from lakeledger.control.loads import DebeziumConfig, IngestConfig, KafkaConfig
from lakeledger.pipelines import Context
from lakeledger.pipelines.sources import Source, files
from lakeledger.pipelines.sources.declared import Declared, DeclaredFiles, DeclaredQuery
from lakeledger.pipelines.sources.watermark import Watermark
from lakeledger.sync import Source as SourceName

if TYPE_CHECKING:
    from lakeledger.pipelines.sources.debezium import Debezium
    from lakeledger.pipelines.sources.jdbc import JdbcConfig

# What reads everything each time.
WHOLE = ("full", "snapshot_diff")
# Where changes are kept while they are loaded, in the tenant's part of the warehouse.
STAGING = "_staging"


def open_source(context: Context, module: str, declared: Declared) -> Source:  # noqa: PLR0911 - one for each kind of source
    """The source that a module declares. A query may name the parameters."""
    name = SourceName(module, declared.source_id)
    match declared:
        case documents.FilesSource():
            found = DeclaredFiles(name, declared, files.Where(context.base, context.ledger.settings.s3))
            return _events(found) if declared.source_config.format == "debezium" else found
        case documents.SqlSource():
            query = DeclaredQuery(name, declared, context)
            return query.incremental() if declared.transformation_config.load_type == "incremental" else query
        case documents.JdbcSource():
            from lakeledger.pipelines.sources.jdbc import JdbcSource

            return JdbcSource(name, jdbc_config(declared), context.start_spark)
        case documents.ReplicationSource():
            return _replication(context, name, declared)
        case documents.DeltaSource():
            return _delta(context, name, declared)
        case documents.IcebergSource():
            from lakeledger.pipelines.sources.iceberg import Iceberg, IcebergSource

            whole = declared.transformation_config.load_type in WHOLE
            return IcebergSource(name, Iceberg(declared.source_config.table, "full" if whole else "append", declared.source_config.catalog))
        case documents.KafkaSource():
            return _kafka(name, declared.source_config)
        case documents.CallableSource():
            from lakeledger.pipelines.sources.callable import CallableSource

            config, is_whole = declared.source_config, declared.transformation_config.load_type in WHOLE
            return CallableSource(name, config.function, context, config.parameters, is_whole=is_whole)


def jdbc_config(declared: documents.JdbcSource) -> JdbcConfig:
    """What a declared JDBC source reads, as a value."""
    from lakeledger.pipelines.sources.jdbc import JdbcConfig

    config = declared.source_config
    return JdbcConfig(
        url=config.url,
        table=config.table,
        query=config.query,
        user=config.user,
        password=config.password,
        columns=config.columns,
        filter=config.filter,
        types=config.types,
        watermark=_watermark(declared.transformation_config),
        partition_column=config.partition_column,
        partitions=config.partitions,
        fetch_size=config.fetch_size,
        late_rows=config.late_rows,
        options=config.options,
    )


def _watermark(work: IngestConfig) -> Watermark | None:
    if not work.watermark_column:
        return None
    lookback = clock.parse_span(work.lookback) if isinstance(work.lookback, str) else work.lookback
    return Watermark(work.watermark_column, lookback, work.null_watermark)


def _events(found: DeclaredFiles) -> Source:
    from lakeledger.pipelines.sources.debezium import DebeziumFiles

    config = found.declared.source_config
    return DebeziumFiles(found, _debezium(config.debezium, config.schema_text))


def _debezium(config: DebeziumConfig | None, schema: str | None) -> Debezium:
    from lakeledger.pipelines.sources.debezium import Debezium

    config = config or DebeziumConfig()
    return Debezium(config.table, schema, config.types, config.flattened, config.decimals)


def _replication(context: Context, name: SourceName, declared: documents.ReplicationSource) -> Source:
    from lakeledger.pipelines.sources.replication import PostgresChanges, Replication

    config = declared.source_config
    made = Replication(
        url=_with_credentials(config.url, config.user, config.password),
        table=config.table,
        slot=config.slot,
        publication=config.publication,
        keys=declared.target_config.keys,
        max_changes=config.max_changes,
        snapshot=config.snapshot,
    )
    return PostgresChanges(name, made, f"{context.warehouse}/{STAGING}", context.ledger.settings.s3)


def _with_credentials(url: str, user: str | None, password: str | None) -> str:
    """The address with whoever reads it."""
    if user is None:
        return url
    parts = urlsplit(url)
    who = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    return urlunsplit(parts._replace(netloc=f"{who}@{parts.netloc.rpartition('@')[2]}"))


def _delta(context: Context, name: SourceName, declared: documents.DeltaSource) -> Source:
    from lakeledger.pipelines.sources.delta import Delta, DeltaSource

    config, load_type = declared.source_config, declared.transformation_config.load_type
    what: Literal["full", "append", "changes"] = "full" if load_type in WHOLE else "changes" if load_type == "cdc" else "append"
    return DeltaSource(name, Delta(config.path, what, config.max_versions, config.storage_options), context.base)


def _kafka(name: SourceName, config: KafkaConfig) -> Source:
    from lakeledger.pipelines.sources.kafka import Kafka, KafkaSource

    events = _debezium(config.debezium, config.schema_text) if config.debezium else None
    schema = None if events else config.schema_text
    return KafkaSource(name, Kafka(config.servers, config.topic, schema, events, config.max_messages, config.start, config.options))
