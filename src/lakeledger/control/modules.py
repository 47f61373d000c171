"""Modules and their sources: what runs together, in which order, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.control.dangers import Load, dangers, shared_targets
from lakeledger.control.loads import (
    CallableConfig,
    DeltaConfig,
    FilesConfig,
    IcebergConfig,
    IngestConfig,
    JdbcConfig,
    KafkaConfig,
    ReplicationConfig,
    TargetConfig,
    WriteMode,
)
from lakeledger.control.tasks import SqlConfig, TaskConfig
from lakeledger.control.values import Line, Name, Part, Plain, Seconds, Text
from lakeledger.errors import Invalid, NotFound

RunIf = Literal["ALL_SUCCESS", "ALL_DONE", "NONE_FAILED", "AT_LEAST_ONE_SUCCESS", "ALL_FAILED", "AT_LEAST_ONE_FAILED"]
PauseStatus = Literal["UNPAUSED", "PAUSED"]


_NAME_SCHEMA = {"type": ["string", "number"]}
_TASK_KEY_SCHEMA = {"type": "object", "properties": {"task_key": _NAME_SCHEMA}, "required": ["task_key"], "additionalProperties": False}
_NAMES_SCHEMA = {"anyOf": [_NAME_SCHEMA, {"type": "array", "items": {"anyOf": [_NAME_SCHEMA, _TASK_KEY_SCHEMA]}}]}


def _as_names(value: Any) -> Any:
    """One name, a list of names, or the list of `{task_key: name}` that job definitions have."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(item["task_key"] if isinstance(item, Mapping) and item.keys() == {"task_key"} else item for item in value)
    return value


@lru_cache(maxsize=1_000)
def _check_times(quartz: str | None, unix: str | None, zone: str) -> None:
    """Many modules have the same schedule. Raises Invalid."""
    from lakeledger.jobs import cron, schedule

    schedule.check({"quartz_cron_expression": quartz, "cron": unix, "timezone_id": zone})
    if unix:
        cron.to_quartz(unix)


class _Source(Part):
    source_id: Name = Field(description="Its name within the module.")
    source_type: str
    execution_order: int = Field(1, ge=0, le=2**31 - 1, description="Sources of one number run in parallel, after those of lower numbers.")
    is_active: bool = Field(True, description="Whether it runs.")
    depends_on: Annotated[tuple[Name, ...], BeforeValidator(_as_names), WithJsonSchema(_NAMES_SCHEMA)] = Field(
        (), description="Sources of the module to wait for."
    )
    run_if: RunIf = Field("ALL_SUCCESS", description="How those that it waits for must have ended.")
    timeout_seconds: Seconds | None = Field(None, description="How long it may take.")
    max_retries: int = Field(0, ge=0, le=1000, description="How often it is tried again.")
    retry_seconds: float | None = Field(None, ge=0, allow_inf_nan=False, description="The pause before a retry.")
    target_config: TargetConfig | None = None

    @property
    def target(self) -> str:
        """The table that it writes, or nothing."""
        return str(self.target_config.name) if self.target_config else ""


class _Loading(_Source):
    """What loads rows into a table."""

    target_config: TargetConfig
    transformation_config: IngestConfig | SqlConfig

    @property
    def write_mode(self) -> WriteMode:
        """What its rows do to the table; by default what goes with how much is read, and with keys."""
        if declared := self.target_config.declared_mode:
            return declared
        if self.transformation_config.load_type in ("cdc", "snapshot_diff"):
            return "merge"
        if self.transformation_config.load_type == "full":
            return "overwrite"
        return "merge" if self.target_config.keys else "append"

    @property
    def facts(self) -> dict[str, object]:
        """What its kind of source adds to what can be dangerous."""
        return {}

    @property
    def load(self) -> Load:
        """What it declares, as far as it can be dangerous."""
        return Load(self.target_config, self.transformation_config, self.write_mode, self.facts)

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        if found := dangers(self.load):
            raise PydanticCustomError("unsafe", "{text}", {"text": "; ".join(found)})
        return self


