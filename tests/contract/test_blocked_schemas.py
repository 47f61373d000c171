"""Changes of a schema that block the load of their source until somebody accepts them."""

from __future__ import annotations

import pytest

from contract.test_schemas import define
from lakeledger import Conflict, Ledger, NotFound, Source
from lakeledger.pipelines.breaking import SchemaChanged, accepted, block, reasons_of
from lakeledger.sync.schemas import Schemas, blocked
from lakeledger.tables.schema import Misfit

ORDERS = Source("shop", "orders")
GONE = Misfit("name", known="string")
OTHER = Misfit("price", known="double", given="string")


def refuse(ledger: Ledger, *problems: Misfit, run_id: str = "run-1") -> str:
    """A load that failed for these."""
    error = SchemaChanged("the data does not fit main.orders", reasons_of(problems))
    with ledger.store.write() as tx:
        return str(block(tx, ORDERS, "main.orders", error, "worker", run_id))


def go_on(ledger: Ledger) -> None:
    """A load that went through."""
    with ledger.store.write() as tx:
        blocked.settle(tx, ORDERS)


def statuses(ledger: Ledger) -> dict[str, str]:
    return {each.change["subject"]: each.status for each in ledger.schemas.held(ORDERS)}


def test_what_is_blocked_is_told_with_its_effect_and_accepted_by_somebody_with_a_reason(ledger: Ledger) -> None:
    message = refuse(ledger, GONE, OTHER)
    assert "`lakeledger schema accept shop.orders --reason TEXT`" in message
    assert "name is NULL in the rows of main.orders that are written from then on" in message
    assert "price keeps what is there as price__double, and is new in main.orders as string" in message
    gone, other = ledger.schemas.blocked()
    assert (gone.name, gone.change["words"], gone.change["status"]) == ("shop.orders", "name string was dropped", "breaking")
    assert (gone.blocked_by, gone.run_id, gone.target_table) == ("worker", "run-1", "main.orders")
    assert other.change["words"] == "price changed from double to string (another kind of value)"
    made = Schemas(ledger.store, "ann").accept("shop.orders", "the shop dropped it: token=sk-abcdefghijklmnop")
    assert {(each.status, each.accepted_by) for each in made} == {("accepted", "ann")}
    assert made[0].accepted_at is not None
    assert (made[0].accepted_reason or "").startswith("the shop dropped it")
    assert Schemas(ledger.store, "bob").accept(ORDERS) == made  # again, it is nothing new
    assert ledger.schemas.blocked() == []


def test_only_a_missing_column_stays_accepted_once_a_load_went_through(ledger: Ledger) -> None:
    refuse(ledger, GONE, OTHER)
    ledger.schemas.accept("shop.orders")
    go_on(ledger)
    assert statuses(ledger) == {"name": "applied", "price": "applied"}
    allowed = accepted(ledger.store, ORDERS)
    gone, other = reasons_of([GONE, OTHER])
    assert (allowed.allows(gone.change), allowed.allows(other.change)) == (True, False)
    with pytest.raises(NotFound, match=r"nothing blocks shop\.orders"):
        ledger.schemas.accept("shop.orders")
    refuse(ledger, OTHER, run_id="run-2")
    assert statuses(ledger) == {"name": "applied", "price": "blocked"}
    assert ledger.schemas.blocked()[0].run_id == "run-2"


def test_another_change_is_blocked_again_and_one_that_was_taken_back_blocks_nothing(ledger: Ledger) -> None:
    refuse(ledger, OTHER)
    ledger.schemas.accept("shop.orders")
    refuse(ledger, OTHER, Misfit("price", known="double", given="date"))
    assert sorted(each.status for each in ledger.schemas.held(ORDERS)) == ["accepted", "blocked"]
    go_on(ledger)
    assert [(each.status, each.change["after"]) for each in ledger.schemas.held(ORDERS)] == [("applied", {"type": "string"})]


def test_a_policy_lets_an_accepted_change_pass_and_the_version_says_who_accepted_it(ledger: Ledger) -> None:
    ledger.schemas.register("shop.orders", define("id int", "price double"), policy="backward")
    narrow = define("id int", "price string")
    with pytest.raises(Conflict, match="backward"):
        ledger.schemas.register("shop.orders", narrow)
    refuse(ledger, OTHER)
    Schemas(ledger.store, "ann").accept("shop.orders", "agreed")
    (change,) = ledger.schemas.register("shop.orders", narrow).changes
    assert (change["subject"], change["accepted_by"], change["accepted_reason"]) == ("price", "ann", "agreed")
