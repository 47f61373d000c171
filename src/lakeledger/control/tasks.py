"""What a source does: the configuration of each task type."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakeledger.control.expectations import QualityConfig
from lakeledger.control.loads import CallableConfig
from lakeledger.control.values import Bound, Columns, Line, Name, Part, Plain, Seconds, Text
from lakeledger.redaction import scrub

# What a query may begin with, behind blanks, comments and brackets.
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*([A-Za-z]+)", re.DOTALL)
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")


class SqlTask(Part):
    """A query, inline, in a file beside the document, or saved on Databricks (`query_id`); `parameters` are bound as `:name`."""

    sql_query: Text | None = None
    query_id: Text | None = None
    sql_file_path: Text | None = None
    warehouse_id: Text | None = None
    parameters: dict[str, Bound] = Field(default_factory=dict)


class SqlConfig(Part):
    """A transformation in SQL over ledger tables."""

    watermark_column: ClassVar[tuple[str, ...]] = ()
    lookback: ClassVar[None] = None
    allow_empty: ClassVar[bool] = False

    task_type: Literal["sql_query", "sql_file"] = "sql_query"
    load_type: Literal["full", "incremental"] = Field("full", description="Whether only rows that are new in its tables are read.")
    incremental: Columns = Field((), description="With load_type incremental: the tables of which only new rows are read.")
    sql_task: SqlTask

    @model_validator(mode="after")
    def _has_its_query(self) -> SqlConfig:
        wanted = "sql_query" if self.task_type == "sql_query" else "sql_file_path"
        if self.sql_task.query_id:
            return self._has_its_saved_query()
        if not getattr(self.sql_task, wanted):
            raise PydanticCustomError("sql_task", "task_type {type} needs sql_task.{wanted}", {"type": self.task_type, "wanted": wanted})
        begins = _FIRST_WORD.match(self.sql_task.sql_query or "")
        if begins and begins[1].upper() not in _QUERIES:
            raise PydanticCustomError("sql_task", "sql_query must be a SELECT, not {word}: its rows become the table", {"word": begins[1]})
        return self

    def _has_its_saved_query(self) -> SqlConfig:
        if self.task_type != "sql_query" or self.sql_task.sql_query or self.sql_task.sql_file_path:
            raise PydanticCustomError("sql_task", "sql_task.query_id stands alone, with task_type sql_query: take out what else is to run")
        if not self.sql_task.warehouse_id:
            raise PydanticCustomError("sql_task", "sql_task.query_id needs sql_task.warehouse_id: a saved query runs on a warehouse")
        return self


class PythonTask(CallableConfig):
    """A function of an installed package, called with the parameters by name."""


class NotebookTask(Part):
    """A notebook of a workspace."""

    notebook_path: Line
    base_parameters: dict[str, Text] = Field(default_factory=dict)
    source: Literal["WORKSPACE", "GIT"] | None = None
    warehouse_id: Text | None = None


class PythonWheelTask(Part):
    """An entry point of a wheel, with words or with named parameters."""

    package_name: Name
    entry_point: Name
    parameters: tuple[Text, ...] = ()
    named_parameters: dict[str, Text] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_one_kind_of_parameters(self) -> PythonWheelTask:
        if self.parameters and self.named_parameters:
            raise PydanticCustomError("task", "a wheel takes parameters or named_parameters, not both")
        return self


class SparkJarTask(Part):
    """The main class of a JAR."""

    main_class_name: Name
    parameters: tuple[Text, ...] = ()
    jar_uri: Text | None = None


class PipelineTask(Part):
    """An update of a declarative pipeline."""

    pipeline_id: Name
    full_refresh: bool = False


class DbtTask(Part):
    """Commands of dbt in a project."""

    model_config = ConfigDict(serialize_by_alias=True)  # backends call it `schema`, too

    project_directory: Text | None = None
    commands: tuple[Line, ...] = Field(min_length=1)
    profiles_directory: Text | None = None
    catalog: Text | None = None
    schema_name: Text | None = Field(None, alias="schema")
    warehouse_id: Text | None = None
    source: Literal["WORKSPACE", "GIT"] | None = None


class ApiCallTask(Part):
    """A request over HTTP. Secrets are references, as in `Authorization: "Bearer {{env.TOKEN}}"`."""

    url: Line
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = "GET"
    headers: dict[str, Line] = Field(default_factory=dict)
    body: Plain = Field(None, description="A text, or anything else that is sent as JSON.")
    timeout_seconds: Seconds = Field(30, description="How long one attempt may take.")
    retries: int = Field(3, ge=0, le=100, description="How often it is tried again if nobody answers, or with 408, 429 or 5xx.")
    expected_status: tuple[int, ...] = Field((), description="The statuses that mean success; by default 200 to 299.")

    @field_validator("url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        if not url.lower().startswith(("http://", "https://", "{{")):
            raise PydanticCustomError("text", "{given} is no address: write http://… or https://…", {"given": repr(scrub(url))})
        return url


class DataQualityTask(QualityConfig):
    """A check of a ledger table, as it is now or at a version."""

    table: Line
    version: int | Text | None = Field(None, description="The version to check, by its number or a tag; by default the current one.")


def _with_path(schema: dict[str, Any]) -> None:
    """The other place of what a `notebook_task` says."""
    beside = NotebookTask.model_json_schema()["properties"]
    schema["properties"] = {**schema["properties"], **beside}
    schema["required"] = ["task_type"]
    schema["anyOf"] = [{"required": ["notebook_task"]}, {"required": ["notebook_path"]}]


class PythonConfig(Part):
    """Calls a function."""

    task_type: Literal["python"]
    python_task: PythonTask


class NotebookConfig(Part):
    """Runs a notebook; what its `notebook_task` says may also stand beside its task_type."""

    model_config = ConfigDict(json_schema_extra=_with_path)

    task_type: Literal["notebook"]
    notebook_task: NotebookTask

    @model_validator(mode="before")
    @classmethod
    def _with_task(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "notebook_task" in data:
            return data
        beside = {name: value for name, value in data.items() if name in NotebookTask.model_fields}
        return {**{name: value for name, value in data.items() if name not in beside}, "notebook_task": beside} if beside else data


class PythonWheelConfig(Part):
    """Runs an entry point of a wheel."""

    task_type: Literal["python_wheel"]
    python_wheel_task: PythonWheelTask


class SparkJarConfig(Part):
    """Runs the main class of a JAR."""

    task_type: Literal["spark_jar"]
    spark_jar_task: SparkJarTask


class PipelineConfig(Part):
    """Updates a pipeline."""

    task_type: Literal["pipeline"]
    pipeline_task: PipelineTask


class ApiCallConfig(Part):
    """Calls an API."""

    task_type: Literal["api_call"]
    api_call_task: ApiCallTask


class DataQualityConfig(Part):
    """Checks a table."""

    task_type: Literal["data_quality"]
    data_quality_task: DataQualityTask


class DbtConfig(Part):
    """Runs dbt."""

    task_type: Literal["dbt"]
    dbt_task: DbtTask


OtherConfig = PythonConfig | NotebookConfig | PythonWheelConfig | SparkJarConfig | PipelineConfig | DbtConfig | ApiCallConfig
TaskConfig = Annotated[OtherConfig | DataQualityConfig, Field(discriminator="task_type")]

# Which source_type does a task_type's work.
SOURCE_TYPES = {
    "ingest": "files",
    "sql_query": "sql",
    "sql_file": "sql",
    "python": "task",
    "notebook": "task",
    "python_wheel": "task",
    "spark_jar": "task",
    "pipeline": "task",
    "dbt": "task",
    "api_call": "task",
    "data_quality": "task",
}
# Every source_type: what is ingested may come from several kinds of sources.
KINDS = sorted({*SOURCE_TYPES.values(), "jdbc", "function", "postgres_changes", "delta", "iceberg", "kafka"})
