"""Making dead letters and letting claims expire, for the tests that need them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from contract.making import execute
from lakeledger import Ledger
from lakeledger.sync.dead_letters import DeadLetter, NewLetter

RECORD = {"id": 12345, "order_date": "2023-13-45", "lines": [{"sku": "a", "qty": 2, "gift": None}]}


def new(record: Any = None, **more: Any) -> NewLetter:
    values = {"schema_name": "ecommerce", "table_name": "orders", "operation_type": "insert", **more}
    return NewLetter(record_data=RECORD if record is None else record, **values)


def fill(ledger: Ledger, count: int, **more: Any) -> list[DeadLetter]:
    return [ledger.dead_letters.add(new({"id": number}, **more)) for number in range(count)]


def expire_claim(ledger: Ledger, letter: DeadLetter) -> None:
    past = datetime(2020, 1, 1, tzinfo=UTC)
    assert execute(ledger, "update dead_letter_queue set claimed_until = :past where id = :id", past=past, id=letter.id) == 1
