"""Which names say that what they name is a secret, and how sure they are."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise


class Grade(IntEnum):
    """How sure a name is. A `KEY` is a secret in a configuration and perhaps a business key in a table: `account_key`, `pass`, `sas`."""

    NONE = 0
    KEY = 1
    SECRET = 2


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PASSWORDS = _set_of("password passwords passwd passphrase passcode pwd secret secrets")
_SECRETS = _PASSWORDS | _set_of("token jsessionid phpsessid")
_ENDINGS = ("password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "secretkey", "secretaccesskey")
# `api_key` is a secret wherever it stands; a table may well have an account's key, its own or that of another table.
_SECRET_KEYS = _set_of("api apim private secret signing encryption")
_BUSINESS_KEYS = _set_of("access account auth functions master shared storage subscription")
_MAYBE = _set_of("authorization credential credentials sas")
_MAYBE_ENDINGS = ("accesskey", "accountkey", "pw")
# A pass to these is a password. Others are for boarding, skiing and tests.
_SYSTEMS = _set_of(
    "db database user usr root admin login smtp mail ftp sftp ssh mysql pg postgres redis ldap auth service svc app proxy bind jdbc"
)
# What is known about a secret, and is none itself.
_ABOUT = _set_of(
    "count counts type types endpoint url uri at on file path name names id ids encoding status state length size expires expired expiry "
    "expiration ttl seconds ms minutes hours days policy limit limits usage used enabled required version provider format algorithm field "
    "column date time timeout scope scopes lifetime arn min max rate index offset position class changed reset rotated updated created "
    "region symbol py java scala sql json yaml yml toml txt csv md log sh html parquet"
)
# A secret that was prepared or numbered is still one.
_QUALIFIERS = _set_of(
    "hash hashed value old new current previous encrypted enc plain raw text base prod dev test staging primary secondary"
)
# Tokens that tell where a reader or a writer stands.
_PLACES = _set_of("resume page continuation next pagination cursor fence fencing lease sync delta change start")
_WHOLE = (["cookie"], ["set", "cookie"], ["auth"])
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(maxsize=4_096)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case: `dbPassword`, `db_password` and `DB-PASSWORD` have the same."""
    return tuple(part.lower() for part in _PARTS.findall(name))


@lru_cache(maxsize=4_096)
def grade(name: str) -> Grade:
    """How sure it is, in a text or a configuration, that what is called so is a secret: any of its words may tell."""
    parts = list(words(name))
    if not parts or (parts[-1] in _ABOUT and parts[-2:] != ["secret", "id"]):
        return Grade.NONE
    if parts[-1] == "token" and _PLACES.intersection(parts[-2:-1]):
        return Grade.NONE
    if any(map(_is_secret, parts)) or _has_key(parts, _SECRET_KEYS):
        return Grade.SECRET
    whole = parts[-1] == "pass" or parts in _WHOLE or parts[-2:] == ["access", "signature"]
    return Grade.KEY if whole or any(map(_may_be_secret, parts)) or _has_key(parts, _BUSINESS_KEYS) else Grade.NONE


@lru_cache(maxsize=4_096)
def column_grade(name: str) -> Grade:
    """How sure it is that a column is a secret: only what it is in the end counts, so `secret_santa` is none and `old_password` is one."""
    found = grade(name)
    if found is Grade.NONE:
        return found
    parts = list(words(name))
    while len(parts) > 1 and parts[-1] in _QUALIFIERS:
        parts.pop()
    sure = _is_secret(parts[-1]) or _has_key(parts[-2:], _SECRET_KEYS) or (parts[-1] == "pass" and not _SYSTEMS.isdisjoint(parts[-2:-1]))
    return Grade.SECRET if sure or parts[-3:] == ["secret", "access", "key"] or parts[-2:] == ["secret", "id"] else Grade.KEY


def is_secret_name(name: str) -> bool:
    """Whether what is called so is a secret in a configuration."""
    return grade(name) is not Grade.NONE


def is_password(name: str) -> bool:
    """Whether what is called so is typed by people, and therefore may be short."""
    return any(word in _PASSWORDS or word == "pass" or word.endswith((*_ENDINGS[:4], "key")) for word in words(name))


def _is_secret(word: str) -> bool:
    return word in _SECRETS or word.endswith(_ENDINGS)


def _may_be_secret(word: str) -> bool:
    return word in _MAYBE or word.endswith(_MAYBE_ENDINGS)


def _has_key(parts: list[str], kinds: frozenset[str]) -> bool:
    return any(second in ("key", "keys") and first in kinds for first, second in pairwise(parts))
