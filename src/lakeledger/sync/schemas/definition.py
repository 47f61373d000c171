"""What a table looks like: its columns, keys, indexes and constraints, as they were given and as they compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.errors import Invalid
from lakeledger.sync.schemas import types
from lakeledger.sync.schemas.types import DataType

Document = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """One column as it counts: a column of the primary key is never NULL, any other may be unless it says otherwise."""

    name: str
    type: str
    nullable: bool = True
    default: Any = None
    comment: str | None = None

    @property
    def key(self) -> str:
        """What it is matched by."""
        return codec.fold(self.name)

    @property
    def data_type(self) -> DataType:
        return types.parse(self.type)

    @property
    def document(self) -> Document:
        """What is compared, as it is told."""
        told = {"name": self.name, "type": self.type, "nullable": self.nullable}
        return told if self.default is None else {**told, "default": self.default}

    @property
    def canonical(self) -> Document:
        """Equal for columns that are the same."""
        return {"name": self.key, "type": self.data_type.key, "nullable": self.nullable, "default": _default_text(self.default)}


@dataclass(frozen=True)
class Attachment:
    """An index or a constraint. One without a name is matched by what it says."""

    document: Document

    @property
    def name(self) -> str:
        return self.document.get("name") or ", ".join(self.document.get("columns") or ()) or codec.to_json(self._told)

    @property
    def key(self) -> str:
        """What it is matched by."""
        return codec.fold(self.document.get("name") or codec.to_json(self._told))

    @property
    def canonical(self) -> str:
        """Equal for those that are the same."""
        return codec.to_json({**self._told, "name": self.key})

    @property
    def _told(self) -> Document:
        told = {word: value for word, value in self.document.items() if word not in ("name", "comment") and value not in (None, False)}
        if isinstance(told.get("type"), str):
            told["type"] = told["type"].lower()
        if "columns" in told:
            told["columns"] = [codec.fold(column) for column in told["columns"]]
        return told


@dataclass(frozen=True)
class SchemaDefinition:
    """A table's schema. Columns, indexes and constraints are kept as given. Raises Invalid that names what is wrong.

    A column has a `name`, a `type` and may have `nullable`, `primary_key`, `default`, `comment` and whatever else is worth keeping.
    """

    columns: list[Document]
    primary_keys: list[str] = field(default_factory=list)
    indexes: list[Document] = field(default_factory=list)
    constraints: list[Document] = field(default_factory=list)

    def __post_init__(self) -> None:
        for part in ("columns", "primary_keys", "indexes", "constraints"):
            object.__setattr__(self, part, _plain_list(part, getattr(self, part)))
        _check_columns(self.columns)
        _check_references(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> SchemaDefinition:
        """The definition that `to_dict` wrote. Raises Invalid."""
        parts = ["columns", "primary_keys", "indexes", "constraints"]
        for word in document:
            if word not in parts:
                raise Invalid(f"a schema definition has no {word!r}{suggest(str(word), parts)}")
        return cls(document.get("columns", []), *(document.get(part) or [] for part in parts[1:]))

    def to_dict(self) -> Document:
        """The definition as JSON knows it."""
        parts = {"columns": self.columns, "primary_keys": self.primary_keys, "indexes": self.indexes, "constraints": self.constraints}
        return dict(codec.to_plain(parts))

    @property
    def fields(self) -> tuple[Column, ...]:
        """The columns as they count, in their order."""
        keys = {codec.fold(name) for name in self.keys}
        return tuple(
            Column(
                name=column["name"],
                type=column["type"],
                nullable=column.get("nullable") is not False and codec.fold(column["name"]) not in keys,
                default=column.get("default"),
                comment=column.get("comment"),
            )
            for column in self.columns
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """The primary key: first what `primary_keys` names, in its order, then the columns that say so themselves."""
        spelled = {codec.fold(column["name"]): column["name"] for column in self.columns}
        flagged = [column["name"] for column in self.columns if column.get("primary_key")]
        return tuple(dict.fromkeys(spelled[codec.fold(name)] for name in (*self.primary_keys, *flagged)))

    @property
    def hash(self) -> str:
        """The same for definitions that differ only in order, case, comments, or in how they spell a type."""
        return codec.digest(
            {
                "columns": sorted((column.canonical for column in self.fields), key=codec.to_json),
                "primary_keys": sorted(map(codec.fold, self.keys)),
                "indexes": sorted(Attachment(index).canonical for index in self.indexes),
                "constraints": sorted(Attachment(constraint).canonical for constraint in self.constraints),
            }
        )

    @property
    def ordinal_hash(self) -> str:
        """The same for definitions whose columns and keys are in the same order as well."""
        return codec.digest([self.hash, [column.key for column in self.fields], [codec.fold(name) for name in self.keys]])


def to_definition(given: SchemaDefinition | Mapping[str, Any]) -> SchemaDefinition:
    """A definition, however it was written down. Raises Invalid."""
    if isinstance(given, SchemaDefinition):
        return given
    if isinstance(given, Mapping):
        return SchemaDefinition.from_dict(given)
    raise Invalid(f"a schema definition is a SchemaDefinition or a dictionary, not {type(given).__name__}")


def _default_text(default: Any) -> str:
    """Equal for the same default: 1 is not true, but 1.0 is 1, which is what jsonb makes of it."""
    return codec.to_json(int(default) if isinstance(default, float) and default.is_integer() else default)


def _plain_list(part: str, values: Any) -> list[Any]:
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
        raise Invalid(f"{part} of a schema must be a list, not {values!r}")
    kind: type = str if part == "primary_keys" else dict
    for value in values:
        if not isinstance(value, kind):
            raise Invalid(f"{part} of a schema must be a list of {'names' if kind is str else 'dictionaries'}, but has {value!r}")
    try:
        return list(codec.to_plain(list(values)))
    except (TypeError, ValueError) as error:
        raise Invalid(f"{part} of a schema cannot be kept as JSON: {error}") from error


def _check_columns(columns: list[Document]) -> None:
    if not columns:
        raise Invalid("a schema needs at least one column")
    for number, column in enumerate(columns, start=1):
        _check_column(number, column)
    keys = [codec.fold(column["name"]) for column in columns]
    for column, key in zip(columns, keys, strict=True):
        if keys.count(key) > 1:
            raise Invalid(f"column {column['name']!r} is there more than once: names that differ only in case are the same")


def _check_column(number: int, column: Document) -> None:
    name = column.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Invalid(f"column {number} of the schema needs a name, not {name!r}")
    kind = column.get("type")
    if not isinstance(kind, str) or not kind.strip():
        raise Invalid(f"column {name!r} needs a type such as 'BIGINT', not {kind!r}")
    for flag in ("nullable", "primary_key"):
        if not isinstance(column.get(flag), bool | None):
            raise Invalid(f"{flag} of column {name!r} must be true or false, not {column[flag]!r}")


def _check_references(definition: SchemaDefinition) -> None:
    known = [column["name"] for column in definition.columns]
    for index in definition.indexes:
        if not index.get("columns"):
            raise Invalid(f"index {index.get('name')!r} needs a list of columns")
    for part, documents in (("index", definition.indexes), ("constraint", definition.constraints)):
        for document in documents:
            _check_attachment(part, document)
        _check_once(part, [Attachment(document) for document in documents])
    _check_known("the primary key", definition.primary_keys, known)
    for index in definition.indexes:
        _check_known(f"index {Attachment(index).name!r}", index["columns"], known)


def _check_attachment(part: str, document: Document) -> None:
    name, columns = document.get("name"), document.get("columns") or []
    if name is not None and not isinstance(name, str):
        raise Invalid(f"{part} names must be text, not {name!r}")
    if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
        raise Invalid(f"{part} {name!r} needs a list of columns, not {columns!r}")


def _check_known(what: str, columns: list[str], known: list[str]) -> None:
    folded = {codec.fold(name) for name in known}
    for column in columns:
        if codec.fold(column) not in folded:
            raise Invalid(f"{what} has an unknown column {column!r}{suggest(column, known)}")


def _check_once(part: str, attachments: list[Attachment]) -> None:
    keys = [attachment.key for attachment in attachments]
    for attachment in attachments:
        if keys.count(attachment.key) > 1:
            raise Invalid(f"{part} {attachment.name!r} is there more than once")
