"""Texts and values without their secrets."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from lakeledger.redaction import finders
from lakeledger.redaction.finders import Find
from lakeledger.redaction.found import MASK, REFERENCE, SHORTEST_KNOWN, SHORTEST_PASSWORD, Found, Numeral, is_type
from lakeledger.redaction.lazy import lazy
from lakeledger.redaction.names import Grade, column_grade, grade, is_password, words

# Nothing this long is a part of another word by chance.
_LONG = 16
# Entries that tell how something is called, and what it is.
_LABELS = ("name", "field", "key")
_CREDENTIALS = frozenset(("credential", "credentials"))
_LABELLED = ("value", "default", "before", "after", "ours", "theirs")

_MEASURE = r"\d{4}-\d\d-\d\d(?:[T ][\d:.,]{1,15}(?:Z|[+-]\d\d:?\d\d)?)?|\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?|[+-]?\d{1,40}\.\d{1,40}"
_DATE_OR_DECIMAL = lazy(_MEASURE)
# What keys are written in, and what is left of one between its signs: chance seldom puts two of them close together, people do.
_BASE64, _RUN, _AROUND = lazy(r"[A-Za-z0-9+/_-]{32,}={0,2}"), lazy(r"[A-Za-z0-9]{12,}"), "'\"()[]{}<>.,:;!?"
_NUMBER_OR_FLAG = lazy(rf"{_MEASURE}|[+-]?\d{{1,40}}|true|false|yes|no|y|n|on|off|ok|none|null", re.IGNORECASE)
_SENT = lazy(
    r"(?:bearer|basic|token|digest|negotiate|ntlm|hawk|oauth|aws4-[\w-]{1,20}|sharedkey|sharedaccesssignature)\s+\S", re.IGNORECASE
)


@dataclass(frozen=True)
class Rules:
    """What counts as a secret: `by_name` or only by its shape, and whether the values are business data, which must survive a replay.

    `unmask` are patterns of names that are never masked for their name.
    """

    by_name: bool = True
    business: bool = False
    unmask: tuple[str, ...] = ()

    def grade(self, name: str, path: str = "") -> Grade:
        """How sure it is that what is called so is a secret."""
        if not self.by_name or (self.unmask and self.unmasks(name, path)):
            return Grade.NONE
        return column_grade(name) if self.business else grade(name)

    def hides(self, name: str, value: str, sure: Grade) -> bool:
        """Whether a text under a name of that grade is a secret."""
        if sure is Grade.NONE or not value or REFERENCE.fullmatch(value.strip()) or is_type(value):
            return False
        if not self.business:
            return sure is Grade.SECRET or not _NUMBER_OR_FLAG.fullmatch(value)
        return not _DATE_OR_DECIMAL.fullmatch(value) if sure is Grade.SECRET else _is_generated(name, value)

    def keeps(self, found: Found, text: str) -> bool:
        """Whether what was found by its name in a text is none of the secrets."""
        if not found.name:
            return False
        sure, value = self.grade(found.name), text[found.start : found.end]
        if self.business and found.instead != MASK and _NUMBER_OR_FLAG.fullmatch(value):
            return True
        return not self.hides(found.name, value, sure)

    def finders(self, text: str) -> Iterator[Find]:
        """What is worth looking for in a text."""
        lowered = text.lower()
        has_stem = finders.STEM.search(lowered) is not None
        if finders.LONG_WORD.search(lowered):
            yield finders.TOKENS
        chosen = finders.SHAPES if has_stem or finders.SHAPE.search(lowered) else ()
        for finder in (*chosen, *((finders.NAMED if self.by_name else finders.NAMED_IN_URLS) if has_stem else ())):
            if any(mark in lowered for mark in finder.marks):
                yield finder.find

    def inside(self, place: _Place) -> Rules:
        """How a text at that place is read: under a name that is declared to be no secret, shapes alone count."""
        return SHAPES if self.unmask and self.unmasks(place.name, place.path) else self

    def unmasks(self, name: str, path: str = "") -> bool:
        """Whether the name is declared to be no secret, by itself or by the end of its path (`payload.token`)."""
        pattern = self._unmask
        return bool(pattern.match(name.casefold()) or (path and any(map(pattern.match, _ends(path.casefold())))))

    @cached_property
    def _unmask(self) -> re.Pattern[str]:
        return re.compile("|".join(fnmatch.translate(name.casefold()) for name in self.unmask))


CONFIGURATION = Rules()
RECORD = Rules(business=True)
SHAPES = Rules(by_name=False)


def scrub(text: str, known: Iterable[str] = (), rules: Rules = CONFIGURATION) -> str:
    """The text without passwords inside URLs, without `password=…` values, keys and signatures, and without the known secrets."""
    if known:
        text = _without(text, known)
    for find in rules.finders(text):
        text = _replaced(text, find(text), rules)
    return text


def scrub_value(value: Any, name: str = "", known: Iterable[str] = (), rules: Rules = CONFIGURATION) -> Any:
    """The value with every text in it scrubbed, and without what is called a secret; a reference such as `{{env.PASSWORD}}` is none."""
    return _scrubbed(value, _Place(name, name), known, rules)


def is_clean(document: str) -> bool:
    """Whether the JSON of a value is sure to hold no secret, which is so for most values. It is read once, whatever it has inside.

    An escape may hide where a word begins, so a document that has one is not sure.
    """
    lowered = document.lower()
    if "\\" in document or finders.STEM.search(lowered) or finders.SHAPE.search(lowered):
        return False
    return not finders.LONG_WORD.search(lowered) or next(finders.TOKENS(document), None) is None


def secrets_in(value: Any, rules: Rules = CONFIGURATION) -> frozenset[str]:
    """The secrets that a value gives away: what is called one, and passwords inside its URLs. They can then be found elsewhere, too."""
    found = ((secret, shortest) for secret, shortest in _secrets(value, _Place(), rules) if set(secret) != {"*"})
    return frozenset(each for secret, shortest in found for each in (secret, unquote(secret)) if len(each) >= shortest)


class _Place(NamedTuple):
    """Where a value stands: what it is called, its path, and whether all of what it belongs to is a secret."""

    name: str = ""
    path: str = ""
    inside: bool = False

    def enter(self, key: Any, label: str = "") -> _Place:
        if self.inside:
            return self
        name = label if label and key in _LABELLED else str(key)
        return _Place(name, f"{self.path}.{name}" if self.path else name)


def _scrubbed(value: Any, place: _Place, known: Iterable[str], rules: Rules) -> Any:
    if isinstance(value, str):
        return MASK if _is_secret(value, place, rules) else scrub(value, known, rules.inside(place))
    if isinstance(value, dict):
        inner = _opened(place, rules)
        label = "" if inner.inside else _label(value, rules)
        return {_scrubbed_key(key, known, rules): _scrubbed(item, inner.enter(key, label), known, rules) for key, item in value.items()}
    if isinstance(value, list | tuple):
        inner = _opened(place, rules)
        return [_scrubbed(item, inner, known, rules) for item in value]
    if rules.business or value is None or isinstance(value, bool):
        return value
    return MASK if place.inside or rules.grade(place.name, place.path) is Grade.SECRET else value


def _secrets(value: Any, place: _Place, rules: Rules) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        inner = _opened(place, rules)
        for key, item in value.items():
            yield from _secrets(item, inner.enter(key), rules)
    elif isinstance(value, list | tuple):
        inner = _opened(place, rules)
        for item in value:
            yield from _secrets(item, inner, rules)
    elif isinstance(value, str) and _is_secret(value, place, rules):
        yield value, SHORTEST_PASSWORD if is_password(place.name) else SHORTEST_KNOWN
    elif isinstance(value, str):
        yield from _secrets_of_text(value, rules.inside(place))


def _secrets_of_text(text: str, rules: Rules) -> Iterator[tuple[str, int]]:
    for find in rules.finders(text):
        for found in find(text):
            if not rules.keeps(found, text):
                short = found.is_password or is_password(found.name)
                yield text[found.start : found.end].strip("'\""), SHORTEST_PASSWORD if short else SHORTEST_KNOWN


def _is_secret(value: str, place: _Place, rules: Rules) -> bool:
    if rules.business and isinstance(value, Numeral):
        return False
    if place.inside:
        return not REFERENCE.fullmatch(value.strip())
    sure = rules.grade(place.name, place.path)
    return sure is not Grade.NONE and rules.hides(place.name, value, sure)


def _opened(place: _Place, rules: Rules) -> _Place:
    """The place of what is inside of a list or a document.

    Inside of `{"credentials": {…}}` everything is a secret, whatever it is called; `credentials: "MD, PhD"` is none in a record.
    """
    sure = Grade.NONE if place.inside else rules.grade(place.name, place.path)
    whole = sure is Grade.SECRET or (sure is Grade.KEY and (not rules.business or not _CREDENTIALS.isdisjoint(words(place.name))))
    return place._replace(inside=True) if whole else place


def _label(entry: dict[Any, Any], rules: Rules) -> str:
    """What an entry of a list is called that names its value beside it, as `{"name": "password", "default": …}`."""
    found = (entry[label] for label in _LABELS if isinstance(entry.get(label), str))
    return next((label for label in found if rules.grade(label)), "")


def _is_generated(name: str, value: str) -> bool:
    """Whether a value that may be a business key is a credential: long and of all kinds of characters, or written as a header is.

    Hashes, UUIDs, paths, URNs and words with dashes between are what business keys are made of.
    """
    parts = words(name)
    if "authorization" in parts or "auth" in parts:
        return _SENT.match(value) is not None
    if parts[-1] == "cookie":
        return "=" in value
    if any(part.endswith(("key", "keys")) for part in parts):
        value = value.strip(_AROUND)
        return bool(_BASE64.fullmatch(value)) and (value.endswith("=") or any(map(_is_mixed, _RUN.findall(value))))
    return len(value) >= 2 * _LONG and " " not in value and _is_mixed(value)


def _is_mixed(value: str) -> bool:
    return all(any(map(kind, value)) for kind in (str.islower, str.isupper, str.isdigit))


def _ends(path: str) -> Iterator[str]:
    parts = path.split(".")
    return (".".join(parts[start:]) for start in range(len(parts)))


def _scrubbed_key(key: Any, known: Iterable[str], rules: Rules) -> Any:
    return scrub(key, known, rules) if isinstance(key, str) and (known or not _is_plain(key)) else key


# Records of a table have the same few keys.
@lru_cache(maxsize=4_096)
def _is_plain(key: str) -> bool:
    return next(CONFIGURATION.finders(key), None) is None


def _without(text: str, known: Iterable[str]) -> str:
    present = frozenset(secret for secret in known if secret and secret in text)
    return _known_pattern(present).sub(MASK, text) if present else text


@lru_cache(maxsize=64)
def _known_pattern(known: frozenset[str]) -> re.Pattern[str]:
    """Finds these values, the longest first, and short ones only where they are not a part of a longer word."""
    return re.compile("|".join(map(_whole, sorted(known, key=lambda secret: (-len(secret), secret)))))


def _whole(secret: str) -> str:
    escaped = re.escape(secret)
    if len(secret) >= _LONG:
        return escaped
    before, after = r"(?<![^\W_])" if secret[0].isalnum() else "", r"(?![^\W_])" if secret[-1].isalnum() else ""
    return f"{before}{escaped}{after}"


def _replaced(text: str, found: Iterable[Found], rules: Rules) -> str:
    kept, end = [], 0
    for each in found:
        if each.end > end and not rules.keeps(each, text):
            kept += [text[end : each.start], each.instead]
            end = each.end
    return "".join([*kept, text[end:]]) if kept else text