class FilesSource(_Loading):
    """Loads files into a table."""

    source_type: Literal["files"]
    source_config: FilesConfig
    transformation_config: IngestConfig = IngestConfig()

    @property
    def facts(self) -> dict[str, object]:
        return {"changed_files": self.source_config.changed_files, "brings_sequence": self.source_config.format == "debezium"}


class JdbcSource(_Loading):
    """Loads a table or a query of a database into a table."""

    source_type: Literal["jdbc"]
    source_config: JdbcConfig
    transformation_config: IngestConfig = IngestConfig()

    @property
    def facts(self) -> dict[str, object]:
        return {"needs_watermark": True}


class ReplicationSource(_Loading):
    """Applies the changes of a table of PostgreSQL."""

    source_type: Literal["postgres_changes"]
    source_config: ReplicationConfig
    transformation_config: IngestConfig = IngestConfig(load_type="cdc")

    @property
    def facts(self) -> dict[str, object]:
        return {"brings_sequence": True}


class DeltaSource(_Loading):
    """Loads a Delta table: all of it, what was added, or its changes."""

    source_type: Literal["delta"]
    source_config: DeltaConfig
    transformation_config: IngestConfig = IngestConfig()

    @property
    def facts(self) -> dict[str, object]:
        return {"brings_sequence": self.transformation_config.load_type == "cdc"}


class IcebergSource(_Loading):
    """Loads an Iceberg table: all of it, or what was added."""

    source_type: Literal["iceberg"]
    source_config: IcebergConfig
    transformation_config: IngestConfig = IngestConfig()

    @property
    def facts(self) -> dict[str, object]:
        return {"has_no_changes": True}


class KafkaSource(_Loading):
    """Loads a topic of Kafka."""

    source_type: Literal["kafka"]
    source_config: KafkaConfig
    transformation_config: IngestConfig = IngestConfig()

    @property
    def facts(self) -> dict[str, object]:
        return {"brings_sequence": self.source_config.debezium is not None, "has_no_whole": True}


class CallableSource(_Loading):
    """Loads what a function gives into a table."""

    source_type: Literal["function"]
    source_config: CallableConfig
    transformation_config: IngestConfig = IngestConfig(load_type="full")


class SqlSource(_Loading):
    """Computes a table from other tables."""

    source_type: Literal["sql"]
    source_config: dict[str, Plain] = Field(default_factory=dict)
    transformation_config: SqlConfig

    @property
    def facts(self) -> dict[str, object]:
        return {"is_query": True}  # the same query over unchanged tables is not run again


class TaskSource(_Source):
    """Does something else: a function, a notebook, a wheel, a JAR, a pipeline, dbt. A source_type `notebook` is a task that runs one."""

    source_type: Literal["task", "notebook"]
    source_config: dict[str, Plain] = Field(default_factory=dict)
    transformation_config: TaskConfig

    @model_validator(mode="before")
    @classmethod
    def _as_task(cls, data: Any) -> Any:
        if (
            not isinstance(data, dict)
            or data.get("source_type") != "notebook"
            or not isinstance(data.get("transformation_config", {}), dict)
        ):
            return data
        work = {"task_type": "notebook", **data.get("transformation_config", {})}
        read = data.get("source_config")
        if isinstance(read, dict) and "notebook_path" in read and "notebook_path" not in work and "notebook_task" not in work:
            work["notebook_path"] = read["notebook_path"]
            data = {**data, "source_config": {name: value for name, value in read.items() if name != "notebook_path"}}
        return {**data, "source_type": "task", "transformation_config": work}

    @property
    def write_mode(self) -> str | None:
        """How it says that it writes its target; what it does is its own affair."""
        return self.target_config.write_mode if self.target_config else None


LoadingSource = FilesSource | JdbcSource | ReplicationSource | DeltaSource | IcebergSource | KafkaSource | CallableSource | SqlSource
AnySource = Annotated[LoadingSource | TaskSource, Field(discriminator="source_type")]


