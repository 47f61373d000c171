"""Secrets without a sign between name and value: in SQL, messages, properties, markup and on command lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lakeledger.redaction.assigned import QUOTED, value_at
from lakeledger.redaction.found import REFERENCE, Found, is_type
from lakeledger.redaction.lazy import lazy
from lakeledger.redaction.names import grade, is_password, words

_SPACED = lazy(
    r"(?<![\w.-])(?P<name>[\w.-]++)(?:(?P<closed>['\"`])|\s{1,8}(?:is|was|are|were|of|to)\b)?(?:(?P<call>\s{0,4}\(\s{0,4})|\s{1,8})(?=[NEn]?['\"])"
)
_OPTION = lazy(r"[(,]\s{0,8}['\"`]?\Z")
_AFTER_OPTION = lazy(r"['\"]?\s{0,8}[,)]")
_ASKED = frozenset(("get", "is", "has", "check", "read", "hash", "verify", "validate", "find", "no"))
_IDENTIFIED = lazy(
    r"\bidentified\s{1,8}(?:with\s{1,8}['\"]?\w{1,64}['\"]?\s{1,8})?(?:by|as)\s{1,8}(?:(?:password|values)\s{1,8})?",
    re.IGNORECASE,
)
_REPLACED = lazy(r"['\"]?\s{1,8}replace\s{1,8}", re.IGNORECASE)
# Only a statement gives a password without quotes; `identified by its name` is prose.
_STATEMENT = lazy(r"\b(?:create|alter|grant)\b", re.IGNORECASE)
_WORDS_OF_A_PASSWORD = lazy(
    r"(?<![\w-])(?P<name>(?:[\w.-]{0,64}[._-])?(?:password|passwd|passphrase|pwd|api[ _-]?key))(?:[ \t]{1,8}(?:is|was|of|to)\b:?)?"
    r"[ \t]{1,8}(?P<secret>(?=[^\s\d]{0,64}\d)[^\s,;'\"()=:][^\s,;'\"()=]{4,127}[^\s,;'\"()=.!?])(?=[\s,;.!?)]|$)",
    re.IGNORECASE,
)
_PROPERTY = lazy(r"^[ \t]*+(?P<name>[\w-]++(?:\.[\w-]++)++)[ \t]++(?P<secret>[^\s=:]\S*+)[ \t]*+$", re.MULTILINE)
_ALGORITHM = lazy(r"(?:sha|md|scram|bcrypt|argon|pbkdf|aes|rsa|hmac|v|utf|iso)[-_]?[\w-]{0,16}$|\d{4}-\d\d-\d\d", re.IGNORECASE)
_VIOLATED = lazy(r"\((?P<names>[\w ,\"]{1,512})\)=\((?P<secret>[^\r\n]{1,1024}?)\)(?= |$)", re.MULTILINE)

_XML = lazy(r"<(?i:(?:[\w.-]{1,64}:)?(?P<name>[\w.-]{1,64}))(?:\s[^<>]{0,256})?>(?P<secret>[^<]++)(?=</)")
ORACLE = lazy(r"(?i:\bjdbc:oracle:\w{1,16}:[^\s/@:]{0,64}/)(?P<secret>[^\s@]{1,256}(?:@[^\s@/]{1,64}(?=@))?)@")
GO = lazy(r"(?<![\w/:.+-])[\w.+-]{1,64}+:(?P<secret>[^\s]{1,256}?)@(?:tcp6?|udp|unix)\(")
USER_FLAG = lazy(
    r"(?<!\S)(?:-u|-U|--user|--proxy-user|--auth)[\s=]{0,2}['\"]?[^\s:'\"=-][^\s:'\"]{0,63}:(?!\d+(?:\s|$))(?P<secret>[^\s'\"]+)"
)
NETRC = lazy(r"\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(?P<secret>\S+)")
_WORDS = r"[ \t](?:[^\r\n|;&]{0,256}?[ \t])?"
_BY_COMMAND = (
    rf"(?:mysql|mariadb)(?:dump|admin|import|show|check|-\w{{1,16}})?{_WORDS}-p",
    rf"(?:sshpass|(?:docker|podman|az|nerdctl) login){_WORDS}-p[ \t]{{0,4}}",
    rf"redis-cli{_WORDS}-a[ \t]{{1,4}}",
    rf"(?:sqlcmd|bcp|osql|isql){_WORDS}-P[ \t]{{0,4}}",
    rf"(?:sqlplus|sqlldr|expdp|impdp){_WORDS}[\w$#]{{1,64}}/",
    rf"aws{_WORDS}configure[ \t]{{1,4}}set[ \t]{{1,4}}[\w.-]{{0,64}}(?:secret_access_key|session_token)[ \t]{{1,4}}",
    r"(?i:connect\s{1,8}to\s{1,8}\S{1,128}\s{1,8}user\s{1,8}\S{1,128}\s{1,8}using)\s{1,8}",
)
COMMAND = lazy(rf"\b(?:{'|'.join(_BY_COMMAND)})['\"]?(?P<secret>[^\s'\"@-][^\s'\"@]*)")


def quoted(text: str) -> Iterator[Found]:
    """What SQL gives in quotes, without a sign between: `PASSWORD 'x'`, `OPTIONS (password "x", 'token' 'y')`, `PASSWORD('x')`."""
    at = 0
    while name := _SPACED.search(text, at):
        at = name.end()
        value = QUOTED.match(text, at) if grade(name["name"]) else None
        if value and _gives(text, name, value.end()):
            at = value.end()
            if not is_type(value[value.lastgroup or 0]):
                yield Found(*value.span(value.lastgroup or 0), name["name"])


def _gives(text: str, name: re.Match[str], end: int) -> bool:
    """Whether the quotes hold what is named before them. `unexpected token 'x'` and `secret 'db' not found` name something else."""
    parts = words(name["name"])
    is_option = _OPTION.search(text, max(0, name.start() - 10), name.start()) and _AFTER_OPTION.match(text, end)
    if name["closed"]:
        return bool(is_option)
    if name["call"]:
        return is_password(name["name"]) and parts[-1] not in ("key", "secret", "secrets") and _ASKED.isdisjoint(parts)
    if len(parts) > 1 or parts[0] in ("password", "passwd", "passphrase", "pwd"):
        return True
    return bool(is_option)


def identified(text: str) -> Iterator[Found]:
    """`CREATE USER ann IDENTIFIED BY 'x'`, in the dialects of MySQL, Oracle and others, and the password that it replaces."""
    for clause in _IDENTIFIED.finditer(text):
        found = value_at(text, clause.end(), "password", "identified")
        if found and (found.start > clause.end() or _STATEMENT.search(text, max(0, clause.start() - 256), clause.start())):
            yield found
            if (old := _REPLACED.match(text, found.end)) and (replaced := value_at(text, old.end(), "password", "identified")):
                yield replaced


def in_prose(text: str) -> Iterator[Found]:
    """`the password is hunter2`: after the word stands what is no word."""
    for said in _WORDS_OF_A_PASSWORD.finditer(text):
        if not _ALGORITHM.match(said["secret"]) and not is_type(said["secret"]):
            yield Found(*said.span("secret"), said["name"])


def in_properties(text: str) -> Iterator[Found]:
    """A line of a properties file: `spark.hadoop.fs.s3a.secret.key  x`."""
    for line in _PROPERTY.finditer(text):
        if grade(line["name"]) and not is_type(line["secret"]) and not REFERENCE.fullmatch(line["secret"]):
            yield Found(*line.span("secret"), line["name"])


def in_violations(text: str) -> Iterator[Found]:
    """What PostgreSQL says of a row: `Key (api_key)=(x) already exists.`"""
    for key in _VIOLATED.finditer(text):
        name = max((name.strip(' "') for name in key["names"].split(",")), key=grade)
        if grade(name):
            yield Found(*key.span("secret"), name)


def in_elements(text: str) -> Iterator[Found]:
    """`<password>x</password>`."""
    for element in _XML.finditer(text):
        if grade(element["name"]):
            yield Found(*element.span("secret"), element["name"])
