"""What people decided about points: left out of bands, or accepted as the new level; who, when and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from lakeledger import clock
from lakeledger.db import Transaction
from lakeledger.db.queries import load
from lakeledger.errors import Invalid
from lakeledger.names import table_key
from lakeledger.redaction import scrub

sql = load("lakeledger.quality.bands")

Verb = Literal["exclude", "accept", "restore"]


@dataclass(frozen=True)
class Decision:
    """What somebody decided about a point."""

    decision_id: str
    tenant_id: str
    name_key: str
    kind: str
    point: str
    decision: Verb
    reason: str
    decided_by: str
    decided_at: datetime


def history(tx: Transaction, kind: str, table: str) -> list[Decision]:
    """Everything that was decided about points of a series, the newest last."""
    return [Decision(**row) for row in tx.all(sql.decisions, kind=kind, name_key=table_key(table))]


def current(tx: Transaction, kind: str, table: str) -> dict[str, Decision]:
    """What counts now, by point; what was restored is as if nothing had been decided."""
    newest = {each.point: each for each in history(tx, kind, table)}
    return {point: each for point, each in newest.items() if each.decision != "restore"}


def decide(tx: Transaction, kind: str, table: str, point: str, decision: Verb, reason: str, by: str) -> Decision:
    """Keep a decision about a point; what is decided already stays as it is. Raises Invalid without a reason, or with nothing to undo."""
    if not reason.strip():
        raise Invalid("a decision about a point needs a reason: somebody will ask")
    newest = {each.point: each for each in history(tx, kind, table)}.get(point)
    if newest and newest.decision == decision:
        return newest
    if decision == "restore" and newest is None:
        raise Invalid(f"nothing was decided about {point}: there is nothing to restore")
    told = {"kind": kind, "name_key": table_key(table), "point": point, "decision": decision, "reason": scrub(reason.strip())}
    made = tx.one(sql.add_decision, decision_id=clock.new_id(), decided_by=by, **told)
    return Decision(**(made or {}))
