"""What a change does to whoever reads the table, and whether a policy lets it pass.

Backward: can readers of the new schema read rows of the old one? Forward: can readers of the old schema read rows of the new one?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from lakeledger.config import suggest
from lakeledger.errors import Invalid
from lakeledger.sync.schemas.definition import Document, SchemaDefinition
from lakeledger.sync.schemas.evolution import Change, EvolutionType, diff

Effect = Literal["ok", "fails", "unknown"]
Status = Literal["compatible", "breaking", "unknown"]


class Policy(StrEnum):
    """Which changes pass: the modes of schema registries by who must be able to read, then strategies by how bold they are.

    A transitive mode holds against every earlier version, the others against the latest. `strict` lets nothing pass, `conservative` what
    is compatible, `permissive` all but another key or a type that does not relate, `none` and `aggressive` everything.
    """

    NONE = "none"
    BACKWARD = "backward"
    BACKWARD_TRANSITIVE = "backward_transitive"
    FORWARD = "forward"
    FORWARD_TRANSITIVE = "forward_transitive"
    FULL = "full"
    FULL_TRANSITIVE = "full_transitive"
    STRICT = "strict"
    CONSERVATIVE = "conservative"
    PERMISSIVE = "permissive"
    AGGRESSIVE = "aggressive"

    @property
    def transitive(self) -> bool:
        return self.endswith("_transitive")


@dataclass(frozen=True)
class Impact:
    """What a change does to readers, why, and what to do instead."""

    backward: Effect
    forward: Effect
    status: Status
    why: str
    fix: str | None = None


@dataclass(frozen=True)
class Reason:
    """A change since an earlier version, what it does, and whether the policy refuses it for that."""

    change: Change
    impact: Impact
    against: int | None = None
    refused: bool = False

    def words(self) -> str:
        since = f" since version {self.against}" if self.against else ""
        fix = f" ({self.impact.fix})" if self.impact.fix else ""
        doubt = ", and what is not known is refused" if self.refused and self.impact.status == "unknown" else ""
        return f"{self.change.words()}{since}: {self.impact.why}{doubt}{fix}"

    def to_dict(self) -> Document:
        return {
            **self.change.to_dict(),
            "backward": self.impact.backward,
            "forward": self.impact.forward,
            "status": self.impact.status,
            "reason": self.impact.why,
            "fix": self.impact.fix,
        }


@dataclass(frozen=True)
class Verdict:
    """Whether a policy lets a definition follow the earlier versions, with a reason for every change since the latest.

    For a transitive policy there is also a reason for every change since an older version that it refuses.
    """

    status: Status
    allowed: bool
    policy: Policy
    reasons: tuple[Reason, ...] = ()

    @property
    def refusals(self) -> tuple[Reason, ...]:
        return tuple(reason for reason in self.reasons if reason.refused)

    def words(self) -> list[str]:
        """One sentence per reason."""
        return [reason.words() for reason in self.reasons]

    def to_dict(self) -> Document:
        reasons = [{**reason.to_dict(), "against": reason.against, "refused": reason.refused} for reason in self.reasons]
        return {"status": self.status, "allowed": self.allowed, "policy": self.policy.value, "reasons": reasons}


OPTIONAL_ADDED = Impact("ok", "ok", "compatible", "old rows have NULL or the default in it")
REQUIRED_ADDED = Impact("fails", "ok", "breaking", "old rows have no value for it", "make it nullable or give it a default")
OPTIONAL_DROPPED = Impact("ok", "ok", "breaking", "queries that name it fail", "keep it, nullable, until nobody reads it")
REQUIRED_DROPPED = Impact(
    "ok", "fails", "breaking", "old readers need a value in it", "make it nullable first and keep it until nobody reads it"
)
RENAMED = Impact(
    "ok",
    "ok",
    "breaking",
    "new rows have nothing under the old name, and old rows nothing under the new",
    "add the new column, nullable, and keep the old one until readers have moved, or map the name",
)
WIDER = Impact("ok", "fails", "compatible", "new values may not fit what old readers expect")
NARROWER = Impact("fails", "ok", "breaking", "old values may not fit the new type", "keep the wider type, or add a new column")
OTHER_TYPE = Impact(
    "fails", "fails", "breaking", "the types hold different kinds of values", "add a new column of the new type and fill it"
)
UNKNOWN_TYPE = Impact("unknown", "unknown", "unknown", "it is not known how these types relate", "check it by hand and use policy 'none'")
NOW_REQUIRED = Impact("fails", "ok", "breaking", "old rows may have NULL in it", "fill the NULLs and keep it nullable")
NOW_OPTIONAL = Impact("ok", "fails", "compatible", "old readers may not expect NULL in it")
OTHER_DEFAULT = Impact("ok", "ok", "compatible", "stored rows keep their values")
OTHER_KEY = Impact("fails", "fails", "breaking", "rows are told apart in another way", "load the table anew under another name")
HARMLESS = Impact("ok", "ok", "compatible", "what is stored and read stays the same")
UNIQUE_INDEX = Impact("unknown", "ok", "unknown", "rows already stored may have the same value twice", "look for duplicates first")
NEW_CONSTRAINT = Impact("unknown", "ok", "unknown", "rows already stored may violate it", "look for rows that violate it first")

_BY_RELATION = {"wider": WIDER, "narrower": NARROWER, "other": OTHER_TYPE, "unknown": UNKNOWN_TYPE}
_EFFECTS: list[Effect] = ["ok", "unknown", "fails"]
_STATUSES: list[Status] = ["compatible", "unknown", "breaking"]


def parse_policy(word: str) -> Policy:
    """The policy that a word names, in any case. Raises Invalid."""
    try:
        return Policy(word.lower())
    except ValueError:
        raise Invalid(f"unknown schema policy {word!r}{suggest(word.lower(), [known.value for known in Policy])}") from None


def assess(change: Change) -> Impact:
    """What a change does to readers: the worst of all that is different."""
    impacts = list(_impacts(change, change.before or {}, change.after or {}))
    return Impact(
        backward=max((impact.backward for impact in impacts), key=_EFFECTS.index),
        forward=max((impact.forward for impact in impacts), key=_EFFECTS.index),
        status=_worst(impact.status for impact in impacts),
        why="; ".join(impact.why for impact in impacts),
        fix="; ".join(impact.fix for impact in impacts if impact.fix) or None,
    )


def judge(policy: Policy, new: SchemaDefinition, earlier: Mapping[int, SchemaDefinition]) -> Verdict:
    """Whether a definition may follow the earlier versions, by their numbers. What is the latest version already, may stay."""
    if not earlier:
        return Verdict("compatible", allowed=True, policy=policy)
    latest = max(earlier)
    reasons = _reasons(policy, new, latest, earlier[latest])
    if reasons and policy.transitive:
        older = (_reasons(policy, new, version, earlier[version]) for version in sorted(earlier) if version != latest)
        reasons += [reason for found in older for reason in found if reason.refused]
    return Verdict(
        status=_worst(reason.impact.status for reason in reasons),
        allowed=not any(reason.refused for reason in reasons),
        policy=policy,
        reasons=tuple(reasons),
    )


def _reasons(policy: Policy, new: SchemaDefinition, version: int, old: SchemaDefinition) -> list[Reason]:
    found = (Reason(change, assess(change), version) for change in diff(old, new).changes)
    return [replace(reason, refused=_refuses(policy, reason)) for reason in found]


def _refuses(policy: Policy, reason: Reason) -> bool:
    """What is unknown is refused: whoever wants it says so with another policy."""
    impact, change = reason.impact, reason.change
    match policy:
        case Policy.STRICT:
            return True
        case Policy.CONSERVATIVE:
            return impact.status != "compatible"
        case Policy.PERMISSIVE:
            return change.kind is EvolutionType.CHANGE_KEY or change.relation in ("other", "unknown")
    promised = {"backward": (impact.backward,), "forward": (impact.forward,), "full": (impact.backward, impact.forward)}
    return any(effect != "ok" for effect in promised.get(policy.removesuffix("_transitive"), ()))


def _impacts(change: Change, before: Document, after: Document) -> Iterable[Impact]:
    match change.kind:
        case EvolutionType.ADD_COLUMN:
            yield _added(after)
        case EvolutionType.DROP_COLUMN:
            yield _dropped(before)
        case EvolutionType.RENAME_COLUMN:
            yield RENAMED
            yield from (replace(part, fix=None) for part in (_dropped(before), _added(after)) if "fails" in (part.backward, part.forward))
        case EvolutionType.MODIFY_COLUMN:
            yield from _column_impacts(change, after)
        case EvolutionType.CHANGE_KEY:
            yield OTHER_KEY
        case EvolutionType.ADD_INDEX | EvolutionType.MODIFY_INDEX if after.get("unique"):
            yield UNIQUE_INDEX
        case EvolutionType.ADD_CONSTRAINT:
            yield NEW_CONSTRAINT
        case _:
            yield HARMLESS


def _added(column: Document) -> Impact:
    return OPTIONAL_ADDED if column["nullable"] or "default" in column else REQUIRED_ADDED


def _dropped(column: Document) -> Impact:
    return OPTIONAL_DROPPED if column["nullable"] else REQUIRED_DROPPED


def _column_impacts(change: Change, after: Document) -> Iterable[Impact]:
    if change.relation:
        yield _BY_RELATION[change.relation]
    if "nullable" in after:
        yield NOW_OPTIONAL if after["nullable"] else NOW_REQUIRED
    if "default" in after:
        yield OTHER_DEFAULT


def _worst(statuses: Iterable[Status]) -> Status:
    return max(statuses, key=_STATUSES.index, default="compatible")
