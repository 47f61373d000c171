"""What changed from one definition to another, told so that a data engineer can read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.errors import Invalid
from lakeledger.sync.schemas import types
from lakeledger.sync.schemas.definition import Attachment, Column, Document, SchemaDefinition
from lakeledger.sync.schemas.types import Relation

SIMILAR = 0.6
MOST_PAIRS = 10_000  # nobody renames a hundred columns at once, and comparing the names of more takes too long


class EvolutionType(StrEnum):
    """How a version came to be. `multiple`: by changes of several kinds."""

    CREATE = "create"
    ADD_COLUMN = "add_column"
    MODIFY_COLUMN = "modify_column"
    DROP_COLUMN = "drop_column"
    RENAME_COLUMN = "rename_column"
    ADD_INDEX = "add_index"
    MODIFY_INDEX = "modify_index"
    DROP_INDEX = "drop_index"
    CHANGE_KEY = "change_key"
    ADD_CONSTRAINT = "add_constraint"
    DROP_CONSTRAINT = "drop_constraint"
    MULTIPLE = "multiple"


@dataclass(frozen=True)
class Change:
    """One change. A modified column says only what is different of it, and how its new type relates to the old."""

    kind: EvolutionType
    subject: str
    before: Document | None = None
    after: Document | None = None
    relation: Relation | None = None

    def words(self) -> str:
        """The change as a sentence."""
        return _words(self, self.before or {}, self.after or {})

    def to_dict(self) -> Document:
        return {
            "kind": self.kind.value,
            "subject": self.subject,
            "before": self.before,
            "after": self.after,
            "relation": self.relation,
            "words": self.words(),
        }


@dataclass(frozen=True)
class SchemaDiff:
    """Everything that changed from one definition, or version, to another."""

    changes: tuple[Change, ...]
    from_version: int | None = None
    to_version: int | None = None

    def words(self) -> list[str]:
        """One sentence per change."""
        return [change.words() for change in self.changes]

    def to_dict(self) -> Document:
        changes = [change.to_dict() for change in self.changes]
        return {"from_version": self.from_version, "to_version": self.to_version, "changes": changes}


def parse_evolution(word: str) -> EvolutionType:
    """The kind of evolution that a word names. Raises Invalid."""
    try:
        return EvolutionType(word.lower())
    except ValueError:
        raise Invalid(f"unknown evolution type {word!r}{suggest(word.lower(), [known.value for known in EvolutionType])}") from None


def infer(changes: Sequence[Change]) -> EvolutionType:
    """What kind of evolution these changes are. Raises Invalid if there are none."""
    kinds = {change.kind for change in changes}
    if not kinds:
        raise Invalid("no change is no evolution")
    return kinds.pop() if len(kinds) == 1 else EvolutionType.MULTIPLE


def diff(old: SchemaDefinition, new: SchemaDefinition) -> SchemaDiff:
    """What changed. Definitions with the same hash have no changes, and others have some."""
    return SchemaDiff(
        (
            *_column_changes(old.fields, new.fields),
            *_key_changes(old, new),
            *_index_changes(_by_key(old.indexes), _by_key(new.indexes)),
            *_constraint_changes(_by_key(old.constraints), _by_key(new.constraints)),
        )
    )


def _column_changes(old: Sequence[Column], new: Sequence[Column]) -> Iterator[Change]:
    before, after = {column.key: column for column in old}, {column.key: column for column in new}
    dropped = {place: column for place, column in enumerate(old) if column.key not in after}
    added = {place: column for place, column in enumerate(new) if column.key not in before}
    for place, new_place in _renames(dropped, added):
        gone, come = dropped.pop(place), added.pop(new_place)
        yield Change(EvolutionType.RENAME_COLUMN, gone.name, gone.document, come.document)
    for column in old:
        if column.key in after and column.canonical != after[column.key].canonical:
            yield _modification(column, after[column.key])
    yield from (Change(EvolutionType.DROP_COLUMN, column.name, before=column.document) for column in dropped.values())
    yield from (Change(EvolutionType.ADD_COLUMN, column.name, after=column.document) for column in added.values())


def _modification(old: Column, new: Column) -> Change:
    aspects = [aspect for aspect in ("type", "nullable", "default") if old.canonical[aspect] != new.canonical[aspect]]
    return Change(
        EvolutionType.MODIFY_COLUMN,
        new.name,
        before={aspect: getattr(old, aspect) for aspect in aspects},
        after={aspect: getattr(new, aspect) for aspect in aspects},
        relation=types.relation(old.type, new.type) if "type" in aspects else None,
    )


def _renames(dropped: dict[int, Column], added: dict[int, Column]) -> Iterator[tuple[int, int]]:
    """The places of columns that look like they only got another name, the most similar first."""
    if len(dropped) * len(added) > MOST_PAIRS:
        return
    alike = sorted((_similarity(dropped[old], added[new]), -old, -new) for old in dropped for new in added)
    old_taken, new_taken = set(), set()
    for similarity, old, new in reversed(alike):
        if similarity and old not in old_taken and new not in new_taken:
            old_taken.add(old)
            new_taken.add(new)
            yield -old, -new


def _similarity(old: Column, new: Column) -> float:
    """How alike the names are; nothing if they are not, or if the columns cannot be the same."""
    if (old.data_type.key, old.nullable) != (new.data_type.key, new.nullable):
        return 0
    shorter, longer = sorted((old.key, new.key), key=lambda name: (len(name), name))
    ratio = SequenceMatcher(None, shorter, longer).ratio()
    contained = len(shorter) > 1 and shorter in longer  # email and email_address
    return ratio if contained or ratio >= SIMILAR else 0


def _key_changes(old: SchemaDefinition, new: SchemaDefinition) -> Iterator[Change]:
    if set(map(codec.fold, old.keys)) != set(map(codec.fold, new.keys)):
        yield Change(EvolutionType.CHANGE_KEY, "primary key", {"columns": list(old.keys)}, {"columns": list(new.keys)})


def _by_key(documents: Iterable[Document]) -> dict[str, Attachment]:
    return {attachment.key: attachment for attachment in map(Attachment, documents)}


def _index_changes(old: dict[str, Attachment], new: dict[str, Attachment]) -> Iterator[Change]:
    for key in old | new:
        match old.get(key), new.get(key):
            case Attachment() as gone, None:
                yield Change(EvolutionType.DROP_INDEX, gone.name, before=gone.document)
            case None, Attachment() as come:
                yield Change(EvolutionType.ADD_INDEX, come.name, after=come.document)
            case Attachment() as gone, Attachment() as come if gone.canonical != come.canonical:
                yield Change(EvolutionType.MODIFY_INDEX, come.name, gone.document, come.document)


def _constraint_changes(old: dict[str, Attachment], new: dict[str, Attachment]) -> Iterator[Change]:
    """A constraint that says something else is another constraint."""
    for gone in old.values():
        if gone.key not in new or new[gone.key].canonical != gone.canonical:
            yield Change(EvolutionType.DROP_CONSTRAINT, gone.name, before=gone.document)
    for come in new.values():
        if come.key not in old or old[come.key].canonical != come.canonical:
            yield Change(EvolutionType.ADD_CONSTRAINT, come.name, after=come.document)


def _words(change: Change, before: Document, after: Document) -> str:
    subject = change.subject
    match change.kind:
        case EvolutionType.ADD_COLUMN:
            return f"{subject} {after['type']} was added ({_presence(after)})"
        case EvolutionType.DROP_COLUMN:
            return f"{subject} {before['type']} was dropped"
        case EvolutionType.RENAME_COLUMN:
            return f"{subject} {before['type']} looks like it was renamed to {after['name']}"
        case EvolutionType.MODIFY_COLUMN:
            return f"{subject} {' and '.join(_aspect_words(change, before, after))}"
        case EvolutionType.CHANGE_KEY:
            return f"the primary key changed from {_listed(before['columns'])} to {_listed(after['columns'])}"
    verb, _, thing = change.kind.partition("_")
    done = {"add": "was added", "drop": "was dropped", "modify": "was changed"}[verb]
    unique = "unique " if (after or before).get("unique") else ""
    return f"{unique}{thing} {subject} {done}"


def _aspect_words(change: Change, before: Document, after: Document) -> Iterator[str]:
    if "type" in after:
        yield f"changed from {before['type']} to {after['type']} ({_RELATIONS[change.relation or 'unknown']})"
    if "nullable" in after:
        yield "may now be NULL" if after["nullable"] else "may no longer be NULL"
    if "default" in after:
        yield _default_words(before["default"], after["default"])


_RELATIONS: dict[Relation, str] = {
    "same": "the same",
    "wider": "wider",
    "narrower": "narrower",
    "other": "another kind of value",
    "unknown": "it is not known how they relate",
}


def _default_words(before: Any, after: Any) -> str:
    if after is None:
        return f"lost its default {before!r}"
    return f"got the default {after!r}" if before is None else f"has the default {after!r} instead of {before!r}"


def _presence(column: Document) -> str:
    default = f", default {column['default']!r}" if "default" in column else ""
    return f"{'may be NULL' if column['nullable'] else 'required'}{default}"


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns) or "none"
