"""The YAML that declares loads: `modules:` with their `sources:`, checked as a whole, each problem with its line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub
from lakeledger.tables import TableName, parse_name


def _as_text(value: Any) -> Any:
    """What YAML reads as a number or a truth value where text is meant: `header: true`."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_as_text)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TargetConfig(_Part):
    """The table that a source writes. `catalog` is kept for the document's sake; a ledger has one."""

    table: str
    catalog: str | None = None
    schema_name: str = Field("main", alias="schema")
    write_mode: Literal["append", "overwrite"] | None = None
    format: Literal["parquet", "jsonl"] | None = None
    partition_by: tuple[str, ...] | None = None

    @property
    def name(self) -> TableName:
        return parse_name(f"{self.schema_name}.{self.table}")

    @model_validator(mode="after")
    def _has_a_name(self) -> TargetConfig:
        try:
            parse_name(f"{self.schema_name}.{self.table}")
        except Invalid as error:
            raise PydanticCustomError("table_name", "{text}", {"text": str(error)}) from error
        return self


class FilesConfig(_Part):
    """Which files, and how to read them."""

    path: Name
    format: Literal["csv", "json", "parquet"] = "csv"
    schema_text: str | None = Field(None, alias="schema")
    options: dict[str, Text] = Field(default_factory=dict)
    changed_files: Literal["refuse", "load", "ignore"] = "refuse"

    @field_validator("path")
    @classmethod
    def _holds_no_password(cls, path: str) -> str:
        if scrub(path) != path:
            raise PydanticCustomError("unsafe", "the path holds a password, which would be kept with every file: give it to Spark instead")
        return path


class IngestConfig(_Part):
    """How files become rows of the target."""

    task_type: Literal["ingest"] = "ingest"
    load_type: Literal["full", "incremental"] = "incremental"


class SqlTask(_Part):
    """A query, inline or in a file beside the document; `parameters` are bound as `:name`."""

    sql_query: str | None = None
    sql_file_path: str | None = None
    warehouse_id: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)


class SqlConfig(_Part):
    """A transformation in SQL over ledger tables."""

    task_type: Literal["sql_query", "sql_file"] = "sql_query"
    sql_task: SqlTask

    @model_validator(mode="after")
    def _has_its_query(self) -> SqlConfig:
        wanted = "sql_query" if self.task_type == "sql_query" else "sql_file_path"
        if not getattr(self.sql_task, wanted):
            raise PydanticCustomError("sql_task", "task_type {type} needs sql_task.{wanted}", {"type": self.task_type, "wanted": wanted})
        return self


class _Source(_Part):
    source_id: Name
    execution_order: int = Field(1, ge=0)
    is_active: bool = True
    target_config: TargetConfig


class FilesSource(_Source):
    """Loads files into a table."""

    source_type: Literal["files"]
    source_config: FilesConfig
    transformation_config: IngestConfig = IngestConfig()

    @property
    def write_mode(self) -> str:
        return self.target_config.write_mode or ("overwrite" if self.transformation_config.load_type == "full" else "append")

    @model_validator(mode="after")
    def _is_safe(self) -> FilesSource:
        combination = (self.transformation_config.load_type, self.write_mode)
        if combination == ("incremental", "overwrite"):
            raise PydanticCustomError(
                "unsafe", "incremental with overwrite would keep only the newest files: use append, or load_type full"
            )
        if combination == ("full", "append"):
            raise PydanticCustomError(
                "unsafe", "full with append would add every row again at each run: use overwrite, or load_type incremental"
            )
        return self


class SqlSource(_Source):
    """Computes a table from other tables."""

    source_type: Literal["sql"]
    source_config: dict[str, Any] = Field(default_factory=dict)
    transformation_config: SqlConfig

    @property
    def write_mode(self) -> str:
        return self.target_config.write_mode or "overwrite"


AnySource = Annotated[FilesSource | SqlSource, Field(discriminator="source_type")]


class Module(_Part):
    """Sources that run together. Those with the same execution_order run in parallel; each number waits for the ones before."""

    module_name: Name
    description: str | None = None
    sources: list[AnySource] = Field(min_length=1)

    @property
    def config_hash(self) -> str:
        return codec.digest(self.model_dump(mode="json"))

    def levels(self) -> list[list[FilesSource | SqlSource]]:
        """The active sources, grouped by execution_order."""
        orders = sorted({source.execution_order for source in self.sources if source.is_active})
        return [[source for source in self.sources if source.is_active and source.execution_order == order] for order in orders]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Module:
        _refuse_doubled([source.source_id for source in self.sources], "source_id", "in the module")
        return self

    @model_validator(mode="after")
    def _nothing_is_overwritten_unseen(self) -> Module:
        targets = Counter(source.target_config.name.key for source in self.sources if source.is_active)
        for source in self.sources:
            name = source.target_config.name
            if source.is_active and source.write_mode == "overwrite" and targets[name.key] > 1:
                told = {"source": source.source_id, "table": str(name)}
                raise PydanticCustomError(
                    "unsafe", "{source} would overwrite what another source writes to {table}: give it its own table", told
                )
        return self


