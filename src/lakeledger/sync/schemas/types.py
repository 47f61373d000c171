"""Column types of many engines under common names, and which of them can hold the values of which."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from lakeledger import codec

Relation = Literal["same", "wider", "narrower", "other", "unknown"]

_SPELLINGS = {
    "byte": "byte, tinyint, int1",
    "short": "short, smallint, int2, int16, smallserial",
    "mediumint": "mediumint",
    "int": "int, integer, int4, int32, serial",
    "long": "long, bigint, int8, int64, bigserial",
    "uint8": "uint8, tinyint unsigned",
    "uint16": "uint16, smallint unsigned",
    "mediumint unsigned": "mediumint unsigned",
    "uint32": "uint32, int unsigned, integer unsigned",
    "uint64": "uint64, bigint unsigned",
    "float": "float, float4, float32, real, binary_float",
    "double": "double, double precision, float8, float64, binary_double",
    "decimal": "decimal, numeric, number, dec",
    "boolean": "boolean, bool, bit",
    "char": "char, character, nchar, bpchar, national character",
    "varchar": "varchar, character varying, varchar2, nvarchar, nvarchar2, char varying, national character varying",
    "tinytext": "tinytext",
    "mediumtext": "mediumtext",
    "longtext": "longtext",
    "string": "string, text, clob, nclob, ntext",
    "binary": "binary",
    "varbinary": "varbinary, binary varying, bytea, blob, raw, bytes",
    "tinyblob": "tinyblob",
    "mediumblob": "mediumblob",
    "longblob": "longblob",
    "date": "date",
    "time": "time, time without time zone",
    "timestamp": "timestamp, timestamp without time zone, timestamp_ntz",
    "datetime": "datetime, datetime2",  # MySQL's TIMESTAMP has another range, and is converted from the session's time zone
    "timestamptz": "timestamptz, timestamp with time zone, timestamp_ltz, timestamp with local time zone, datetimeoffset",
    "void": "void, null",
}
_NAMES = {word: name for name, words in _SPELLINGS.items() for word in words.split(", ")}
_NESTED = ("array", "map", "struct")
_SIGNED_BITS = {"byte": 8, "short": 16, "mediumint": 24, "int": 32, "long": 64}
_UNSIGNED_BITS = {"uint8": 8, "uint16": 16, "mediumint unsigned": 24, "uint32": 32, "uint64": 64}
_MANTISSA_BITS = {"float": 24, "double": 53}
_TEXT_RANK = {"char": 0, "varchar": 1, "string": 2}
_TEXT_BYTES = {"tinytext": 2**8 - 1, "mediumtext": 2**24 - 1, "longtext": 2**32 - 1}
_BLOB_BYTES = {"tinyblob": 2**8 - 1, "mediumblob": 2**24 - 1, "longblob": 2**32 - 1}
# TEXT and BLOB are words of many engines and have no limit, but beside a word that only MySQL has they are MySQL's.
_SHARED_WORDS = {"text": _TEXT_BYTES, "blob": _BLOB_BYTES}
_SHARED_BYTES = 2**16 - 1
_BINARY_RANK = {"varbinary": 0, **dict.fromkeys(_BLOB_BYTES, 1), "binary": 2}
_BYTES_OF_A_CHARACTER = 4
_CLOCKS = ("time", "timestamp", "datetime", "timestamptz")
_MICROSECONDS = 6
_UNTOLD = {"datetime2": (7,), "datetimeoffset": (7,)}  # what SQL Server means when it says no precision
_MOST_DIGITS = 38  # what Oracle's NUMBER(*, s) stands for
_UNLIMITED = 2**63

_BRACKETED = re.compile(r"(?P<name>array|list|map|struct|row)\s*<(?P<inside>.*)>", re.IGNORECASE | re.DOTALL)
_SCALAR = re.compile(r"(?P<head>[^()<>]+)(?:\((?P<arguments>[^()]*)\)(?P<tail>[^()<>]*))?")
_ARGUMENT = re.compile(r"\s*(?:(?P<number>-?\d+)(?:\s*(?:char|byte))?|(?P<most>\*)|max)\s*", re.IGNORECASE)
_MEMBER = re.compile(r"(?P<name>`(?:[^`]|``)*`|[^`:\s]+)(?:\s*:\s*|\s+)(?P<type>.+)", re.DOTALL)
_REQUIRED = re.compile(r"\s+not\s+null$", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class Member:
    """What a nested type is made of: a field of a struct, the element of an array, the key or value of a map."""

    name: str
    type: DataType
    nullable: bool = True

    @property
    def text(self) -> str:
        return f"{self.type.text}{'' if self.nullable else ' not null'}"


@dataclass(frozen=True)
class DataType:
    """A type under its common name. One that no other engine knows keeps its own text as its name.

    `word` is how it was written, where engines mean different things by it.
    """

    name: str
    arguments: tuple[int, ...] = ()
    members: tuple[Member, ...] = ()
    word: str = field(default="", compare=False)

    @property
    def known(self) -> bool:
        """Whether it is known what values it holds: engines differ on how large a decimal without a size is."""
        if self.name == "decimal":
            return bool(self.arguments)
        return self.name in _SPELLINGS or self.name in _NESTED

    @property
    def text(self) -> str:
        """The type in words that `parse` reads back."""
        match self.name:
            case "struct":
                return f"struct<{', '.join(f'{_quoted(member.name)}: {member.text}' for member in self.members)}>"
            case "array":
                return f"array<{self.members[0].text}>"
            case "map":
                return f"map<{self.members[0].type.text}, {self.members[1].text}>"
        return f"{self.name}({','.join(map(str, self.arguments))})" if self.arguments else self.name

    @property
    def key(self) -> str:
        """Equal for types that are the same: fields of a struct have no order, and their names no case."""
        return _folded(self).text


def array_of(element: DataType, *, nullable: bool = True) -> DataType:
    """An array whose elements may be NULL, or not."""
    return DataType("array", members=(Member("element", element, nullable),))


def map_of(key: DataType, value: DataType, *, nullable: bool = True) -> DataType:
    """A map whose values may be NULL, or not."""
    return DataType("map", members=(Member("key", key, nullable=False), Member("value", value, nullable)))


def struct_of(members: Iterable[Member]) -> DataType:
    """A struct of these fields."""
    return DataType("struct", members=tuple(members))


@lru_cache(maxsize=4096)
def parse(text: str) -> DataType:
    """The type that a text names. A text that says nothing known is a type of its own."""
    text = text.strip()
    if text.endswith("[]"):
        return array_of(parse(text[:-2]))
    if bracketed := _BRACKETED.fullmatch(text):
        return _nested(bracketed["name"].lower(), bracketed["inside"]) or _own(text)
    scalar = _SCALAR.fullmatch(text)
    return (_scalar(scalar) if scalar else None) or _own(text)


def relation(old: str, new: str) -> Relation:
    """What became of a type: can the new one hold all that the old one held?"""
    return compare(parse(old), parse(new))


def compare(old: DataType, new: DataType) -> Relation:
    """As `relation`, for types that were parsed."""
    if old.key == new.key:
        return "same"
    if not (old.known and new.known):
        return "unknown"
    if old.name == new.name and old.name in _NESTED:
        return _combined(_member_relations(old, new))
    if _holds(new, old):
        return "wider"
    return "narrower" if _holds(old, new) else "other"


def _own(text: str) -> DataType:
    """An engine's own type: case and spaces count only inside quotes."""
    parts = text.split("'")
    parts[::2] = [re.sub(r"\s*([,()<>:])\s*", r"\1", " ".join(part.lower().split())) for part in parts[::2]]
    return DataType("'".join(parts))