class Schedule(Part):
    """When a module runs by itself: a Quartz expression (with seconds) or a Unix one."""

    quartz_cron_expression: Name | None = None
    cron: Name | None = None
    timezone_id: Name = "UTC"
    pause_status: PauseStatus = "UNPAUSED"

    @model_validator(mode="after")
    def _says_when(self) -> Schedule:
        if (self.quartz_cron_expression is None) == (self.cron is None):
            raise PydanticCustomError("schedule", "a schedule needs quartz_cron_expression or cron, and not both")
        try:
            _check_times(self.quartz_cron_expression, self.cron, self.timezone_id)
        except Invalid as error:
            raise PydanticCustomError("schedule", "{text}", {"text": str(error)}) from error
        return self


class FileArrival(Part):
    """New files at a place."""

    url: Line
    min_time_between_triggers_seconds: Seconds | None = None
    wait_after_last_change_seconds: Seconds | None = None


class TableUpdate(Part):
    """New versions of tables."""

    table_names: tuple[Line, ...] = Field(min_length=1)
    condition: Literal["ANY_UPDATED", "ALL_UPDATED"] | None = None
    min_time_between_triggers_seconds: Seconds | None = None
    wait_after_last_change_seconds: Seconds | None = None


class Trigger(Part):
    """What makes a module run: files that arrive, or tables that change."""

    file_arrival: FileArrival | None = None
    table_update: TableUpdate | None = None
    pause_status: PauseStatus = "UNPAUSED"

    @model_validator(mode="after")
    def _says_what(self) -> Trigger:
        if (self.file_arrival is None) == (self.table_update is None):
            raise PydanticCustomError("schedule", "a trigger needs file_arrival or table_update, and not both")
        return self


class Notifications(Part):
    """Who is told."""

    on_start: tuple[Name, ...] = ()
    on_success: tuple[Name, ...] = ()
    on_failure: tuple[Name, ...] = ()


class ModuleSettings(Part):
    """What a module says besides its sources."""

    module_name: Name = Field(description="What its job is called.")
    description: Text | None = Field(None, description="What it is for.")
    schedule: Schedule | None = None
    trigger: Trigger | None = None
    parameters: dict[str, Text] = Field(default_factory=dict, description="Parameters of a run, with their defaults.")
    tags: dict[str, Text] = Field(default_factory=dict, description="Labels of its job.")
    notifications: Notifications | None = None
    timeout_seconds: Seconds | None = Field(None, description="How long a run may take.")
    max_concurrent_runs: int | None = Field(None, ge=1, le=1000, description="How many runs may go on at once.")


