"""The schema registry against a model: whatever is registered and archived in whatever order, the store says what the model says."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from examples import tried
from lakeledger import Conflict, Ledger, NotFound
from lakeledger.db import Store
from lakeledger.sync.schemas import Policy, SchemaDefinition, Schemas, Verdict, diff
from lakeledger.sync.schemas.compatibility import judge

TABLES = st.sampled_from(["shop.orders", "shop.customers"])
COLUMNS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["id", "amount", "amounts"]), "type": st.sampled_from(["int", "INTEGER", "long", "text", "json"])},
        optional={"nullable": st.booleans(), "default": st.just(0), "comment": st.sampled_from(["a", "b"])},
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda column: column["name"],
)
DEFINITIONS = st.builds(SchemaDefinition, COLUMNS)
POLICIES = st.none() | st.sampled_from(["none", "backward", "full_transitive", "permissive"])
TENANTS = itertools.count()


@dataclass
class Model:
    """What a table's schemas should be: every version with its policy, and how many of them are archived."""

    versions: list[tuple[SchemaDefinition, Policy]] = field(default_factory=list)
    archived: int = 0

    def ends_with(self, definition: SchemaDefinition) -> bool:
        return bool(self.versions) and self.versions[-1][0].hash == definition.hash

    def verdict(self, definition: SchemaDefinition, word: str | None) -> Verdict:
        inherited = self.versions[-1][1] if self.versions else Policy.NONE
        earlier = {number: known for number, (known, _) in enumerate(self.versions, start=1)}
        return judge(Policy(word) if word else inherited, definition, earlier)

    def archive(self, keep: int) -> int:
        before, self.archived = self.archived, max(self.archived, len(self.versions) - keep)
        return self.archived - before


def register(schemas: Schemas, table: str, model: Model, definition: SchemaDefinition, word: str | None) -> None:
    verdict = model.verdict(definition, word)
    assert schemas.check(table, definition, word) == verdict
    if model.ends_with(definition):
        made = schemas.register(table, definition, policy=word)
        model.versions[-1] = (model.versions[-1][0], Policy(word) if word else model.versions[-1][1])
        assert (made.version, made.created) == (len(model.versions), False)
        return
    if not verdict.allowed:
        with pytest.raises(Conflict, match=verdict.policy):
            schemas.register(table, definition, policy=word)
        return
    model.versions.append((definition, verdict.policy))
    made = schemas.register(table, definition, policy=word)
    assert (made.version, made.created) == (len(model.versions), True)


def machine(ledger: Ledger) -> type[RuleBasedStateMachine]:
    class SchemaMachine(RuleBasedStateMachine):
        """Each example has a tenant of its own in the same database."""

        def __init__(self) -> None:
            super().__init__()
            self.schemas = Schemas(Store(ledger.database, f"s{next(TENANTS)}"), "ann")
            self.models: dict[str, Model] = {}

        @rule(table=TABLES, definition=DEFINITIONS, word=POLICIES)
        def register(self, table: str, definition: SchemaDefinition, word: str | None) -> None:
            register(self.schemas, table, self.models.setdefault(table, Model()), definition, word)

        @precondition(lambda self: self.models)
        @rule(data=st.data())
        def register_an_old_version_again(self, data: st.DataObject) -> None:
            table = data.draw(st.sampled_from(sorted(self.models)))
            definition, _ = data.draw(st.sampled_from(self.models[table].versions))
            register(self.schemas, table, self.models[table], definition, Policy.AGGRESSIVE)

        @rule(keep=st.integers(1, 4))
        def archive(self, keep: int) -> None:
            moved = sum(model.archive(keep) for model in self.models.values())
            assert self.schemas.archive(keep) == moved

        @invariant()
        def the_latest_is_what_the_model_says(self) -> None:
            found = {version.name: (version.version, version.definition, version.policy) for version in self.schemas.list()}
            assert found == {table: (len(model.versions), *model.versions[-1]) for table, model in self.models.items()}

        def teardown(self) -> None:
            for table, model in self.models.items():
                compare(self.schemas, table, model)

    return SchemaMachine


def compare(schemas: Schemas, table: str, model: Model) -> None:
    history = schemas.history(table)
    assert [version.version for version in history] == list(range(1, len(model.versions) + 1))
    assert [(version.definition, version.policy) for version in history] == model.versions
    assert [version.archived for version in history] == [number < model.archived for number in range(len(history))]
    assert [schemas.get(table, version.version) for version in history] == history
    assert schemas.diff(table, 1).changes == diff(model.versions[0][0], model.versions[-1][0]).changes
    with pytest.raises(NotFound):
        schemas.get(table, len(history) + 1)


def test_schemas_behave_as_the_model_says(ledger: Ledger) -> None:
    share = 0.6 if ledger.database.dialect == "sqlite" else 0.2
    run_state_machine_as_test(
        machine(ledger),
        settings=tried(share, stateful_step_count=15, suppress_health_check=list(HealthCheck)),
    )