def _folded(type_: DataType) -> DataType:
    members = [Member(codec.fold(member.name), _folded(member.type), member.nullable) for member in type_.members]
    if type_.name == "struct":
        members.sort(key=lambda member: member.name)
    return DataType(type_.name, type_.arguments, tuple(members))


def _nested(name: str, inside: str) -> DataType | None:
    parts = list(_split(inside))
    match name, parts:
        case "array" | "list", [element]:
            type_, nullable = _optional(element)
            return array_of(type_, nullable=nullable)
        case "map", [key, value]:
            type_, nullable = _optional(value)
            return map_of(parse(key), type_, nullable=nullable)
        case "struct" | "row", _:
            found = [_MEMBER.fullmatch(part) for part in parts]
            members = [Member(_unquoted(member["name"]), *_optional(member["type"])) for member in found if member]
            return struct_of(members) if len(members) == len(parts) else None
    return None


def _split(inside: str) -> Iterator[str]:
    """The parts between the commas that are in no bracket and no quotes."""
    depth, quoted, part = 0, False, ""
    for character in inside:
        quoted ^= character == "`"
        if not quoted:
            depth += (character in "<(") - (character in ">)")
        if character == "," and not (depth or quoted):
            yield part.strip()
            part = ""
        else:
            part += character
    if part.strip():
        yield part.strip()


