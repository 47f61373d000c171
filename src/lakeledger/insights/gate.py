"""Whether a load may start: not while the latest `catalog_diff` of its source breaks readers and nobody accepted it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from lakeledger import clock, codec
from lakeledger.errors import Invalid
from lakeledger.records.model import MetadataContext, MetadataRecord, MetadataTarget, Target
from lakeledger.redaction import scrub

DIFF, ACCEPTANCE = "catalog_diff", "schema_acceptance"
PRODUCER, SCHEMA_VERSION = "gate.v1", "1"


class Latest(Protocol):
    """What the newest records are asked of."""

    def latest(self, target: Target | None = None, kind: str | None = None) -> MetadataRecord | None: ...


@dataclass(frozen=True)
class Gate:
    """Whether loads of a source may start, by the latest difference of its catalog and by what somebody decided about it."""

    target: MetadataTarget
    is_open: bool
    diff: MetadataRecord | None = None
    acceptance: MetadataRecord | None = None

    @property
    def name(self) -> str:
        return self.target.name

    @property
    def breaking(self) -> list[dict[str, Any]]:
        """The changes that break readers."""
        return [each for each in self.diff.payload["changes"] if each.get("breaking")] if self.diff else []

    @property
    def reason(self) -> str:
        """Why it stands as it does, in words."""
        if self.diff is None:
            return "no difference of its catalog is known"
        if not self.diff.payload["breaking"]:
            return "the latest difference of its catalog breaks nothing"
        told = "; ".join(_words(each) for each in self.breaking)
        if self.is_open and self.acceptance:
            until = self.acceptance.payload.get("until")
            return f"{told}: accepted by {self.acceptance.payload['accepted_by']}{f' until {until}' if until else ''}"
        over = f" (accepted until {self.acceptance.payload['until']}, which is over)" if self.acceptance and self._was_accepted else ""
        return f"{told}{over}: `lakeledger schema accept {self.name} --reason TEXT` lets its loads go on"

    @property
    def _was_accepted(self) -> bool:
        return self.acceptance is not None and self.diff is not None and _is_about(self.acceptance, self.diff)

    def check(self) -> None:
        """Raise Invalid, which trying again does not help, if it is closed."""
        if not self.is_open:
            raise Invalid(f"the catalog of {self.name} has a breaking change: {self.reason}")


def source_target(source: str | MetadataTarget) -> MetadataTarget:
    """What facts about the source of a load are about: `shop.orders` is the source `orders` of the module `shop`."""
    if isinstance(source, MetadataTarget):
        return source
    schema, dot, table = source.partition(".")
    if not schema or not dot or not table:
        raise Invalid(f"source {source!r} must be module.source, as in shop.orders")
    return MetadataTarget(source, schema, table)


def gate(known: Latest, target: MetadataTarget, now: datetime | None = None) -> Gate:
    """Whether loads of a source may start now."""
    diff = known.latest(target, DIFF)
    if diff is None or not diff.payload.get("breaking"):
        return Gate(target, is_open=True, diff=diff)
    decided = known.latest(target, ACCEPTANCE)
    is_open = decided is not None and _is_about(decided, diff) and not _is_over(decided, now or clock.now())
    return Gate(target, is_open, diff, decided)


def acceptance(closed: Gate, by: str, reason: str | None, until: datetime | str | None, context: MetadataContext) -> MetadataRecord:
    """The record that lets loads go on with what closed a gate. Raises Invalid for a time that is over."""
    end = codec.to_moment(until) if until is not None else None
    if end is not None and end <= clock.now():
        raise Invalid(f"a change cannot be accepted until {codec.to_text(end)}, which is over")
    payload = {
        "source": closed.name,
        "diff_record_id": closed.diff.record_id if closed.diff else None,
        "to_fingerprint": closed.diff.payload.get("to_fingerprint") if closed.diff else None,
        "changes": closed.breaking,
        "accepted_by": by,
        "reason": scrub(reason) if reason else None,
        "until": codec.to_text(end) if end else None,
    }
    return MetadataRecord(closed.target, context, ACCEPTANCE, payload, PRODUCER, SCHEMA_VERSION)


def _is_about(decided: MetadataRecord, diff: MetadataRecord) -> bool:
    """By the columns that were accepted: the same difference may have been collected again."""
    if decided.payload.get("diff_record_id") == diff.record_id:
        return True
    accepted = decided.payload.get("to_fingerprint")
    return accepted is not None and accepted == diff.payload.get("to_fingerprint")


def _is_over(decided: MetadataRecord, now: datetime) -> bool:
    until = decided.payload.get("until")
    return until is not None and codec.to_moment(until) <= now


def _words(change: dict[str, Any]) -> str:
    told = change.get("words") or f"{change.get('column') or 'the table'}: {change['change'].replace('_', ' ')}"
    return f"{told} ({change['reason']})" if change.get("reason") else str(told)
