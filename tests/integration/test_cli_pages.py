"""Every listing takes --limit and --after, and says as `next` how it goes on."""

from __future__ import annotations

from typing import Any

import pytest

from contract.making import append, change, new_file, put
from integration.commands import answer, refused, shown
from lakeledger import Ledger, NumberPosition, clock
from lakeledger.commit import commit
from lakeledger.quality import Suite, SuiteResult
from lakeledger.quality.store import found
from lakeledger.sync import NewError, NewLetter, NewSync, SourceFile, parse_source
from lakeledger.sync.positions import store as positions

pytestmark = pytest.mark.usefixtures("quiet")

# The words of a listing, and the name of its rows.
LISTINGS = {
    "runs list": "runs",
    "runs show {run}": "steps",
    "runs logs {run}": "steps",
    "sync runs": "runs",
    "errors list": "errors",
    "errors groups": "groups",
    "dlq list": "letters",
    "dlq groups": "groups",
    "schema list": "schemas",
    "schema show shop.orders": "versions",
    "positions list": "positions",
    "positions history shop.orders": "history",
    "positions show shop.orders": "files",
    "tables list": "tables",
    "tables files silver.orders": "files",
    "tables history silver.orders": "snapshots",
    "records list ingestion_volume": "records",
    "changes list": "changes",
    "quality list": "results",
}


@pytest.fixture
def filled(ledger: Ledger) -> str:
    """Three of each; the id of a run with steps."""
    for number, word in enumerate(("one", "two", "three")):
        append(ledger, new_file(word), table=f"silver.t{number}")
        ledger.sync.runs.start(NewSync("shop", "batch"))
        ledger.errors.log(NewError("shop", "orders", "schema", f"{word} happened"))
        ledger.dead_letters.add(NewLetter("shop", "orders", "insert", {"id": number}, error_message=f"{word} happened"))
        ledger.schemas.register(f"shop.{word}", {"columns": [{"name": "id", "type": "long"}]})
        ledger.schemas.register("shop.orders", {"columns": [{"name": word, "type": "long"}]})
        ledger.positions.advance(f"shop.{word}", NumberPosition(1))
        marker = ledger.positions.advance("shop.orders", NumberPosition(number))
        with ledger.store.write() as tx:
            positions.register_files(tx, marker, [SourceFile(f"in/{word}, x.csv", 1, tx.now, word)], "r")
    assert parse_source("shop.orders") == marker.source
    with ledger.run("load") as run:
        for word in ("one", "two", "three"):
            with run.step(word) as step:
                put(ledger, change(step, new_file(f"{word},"), table="silver.orders"))
            with ledger.store.write() as tx:
                commit(tx, run.fence, [], [], [found(SuiteResult(Suite(word), "silver.orders", (), clock.new_id()))])
    return run.id


@pytest.mark.parametrize("words", LISTINGS)
def test_a_listing_goes_on_where_its_page_ended(at: list[str], filled: str, words: str) -> None:
    command, name = words.format(run=filled).split(), LISTINGS[words]
    everything = answer(*command, "--limit", "1000", *at)
    assert everything["next"] is None
    assert len(everything[name]) >= 3
    pages: list[Any] = []
    after: list[str] = []
    while True:
        page = answer(*command, "--limit", "1", *after, *at)
        pages += page[name]
        if page["next"] is None:
            break
        after = ["--after", page["next"]]
    assert pages == everything[name]
    assert "more: give --after" in shown(*command, "--limit", "1", *at)
    assert "more:" not in shown(*command, "--limit", "1000", *at)
    refused([*command, "--after", "no,such,place,at,all", *at], 2, "Invalid", "is no place in this listing")