def _optional(text: str) -> tuple[DataType, bool]:
    bare = _REQUIRED.sub("", text)
    return parse(bare), bare == text


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _scalar(found: re.Match[str]) -> DataType | None:
    word = " ".join(f"{found['head']} {found['tail'] or ''}".lower().split())
    if word not in _NAMES:
        element = word.removeprefix("_")  # PostgreSQL's own name of an array of int4 is _int4
        return array_of(parse(element)) if element in _NAMES and element != word else None
    given = [] if found["arguments"] is None else found["arguments"].split(",")
    read = [argument for argument in map(_ARGUMENT.fullmatch, given) if argument]
    if len(read) < len(given):
        return None  # a size in words of one engine, as in clob(1M)
    sizes = (_MOST_DIGITS if argument["most"] else argument["number"] for argument in read)
    return _sized(word, tuple(int(size) for size in sizes if size is not None))


def _sized(word: str, numbers: tuple[int, ...]) -> DataType | None:
    name, numbers = _NAMES[word], numbers or _UNTOLD.get(word, ())
    match name, numbers:
        case "boolean", (bits, *_) if word == "bit" and bits > 1:
            return None  # a number to one engine, a string of bits to another
        case "float", (bits, *_) if bits > _MANTISSA_BITS["double"]:
            return None
        case "float", (bits, *_) if bits > _MANTISSA_BITS["float"]:
            name = "double"
        case "varchar", ():
            name = "string"
        case "string", (_, *_):
            name = "varchar"
        case "varbinary", ():
            name = "binary"
    return DataType(name, _arguments(name, numbers), word=word if word in _SHARED_WORDS else "")


