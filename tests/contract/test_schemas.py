"""The schema registry: versions without gaps, what changed and whether it may, and old versions that stay findable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from contract.making import dump, execute, opened, rows
from lakeledger import Conflict, Invalid, Ledger, NotFound, Source
from lakeledger.sync.schemas import EvolutionType, SchemaDefinition, Schemas, SchemaVersion
from lakeledger.sync.schemas.store import count_old

ORDERS = "shop.orders"
CUSTOMERS = SchemaDefinition(
    columns=[
        {"name": "id", "type": "INTEGER", "nullable": False, "primary_key": True},
        {"name": "name", "type": "TEXT", "nullable": True},
        {"name": "created_at", "type": "TIMESTAMP", "nullable": False},
    ],
    primary_keys=["id"],
    indexes=[{"name": "idx_created_at", "columns": ["created_at"]}],
)


@pytest.fixture
def schemas(ledger: Ledger) -> Schemas:
    return Schemas(ledger.store, "ann")


def define(*columns: str, **more: Any) -> SchemaDefinition:
    """`"amount int"` is an optional column, `"amount int!"` a required one."""
    split = (column.split(" ", 1) for column in columns)
    return SchemaDefinition(
        [{"name": name, "type": type_.removesuffix("!"), "nullable": not type_.endswith("!")} for name, type_ in split], **more
    )


A, B = define("id int!"), define("id int!", "email text")


def versions(found: Sequence[SchemaVersion]) -> list[int]:
    return [version.version for version in found]


def grow(schemas: Schemas, count: int, table: str = ORDERS) -> None:
    """Register so many versions, each with one more column."""
    for width in range(1, count + 1):
        schemas.register(table, define(*(f"c{number} int" for number in range(width))))


def test_a_mysql_text_may_grow_and_a_datetime_that_becomes_a_timestamp_is_a_change(schemas: Schemas) -> None:
    schemas.register(ORDERS, define("body TEXT", "at DATETIME"), policy="backward")
    for version, wider in ((2, "MEDIUMTEXT"), (3, "LONGTEXT")):
        assert schemas.register(ORDERS, define(f"body {wider}", "at DATETIME")).version == version
    for body, at in (("TEXT", "DATETIME"), ("LONGTEXT", "TIMESTAMP")):
        with pytest.raises(Conflict, match="backward"):
            schemas.register(ORDERS, define(f"body {body}", f"at {at}"))


def test_the_first_version_creates_the_table_and_says_who_and_in_which_run(schemas: Schemas) -> None:
    made = schemas.register("ecommerce.customers", CUSTOMERS, evolution_type=EvolutionType.CREATE, run_id="run-1")
    assert (made.version, made.previous_version, made.evolution_type, made.compatibility_status) == (1, None, "create", "compatible")
    assert (made.registered_by, made.sync_run_id, made.policy, made.changes) == ("ann", "run-1", "none", [])
    assert (made.created, made.archived, made.name, made.name_key) == (True, False, "ecommerce.customers", "ecommerce/customers")
    assert made.definition == CUSTOMERS
    assert schemas.get("ecommerce.customers") == made


def test_json_comes_back_as_values_and_not_as_text(schemas: Schemas) -> None:
    schemas.register(ORDERS, A)
    made = schemas.register(ORDERS, B)
    for found in (made, schemas.get(ORDERS), schemas.get(ORDERS, 2), schemas.history(ORDERS)[1], schemas.list()[0]):
        assert found.schema_definition == B.to_dict()
        assert found.changes[0]["subject"] == "email"
        assert found == made


def test_the_same_schema_is_registered_once(ledger: Ledger, schemas: Schemas) -> None:
    made = schemas.register(ORDERS, define("id int!", "email text"))
    before = dump(ledger)
    again = schemas.register("SHOP.Orders", define("EMAIL string", "id INTEGER!"), evolution_type="drop_column")
    assert (again, again.created) == (made, False)
    assert dump(ledger) == before


def test_a_schema_that_an_older_release_hashed_in_another_way_is_the_same(ledger: Ledger, schemas: Schemas) -> None:
    schemas.register(ORDERS, define("note LONGTEXT"))
    execute(ledger, "update schema_registry set schema_hash = 'of an older release'")
    again = schemas.register(ORDERS, define("note longtext"), policy="strict")
    assert (again.version, again.created) == (1, False)


def test_a_schema_whose_text_shrinks_is_a_new_version_that_a_policy_may_refuse(schemas: Schemas) -> None:
    schemas.register(ORDERS, define("note LONGTEXT"), policy="backward")
    with pytest.raises(Conflict, match="note changed from LONGTEXT to TINYTEXT \\(narrower\\)"):
        schemas.register(ORDERS, define("note TINYTEXT"))


@pytest.mark.parametrize("policy", ["backward", "forward", "full"])
def test_a_column_that_looks_renamed_passes_where_a_drop_and_an_add_do(schemas: Schemas, policy: str) -> None:
    schemas.register(ORDERS, define("id int!", "email text"), policy=policy)
    made = schemas.register(ORDERS, define("id int!", "email_address text"))
    assert (made.version, made.evolution_type, made.compatibility_status) == (2, "rename_column", "breaking")


def test_a_schema_that_comes_back_is_a_new_version_and_the_latest(schemas: Schemas) -> None:
    made = [schemas.register(ORDERS, definition) for definition in (A, B, A)]
    assert versions(made) == [1, 2, 3]
    assert [version.previous_version for version in made] == [None, 1, 2]
    latest = schemas.get(ORDERS)
    assert (latest.version, latest.definition, latest.schema_hash) == (3, A, made[0].schema_hash)
    assert schemas.register(ORDERS, A).version == 3
    assert versions(schemas.list()) == [3]


def test_versions_are_counted_for_each_table(schemas: Schemas) -> None:
    grow(schemas, 3)
    grow(schemas, 2, "shop.customers")
    assert [(version.name, version.version) for version in schemas.list()] == [("shop.customers", 2), ("shop.orders", 3)]


def test_a_table_is_found_whatever_its_case_and_as_a_source(schemas: Schemas) -> None:
    schemas.register(Source("Shop", "Örders", "stream"), A)
    assert schemas.get("SHOP.ÖRDERS").name == "Shop.Örders"
    assert schemas.find(Source("shop", "other")) is None


@pytest.mark.parametrize("table", ["shop", Source("shop")])
def test_a_schema_belongs_to_a_table(schemas: Schemas, table: str | Source) -> None:
    with pytest.raises(Invalid, match=r"a schema belongs to a table: write shop\.<table>"):
        schemas.register(table, A)


def test_a_definition_may_be_a_dictionary(schemas: Schemas) -> None:
    assert schemas.register(ORDERS, CUSTOMERS.to_dict()).definition == CUSTOMERS
    with pytest.raises(Invalid, match="a schema definition is a SchemaDefinition or a dictionary, not list"):
        schemas.register(ORDERS, [])  # type: ignore[arg-type]


def test_what_is_not_there_is_not_found(schemas: Schemas) -> None:
    with pytest.raises(NotFound, match=r"no schema is registered for shop\.orders"):
        schemas.get(ORDERS)
    grow(schemas, 2)
    with pytest.raises(NotFound, match=r"shop\.orders has no schema version 3: it has 1 to 2"):
        schemas.get(ORDERS, 3)
    with pytest.raises(NotFound, match="no schema version 0"):
        schemas.diff(ORDERS, 0)
    assert (schemas.find(ORDERS, 3), schemas.find("shop.other"), schemas.history("shop.other")) == (None, None, [])


@pytest.mark.parametrize(
    ("declared", "new", "kept"),
    [
        (None, B, "add_column"),
        ("ADD_COLUMN", B, "add_column"),
        ("create", B, "add_column"),
        ("drop_column", define("id long!", "email text"), "multiple"),
        ("modify_column", define("id long!", "email text"), "modify_column"),
        (EvolutionType.MULTIPLE, define("id long!", "email text"), "multiple"),
    ],
)
def test_the_declared_kind_is_kept_if_it_is_part_of_what_happened(
    schemas: Schemas, declared: str | None, new: SchemaDefinition, kept: str
) -> None:
    schemas.register(ORDERS, A)
    assert schemas.register(ORDERS, new, evolution_type=declared).evolution_type == kept


def test_words_that_mean_nothing_are_refused(ledger: Ledger, schemas: Schemas) -> None:
    before = dump(ledger)
    with pytest.raises(Invalid, match="unknown evolution type 'grow'"):
        schemas.register(ORDERS, A, evolution_type="grow")
    with pytest.raises(Invalid, match="unknown schema policy ''"):
        schemas.register(ORDERS, A, policy="")
    assert dump(ledger) == before


def test_a_change_is_kept_with_its_reason_and_what_to_do(schemas: Schemas) -> None:
    schemas.register(ORDERS, A)
    made = schemas.register(ORDERS, define("id int!", "email text!"))
    assert made.compatibility_status == "breaking"
    assert made.changes == [
        {
            "kind": "add_column",
            "subject": "email",
            "before": None,
            "after": {"name": "email", "type": "text", "nullable": False},
            "relation": None,
            "words": "email text was added (required)",
            "backward": "fails",
            "forward": "ok",
            "status": "breaking",
            "reason": "old rows have no value for it",
            "fix": "make it nullable or give it a default",
        }
    ]


def test_what_the_policy_refuses_is_not_stored_and_the_refusal_says_why(ledger: Ledger, schemas: Schemas) -> None:
    schemas.register(ORDERS, A, policy="BACKWARD")
    before = dump(ledger)
    with pytest.raises(Conflict) as refused:
        schemas.register(ORDERS, define("id smallint!", "email text!"))
    assert str(refused.value) == (
        "the schema of shop.orders may not change like this under the policy 'backward': "
        "id changed from int to smallint (narrower) since version 1: old values may not fit the new type "
        "(keep the wider type, or add a new column); "
        "email text was added (required) since version 1: old rows have no value for it (make it nullable or give it a default)"
    )
    assert not refused.value.retryable
    assert dump(ledger) == before


def test_a_policy_is_inherited_until_another_is_given(schemas: Schemas) -> None:
    made = [schemas.register(ORDERS, A, policy="backward"), schemas.register(ORDERS, B)]
    made.append(schemas.register(ORDERS, define("email text!"), policy="aggressive"))
    made.append(schemas.register(ORDERS, define("other json!")))
    assert [version.policy for version in made] == ["backward", "backward", "aggressive", "aggressive"]


def test_a_check_says_what_registering_would_and_writes_nothing(ledger: Ledger, schemas: Schemas) -> None:
    assert schemas.check(ORDERS, A).allowed
    schemas.register(ORDERS, A, policy="full")
    before = dump(ledger)
    assert not schemas.check(ORDERS, define("id long!")).allowed
    assert schemas.check(ORDERS, define("id long!"), policy="backward").allowed
    assert schemas.check(ORDERS, B.to_dict()).to_dict()["status"] == "compatible"
    assert schemas.check(ORDERS, A, policy="strict").allowed
    assert dump(ledger) == before


def test_any_two_versions_are_compared_in_either_direction(schemas: Schemas) -> None:
    for definition in (A, B, define("id long!", "email text")):
        schemas.register(ORDERS, definition)
    assert schemas.diff(ORDERS, 1).words() == ["id changed from int to long (wider)", "email text was added (may be NULL)"]
    assert schemas.diff(ORDERS, 3, 2).words() == ["id changed from long to int (narrower)"]
    assert schemas.diff(ORDERS, 2, 2).to_dict() == {"from_version": 2, "to_version": 2, "changes": []}


@pytest.mark.parametrize(("count", "moved"), [(9, 0), (10, 0), (11, 1), (25, 15)])
def test_keeping_the_last_ten_keeps_ten(ledger: Ledger, schemas: Schemas, count: int, moved: int) -> None:
    grow(schemas, count)
    with ledger.store.read() as tx:
        assert count_old(tx, 10) == moved
    assert schemas.archive() == moved
    hot = rows(ledger, "select version from schema_registry order by version")
    assert [row["version"] for row in hot] == list(range(moved + 1, count + 1))
    assert schemas.archive() == 0


def test_archived_versions_are_found_as_they_were(schemas: Schemas) -> None:
    grow(schemas, 5)
    grow(schemas, 2, "shop.customers")
    before = schemas.history(ORDERS)
    assert schemas.archive(keep=2) == 3
    after = schemas.history(ORDERS)
    assert after == before
    assert [version.archived for version in after] == [True, True, True, False, False]
    assert [schemas.get(ORDERS, number) for number in range(1, 6)] == before
    assert schemas.diff(ORDERS, 1, 2).words() == ["c1 int was added (may be NULL)"]
    assert schemas.diff(ORDERS, 5, 1).from_version == 5
    assert len(schemas.history("shop.customers")) == 2


def test_versions_are_counted_on_after_archiving(schemas: Schemas) -> None:
    grow(schemas, 3)
    assert schemas.archive(keep=1) == 2
    assert schemas.register(ORDERS, A).version == 4
    assert schemas.archive(keep=1) == 1
    assert versions(schemas.history(ORDERS)) == [1, 2, 3, 4]


def test_archiving_moves_no_more_than_it_is_told_and_the_oldest_first(schemas: Schemas) -> None:
    grow(schemas, 6)
    assert [schemas.archive(keep=1, limit=2) for _ in range(4)] == [2, 2, 1, 0]
    assert [version.archived for version in schemas.history(ORDERS)] == [True] * 5 + [False]


def test_the_current_version_is_never_archived(schemas: Schemas) -> None:
    grow(schemas, 2)
    with pytest.raises(Invalid, match="keep at least 1, not 0"):
        schemas.archive(keep=0)
    assert len(schemas.history(ORDERS)) == 2


def test_an_archived_version_is_a_record(ledger: Ledger, schemas: Schemas) -> None:
    schemas.register(ORDERS, A, run_id="run-1")
    schemas.register(ORDERS, B)
    schemas.archive(keep=1)
    (record,) = ledger.records.history(ORDERS, "schema_version")
    assert (record.version, record.target.schema, record.target.table) == ("1", "shop", "orders")
    assert (record.context.run_id, record.producer_id) == ("run-1", "ann")
    assert record.payload["schema_definition"] == A.to_dict()


def test_a_transitive_policy_also_holds_against_archived_versions(schemas: Schemas) -> None:
    for definition in (define("id int!", "zip text!"), A):
        schemas.register(ORDERS, definition)
    schemas.archive(keep=1)
    assert schemas.check(ORDERS, define("id int!", "zip text"), policy="forward").allowed
    with pytest.raises(Conflict, match="zip may now be NULL since version 1"):
        schemas.register(ORDERS, define("id int!", "zip text"), policy="forward_transitive")


def test_names_with_dots_are_not_taken_for_each_other(schemas: Schemas) -> None:
    one, other = Source("a.b", "c"), Source("a", "b.c")
    for table, definitions in ((one, (A, B)), (other, (B, A))):
        for definition in definitions:
            schemas.register(table, definition)
    assert schemas.archive(keep=1) == 2
    assert [version.definition for version in schemas.history(one)] == [A, B]
    assert schemas.get(other, 1).definition == B


def test_tenants_do_not_see_each_others_schemas(url: str) -> None:
    with opened(url) as mine, opened(url, tenant="other") as theirs:
        one, other = Schemas(mine.store, "ann"), Schemas(theirs.store, "bob")
        for schemas, definitions in ((one, (A, B)), (other, (B,))):
            for definition in definitions:
                schemas.register(ORDERS, definition)
        one.archive(keep=1)
        assert (versions(one.history(ORDERS)), versions(other.history(ORDERS))) == ([1, 2], [1])
        assert other.get(ORDERS).registered_by == "bob"


def test_a_policy_can_be_given_to_a_schema_that_does_not_change(ledger: Ledger) -> None:
    first = ledger.schemas.register("shop.orders", SchemaDefinition([{"name": "id", "type": "int"}]))
    again = ledger.schemas.register("shop.orders", SchemaDefinition([{"name": "id", "type": "int"}]), policy="strict")
    assert (again.version, again.created, again.policy) == (first.version, False, "strict")
    with pytest.raises(Conflict, match="under the policy 'strict'"):
        ledger.schemas.register("shop.orders", SchemaDefinition([{"name": "id", "type": "long"}]))


def test_a_version_registered_elsewhere_is_seen_by_the_next_read(ledger: Ledger, url: str) -> None:
    assert ledger.schemas.find("shop.orders") is None
    with opened(url) as other:
        for number in (1, 2, 3):
            other.schemas.register("shop.orders", SchemaDefinition([{"name": f"c{number}", "type": "int"}]))
            found = ledger.schemas.find("shop.orders")
            assert found is not None
            assert found.version == number
