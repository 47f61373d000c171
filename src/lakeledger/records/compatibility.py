"""Whether a JSON Schema may follow another: pure, and strict where it cannot tell.

Backward: everything that was valid is valid still, so whoever reads with the new schema can read old records. Forward: everything that is
valid now was valid before. Full: both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lakeledger.errors import Invalid

MODES = ("backward", "forward", "full", "none")

# What says nothing about which values are valid.
_WORDS = frozenset(
    (
        "$schema",
        "$id",
        "$comment",
        "title",
        "description",
        "default",
        "examples",
        "version",
        "retention",
        "frequency",
        "deprecated",
        "format",
    )
)
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_UNDERSTOOD = frozenset(("type", "enum", "const", "properties", "required", "additionalProperties", "items", *_LOWER, *_UPPER))

Schema = Mapping[str, Any] | bool


def incompatibilities(old: Schema, new: Schema, mode: str) -> list[str]:
    """Why the new schema may not follow the old one, in words; nothing if it may. Raises Invalid for a mode that there is not."""
    if mode not in MODES:
        raise Invalid(f"{mode!r} is no compatibility: use {', '.join(MODES)}")
    found: list[str] = []
    if mode in ("backward", "full"):
        found += [f"{where}: {what}, so records that were valid are not any more" for where, what in _narrowed(old, new, "payload")]
    if mode in ("forward", "full"):
        found += [f"{where}: {what} before, so records that are valid now were not" for where, what in _narrowed(new, old, "payload")]
    return found


def _narrowed(wide: Schema, narrow: Schema, where: str) -> Iterator[tuple[str, str]]:
    """What is valid by the one and perhaps not by the other."""
    if narrow is True or narrow == {} or wide is False:
        return
    if narrow is False:
        yield where, "nothing is allowed"
        return
    before: Mapping[str, Any] = {} if wide is True else wide
    after: Mapping[str, Any] = narrow
    yield from _types(before, after, where)
    yield from _bounds(before, after, where)
    yield from _properties(before, after, where)
    if "items" in after:
        yield from _narrowed(before.get("items", True), after["items"], f"{where}[]")
    for word in sorted((before.keys() | after.keys()) - _UNDERSTOOD - _WORDS):
        if word in after and before.get(word) != after[word]:
            yield where, f"{word} changed, of which it cannot be told what it allows"


def _types(before: Mapping[str, Any], after: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    if "type" in after:
        lost = _type_set(before) - _type_set(after)
        if "integer" in lost and "number" in _type_set(after):
            lost -= {"integer"}
        if lost and not ("enum" in before or "const" in before):
            yield where, f"{' and '.join(sorted(lost))} is not allowed"
    values = _values(after)
    if values is not None:
        known = _values(before)
        if known is None:
            yield where, f"only {', '.join(map(repr, values))} are allowed"
        elif gone := [value for value in known if value not in values]:
            yield where, f"{', '.join(map(repr, gone))} is not allowed"
    elif (known := _values(before)) is not None and "type" in after:
        strange = [
            value
            for value in known
            if _type_of(value) not in _type_set(after) and not (_type_of(value) == "integer" and "number" in _type_set(after))
        ]
        if strange:
            yield where, f"{', '.join(map(repr, strange))} is not allowed"


def _bounds(before: Mapping[str, Any], after: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    for word in _LOWER:
        if word in after and (word not in before or before[word] < after[word]):
            yield where, f"{word} is {after[word]}"
    for word in _UPPER:
        if word in after and (word not in before or before[word] > after[word]):
            yield where, f"{word} is {after[word]}"


def _properties(before: Mapping[str, Any], after: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    for name in sorted(set(after.get("required", ())) - set(before.get("required", ()))):
        yield f"{where}.{name}", "it is required"
    known, allowed = before.get("properties", {}), after.get("properties", {})
    others_before, others_after = before.get("additionalProperties", True), after.get("additionalProperties", True)
    for name in sorted(known.keys() | allowed.keys()):
        # What anybody may have written under a name that meant nothing is not held against it: else nothing could ever be added.
        if name not in known and others_before is True:
            continue
        yield from _narrowed(known.get(name, others_before), allowed.get(name, others_after), f"{where}.{name}")
    if others_before is not False and others_after is False:
        yield where, "no other properties are allowed"
    elif isinstance(others_after, Mapping):
        yield from _narrowed(others_before, others_after, f"{where}.*")


_ALL_TYPES = frozenset(("null", "boolean", "integer", "number", "string", "array", "object"))


def _type_set(schema: Mapping[str, Any]) -> frozenset[str]:
    said = schema.get("type")
    return _ALL_TYPES if said is None else frozenset([said] if isinstance(said, str) else said)


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object", type(None): "null"}
    return names[type(value)]
