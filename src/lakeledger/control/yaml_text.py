"""YAML read safely: plain values only, with the place of each, within limits, and every problem named with its line and column."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from lakeledger.control.json_text import NO_TEXT
from lakeledger.control.values import SpelledFloat, SpelledInt

if TYPE_CHECKING:
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

MAX_BYTES = 1_048_576
# What aliases may grow a document to.
MAX_NODES = 100_000
MAX_DEPTH = 50
# The parser's time grows with the square of some lines' length.
MAX_LINE = 65_536

Path = tuple[str | int, ...]

_TOO_DEEP = f"the document is nested more than {MAX_DEPTH} levels deep, or an alias holds itself"
_TOO_MANY = f"the document has more than {MAX_NODES:,} values (aliases count as what they stand for)"
_TOO_LONG = f"the document is longer than {MAX_BYTES:,} bytes: split it into several files"
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, order=True)
class Problem:
    """What is wrong at a line and a column, both from 1."""

    line: int
    column: int
    text: str


@dataclass(frozen=True)
class Tree:
    """What a document says, and where: the place of each key and each entry of a list."""

    value: Any
    places: Mapping[Path, tuple[int, int]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def problem(self, path: Path, text: str) -> Problem:
        """A problem with what stands at a path, or with the nearest thing around it."""
        found = next((self.places[path[:size]] for size in range(len(path), 0, -1) if path[:size] in self.places), (1, 1))
        return Problem(*found, text)


class _Stop(Exception):
    """A problem after which reading makes no sense."""

    def __init__(self, line: int, column: int, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(line, column, text)


def decode(data: bytes) -> str | Problem:
    """The text of a file, or why it is none."""
    if len(data) > MAX_BYTES:
        return Problem(1, 1, _TOO_LONG)
    try:
        text = data.decode("utf-8-sig")
        at = text.encode("utf-8").find(0)
    except UnicodeDecodeError as error:
        at = error.start
    if at < 0:
        return text
    before = data[:at].rpartition(b"\n")[2]
    return Problem(data.count(b"\n", 0, at) + 1, len(before) + 1, f"not a text: the byte 0x{data[at]:02x}; save the file as UTF-8")


def read(text: str) -> Tree:
    """What the text says. A text that cannot be read at all has no value, and a problem."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return Tree(None, problems=(Problem(1, 1, _TOO_LONG),))
    if wide := next((at for at, line in enumerate(text.split("\n"), 1) if len(line) > MAX_LINE), None):
        return Tree(None, problems=(Problem(wide, MAX_LINE + 1, f"the line is longer than {MAX_LINE:,} characters"),))
    try:
        yaml, root = _compose(text)
        reading = _Reading(yaml)
        value = None if root is None else reading.value(root, ())
    except _Stop as stop:
        return Tree(None, problems=(stop.problem,))
    return Tree(value, reading.places, tuple(reading.problems))


def _compose(text: str) -> tuple[YAML, Node | None]:
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import Composer as AnyComposer
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    class Composer(AnyComposer):
        """Stops at once where a document is too large or too deep: reading all of it first can take minutes."""

        levels = 0
        nodes = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.nodes += 1
            if self.nodes > MAX_NODES or self.levels > MAX_DEPTH:
                mark = self.parser.peek_event().start_mark
                raise _Stop(mark.line + 1, mark.column + 1, _TOO_DEEP if self.levels > MAX_DEPTH else _TOO_MANY)
            self.levels += 1
            node = super().compose_node(parent, index)
            self.levels -= 1
            return node

    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = Composer
    yaml.composer.warn_double_anchors = False
    try:
        return yaml, yaml.compose(text)
    except _Stop:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        hint = "; a ${…} inside {…} or […] needs quotes" if "${" in "".join(text.split("\n")[line : line + 1]) else ""
        raise _Stop(line + 1, column + 1, f"not valid YAML: {error.problem or error.context}{hint}") from error
    except ReaderError as error:
        before = text[: error.position].rpartition("\n")[2]
        line = text.count("\n", 0, error.position) + 1
        raise _Stop(line, len(before) + 1, f"not valid YAML: the character #x{_code(error.character):04x} is not allowed") from error
    except YAMLError as error:
        raise _Stop(1, 1, f"not valid YAML: {error}") from error
    except Exception as error:  # what the parser did not think of: a file may hold anything
        raise _Stop(1, 1, f"not valid YAML: {error or type(error).__name__}") from error