def _arguments(name: str, numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Only those that make a difference."""
    if name == "decimal" and numbers:
        return (*numbers, 0)[:2]
    if name == "char":
        return (numbers or (1,))[:1]
    if name in ("varchar", "binary", "varbinary") or (name in _CLOCKS and numbers[:1] != (_MICROSECONDS,)):
        return numbers[:1]
    return ()


def _combined(relations: set[Relation]) -> Relation:
    if "unknown" in relations:
        return "unknown"
    if "other" in relations or {"wider", "narrower"} <= relations:
        return "other"
    return next(iter(relations - {"same"}), "other")


def _member_relations(old: DataType, new: DataType) -> set[Relation]:
    before = {codec.fold(member.name): member for member in old.members}
    after = {codec.fold(member.name): member for member in new.members}
    found: set[Relation] = {"wider" if after[name].nullable else "other" for name in after.keys() - before.keys()}
    found |= {"narrower" if before[name].nullable else "other" for name in before.keys() - after.keys()}
    for name in before.keys() & after.keys():
        found |= {compare(before[name].type, after[name].type), _nullability(before[name], after[name])}
    return found


def _nullability(old: Member, new: Member) -> Relation:
    if old.nullable == new.nullable:
        return "same"
    return "wider" if new.nullable else "narrower"


def _holds(wide: DataType, narrow: DataType) -> bool:
    """Whether every value of the narrow type is a value of the wide one."""
    if exact := _range(narrow):
        return _holds_decimals(wide, narrow) if wide.name == narrow.name == "decimal" else _holds_numbers(wide, *exact)
    match narrow.name, wide.name:
        case ("void", _) | ("float", "double") | ("date", "timestamp" | "datetime"):
            return True
        case old, new if old in _TEXT_RANK | _TEXT_BYTES and new in _TEXT_RANK | _TEXT_BYTES:
            return _holds_text(wide, narrow)
        case old, new if old in _BINARY_RANK and new in _BINARY_RANK:
            return _holds_bytes(wide, narrow)
        case old, new if old == new and old in _CLOCKS:
            return _size(wide, _MICROSECONDS) >= _size(narrow, _MICROSECONDS)
    return False


def _holds_text(wide: DataType, narrow: DataType) -> bool:
    """Lengths of MySQL's texts are in bytes, all others in characters."""
    size, most = _size(narrow, _UNLIMITED), _size(wide, _UNLIMITED)
    used, held = _mysql_bytes(narrow, wide), _mysql_bytes(wide, narrow)
    if held:
        return (used or size * _BYTES_OF_A_CHARACTER) <= held
    return _TEXT_RANK[wide.name] >= _TEXT_RANK.get(narrow.name, 1) and most >= (used or size)


def _holds_bytes(wide: DataType, narrow: DataType) -> bool:
    """A binary with a size has all its bytes always: it holds only its like."""
    if wide.name == "binary" and wide.arguments:
        return narrow.name == "binary" and bool(narrow.arguments) and wide.arguments >= narrow.arguments
    most = _mysql_bytes(wide, narrow) or _size(wide, _UNLIMITED)
    size = _mysql_bytes(narrow, wide) or _size(narrow, _UNLIMITED)
    if narrow.name == "binary" and narrow.arguments:
        return most >= size
    return (most, _BINARY_RANK[wide.name]) >= (size, _BINARY_RANK[narrow.name])


def _mysql_bytes(type_: DataType, beside: DataType) -> int | None:
    """How many bytes one of MySQL's own texts or blobs holds, or None if it is none of them."""
    if beside.name in _SHARED_WORDS.get(type_.word, ()):
        return _SHARED_BYTES
    return _TEXT_BYTES.get(type_.name) or _BLOB_BYTES.get(type_.name)


def _holds_decimals(wide: DataType, narrow: DataType) -> bool:
    """By digits before the point and behind it: decimal(3,5) has less than none before it."""
    (most, most_scale), (precision, scale) = wide.arguments, narrow.arguments
    return most_scale >= scale and most - most_scale >= precision - scale


def _holds_numbers(wide: DataType, smallest: int, greatest: int, scale: int) -> bool:
    if held := _range(wide):
        return held[0] <= smallest and greatest <= held[1] and scale <= held[2]
    if bits := _MANTISSA_BITS.get(wide.name):
        return scale <= 0 and max(-smallest, greatest) <= 2**bits
    return False


def _range(type_: DataType) -> tuple[int, int, int] | None:
    """The smallest and greatest whole number that an exact type holds, and its decimal places."""
    if bits := _SIGNED_BITS.get(type_.name):
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0
    if bits := _UNSIGNED_BITS.get(type_.name):
        return 0, 2**bits - 1, 0
    if type_.name == "decimal" and type_.arguments:
        precision, scale = type_.arguments
        greatest = 10 ** max(precision - scale, 0) - 1
        return -greatest, greatest, scale
    return None


def _size(type_: DataType, otherwise: int) -> int:
    return type_.arguments[0] if type_.arguments else otherwise
