"""Changes of a schema that block the load of their source until somebody accepts them: what, by whom, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lakeledger import clock, codec
from lakeledger.db import Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import NotFound
from lakeledger.sync.model import Source
from lakeledger.sync.schemas.compatibility import Reason
from lakeledger.sync.schemas.definition import Document
from lakeledger.sync.schemas.evolution import Change, EvolutionType

sql = load("lakeledger.sync.schemas")


@dataclass(frozen=True)
class BlockedChange:
    """A change that blocks, or blocked, the load of its source: a row of `schema_changes`.

    `change` says what changed, why that matters and what to do instead; `effect` what becomes of the target once it is accepted. It is
    `blocked`, `accepted`, or `applied` once a load went through with it.
    """

    id: str
    tenant_id: str
    schema_name: str
    table_name: str
    name_key: str
    change_key: str
    target_table: str | None
    change: Document
    effect: str
    status: str
    blocked_at: datetime
    blocked_by: str
    run_id: str | None
    accepted_at: datetime | None
    accepted_by: str | None
    accepted_reason: str | None

    @property
    def name(self) -> str:
        """The source."""
        return f"{self.schema_name}.{self.table_name}"

    @property
    def kind(self) -> EvolutionType:
        return EvolutionType(self.change["kind"])

    @property
    def column(self) -> str:
        """The column that changed, folded."""
        return codec.fold(self.change["subject"])

    @property
    def is_allowed(self) -> bool:
        """Whether a load may go on with it: the next one with what was accepted, all that come with what lasts."""
        return self.status == "accepted" or (self.status == "applied" and bool(self.change.get("lasts")))


@dataclass(frozen=True)
class Blocking:
    """A change that is to block its source, what accepting it would do to the target, and whether it is then accepted for good."""

    reason: Reason
    effect: str
    lasts: bool = False


def key_of(change: Change) -> str:
    """Equal for the same change of the same column: an added column is accepted with whatever type it has then."""
    match change.kind:
        case EvolutionType.DROP_COLUMN | EvolutionType.ADD_COLUMN:
            return f"{change.kind.value} {codec.fold(change.subject)}"
        case _:
            return f"{change.kind.value} {codec.fold(change.subject)} {codec.digest(change.after)[:16]}"


def block(tx: Transaction, source: Source, target: str | None, changes: Iterable[Blocking], by: str, run_id: str | None = None) -> None:
    """Keep that these changes block the source; one that was accepted meanwhile stays accepted."""
    for each in changes:
        document = {**each.reason.to_dict(), "lasts": each.lasts}
        tx.execute(sql.block_change, **_row(source, each.reason.change, document, each.effect, target), blocked_by=by, run_id=run_id)


def allow(tx: Transaction, source: Source, target: str | None, change: Change, effect: str, because: BlockedChange) -> None:
    """Accept for good what follows from a change that was accepted."""
    document = {**change.to_dict(), "status": "breaking", "reason": effect, "fix": None, "lasts": True}
    row = _row(source, change, document, effect, target)
    tx.execute(
        sql.allow_change,
        **row,
        blocked_by=because.blocked_by,
        run_id=because.run_id,
        accepted_by=because.accepted_by,
        accepted_reason=because.accepted_reason,
    )


def changes_of(tx: Transaction, source: Source) -> list[BlockedChange]:
    """Every change of a source that blocks or blocked it."""
    return [BlockedChange(**row) for row in tx.all(sql.list_changes, name_key=source.key)]


def list_blocked(tx: Transaction, limit: int | None = None, after: str | None = None) -> Page[BlockedChange]:
    """What blocks now, of all sources, by their names; `after` is the `next` of the page before."""
    return pages.read(tx, sql.list_blocked, {"name_key": str, "change_key": str}, lambda row: BlockedChange(**row), limit, after)


def accept(tx: Transaction, source: Source, by: str, reason: str | None = None) -> list[BlockedChange]:
    """What the next load may go on with now: all that is accepted and not loaded yet. Raises NotFound if there is nothing."""
    if not tx.execute(sql.accept_changes, name_key=source.key, accepted_by=by, accepted_reason=reason) and not _waiting(tx, source):
        raise NotFound(f"nothing blocks {source.name}: no change of its schema waits for being accepted (`lakeledger schema list`)")
    return _waiting(tx, source)


def accepted(tx: Transaction, source: Source, reasons: Sequence[Reason]) -> dict[str, BlockedChange]:
    """Those of the changes that a load may go on with, by their keys."""
    wanted = {key_of(reason.change) for reason in reasons}
    return {each.change_key: each for each in changes_of(tx, source) if each.is_allowed and each.change_key in wanted}


def settle(tx: Transaction, source: Source) -> None:
    """Note that a load of the source went through: nothing blocks it any more, and what was accepted is applied."""
    tx.execute(sql.apply_changes, name_key=source.key)
    tx.execute(sql.remove_blocked, name_key=source.key)


def _waiting(tx: Transaction, source: Source) -> list[BlockedChange]:
    return [each for each in changes_of(tx, source) if each.status == "accepted"]


def _row(source: Source, change: Change, document: Document, effect: str, target: str | None) -> Document:
    return {
        "id": clock.new_id(),
        "schema_name": source.schema_name,
        "table_name": source.table_name,
        "name_key": source.key,
        "change_key": key_of(change),
        "target_table": target,
        "change": document,
        "effect": effect,
    }
