"""lakeledger: the operational memory of a Spark lakehouse.

`ledger = lakeledger.open("sqlite:///shop/ledger.db")` is the way in; what it gives is a `Ledger`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from lakeledger.maintenance.mirror.initializer import MetadataInitializer
    from lakeledger.rebuilding import rebuild
    from lakeledger.records import (
        MetadataContext,
        MetadataProducer,
        MetadataProducerRunner,
        MetadataQuery,
        MetadataRecord,
        MetadataRepository,
        MetadataRequest,
        MetadataTarget,
    )
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
    "MetadataContext",
    "MetadataInitializer",
    "MetadataProducer",
    "MetadataProducerRunner",
    "MetadataQuery",
    "MetadataRecord",
    "MetadataRepository",
    "MetadataRequest",
    "MetadataTarget",
    "NotFound",
    "NotInstalled",
    "NumberPosition",
    "Settings",
    "Source",
    "SparkSettings",
    "TimestampPosition",
    "Unavailable",
    "open",
    "rebuild",
]

# Public names are found where they are first asked for, so that `lakeledger --help` does not load the whole house.
_ROOMS = (
    "lakeledger.errors",
    "lakeledger.config",
    "lakeledger.ledger",
    "lakeledger.sync",
    "lakeledger.records",
    "lakeledger.rebuilding",
    "lakeledger.maintenance.mirror.initializer",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for room in _ROOMS:
            if hasattr(module := import_module(room), name):
                return getattr(module, name)
    raise AttributeError(f"module 'lakeledger' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
