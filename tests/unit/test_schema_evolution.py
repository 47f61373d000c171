"""What changed between two definitions, and how it is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.errors import Invalid
from lakeledger.sync.schemas import Change, EvolutionType, SchemaDefinition, diff, parse_evolution
from lakeledger.sync.schemas.evolution import infer

NAMES = st.sampled_from(["id", "ID2", "name", "names", "amount"])
TYPES = st.sampled_from(["int", "INTEGER", "long", "text", "json", "struct<a: int>"])


@st.composite
def definitions(draw: st.DrawFn) -> SchemaDefinition:
    columns = draw(
        st.lists(
            st.fixed_dictionaries(
                {"name": NAMES, "type": TYPES},
                optional={"nullable": st.booleans(), "default": st.sampled_from([None, 0, 1, 1.0, True, "1"])},
            ),
            min_size=1,
            unique_by=lambda column: column["name"],
        )
    )
    known = [column["name"] for column in columns]
    parts = st.lists(st.sampled_from(known), min_size=1, max_size=2)
    index = st.fixed_dictionaries({"name": st.sampled_from(["i", "j"]), "columns": parts}, optional={"unique": st.booleans() | st.just(1)})
    check = st.fixed_dictionaries({"expression": st.sampled_from(["a", "b"])}, optional={"name": st.sampled_from(["c", "d"])})
    return SchemaDefinition(
        columns,
        draw(st.lists(st.sampled_from(known), max_size=2)),
        draw(st.lists(index, max_size=2, unique_by=lambda made: str(made["name"]))),
        draw(st.lists(check, max_size=2, unique_by=lambda made: str(made.get("name", made)))),
    )


def define(*columns: str | dict[str, Any], **more: Any) -> SchemaDefinition:
    """`"amount int"` is an optional column, `"amount int!"` a required one."""
    return SchemaDefinition([column if isinstance(column, dict) else spelled(column) for column in columns], **more)


def spelled(column: str) -> dict[str, Any]:
    name, type_ = column.split(" ", 1)
    return {"name": name, "type": type_.removesuffix("!"), "nullable": not type_.endswith("!")}


def only(old: SchemaDefinition, new: SchemaDefinition) -> Change:
    (change,) = diff(old, new).changes
    return change


def told(old: SchemaDefinition, new: SchemaDefinition) -> list[str]:
    return diff(old, new).words()


ORDERS = define("id int!", "amount INTEGER")


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (define("id int!", "amount INTEGER", "email TEXT"), "email TEXT was added (may be NULL)"),
        (define("id int!", "amount INTEGER", "email TEXT!"), "email TEXT was added (required)"),
        (
            define("id int!", "amount INTEGER", {"name": "paid", "type": "BOOL", "nullable": False, "default": False}),
            "paid BOOL was added (required, default False)",
        ),
        (define("id int!"), "amount INTEGER was dropped"),
        (define("id int!", "amount BIGINT"), "amount changed from INTEGER to BIGINT (wider)"),
        (define("id int!", "amount SMALLINT"), "amount changed from INTEGER to SMALLINT (narrower)"),
        (define("id int!", "amount TEXT"), "amount changed from INTEGER to TEXT (another kind of value)"),
        (define("id int!", "amount JSON"), "amount changed from INTEGER to JSON (it is not known how they relate)"),
        (define("id int!", "amount INTEGER!"), "amount may no longer be NULL"),
        (define("id int", "amount INTEGER"), "id may now be NULL"),
        (define("id int!", {"name": "amount", "type": "INTEGER", "default": 0}), "amount got the default 0"),
        (
            define("id int!", {"name": "amount", "type": "BIGINT", "nullable": False, "default": 0}),
            "amount changed from INTEGER to BIGINT (wider) and may no longer be NULL and got the default 0",
        ),
        (define("id int!", "amounts INTEGER"), "amount INTEGER looks like it was renamed to amounts"),
        (define("id int!", "amount INTEGER", primary_keys=["id"]), "the primary key changed from none to id"),
        (define("id int!", "amount INTEGER", indexes=[{"name": "i", "columns": ["id"]}]), "index i was added"),
        (define("id int!", "amount INTEGER", indexes=[{"columns": ["id", "amount"], "unique": True}]), "unique index id, amount was added"),
        (define("id int!", "amount INTEGER", constraints=[{"name": "c", "expression": "amount > 0"}]), "constraint c was added"),
    ],
)
def test_a_change_is_told_in_a_sentence(new: SchemaDefinition, words: str) -> None:
    assert told(ORDERS, new) == [words]


def test_what_is_gone_is_told_too() -> None:
    full = define("id int!", "amount INTEGER", indexes=[{"name": "i", "columns": ["id"]}], constraints=[{"name": "c", "expression": "x"}])
    assert told(full, ORDERS) == ["index i was dropped", "constraint c was dropped"]
    assert told(define({"name": "a", "type": "int", "default": 1}), define("a int")) == ["a lost its default 1"]
    assert told(define({"name": "a", "type": "int", "default": 1}), define({"name": "a", "type": "int", "default": 2})) == [
        "a has the default 2 instead of 1"
    ]


def test_a_modified_column_is_one_change_that_says_what_is_different() -> None:
    change = only(ORDERS, define("id int!", "amount BIGINT!"))
    assert change == Change(
        EvolutionType.MODIFY_COLUMN, "amount", {"type": "INTEGER", "nullable": True}, {"type": "BIGINT", "nullable": False}, "wider"
    )


def test_an_index_that_says_something_else_was_changed_and_a_constraint_was_replaced() -> None:
    old = define("a int", "b int", indexes=[{"name": "i", "columns": ["a"]}], constraints=[{"name": "c", "expression": "a > 0"}])
    new = define("a int", "b int", indexes=[{"name": "I", "columns": ["b"]}], constraints=[{"name": "c", "expression": "a > 1"}])
    assert told(old, new) == ["index I was changed", "constraint c was dropped", "constraint c was added"]


def test_columns_are_matched_whatever_their_case_and_order() -> None:
    assert told(define("Id int", "b text"), define("B string", "ID integer")) == []


def test_every_change_is_there_in_a_fixed_order() -> None:
    old = define("id int!", "price float", "zip text", indexes=[{"name": "i", "columns": ["zip"]}])
    new = define("id long!", "price float", "country text!", primary_keys=["id"])
    assert told(old, new) == [
        "id changed from int to long (wider)",
        "zip text was dropped",
        "country text was added (required)",
        "the primary key changed from none to id",
        "index i was dropped",
    ]


@pytest.mark.parametrize(
    ("old", "new", "renamed"),
    [
        (define("a int", "email text"), define("e_mail text", "a int"), {"email": "e_mail"}),
        (define("a int", "home text"), define("a int", "fax text"), {}),
        (define("a int", "email text"), define("a int", "email_address text"), {"email": "email_address"}),
        (define("order_id int"), define("id int"), {"order_id": "id"}),
        (define("n text"), define("country text"), {}),
        (define("email text"), define("email_address varchar(20)"), {}),
        (define("a int", "foo text"), define("bar text", "a int"), {}),
        (define("a int", "foo text", "x int"), define("a int", "bar text", "y int"), {}),
        (define("email text"), define("e_mail int"), {}),
        (define("email text"), define("e_mail text!"), {}),
        (
            define("first_name text", "last_name text"),
            define("firstname text", "lastname text"),
            {"first_name": "firstname", "last_name": "lastname"},
        ),
    ],
)
def test_columns_that_are_alike_look_renamed(old: SchemaDefinition, new: SchemaDefinition, renamed: dict[str, str]) -> None:
    changes = [change for change in diff(old, new).changes if change.kind is EvolutionType.RENAME_COLUMN]
    assert {change.subject: change.after["name"] for change in changes if change.after} == renamed


def test_the_name_that_is_most_alike_is_the_new_one_and_the_others_were_added() -> None:
    assert told(define("amount int"), define("amounts int", "amount_net int")) == [
        "amount int looks like it was renamed to amounts",
        "amount_net int was added (may be NULL)",
    ]


def test_no_renames_are_guessed_when_everything_is_different() -> None:
    old, new = (define(*(f"{side}_{number} int" for number in range(101))) for side in ("old", "new"))
    assert {change.kind for change in diff(old, new).changes} == {"add_column", "drop_column"}


def test_the_kind_of_evolution_is_that_of_its_changes() -> None:
    assert infer(diff(ORDERS, define("id int!", "amount INTEGER", "a text", "b text")).changes) == "add_column"
    assert infer(diff(ORDERS, define("id long!", "amount INTEGER", "a text")).changes) == "multiple"
    with pytest.raises(Invalid, match="no change is no evolution"):
        infer([])


def test_a_kind_of_evolution_is_known_by_its_word_in_any_case() -> None:
    assert parse_evolution("ADD_Column") is EvolutionType.ADD_COLUMN
    assert parse_evolution(EvolutionType.CREATE) is EvolutionType.CREATE
    with pytest.raises(Invalid, match="unknown evolution type 'add_colum'; did you mean 'add_column'"):
        parse_evolution("add_colum")


@given(definitions(), definitions())
def test_there_are_changes_exactly_if_the_hashes_differ(old: SchemaDefinition, new: SchemaDefinition) -> None:
    assert bool(diff(old, new).changes) == (old.hash != new.hash)


@given(definitions(), definitions())
def test_a_diff_is_told_again_after_json(old: SchemaDefinition, new: SchemaDefinition) -> None:
    found = diff(old, new)
    document = json.loads(json.dumps(found.to_dict()))
    assert [change["words"] for change in document["changes"]] == found.words()


@given(definitions(), definitions())
def test_the_way_back_undoes_what_the_way_there_did(old: SchemaDefinition, new: SchemaDefinition) -> None:
    there, back = ([change.kind for change in diff(*pair).changes] for pair in ((old, new), (new, old)))
    arrived = there.count(EvolutionType.ADD_COLUMN) + there.count(EvolutionType.RENAME_COLUMN)
    assert arrived == back.count(EvolutionType.DROP_COLUMN) + back.count(EvolutionType.RENAME_COLUMN)
    assert there.count(EvolutionType.MODIFY_COLUMN) == back.count(EvolutionType.MODIFY_COLUMN)
