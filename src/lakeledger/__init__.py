"""lakeledger: the operational memory of a Spark lakehouse.

import lakeledger
ledger = lakeledger.open("sqlite:///shop/ledger.db")
"""

from lakeledger.config import Settings, SparkSettings
from lakeledger.errors import (
    Conflict,
    Failed,
    Fenced,
    Forbidden,
    Invalid,
    LakeledgerError,
    NotFound,
    NotInstalled,
    Unavailable,
)
from lakeledger.ledger import Ledger, open
from lakeledger.sync import Advance, FilesPosition, NumberPosition, Source, TimestampPosition

__version__ = "0.1.0"

__all__ = [
    "Advance",
    "Conflict",
    "Failed",
    "Fenced",
    "FilesPosition",
    "Forbidden",
    "Invalid",
    "LakeledgerError",
    "Ledger",
    "NotFound",
    "NotInstalled",
    "NumberPosition",
    "Settings",
    "Source",
    "SparkSettings",
    "TimestampPosition",
    "Unavailable",
    "open",
]
