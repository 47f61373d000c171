"""Which letters can be replayed, and what is said of those that cannot: found without Spark, on both databases."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from lakeledger import Conflict, Invalid, Ledger, codec
from lakeledger.control import documents
from lakeledger.db.queries import statement
from lakeledger.pipelines.replaying import WORKER, batches, waiting
from lakeledger.sync import DeadLetter, NewLetter
from lakeledger.sync.dead_letters.model import Filter


def letter(
    ledger: Ledger, number: int, source: str | None = "shop.orders", table: str = "orders", reason: str = "id is NULL"
) -> DeadLetter:
    kept = {
        "reason": reason,
        "rows": number,
        "sample": "x",
        "quarantine": (where := f"main.{table}__quarantine"),
        "run_id": f"r{number}",
        "source": source,
    }
    new = NewLetter("main", table, "insert", kept, source_record_id=f"{source}/{number}/{reason}", quarantine_table=where)
    return ledger.dead_letters.add(new)


def modules(**target: Any) -> list[documents.Module]:
    source = {
        "source_id": "orders",
        "source_type": "files",
        "source_config": {"path": "orders/*.csv", "schema": "id int"},
        "transformation_config": {"load_type": target.pop("load_type", "incremental")},
        "target_config": {"table": "orders", "bad_rows": "quarantine", **target},
    }
    return list(documents.parse(codec.to_json({"modules": [{"module_name": "shop", "sources": [source]}]}), "shop.yml").modules)


def error_of(ledger: Ledger, *given: documents.Module) -> str:
    (replayed,) = ledger.replay(given, Path())
    assert replayed.dry_run
    return replayed.error or ""


def test_letters_of_rows_are_found_among_others_and_by_source_and_table(ledger: Ledger) -> None:
    first, second = letter(ledger, 1), letter(ledger, 2)
    other = letter(ledger, 3, "shop.items", "items")
    held, dead = letter(ledger, 4), letter(ledger, 5)
    ledger.dead_letters.add(NewLetter("main", "orders", "insert", {"id": 1}))
    ledger.dead_letters.claim(ids=[held.id], worker="somebody")
    ledger.dead_letters.claim(ids=[dead.id], worker=f"{WORKER} r0")  # of a replay that was killed
    found = waiting(ledger.store, Filter())
    assert [each.id for each in found] == [first.id, second.id, other.id, dead.id]
    assert [(each.source, str(each.table), each.rows) for each in batches(found)] == [
        ("shop.orders", "main.orders", 8),
        ("shop.items", "main.items", 3),
    ]
    assert [each.id for each in waiting(ledger.store, Filter("main", "items"))] == [other.id]
    assert [each.id for each in waiting(ledger.store, Filter(), limit=1)] == [first.id]
    counted = ledger.replay(modules(), Path(), table="orders")
    assert [(each.source, each.rows, each.error) for each in counted] == [("shop.orders", 8, None)]


def test_letters_of_rows_that_an_earlier_release_wrote_are_known_as_such(ledger: Ledger) -> None:
    migration = (files("lakeledger.db") / "migrations" / "0014_letters_of_rows.sql").read_text()
    rows, _ = letter(ledger, 1), ledger.dead_letters.add(NewLetter("main", "orders", "insert", {"id": 1, "quarantine": "no"}))
    with ledger.store.write() as tx:
        tx.execute(statement("update dead_letter_queue set quarantine_table = null"))
        tx.execute(statement(next(each for each in migration.split(";") if each.strip().startswith("update"))))
    assert [each.id for each in waiting(ledger.store, Filter())] == [rows.id]


def test_whoever_asks_for_records_is_not_given_letters_of_rows(ledger: Ledger) -> None:
    rows, record = letter(ledger, 1), ledger.dead_letters.add(NewLetter("main", "orders", "insert", {"id": 1}))
    seen: list[str] = []
    assert ledger.dead_letters.replay(lambda given: seen.append(given.id), dry_run=False).total == 1
    assert seen == [record.id]
    assert ledger.dead_letters.claim(worker="somebody") == []
    assert [each.id for each in ledger.dead_letters.claim(ids=[rows.id], worker="somebody")] == [rows.id]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_what_cannot_be_replayed_is_told_with_the_fix(ledger: Ledger) -> None:
    one = letter(ledger, 1)
    assert "run shop.orders again" in error_of(ledger, *modules(load_type="full"))
    assert "writes to main.elsewhere now" in error_of(ledger, *modules(table="elsewhere"))
    assert "no source shop.orders is declared" in error_of(ledger)
    ledger.dead_letters.resolve(one.id)
    with pytest.raises(Conflict, match="is already resolved"):
        ledger.replay(modules(), Path(), letters=[one.id])
    record = ledger.dead_letters.add(NewLetter("main", "orders", "insert", {"id": 1}))
    with pytest.raises(Invalid, match=r"dead_letters\.replay\(callback\)"):
        ledger.replay(modules(), Path(), letters=[record.id])
    letter(ledger, 2, source=None)
    assert 'ledger.replay_rows("main.orders"' in error_of(ledger, *modules())
