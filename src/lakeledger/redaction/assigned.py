"""What is called a secret, and its value: `password=…`, `"token": "…"`, `X-Api-Key: …`, `--password …`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lakeledger.redaction.found import MASK, REFERENCE, Found, is_type
from lakeledger.redaction.lazy import lazy
from lakeledger.redaction.names import Grade, grade, words

# `InvalidToken: …` is an exception, and `token: …` in prose is more often a parser's.
_COMPLAINTS = frozenset(("invalid", "expired", "missing", "wrong", "bad", "incorrect", "unexpected", "unknown", "no", "empty", "weak"))
_PROSE = ("token", "credential", "credentials", "auth", "pass", "pw", "sas")

# A quote may be escaped or encoded by what the text went through.
_QUOTE = r"(?:\\{0,7}['\"]|\\{1,4}u002[27]|&quot;|&apos;|&#3[49];|%2[27])"
_ASSIGNED = lazy(
    rf"(?<![\w.-])(?P<name>[\w.-]++)(?:(?P<quoted>{_QUOTE}\]?\s{{0,8}}(?:=>|->|[:,=](?!=)|%3A)\s{{0,8}})"
    r"|(?P<set>\s{0,8}:?=(?!=)>?\s{0,8}|\s{0,8}->\s{0,8})|(?P<encoded>%3D)|(?P<said>[ \t]{0,2}:(?!//|:)[ \t]{0,8}|::[ \t]{1,8}))",
    re.IGNORECASE,
)
_ENCODED_NAME = lazy(r"%[0-9a-f]{2}|^u002[27]", re.IGNORECASE)
QUOTED = lazy(r"[bBeEnNrRuU]{0,2}(?:\"(?P<double>(?:[^\"\\]++|\\.)*+)\"|'(?P<single>(?:[^'\\]++|\\.|'')*+)')", re.DOTALL)
_WRAPPER = lazy(r"[\w.]{1,64}[(\[](?=['\"])")
_ESCAPED = lazy(rf"(?P<quote>(?!['\"]){_QUOTE})(?P<secret>.{{0,1024}}?)(?<!\\)(?P=quote)", re.DOTALL | re.IGNORECASE)
_OPEN_QUOTE = lazy(r"['\"][^\r\n'\"]++\Z")
_LITERAL = lazy(r"(?:null|true|false|none)(?=[\s,;&}\])]|$)", re.IGNORECASE)
_PAIR, _END_OF_PAIR = lazy(r"\(\s{0,4}\\{0,7}['\"]\Z"), lazy(r"\\{0,7}['\"]\s{0,8}(?:\)|$)")
_JSON = lazy(r"-?\d[\d.eE+-]{0,400}(?=[\s,}\])])|\[[^\[\]]{0,2000}\]|\{[^{}]{0,2000}\}")
_PARTITION = lazy(r"[^\s/&;,'\"]{0,256}+/")
_BRACED = lazy(r"\{[^}]{0,256}\}")
# `Pwd=two words;Server=…`: a connection string ends a value at its semicolon only.
_IN_CONNECTION_STRING = lazy(r"[^;=\s'\"][^;=\r\n'\"]{0,256}(?=;\s{0,8}\w[\w ]{0,40}=)")
_SCHEME = lazy(
    r"(?:(?:bearer|basic|token|negotiate|ntlm|apikey|key|sharedkey|dpop)[ \t]{1,8}"
    r"|(?P<line>(?:digest|oauth|hawk|aws4-[\w-]{1,20}|sharedaccesssignature)[ \t]{1,8}))",
    re.IGNORECASE,
)
# A block of YAML: `password: |`, and below it what is indented.
_BLOCK = lazy(
    r"[|>][-+\d]{0,2}[ \t]*+(?:\#[^\n]*+)?\r?\n(?:[ \t]*+\r?\n)*+"
    r"(?P<indent>[ \t]++)(?P<secret>\S[^\n]*+(?:\n(?:(?P=indent)[^\n]*+|[ \t]*+(?=\r?\n)))*+)"
)
_LINE = lazy(r"[^\r\n'\"]+")
# A backslash before a quote belongs to the quote.
_BARE_VALUE = lazy(r"['\"]?(?:[^\s&;,'\"\\]|\\(?!\\{0,6}['\"]))+")
_FLAG = lazy(r"(?<![\w.-])--?(?P<name>[A-Za-z][\w.-]*+)\s{1,8}(?!-)(?=\S)")
_LOGIN_METHOD = lazy(
    r"(?:basic|digest|none|no|yes|[mst]{0,2}tls|ssl|plain|login|kerberos|gssapi|ldap|iam|oauth\w*|saml\w*|scram[\w-]*|sha\w*|md5)\b",
    re.IGNORECASE,
)


def named(text: str) -> Iterator[Found]:
    """What is called a secret: `password=…`, `"token": "…"`, `X-Api-Key: …`."""
    at = 0
    while assigned := _ASSIGNED.search(text, at):
        at = assigned.end()
        name = _ENCODED_NAME.sub(" ", assigned["name"])
        sure, in_path = grade(name), assigned.start() > 0 and text[assigned.start() - 1] == "/"
        # `/token=7/` is a column. What is passed over is passed over before its value is read, which may be long.
        is_column = in_path and (sure is not Grade.SECRET or _PARTITION.match(text, at))
        if sure is Grade.NONE or is_column or (assigned["said"] and _is_prose(name, text, at) and not _block_at(text, at)):
            continue
        found = value_at(text, at, name, assigned.lastgroup or "")
        if found and _is_given(text, assigned, found):
            yield found
            at = max(found.end, at)


def _is_prose(name: str, text: str, at: int) -> bool:
    """Whether `name: …` is a sentence."""
    parts = words(name)
    if not _COMPLAINTS.isdisjoint(parts):
        return True
    if len(parts) > 1 or parts[0] not in _PROSE:
        return False
    value = _BARE_VALUE.match(text, at)
    return parts[0] in _PROSE[:3] or value is None or not _is_random(value[0])


def _is_given(text: str, assigned: re.Match[str], found: Found) -> bool:
    """Whether the value belongs to the name: `("password", "x")` is a pair, `["password", "email"]` are columns."""
    if "," not in (assigned["quoted"] or ""):
        return True
    begins = _PAIR.search(text, max(0, assigned.start() - 12), assigned.start())
    return bool(begins and _END_OF_PAIR.match(text, found.end))


def _is_random(value: str) -> bool:
    """Whether a value is more than a word: it has digits beside letters or signs."""
    return len(value) >= 6 and not value.isalpha() and not value.isdigit() and any(map(str.isdigit, value))


def value_at(text: str, at: int, name: str, how: str) -> Found | None:
    """The value that begins there. Its quotes are kept, so that JSON stays JSON."""
    found = _found_at(text, at, name, how)
    if found is None or REFERENCE.fullmatch(text, found.start, found.end) or is_type(text[found.start : found.end]):
        return None
    return None if words(name) == ("auth",) and _LOGIN_METHOD.match(text, found.start, found.end) else found


def _found_at(text: str, at: int, name: str, how: str) -> Found | None:
    at = wrapper.end() if (wrapper := _WRAPPER.match(text, at)) else at
    if quoted := QUOTED.match(text, at):
        return Found(*quoted.span(quoted.lastgroup or 0), name)
    if escaped := _ESCAPED.match(text, at):
        return Found(*escaped.span("secret"), name)
    if _LITERAL.match(text, at):
        return None
    if how == "quoted" and (document := _JSON.match(text, at)):
        return Found(*document.span(), name, f'"{MASK}"')
    if how == "set" and (whole := _OPEN_QUOTE.match(text, at) or _BRACED.match(text, at) or _IN_CONNECTION_STRING.match(text, at)):
        return Found(*whole.span(), name)
    return _bare_at(text, at, name, how)


def _block_at(text: str, at: int) -> re.Match[str] | None:
    """The block of YAML that is announced there: it is indented further than the line of its name."""
    if (block := _BLOCK.match(text, at)) is None:
        return None
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return block if len(block["indent"]) > len(line) - len(line.lstrip(" \t")) else None


def _bare_at(text: str, at: int, name: str, how: str) -> Found | None:
    if how == "said" and (block := _block_at(text, at)):
        return Found(*block.span("secret"), name)
    parts = words(name)
    scheme = _SCHEME.match(text, at) if "authorization" in parts else None
    at = scheme.end() if scheme else at
    whole_line = parts[-1] == "cookie" or (scheme and scheme["line"])
    bare = (_LINE if whole_line else _BARE_VALUE).match(text, at)
    if bare is None:
        return None
    end = at + len(bare[0].split("%26", 1)[0]) if how == "encoded" else bare.end()
    return Found(at, end, "" if scheme else name)  # What follows `Bearer` is a secret for sure.


def flagged(text: str) -> Iterator[Found]:
    """What follows `--password`."""
    for flag in _FLAG.finditer(text):
        if grade(flag["name"]) and (found := value_at(text, flag.end(), flag["name"], "flag")):
            yield found
