"""Keeping secrets out of what is stored, logged and shown.

`names` knows which names are those of secrets, `tokens` which shapes are, `finders` where both stand in a text, `scrub` takes them out.
"""

from __future__ import annotations

from lakeledger.redaction.found import MASK, SHORTEST_PASSWORD, Numeral
from lakeledger.redaction.names import is_secret_name
from lakeledger.redaction.scrub import CONFIGURATION, RECORD, SHAPES, Rules, is_clean, scrub, scrub_value, secrets_in

__all__ = [
    "CONFIGURATION",
    "MASK",
    "RECORD",
    "SHAPES",
    "SHORTEST_PASSWORD",
    "Numeral",
    "Rules",
    "is_clean",
    "is_secret_name",
    "scrub",
    "scrub_value",
    "secrets_in",
]
