"""Every finder, and the marks without which it need not look.

Texts come from anywhere and may be long, so no finder looks at the same place more than a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lakeledger.redaction import assigned, statements, tokens, urls
from lakeledger.redaction.found import Found
from lakeledger.redaction.lazy import lazy

Find = Callable[[str], Iterator[Found]]


class Finder(NamedTuple):
    """Finds secrets of one kind, from left to right. A text that has none of these marks, in lower case, has no such secret."""

    find: Find
    marks: tuple[str, ...]


def _by_shape(pattern: re.Pattern[str]) -> Find:
    return lambda text: (Found(*match.span(match.lastgroup or 0)) for match in pattern.finditer(text))


_COMMANDS = ("mysql", "mariadb", "sshpass", " login", "redis-cli", "sqlcmd", "bcp", "osql", "isql", "sqlplus", "sqlldr", "expdp", "impdp")

# What is a secret by its shape alone, whatever it is called.
SHAPES = (
    Finder(urls.in_urls, ("://",)),
    Finder(urls.in_connect_urls, ("sc://",)),
    Finder(_by_shape(tokens.WEBHOOK), ("hook", "pagerduty", "ifttt", "telegram", "azurewebsites")),
    Finder(_by_shape(tokens.BEARER), ("bearer", "basic")),
    Finder(_by_shape(tokens.SIGNATURE), ("sig", "x-amz-credential", "accountkey", "accesskey")),
    Finder(_by_shape(tokens.PRIVATE_KEY), ("private key",)),
    Finder(_by_shape(statements.ORACLE), ("jdbc:oracle",)),
    Finder(_by_shape(statements.GO), ("@tcp", "@udp", "@unix")),
    Finder(_by_shape(statements.USER_FLAG), ("-u", "--auth")),
    Finder(_by_shape(statements.NETRC), ("login",)),
    Finder(_by_shape(statements.COMMAND), (*_COMMANDS, " using", "configure")),
)
TOKENS = _by_shape(tokens.TOKEN)

# What is a secret by its name.
NAMED = (
    Finder(assigned.named, ("=", ":", ",", "->", "%3")),
    Finder(assigned.flagged, ("-",)),
    Finder(statements.quoted, ("'", '"')),
    Finder(statements.identified, ("identified",)),
    Finder(statements.in_prose, ("pass", "pwd", "key")),
    Finder(statements.in_properties, (".",)),
    Finder(statements.in_violations, (")=(",)),
    Finder(statements.in_elements, ("</",)),
)
NAMED_IN_URLS = (Finder(urls.in_named_url_parts, ("://",)),)

# Most texts have neither a word as long as a token, nor a name with one of these stems, nor anything of a shape: they are read once.
LONG_WORD = lazy(r"\b\w[\w-]{13}")
STEM = lazy(
    r"p(?:ass|w)|s(?:ecret|as|ig=|ignature|ess(?:id|ionid))|token|credential|auth|cookie|identified"
    r"|(?:api|apim|private|signing|encryption|access|account|functions|master|shared|storage|subscription)[^a-z]*+key"
)
SHAPE = lazy(r"://|@|-u|hook|bearer|basic|jdbc:|login|sql|mariadb|redis-|bcp|expdp|impdp| using")