class Document(_Part):
    """One YAML file."""

    metadata_version: Text = "1.0"
    modules: list[Module] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Document:
        _refuse_doubled([module.module_name for module in self.modules], "module_name", "in the document")
        return self


def load(path: Path) -> Document:
    """Read and check a document. Raises Invalid with every problem as `file:line: what to do`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise Invalid(f"no such file: {path}; `lakeledger init` writes a first one") from error
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"cannot read {path}: {error}") from error
    return parse(text, str(path))


def parse(text: str, name: str) -> Document:
    """Check a document's text. Raises Invalid."""
    tree = _parse_yaml(text, name)
    if not isinstance(tree, dict):
        raise Invalid(f"{name}:1: the document must be a mapping with `modules:`")
    try:
        return Document.model_validate(_plain(tree))
    except ValidationError as error:
        problems = sorted({(_line(tree, item["loc"]), _explain(item)) for item in error.errors()})
        raise Invalid("\n".join(f"{name}:{line}: {text}" for line, text in problems)) from error


def _parse_yaml(text: str, name: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Invalid(f"{name}:{line}: not valid YAML: {error.problem}") from error
    except YAMLError as error:
        raise Invalid(f"{name}:1: not valid YAML: {error}") from error


def _plain(node: Any) -> Any:
    """The tree without what ruamel adds to remember lines and spelling: Spark and JSON want Python's own types."""
    match node:
        case dict():
            return {_plain(key): _plain(value) for key, value in node.items()}
        case list():
            return [_plain(value) for value in node]
        case bool() | None:
            return node
        case str() | int() | float():
            return next(kind(node) for kind in (str, int, float) if isinstance(node, kind))
        case _:
            return node


def _refuse_doubled(names: list[str], key: str, where: str) -> None:
    if doubled := [name for name, count in Counter(names).items() if count > 1]:
        told = {"key": key, "name": ", ".join(doubled), "where": where}
        raise PydanticCustomError("doubled", "{key} {name} is used more than once {where}", told)


def _explain(item: ErrorDetails) -> str:
    where = ".".join(str(part) for part in item["loc"] if isinstance(part, str) and part not in ("files", "sql"))
    key = str(item["loc"][-1]) if item["loc"] else ""
    match item["type"]:
        case "extra_forbidden":
            return f"unknown key {key!r}{suggest(key, _known_keys(item['loc']))}"
        case "missing":
            return f"{where} is missing"
        case "union_tag_invalid":
            given = item["input"].get("source_type") if isinstance(item["input"], dict) else item["input"]
            return f"source_type {given!r} is not one of files, sql{suggest(str(given), ['files', 'sql'])}"
        case "union_tag_not_found":
            return "source_type is missing: files or sql"
        case "table_name" | "sql_task" | "unsafe" | "doubled":
            return item["msg"]
        case _:
            return f"{where}: {item['msg'][0].lower()}{item['msg'][1:]}"


_KEYS: dict[str, type[BaseModel]] = {
    "modules": Module,
    "source_config": FilesConfig,
    "target_config": TargetConfig,
    "sql_task": SqlTask,
}


def _known_keys(loc: tuple[int | str, ...]) -> list[str]:
    """The keys that are allowed where an unknown one was found."""
    parents = [part for part in loc[:-1] if isinstance(part, str)]
    model: type[BaseModel] = Document
    if "transformation_config" in parents and parents[-1] != "sql_task":
        model = SqlConfig if "sql" in parents else IngestConfig
    elif parents and parents[-1] in _KEYS:
        model = _KEYS[parents[-1]]
    elif parents and parents[-1] in ("files", "sql"):
        model = FilesSource
    return [field.alias or name for name, field in model.model_fields.items()]


def _line(tree: Any, loc: tuple[int | str, ...]) -> int:
    """The line, from 1, of the node a problem is about: the key itself, or the nearest thing around it."""
    line = 1
    node: Any = tree
    for part in loc:
        if isinstance(part, str) and hasattr(node, "lc") and part in node:
            line = node.lc.key(part)[0] + 1
        elif isinstance(part, int) and hasattr(node, "lc") and part < len(node):
            line = node.lc.item(part)[0] + 1
        else:
            continue
        node = node[part]
    return line
