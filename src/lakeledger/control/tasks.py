"""What a source does: the configuration of each task type, and of what it reads and writes."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakeledger.control.values import Bound, Line, Name, Part, Plain, Text
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub
from lakeledger.tables import TableName, parse_name

# What a query may begin with, behind blanks, comments and brackets.
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*([A-Za-z]+)", re.DOTALL)
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")


class TargetConfig(Part):
    """The table that a source writes. `catalog` is kept for the document's sake; a ledger has one."""

    table: Text
    catalog: Text | None = None
    schema_name: Text = Field("main", alias="schema")
    write_mode: Literal["append", "overwrite"] | None = None
    format: Literal["parquet", "jsonl"] | None = None
    partition_by: tuple[Text, ...] | None = None

    @cached_property
    def name(self) -> TableName:
        return parse_name(f"{self.schema_name}.{self.table}")

    @model_validator(mode="after")
    def _has_a_name(self) -> TargetConfig:
        try:
            _ = self.name
        except Invalid as error:
            raise PydanticCustomError("table_name", "{text}", {"text": str(error)}) from error
        return self


class FilesConfig(Part):
    """Which files, and how to read them."""

    path: Line
    format: Literal["csv", "json", "parquet"] = "csv"
    schema_text: str | None = Field(None, alias="schema")
    options: dict[str, Text] = Field(default_factory=dict)
    changed_files: Literal["refuse", "load", "ignore"] = "refuse"
    optional_columns: tuple[Text, ...] = Field(
        (), description="Columns (or `column.field`) that may be missing from a file; its rows have NULL there."
    )

    @field_validator("path")
    @classmethod
    def _holds_no_password(cls, path: str) -> str:
        if scrub(path) != path:
            raise PydanticCustomError("unsafe", "the path holds a password, which would be kept with every file: give it to Spark instead")
        return path

    @model_validator(mode="after")
    def _can_miss_a_column(self) -> FilesConfig:
        if self.optional_columns and self.format == "csv":
            raise PydanticCustomError("unsafe", "a CSV has all columns of its header or fails: optional_columns are for json and parquet")
        return self


class IngestConfig(Part):
    """How files become rows of the target."""

    task_type: Literal["ingest"] = "ingest"
    load_type: Literal["full", "incremental"] = "incremental"


class SqlTask(Part):
    """A query, inline, in a file beside the document, or saved on Databricks (`query_id`); `parameters` are bound as `:name`."""

    sql_query: Text | None = None
    query_id: Text | None = None
    sql_file_path: Text | None = None
    warehouse_id: Text | None = None
    parameters: dict[str, Bound] = Field(default_factory=dict)


class SqlConfig(Part):
    """A transformation in SQL over ledger tables."""

    task_type: Literal["sql_query", "sql_file"] = "sql_query"
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


class PythonTask(Part):
    """A function of an installed package, called with the parameters by name."""

    function: str = Field(description="`package.module:function`")
    parameters: dict[str, Plain] = Field(default_factory=dict)

    @field_validator("function")
    @classmethod
    def _can_be_found(cls, function: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", function):
            raise PydanticCustomError("text", "write package.module:function, not {given}", {"given": repr(function)})
        return function


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


class DbtConfig(Part):
    """Runs dbt."""

    task_type: Literal["dbt"]
    dbt_task: DbtTask


TaskConfig = Annotated[
    PythonConfig | NotebookConfig | PythonWheelConfig | SparkJarConfig | PipelineConfig | DbtConfig, Field(discriminator="task_type")
]

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
}
