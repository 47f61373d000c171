"""What a change does to readers, and which policy lets it pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.errors import Invalid
from lakeledger.sync.schemas import Policy, SchemaDefinition, Verdict, diff, parse_policy
from lakeledger.sync.schemas.compatibility import assess, judge


def column(name: str, type: str = "int", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, **more}


def orders(*columns: dict[str, Any], **more: Any) -> SchemaDefinition:
    return SchemaDefinition([column("id", nullable=False), *columns], **more)


BASE = orders(column("amount"))
UNIQUE = [{"name": "u", "columns": ["id"], "unique": True}]
PLAIN = [{"name": "u", "columns": ["id"]}]
CHECK = [{"name": "c", "expression": "amount > 0"}]

# What changes, what it does to new readers of old rows, to old readers of new rows, and what it is called.
RULES: dict[str, tuple[SchemaDefinition, SchemaDefinition, str, str, str]] = {
    "an optional column is added": (BASE, orders(column("amount"), column("email", "text")), "ok", "ok", "compatible"),
    "a required column with a default is added": (
        BASE,
        orders(column("amount"), column("n", nullable=False, default=0)),
        "ok",
        "ok",
        "compatible",
    ),
    "a required column is added": (BASE, orders(column("amount"), column("n", nullable=False)), "fails", "ok", "breaking"),
    "an optional column is dropped": (BASE, orders(), "ok", "ok", "breaking"),
    "a required column is dropped": (orders(column("n", nullable=False)), orders(), "ok", "fails", "breaking"),
    "a type gets wider": (BASE, orders(column("amount", "long")), "ok", "fails", "compatible"),
    "a type gets narrower": (BASE, orders(column("amount", "smallint")), "fails", "ok", "breaking"),
    "a type becomes another": (BASE, orders(column("amount", "text")), "fails", "fails", "breaking"),
    "a type becomes one that is not known": (BASE, orders(column("amount", "json")), "unknown", "unknown", "unknown"),
    "a column becomes required": (BASE, orders(column("amount", nullable=False)), "fails", "ok", "breaking"),
    "a column becomes optional": (orders(column("amount", nullable=False)), BASE, "ok", "fails", "compatible"),
    "a default changes": (BASE, orders(column("amount", default=1)), "ok", "ok", "compatible"),
    "the key changes": (
        orders(column("b", nullable=False), primary_keys=["id"]),
        orders(column("b", nullable=False), primary_keys=["b", "id"]),
        "fails",
        "fails",
        "breaking",
    ),
    "an optional column looks renamed": (BASE, orders(column("amounts")), "ok", "ok", "breaking"),
    "a required column looks renamed": (
        orders(column("amount", nullable=False)),
        orders(column("amounts", nullable=False)),
        "fails",
        "fails",
        "breaking",
    ),
    "a required column looks renamed and got a default": (
        orders(column("amount", nullable=False)),
        orders(column("amounts", nullable=False, default=0)),
        "ok",
        "fails",
        "breaking",
    ),
    "an index is added": (BASE, orders(column("amount"), indexes=PLAIN), "ok", "ok", "compatible"),
    "an index is dropped": (orders(indexes=UNIQUE), orders(), "ok", "ok", "compatible"),
    "a unique index is added": (BASE, orders(column("amount"), indexes=UNIQUE), "unknown", "ok", "unknown"),
    "an index becomes unique": (orders(indexes=PLAIN), orders(indexes=UNIQUE), "unknown", "ok", "unknown"),
    "a constraint is added": (BASE, orders(column("amount"), constraints=CHECK), "unknown", "ok", "unknown"),
    "a constraint is dropped": (orders(constraints=CHECK), orders(), "ok", "ok", "compatible"),
    "a type gets wider and the column required": (BASE, orders(column("amount", "long", nullable=False)), "fails", "fails", "breaking"),
}

ALL = set(RULES)
ALWAYS_OK = {rule for rule, (_, _, backward, forward, _) in RULES.items() if backward == forward == "ok"}
COMPATIBLE = {rule for rule, (*_, status) in RULES.items() if status == "compatible"}
ALLOWED = {
    Policy.NONE: ALL,
    Policy.BACKWARD: {rule for rule, (_, _, backward, _, _) in RULES.items() if backward == "ok"},
    Policy.FORWARD: {rule for rule, (_, _, _, forward, _) in RULES.items() if forward == "ok"},
    Policy.FULL: ALWAYS_OK,
    Policy.STRICT: set(),
    Policy.CONSERVATIVE: COMPATIBLE,
    Policy.PERMISSIVE: ALL - {"the key changes", "a type becomes another", "a type becomes one that is not known"},
    Policy.AGGRESSIVE: ALL,
}


def follow(policy: Policy, *definitions: SchemaDefinition) -> Verdict:
    *earlier, new = definitions
    return judge(policy, new, dict(enumerate(earlier, start=1)))


@pytest.mark.parametrize("rule", RULES)
def test_a_change_does_to_readers_what_the_rules_say(rule: str) -> None:
    old, new, backward, forward, status = RULES[rule]
    (change,) = diff(old, new).changes
    impact = assess(change)
    assert (impact.backward, impact.forward, impact.status) == (backward, forward, status)
    assert impact.why
    assert status == "compatible" or impact.fix


@pytest.mark.parametrize("policy", ALLOWED)
def test_a_policy_lets_pass_what_it_promises_and_nothing_else(policy: Policy) -> None:
    passed = {rule for rule, (old, new, *_) in RULES.items() if follow(policy, old, new).allowed}
    assert passed == ALLOWED[policy]


@pytest.mark.parametrize("policy", [policy for policy in Policy if policy.transitive])
def test_a_transitive_policy_lets_pass_what_its_mode_does_while_there_is_one_version(policy: Policy) -> None:
    mode = Policy(policy.removesuffix("_transitive"))
    assert {rule for rule, (old, new, *_) in RULES.items() if follow(policy, old, new).allowed} == ALLOWED[mode]


def test_a_transitive_policy_also_holds_against_older_versions() -> None:
    required, without, optional = orders(column("zip", nullable=False)), orders(), orders(column("zip"))
    assert follow(Policy.FORWARD, required, without, optional).allowed
    verdict = follow(Policy.FORWARD_TRANSITIVE, required, without, optional)
    assert (verdict.allowed, verdict.status) == (False, "compatible")
    (refusal,) = verdict.refusals
    assert refusal.against == 1
    assert refusal.words() == "zip may now be NULL since version 1: old readers may not expect NULL in it"


def test_the_latest_version_is_the_one_with_the_greatest_number() -> None:
    versions = {10: orders(column("a")), 9: orders(column("a"), column("b"))}
    assert judge(Policy.STRICT, orders(column("a")), versions).allowed


@pytest.mark.parametrize("policy", Policy)
def test_the_first_version_and_no_change_pass_every_policy(policy: Policy) -> None:
    assert follow(policy, BASE) == Verdict("compatible", allowed=True, policy=policy)
    assert follow(policy, orders(), BASE, BASE) == Verdict("compatible", allowed=True, policy=policy)


def test_a_refusal_says_what_changed_why_it_matters_and_what_to_do() -> None:
    verdict = follow(Policy.BACKWARD, BASE, orders(column("amount"), column("n", nullable=False)))
    assert verdict.words() == [
        "n int was added (required) since version 1: old rows have no value for it (make it nullable or give it a default)"
    ]


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("more", [{}, {"default": 0}])
def test_no_policy_depends_on_whether_a_column_looks_renamed(policy: Policy, nullable: bool, more: dict[str, Any]) -> None:
    old = orders(column("email", nullable=nullable))
    alike, unlike = (orders(column(name, nullable=nullable, **more)) for name in ("email_address", "fax"))
    assert [len(diff(old, new).changes) for new in (alike, unlike)] == [1, 2]
    hinted, split = follow(policy, old, alike), follow(policy, old, unlike)
    assert (hinted.allowed, hinted.status) == (split.allowed, split.status)


def test_a_refused_rename_says_what_is_missing_on_either_side() -> None:
    verdict = follow(Policy.BACKWARD, orders(column("mail", nullable=False)), orders(column("e_mail", nullable=False)))
    (words,) = verdict.words()
    assert words == (
        "mail int looks like it was renamed to e_mail since version 1: "
        "new rows have nothing under the old name, and old rows nothing under the new; "
        "old readers need a value in it; old rows have no value for it "
        "(add the new column, nullable, and keep the old one until readers have moved, or map the name)"
    )


def test_what_is_not_known_is_refused_and_says_so() -> None:
    verdict = follow(Policy.BACKWARD, BASE, orders(column("amount", "json")))
    assert (verdict.status, verdict.allowed) == ("unknown", False)
    assert "what is not known is refused" in verdict.words()[0]
    assert "is refused" not in follow(Policy.AGGRESSIVE, BASE, orders(column("amount", "json"))).words()[0]


def test_a_verdict_has_a_reason_for_every_change_and_marks_those_that_are_refused() -> None:
    verdict = follow(Policy.BACKWARD, BASE, orders(column("amount"), column("a"), column("b", nullable=False)))
    assert [(reason.change.subject, reason.refused) for reason in verdict.reasons] == [("a", False), ("b", True)]
    assert verdict.status == "breaking"
    document = verdict.to_dict()
    assert (document["allowed"], document["policy"], len(document["reasons"])) == (False, "backward", 2)
    assert document["reasons"][1]["fix"] == "make it nullable or give it a default"


def test_a_policy_is_known_by_its_word_in_any_case() -> None:
    assert parse_policy("Backward_TRANSITIVE") is Policy.BACKWARD_TRANSITIVE
    with pytest.raises(Invalid, match="unknown schema policy 'backwards'; did you mean 'backward'"):
        parse_policy("backwards")


@given(st.lists(st.sampled_from([definition for old, new, *_ in RULES.values() for definition in (old, new)]), min_size=2, max_size=4))
def test_policies_are_ordered_by_what_they_let_pass(definitions: list[SchemaDefinition]) -> None:
    allowed = {policy for policy in Policy if follow(policy, *definitions).allowed}
    for stricter, laxer in [
        (Policy.STRICT, Policy.CONSERVATIVE),
        (Policy.STRICT, Policy.FULL),
        (Policy.CONSERVATIVE, Policy.PERMISSIVE),
        (Policy.PERMISSIVE, Policy.AGGRESSIVE),
        (Policy.FULL, Policy.BACKWARD),
        (Policy.FULL, Policy.FORWARD),
        (Policy.FULL_TRANSITIVE, Policy.FULL),
        (Policy.BACKWARD_TRANSITIVE, Policy.BACKWARD),
        (Policy.FORWARD_TRANSITIVE, Policy.FORWARD),
        (Policy.BACKWARD, Policy.NONE),
    ]:
        assert laxer in allowed or stricter not in allowed
