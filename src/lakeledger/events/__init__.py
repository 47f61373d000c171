"""Who must hear of it: the change feed, and Astha, which pushes every change to whoever has subscribed to its table."""

from __future__ import annotations

from lakeledger.events.feed import Changes, sql
from lakeledger.events.model import COMPONENT_SUBSCRIPTIONS, Change, Event, Operation, Subscriber
from lakeledger.events.rows import ApiKeys, DqResults, PipelineRuns, StepLogs, TableFiles, TableMetadata, Tables, TableSnapshots, TableStats

__all__ = [
    "COMPONENT_SUBSCRIPTIONS",
    "ApiKeys",
    "Change",
    "Changes",
    "DqResults",
    "Event",
    "Operation",
    "PipelineRuns",
    "StepLogs",
    "Subscriber",
    "TableFiles",
    "TableMetadata",
    "TableSnapshots",
    "TableStats",
    "Tables",
    "sql",
]
