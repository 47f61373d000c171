"""The JSON Schema of documents, for editors: both shapes, with variables wherever a value may stand."""

from __future__ import annotations

from typing import Any

from lakeledger.control.documents import Document
from lakeledger.control.shapes import NAMES, TASKS
from lakeledger.control.tasks import KINDS, SOURCE_TYPES

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_VARIABLE = {
    "title": "Variable",
    "description": "A variable, filled in when the document is read.",
    "type": "string",
    "pattern": r"\$\{var\.",
}
_INGESTED = [
    {"$ref": f"#/$defs/{name}"}
    for name in ("FilesConfig", "JdbcConfig", "ReplicationConfig", "DeltaConfig", "IcebergConfig", "KafkaConfig", "CallableConfig")
]
_NAMED = [{"required": ["job_name"]}, {"required": ["name"]}]


def json_schema() -> dict[str, Any]:
    """The schema of one document. What only the whole document can tell (unknown names, circles, unsafe combinations) it does not know."""
    schema = Document.model_json_schema(by_alias=True)
    definitions = schema.pop("$defs")
    definitions["Job"] = _job(definitions)
    definitions["Task"] = _task(definitions)
    definitions = {name: _relaxed(definition) for name, definition in definitions.items()}
    job = {"$ref": "#/$defs/Job"}
    properties = {
        **schema["properties"],
        "jobs": {
            "title": "Jobs",
            "description": "The other shape: jobs with tasks.",
            "anyOf": [
                {"type": "array", "items": {"allOf": [job, {"anyOf": _NAMED}]}},
                {"type": "object", "additionalProperties": job},
            ],
        },
        "variables": {"title": "Variables", "type": "object", "additionalProperties": {"$ref": "#/$defs/Declaration"}},
    }
    return {
        "$schema": DRAFT,
        "title": "lakeledger document",
        "description": "What runs: modules with sources, or jobs with tasks.",
        "type": "object",
        "properties": properties,
        "oneOf": [{"required": ["modules"]}, {"required": ["jobs"]}],
        "additionalProperties": False,
        "$defs": dict(sorted({**definitions, "Variable": _VARIABLE, "Declaration": _declaration()}.items())),
    }


def _declaration() -> dict[str, Any]:
    return {
        "title": "Declaration",
        "description": "A variable's value, or its default with a description.",
        "anyOf": [
            {"type": ["string", "number", "boolean", "null", "array"]},
            {"type": "object", "properties": {"default": {}, "description": {"type": "string"}}, "additionalProperties": False},
        ],
    }


def _job(definitions: dict[str, Any]) -> dict[str, Any]:
    """A module in the words of jobs."""
    module = definitions["Module"]
    properties = {NAMES.get(name, name): value for name, value in module["properties"].items()}
    parameter = {"type": "object", "properties": {"name": {"type": "string"}, "default": {}}, "required": ["name", "default"]}
    properties["name"] = properties["job_name"]
    properties["parameters"] = {"anyOf": [properties["parameters"], {"type": "array", "items": parameter}]}
    properties["tasks"] = {"title": "Tasks", "type": "array", "items": {"$ref": "#/$defs/Task"}, "minItems": 1}
    return {**module, "title": "Job", "description": "Tasks that run together.", "properties": properties, "required": ["tasks"]}


def _task(definitions: dict[str, Any]) -> dict[str, Any]:
    """A source in the words of jobs: its task_type says the rest."""
    source = definitions["TaskSource"]
    parts = {name: {"$ref": f"#/$defs/{_part(name)}"} for name in TASKS}
    type_ = {"title": "Task Type", "enum": list(SOURCE_TYPES)}
    work = {**definitions["IngestConfig"]["properties"], "task_type": type_, **parts}
    properties = {
        **{NAMES.get(name, name): value for name, value in source["properties"].items() if name != "source_type"},
        **parts,
        "task_type": type_,
        "source_type": {"title": "Source Type", "enum": KINDS},
        "source_config": {"title": "Source Config", "type": "object"},
        "transformation_config": {"title": "Transformation Config", "type": "object", "properties": work, "additionalProperties": False},
    }
    return {
        "title": "Task",
        "description": "One task of a job.",
        "type": "object",
        "properties": properties,
        "required": ["task_key"],
        "additionalProperties": False,
        "allOf": [
            _needs("ingest", {"source_config": {"anyOf": _INGESTED}}, ["source_config", "target_config"]),
            _needs("sql_query", {}, ["target_config"]),
            _needs("sql_file", {}, ["target_config"]),
        ],
    }


def _needs(type_: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """What a task of that type must have."""
    condition = {"properties": {"task_type": {"const": type_}}, "required": ["task_type"]}
    return {"if": condition, "then": {"properties": properties, "required": required}}


def _part(name: str) -> str:
    """The definition of a task's own part: `python_wheel_task` is PythonWheelTask."""
    return "".join(word.title() for word in name.split("_"))


def _relaxed(definition: dict[str, Any]) -> dict[str, Any]:
    """The definition, with a variable allowed for each value; what chooses between definitions must be said."""
    chosen = ("source_type", "task_type")
    properties = {name: value if name in chosen else _or_variable(value) for name, value in definition.get("properties", {}).items()}
    return {**definition, "properties": properties} if properties else definition


def _or_variable(value: dict[str, Any]) -> dict[str, Any]:
    """The value without what only OpenAPI knows, or a variable. Texts can hold one anyway."""
    variable = {"$ref": "#/$defs/Variable"}
    told: dict[str, Any] = {name: inner for name, inner in value.items() if name in ("title", "description", "default")}
    rest = {name: inner for name, inner in value.items() if name not in (*told, "discriminator")}
    if "string" in rest.get("type", ()):
        return {**told, **rest}
    if list(rest) == ["anyOf"]:
        return {**told, "anyOf": [*rest["anyOf"], variable]}
    return {**told, "anyOf": [rest, variable]}
