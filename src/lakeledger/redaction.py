"""Keeping secrets out of what is stored, logged and shown.

Texts come from anywhere and may be long, so nothing here looks at the same place more than a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import unquote

MASK = "***"

# Shorter values are words that turn up everywhere. What is called a password or a key may be a little shorter.
SHORTEST_KNOWN = 8
SHORTEST_PASSWORD = 5
# Nothing this long is a part of another word by chance.
_LONG = 16


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PASSWORDS = _set_of("password passwords passwd passphrase passcode pwd secret secrets")
_SECRETS = _PASSWORDS | _set_of("token credential credentials authorization apikey accesskey accountkey privatekey secretkey sas")
_ENDINGS = ("password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "accountkey", "privatekey", "secretkey")
_KEYS = _set_of("api access account private secret shared signing encryption master subscription storage")
# What is said about a secret, and is none itself.
_ABOUT = _set_of(
    "count counts type types endpoint url uri at on file path name names id ids encoding status state length size expires expired expiry "
    "expiration ttl seconds ms minutes hours days policy limit limits usage used enabled required version provider format algorithm field "
    "column date time timeout scope scopes lifetime arn min max rate index offset position class"
)
# Tokens that say where a reader or a writer stands.
_PLACES = _set_of("resume page continuation next pagination cursor fence fencing lease sync")
# `InvalidToken: …` is an exception, and `token: …` in prose is more often a parser's.
_COMPLAINTS = _set_of("invalid expired missing wrong bad incorrect unexpected unknown no empty weak malformed")
_WHOLE = (["cookie"], ["set", "cookie"])
# Entries that say how something is called, and what it is.
_LABELS = ("name", "field", "key")
_LABELLED = ("value", "default", "before", "after", "ours", "theirs")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_STEM = re.compile(r"pass|pwd|secret|token|credential|authorization|key|sas|cookie|signature", re.IGNORECASE)

_ASSIGNED = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]++)"
    r"(?:(?P<quoted>\\{0,7}['\"]\]?\s{0,8}(?:=>|[:,=](?!=))\s{0,8})|(?P<set>\s{0,8}:?=(?!=)>?\s{0,8})|(?P<encoded>%3D)"
    r"|(?P<said>[ \t]{0,2}:(?!//|:)[ \t]{0,8}))",
    re.IGNORECASE,
)
_ENCODED_NAME = re.compile(r"%[0-9a-f]{2}", re.IGNORECASE)
_QUOTED = re.compile(r"\"(?P<double>(?:[^\"\\]++|\\.)*+)\"|'(?P<single>(?:[^'\\]++|\\.|'')*+)'", re.DOTALL)
_ESCAPED = re.compile(r"(?P<quote>\\{1,7}['\"])(?P<secret>.{0,1024}?)(?<!\\)(?P=quote)", re.DOTALL)
_LITERAL = re.compile(r"(?:null|true|false|none)(?=[\s,}\])]|$)", re.IGNORECASE)
_JSON = re.compile(r"-?\d[\d.eE+-]{0,400}(?=[\s,}\])])|\[[^\[\]]{0,2000}\]|\{[^{}]{0,2000}\}")
_BRACED = re.compile(r"\{[^}]{0,256}\}")
_SCHEME = re.compile(
    r"(?:(?:bearer|basic|token|negotiate|ntlm|apikey|key|sharedkey|dpop)[ \t]{1,8}"
    r"|(?P<line>(?:digest|oauth|hawk|aws4-[\w-]{1,20}|sharedaccesssignature)[ \t]{1,8}))",
    re.IGNORECASE,
)
_LINE = re.compile(r"[^\r\n'\"]+")
# A backslash before a quote belongs to the quote.
_BARE_VALUE = re.compile(r"['\"]?(?:[^\s&;,'\"\\]|\\(?!\\{0,6}['\"]))+")
_FLAG = re.compile(r"(?<![\w-])--?(?P<name>[A-Za-z][\w-]*+)\s{1,8}(?!-)(?=\S)")

# `{{env.PASSWORD}}` and `${env:PASSWORD}` say where the secret is.
_REFERENCE = re.compile(r"\{\{[\w.:-]{1,256}\}\}|\$\{[\w.:-]{1,256}\}")
_URL = re.compile(r"://(?P<rest>[^\s<>]++)")
_USER = re.compile(r"[^\s:/@'\"]{0,256}+:")
_WEB = re.compile(r"(?:https?|wss?|ftps?)$", re.IGNORECASE)
_PORT = re.compile(r"\d{1,5}[/?#]")
_LIST_MARKS = re.compile(r"[,;{}\[\]()]")
_USER_TOKEN = re.compile(r"(?P<secret>[\w-]{20,256})@")

_OTHERS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(?i:\b(?:bearer|basic)\s{1,8})(?P<secret>[A-Za-z0-9+/_.=-]{16,})",
        r"(?:(?i:[?&](?:sig|signature|x-amz-signature|x-amz-credential)=)|\bSignature=)(?P<secret>[^\s&'\",;]+)",
        r"<(?i:(?:[\w.-]{1,64}:)?(?P<name>[\w.-]{1,64}))(?:\s[^<>]{0,256})?>(?P<secret>[^<]++)(?=</)",
        r"(?i:\bjdbc:oracle:\w{1,16}:[^\s/@:]{0,64}/)(?P<secret>[^\s@]{1,256}(?:@[^\s@/]{1,64}(?=@))?)@",
        r"(?<![\w/:.+-])[\w.+-]{1,64}+:(?P<secret>[^\s]{1,256}?)@(?:tcp6?|udp|unix)\(",
        r"(?<!\S)(?:-u|-U|--user|--proxy-user)[\s=]{0,2}['\"]?[^\s:'\"=-][^\s:'\"]{0,63}:(?!\d+(?:\s|$))(?P<secret>[^\s'\"]+)",
        r"(?P<secret>-----BEGIN [A-Z ]{0,64}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,64}PRIVATE KEY(?: BLOCK)?-----|\Z))",
        (
            r"(?P<secret>(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]+|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bdapi[0-9a-f]{32}(?:-\d{1,2})?\b"
            r"|\bgh[pousr]_\w{10,}|\bgithub_pat_\w{10,}|(?<![\w-])glpat-[\w-]{10,}|(?<![\w-])xox[abprs]-[\w-]{10,})"
        ),
    )
)
# Without one of these there is no secret to find: most texts are looked at only once.
_HINT = re.compile(
    r"[=:'\"<]|%3D|(?:^|\s)-|\b(?:bearer|basic)\s|eyJ|AKIA|ASIA|-----BEGIN|\bdapi|\bgh[pousr]_|github_pat_|glpat-|xox[abprs]-",
    re.IGNORECASE,
)


class Found(NamedTuple):
    """Where a secret stands in a text, what is written there instead, and how short it may be to be looked for elsewhere."""

    start: int
    end: int
    instead: str = MASK
    shortest: int = SHORTEST_KNOWN


def scrub(text: str, known: Iterable[str] = ()) -> str:
    """The text without passwords inside URLs, without `password=…` values, keys and signatures, and without the known secrets."""
    text = _without(text, known)
    if not _HINT.search(text):
        return text
    for find in _FINDERS:
        text = _replaced(text, find(text))
    return text


def scrub_value(value: Any, name: str = "", known: Iterable[str] = ()) -> Any:
    """The value with every text in it scrubbed, and without what is called a secret; a reference such as `{{env.PASSWORD}}` is none."""
    secret = is_secret_name(name)
    match value:
        case dict():
            label = name if secret else _label(value)
            return {_scrubbed_key(key, known): scrub_value(item, _name_of(key, label, secret), known) for key, item in value.items()}
        case list() | tuple():
            return [scrub_value(item, name, known) for item in value]
        case str() if secret:
            return value if _REFERENCE.fullmatch(value.strip()) else MASK
        case str():
            return scrub(value, known)
        case bool() | None:
            return value
        case _:
            return MASK if secret and not _is_count(name, str(value)) else value


@lru_cache(maxsize=4_096)
def is_secret_name(name: str) -> bool:
    """Whether what is called so is a secret: one of its words is, and the last one does not say what else it is."""
    if not _STEM.search(name):
        return False
    parts = _words(name)
    if not parts or (parts[-1] in _ABOUT and parts[-2:] != ["secret", "id"]):
        return False
    if parts[-1] == "token" and _PLACES.intersection(parts[-2:-1]):
        return False
    pairs = any(second in ("key", "keys") and first in _KEYS for first, second in pairwise(parts))
    return pairs or parts[-1] == "pass" or parts[-2:] == ["access", "signature"] or parts in _WHOLE or any(map(_is_secret, parts))


def secrets_in(value: Any) -> frozenset[str]:
    """The secrets that a value gives away: what is called one, and passwords inside its URLs. They can then be found elsewhere, too."""
    found = ((secret, shortest) for secret, shortest in _secrets(value, "") if set(secret) != {"*"})
    return frozenset(each for secret, shortest in found for each in (secret, unquote(secret)) if len(each) >= shortest)


def _words(name: str) -> list[str]:
    return [part.lower() for part in _PARTS.findall(name)]


def _is_secret(word: str) -> bool:
    return (word in _SECRETS) or word.endswith(_ENDINGS)


def _shortest(name: str) -> int:
    named = any(word in _PASSWORDS or word == "pass" or word.endswith((*_ENDINGS[:4], "key")) for word in _words(name))
    return SHORTEST_PASSWORD if named else SHORTEST_KNOWN


def _secrets(value: Any, name: str) -> Iterator[tuple[str, int]]:
    secret = is_secret_name(name)
    match value:
        case dict():
            for key, item in value.items():
                yield from _secrets(item, name if secret else str(key))
        case list() | tuple():
            for item in value:
                yield from _secrets(item, name)
        case str() if secret and not _REFERENCE.fullmatch(value.strip()):
            yield value, _shortest(name)
        case str():
            for find in _FINDERS:
                yield from ((value[found.start : found.end].strip("'\""), found.shortest) for found in find(value))


def _label(entry: dict[Any, Any]) -> str:
    """What an entry of a list is called that names its value beside it, as `{"name": "password", "default": …}`."""
    found = (entry[label] for label in _LABELS if isinstance(entry.get(label), str))
    return next((label for label in found if is_secret_name(label)), "")


def _name_of(key: Any, label: str, is_secret: bool) -> str:
    return label if is_secret or (label and key in _LABELLED) else str(key)


def _scrubbed_key(key: Any, known: Iterable[str]) -> Any:
    return scrub(key, known) if isinstance(key, str) else key


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


def _replaced(text: str, found: Iterator[Found]) -> str:
    kept, end = [], 0
    for each in found:
        kept += [text[end : each.start], each.instead]
        end = each.end
    return "".join([*kept, text[end:]]) if end else text


def _in_urls(text: str) -> Iterator[Found]:
    """Passwords and tokens before the host. One that should have been percent-encoded may hold anything but a space."""
    for url in _URL.finditer(text):
        rest, begin = url["rest"], url.start("rest")
        if "@" not in rest:
            continue
        at, web = 0, _WEB.search(text, max(0, url.start() - 6), url.start())
        while True:
            if span := _password_span(rest, at, web=bool(web)):
                if not _REFERENCE.fullmatch(rest, *span):
                    yield Found(begin + span[0], begin + span[1], shortest=SHORTEST_PASSWORD)
                break
            if web and (token := _USER_TOKEN.match(rest, at)):
                yield Found(begin + token.start("secret"), begin + token.end("secret"))
            at = rest.find("://", at) + 3
            if at < 3:
                break
            web = _WEB.search(rest, max(0, at - 9), at - 3)


def _password_span(rest: str, at: int, *, web: bool) -> tuple[int, int] | None:
    user = _USER.match(rest, at)
    if user is None:
        return None
    start = user.end()
    quotes = [found for quote in "'\"" if (found := rest.find(quote, start)) >= 0]
    end = rest.rfind("@", start, min(quotes, default=len(rest)))
    if end < 0 and quotes:
        # A quote inside a password; what follows one that ends the URL is another item of a list.
        mark = _LIST_MARKS.search(rest, start)
        end = rest.rfind("@", start, mark.start() if mark else len(rest))
    if end < 0 or (_PORT.match(rest, start, end) and (web or "?" in rest[start:end])):
        return None
    return start, end


def _named(text: str) -> Iterator[Found]:
    """What is called a secret: `password=…`, `"token": "…"`, `X-Api-Key: …`."""
    at = 0
    while name := _ASSIGNED.search(text, at):
        at = name.end()
        called = _ENCODED_NAME.sub(" ", name["name"])
        if not is_secret_name(called) or (name["said"] and not _says_secret(called)):
            continue
        found = _value(text, at, called, name.lastgroup or "")
        if found and not _is_count(called, text[found.start : found.end]):
            yield found
            at = max(found.end, at)


def _says_secret(name: str) -> bool:
    words = _words(name)
    return words not in (["token"], ["credential"], ["credentials"]) and not _COMPLAINTS.intersection(words)


def _is_count(name: str, value: str) -> bool:
    """`PASS=12 ERROR=0` counts tests."""
    return _words(name)[-1] == "pass" and value.isdigit()


def _value(text: str, at: int, name: str, how: str) -> Found | None:
    """The value that begins there. Its quotes are kept, so that JSON stays JSON."""
    shortest = _shortest(name)
    if quoted := _QUOTED.match(text, at) or _ESCAPED.match(text, at):
        group = "secret" if quoted.re is _ESCAPED else quoted.lastgroup or 0
        return Found(*quoted.span(group), shortest=shortest)
    if how == "quoted" and _LITERAL.match(text, at):
        return None
    if how == "quoted" and (found := _JSON.match(text, at)):
        return Found(*found.span(), f'"{MASK}"', shortest)
    if how == "set" and (braced := _BRACED.match(text, at)):
        return Found(*braced.span(), shortest=shortest)
    return _bare_value(text, at, name, how)


def _bare_value(text: str, at: int, name: str, how: str) -> Found | None:
    words = _words(name)
    scheme = _SCHEME.match(text, at) if "authorization" in words else None
    at = scheme.end() if scheme else at
    whole_line = words[-1] == "cookie" or (scheme and scheme["line"])
    bare = (_LINE if whole_line else _BARE_VALUE).match(text, at)
    if bare is None:
        return None
    end = at + len(bare[0].split("%26", 1)[0]) if how == "encoded" else bare.end()
    return Found(at, end, shortest=_shortest(name))


def _flagged(text: str) -> Iterator[Found]:
    """What follows `--password`."""
    for flag in _FLAG.finditer(text):
        if is_secret_name(flag["name"]) and (found := _value(text, flag.end(), flag["name"], "flag")):
            yield found


def _otherwise(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Found]]:
    def find(text: str) -> Iterator[Found]:
        for found in pattern.finditer(text):
            name = found.groupdict().get("name")
            if name is None or is_secret_name(name):
                yield Found(*found.span("secret"), shortest=SHORTEST_KNOWN if name is None else _shortest(name))

    return find


_FINDERS = (_in_urls, _named, _flagged, *map(_otherwise, _OTHERS))
