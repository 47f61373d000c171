"""What should run: the control table, its documents, plans and jobs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakeledger.control.manager import JobOrchestrator, MetadataManager
    from lakeledger.control.monitor import MetadataMonitor

__all__ = ["JobOrchestrator", "MetadataManager", "MetadataMonitor"]

# Found where they are first asked for: reading a document needs none of what they need.
_ROOMS = {"JobOrchestrator": "manager", "MetadataManager": "manager", "MetadataMonitor": "monitor"}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return getattr(import_module(f"lakeledger.control.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'lakeledger.control' has no attribute {name!r}")