class Module(ModuleSettings):
    """Sources that run together. Those with the same execution_order run in parallel; each number waits for the ones before."""

    sources: list[AnySource] = Field(min_length=1)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The module as plain values, from which it can be read again. Without defaults: an option that is new changes no module."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    @property
    def config_hash(self) -> str:
        return codec.digest(self.document)

    @property
    def content_hash(self) -> str:
        """What its tasks do: its active sources."""
        return codec.digest([source for source in self.document["sources"] if source.get("is_active", True)])

    @property
    def is_active(self) -> bool:
        """Whether anything of it runs."""
        return any(source.is_active for source in self.sources)

    @property
    def why_idle(self) -> str | None:
        """Why a run of it would do nothing, and what to do about it; None if something of it runs."""
        if self.is_active:
            return None
        off = f"{self.sources[0].source_id} is" if len(self.sources) == 1 else f"its {len(self.sources)} sources are"
        return (
            f"module {self.module_name} has nothing to run: {off} switched off; set is_active to true, "
            f"or in a control table `lakeledger control activate {self.module_name}`"
        )

    def only(self, names: Collection[str]) -> Module:
        """The module with only these of its sources active. They wait for each other as they did, and for none of those left out."""
        kept = [each if each.source_id in names else each.model_copy(update={"is_active": False}) for each in self.sources]
        return self.model_copy(update={"sources": kept})

    def alone(self, name: str) -> Module:
        """The module with one source, which waits for no other and is tried once: whoever starts it sees to the rest. Raises NotFound."""
        known = [each.source_id for each in self.sources]
        if name not in known:
            raise NotFound(f"no source {name!r} in module {self.module_name}: it has {', '.join(known)}{suggest(name, known)}")
        (chosen,) = (each for each in self.sources if each.source_id == name)
        once = chosen.model_copy(update={"depends_on": (), "run_if": "ALL_SUCCESS", "max_retries": 0})
        return self.model_copy(update={"sources": [once]})

    def levels(self) -> list[list[AnySource]]:
        """The active sources, grouped by execution_order."""
        orders = sorted({source.execution_order for source in self.sources if source.is_active})
        return [[source for source in self.sources if source.is_active and source.execution_order == order] for order in orders]

    @model_validator(mode="before")
    @classmethod
    def _later_than_what_it_depends_on(cls, data: Any) -> Any:
        return {**data, "sources": in_order(data["sources"])} if isinstance(data, dict) and isinstance(data.get("sources"), list) else data

    @model_validator(mode="after")
    def _names_are_unique(self) -> Module:
        refuse_doubled([source.source_id for source in self.sources], "source_id", "in the module")
        return self

    @model_validator(mode="after")
    def _nothing_is_overwritten_unseen(self) -> Module:
        loads = [(source.source_id, source.load) for source in self.sources if source.is_active and isinstance(source, _Loading)]
        tasks = [
            source.target_config.name.key
            for source in self.sources
            if source.is_active and isinstance(source, TaskSource) and source.target_config
        ]
        for name, load in loads:
            if load.write_mode == "overwrite" and load.target.name.key in tasks:
                told = {"source": name, "table": str(load.target.name)}
                raise PydanticCustomError(
                    "unsafe", "{source} would overwrite what another source writes to {table}: give it its own table", told
                )
        for _, why in shared_targets(loads):
            raise PydanticCustomError("unsafe", "{text}", {"text": why})
        return self


def in_order(sources: list[Any]) -> list[Any]:
    """Sources that depend on others and have no execution_order get that of the latest of those: then they wait for nothing else."""
    if all(isinstance(source, dict) and "execution_order" in source for source in sources):
        return sources
    named = {source["source_id"]: source for source in sources if isinstance(source, dict) and isinstance(source.get("source_id"), str)}
    orders = {name: source.get("execution_order", 1) for name, source in named.items() if _is_placed(source)}
    followers: dict[str, list[str]] = {}
    for name, source in named.items():
        for other in [] if _is_placed(source) else _names(source):
            followers.setdefault(other, []).append(name)
    late: dict[str, int] = {}
    for first in sorted((name for name in orders if isinstance(orders[name], int)), key=lambda name: -orders[name]):
        reached = [first]
        while reached:
            new = [name for name in followers.get(reached.pop(), ()) if name not in late]
            late.update(dict.fromkeys(new, orders[first]))
            reached += new
    return [{**source, "execution_order": late[source["source_id"]]} if _takes(source, late) else source for source in sources]


def refuse_doubled(names: list[str], key: str, where: str) -> None:
    """Raise what pydantic collects if a name is used twice."""
    if doubled := [name for name, count in Counter(names).items() if count > 1]:
        told = {"key": key, "name": ", ".join(doubled), "where": where}
        raise PydanticCustomError("doubled", "{key} {name} is used more than once {where}", told)


def _names(source: Mapping[str, Any]) -> list[str]:
    named = _as_names(source.get("depends_on", ()))
    return [name for name in named if isinstance(name, str)] if isinstance(named, tuple) else []


def _is_placed(source: Mapping[str, Any]) -> bool:
    return "execution_order" in source or not _names(source)


def _takes(source: Any, late: Mapping[str, int]) -> bool:
    return (
        isinstance(source, dict) and "execution_order" not in source and isinstance(name := source.get("source_id"), str) and name in late
    )