class _Reading:
    """From YAML's nodes to plain values."""

    def __init__(self, yaml: YAML) -> None:
        self.yaml = yaml
        self.places: dict[Path, tuple[int, int]] = {}
        self.problems: list[Problem] = []
        self.nodes = 0

    def value(self, node: Node, path: Path) -> Any:
        from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

        self._count(node, 1, len(path))
        self._check_tag(node)
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if isinstance(node, SequenceNode):
            return [self._item(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, MappingNode):
            return {name: self._entry(key, value, (*path, name)) for name, key, value in self._entries(node, len(path))}
        return None

    def _item(self, node: Node, path: Path) -> Any:
        self.places[path] = _place(node)
        return self.value(node, path)

    def _entry(self, key: Node, value: Node, path: Path) -> Any:
        self.places[path] = _place(key)
        return self.value(value, path)

    def _entries(self, node: MappingNode, depth: int) -> list[tuple[str, Node, Node]]:
        """The keys of a mapping, then those that it takes over from others with `<<`."""
        self._count(node, len(node.value), depth)
        own: dict[str, tuple[str, Node, Node]] = {}
        taken: list[tuple[str, Node, Node]] = []
        for key, value in node.value:
            if key.tag == f"{_TAG}merge":
                taken += self._taken(value, depth + 1)
            elif not isinstance(key.value, str):
                self._problem(key, "a key must be a text")
            elif key.value in own:
                first = _place(own[key.value][1])[0]
                self._problem(key, f"the key {key.value!r} is used twice, first in line {first}")
            else:
                self._check_tag(key)
                own[key.value] = (self._checked(key), key, value)
        for entry in taken:
            own.setdefault(entry[0], entry)
        return list(own.values())

    def _taken(self, value: Node, depth: int) -> list[tuple[str, Node, Node]]:
        from ruamel.yaml.nodes import MappingNode, SequenceNode

        found: list[tuple[str, Node, Node]] = []
        for other in value.value if isinstance(value, SequenceNode) else [value]:
            if isinstance(other, MappingNode):
                found += self._entries(other, depth)
            else:
                self._problem(value, "`<<` takes over the keys of a mapping, or of a list of them")
        return found

    def _scalar(self, node: ScalarNode) -> Any:
        kind = str(node.tag).removeprefix(_TAG)
        if kind not in ("null", "bool", "int", "float", "timestamp"):
            return self._checked(node)
        try:
            return self._construct(kind, node)
        except (ValueError, OverflowError, IndexError):
            self._problem(node, f"{node.value[:40]!r} cannot be read: put it in quotes if it is a text")
            return None

    def _construct(self, kind: str, node: ScalarNode) -> Any:
        text: str = node.value
        match kind:
            case "bool":
                return text.lower() in ("true", "yes", "on", "y")
            case "int":
                return _spelled(int(self.yaml.constructor.construct_yaml_int(node)), text)
            case "float":
                return _spelled(_finite(self.yaml.constructor.construct_yaml_float(node)), text)
            case "timestamp":
                return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else text
            case _:
                return None

    def _checked(self, node: ScalarNode) -> str:
        if NO_TEXT.search(node.value):
            self._problem(node, "the text holds a character that cannot be stored")
            return ""
        return str(node.value)

    def _check_tag(self, node: Node) -> None:
        known = ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "merge", "value")
        if str(node.tag) not in {f"{_TAG}{name}" for name in known}:
            told = str(node.tag).replace(_TAG, "!!")
            self._problem(node, f"the tag {told[:60]} is not allowed: a document holds plain values only")

    def _count(self, node: Node, more: int, depth: int) -> None:
        self.nodes += more
        if self.nodes > MAX_NODES:
            raise _Stop(*_place(node), _TOO_MANY)
        if depth > MAX_DEPTH:
            raise _Stop(*_place(node), _TOO_DEEP)

    def _problem(self, node: Node, text: str) -> None:
        self.problems.append(Problem(*_place(node), text))


def _spelled(number: Any, text: str) -> Any:
    """The number; one that is not spelled as usual remembers how."""
    if str(number) == text:
        return number
    spelled = SpelledInt(number) if isinstance(number, int) else SpelledFloat(number)
    spelled.spelling = text
    return spelled


def _code(character: Any) -> int:
    return character if isinstance(character, int) else ord(character)


def _finite(number: Any) -> float:
    if not math.isfinite(number):
        raise ValueError("JSON cannot hold it")
    return float(number)


def _place(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1
