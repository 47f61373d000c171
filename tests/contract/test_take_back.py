"""Taking a source's batches back with a rewind, and forgetting a source: rows, position and history in one commit."""

from __future__ import annotations

from typing import Any

import pytest

from contract.making import change, new_file, put
from lakeledger import Advance, Conflict, Invalid, Ledger, NotFound, NumberPosition
from lakeledger.runs import Counters
from lakeledger.sync import Target, VersionsPosition, parse_source
from lakeledger.tables import Files

SOURCE = "shop.orders"


def load(ledger: Ledger, to: int, rows: int = 10, table: str = "silver.orders", **more: Any) -> str:
    """A load that brings the source to that number; the path of its file."""
    with ledger.run("load") as run:
        move = Advance(parse_source(SOURCE), NumberPosition(to))
        file = new_file(f"{to}-{run.id}", rows)
        put(ledger, change(run, file, table=table, position=move, summary={"source": SOURCE}, **more))
        return file.path


def preview(ledger: Ledger, version: int) -> Any:
    return ledger.batches.preview(ledger.positions.preview_rewind(SOURCE, Target(version=version)))


def live(ledger: Ledger, table: str = "silver.orders") -> list[str]:
    return [file.file_path for file in ledger.tables.files(table)]


def test_a_rewind_takes_its_batches_back_in_one_commit(ledger: Ledger) -> None:
    first = load(ledger, 10, 5)
    load(ledger, 20, 7)
    load(ledger, 30, 11)
    with ledger.run("other") as run:  # somebody else's rows stay
        put(ledger, change(run, other := new_file("other", 2)))
    plan = preview(ledger, 1)
    assert [(str(each.table), each.versions, each.rows, each.files) for each in plan.batches] == [("silver.orders", (2, 3), 18, 2)]
    assert len(live(ledger)) == 4
    marker = ledger.batches.take_back(plan, "bad extract", "ann")
    assert (marker.position, marker.version) == (NumberPosition(10), 4)
    assert sorted(live(ledger)) == sorted([first, other.path])
    table = ledger.tables.get("silver.orders")
    assert (table.row_count, table.file_count, table.current_version) == (7, 2, 5)
    last = ledger.positions.history(SOURCE)[0]
    assert (last.forced, last.reason) == (True, "rewound from version 3, its batches taken back: bad extract")
    run_of = ledger.runs.get(last.sync_run_id or "")
    assert (run_of.status, run_of.trigger_by, run_of.records_deleted) == ("COMPLETED", "ann", 18)
    assert ledger.tables.history("silver.orders")[0].summary["taken_back"] == [2, 3]


def test_what_was_taken_back_may_come_again_and_be_taken_back_again(ledger: Ledger) -> None:
    load(ledger, 10)
    load(ledger, 20)
    ledger.batches.take_back(preview(ledger, 1))
    load(ledger, 20, 3)
    plan = preview(ledger, 1)
    assert (plan.rows, [each.versions for each in plan.batches]) == (3, [(4,)])
    ledger.batches.take_back(plan)
    assert ledger.tables.get("silver.orders").row_count == 10


def test_every_table_of_a_batch_gives_its_rows_back(ledger: Ledger) -> None:
    load(ledger, 10)
    with ledger.run("load") as run:
        from lakeledger.commit import commit

        parts = [change(run, new_file(f"{name}-{run.id}", rows), table=name) for name, rows in (("silver.orders", 4), ("silver.bad", 2))]
        with ledger.store.write() as tx:
            commit(tx, run.fence, [each.change for each in parts], [Advance(parse_source(SOURCE), NumberPosition(20))])
    plan = preview(ledger, 1)
    assert [(str(each.table), each.rows) for each in plan.batches] == [("silver.bad", 2), ("silver.orders", 4)]
    ledger.batches.take_back(plan)
    assert (ledger.tables.get("silver.bad").row_count, ledger.tables.get("silver.orders").row_count) == (0, 10)


def test_what_is_not_as_it_came_is_not_taken_back(ledger: Ledger) -> None:
    load(ledger, 10)
    path = load(ledger, 20)
    with ledger.run("compact") as run:
        files = Files(frozenset({path}))
        put(ledger, change(run, new_file("compacted", 10), operation="replace", retires=files, counters=Counters()))
    with pytest.raises(Invalid, match=r"files of version 2 of silver.orders were written again by version 3 \(replace\)"):
        preview(ledger, 1)
    load(ledger, 30, operation="merge")
    with pytest.raises(Invalid, match=r"version 4 of silver.orders is a merge"):
        preview(ledger, 2)
    plan = ledger.positions.preview_rewind(SOURCE, Target(to=NumberPosition(15)))
    with pytest.raises(Invalid, match="lies between two moves"):
        ledger.batches.preview(plan)


def test_a_take_back_is_refused_whole_when_something_moved_since_the_preview(ledger: Ledger) -> None:
    load(ledger, 10)
    path = load(ledger, 20)
    plan = preview(ledger, 1)
    load(ledger, 30)
    with pytest.raises(Conflict):
        ledger.batches.take_back(plan)
    assert (len(live(ledger)), ledger.positions.get(SOURCE).version) == (3, 3)
    plan = preview(ledger, 1)
    with ledger.run("compact") as run:
        put(ledger, change(run, new_file("c", 10), operation="replace", retires=Files(frozenset({path})), counters=Counters()))
    with pytest.raises(Conflict):
        ledger.batches.take_back(plan)
    assert ledger.positions.get(SOURCE).position == NumberPosition(30)


def test_a_source_is_forgotten_and_that_is_kept(ledger: Ledger) -> None:
    load(ledger, 10)
    load(ledger, 20)
    assert ledger.batches.tables(SOURCE) == ["silver.orders"]
    with pytest.raises(Conflict, match="stands at version 2, not at 1"):
        ledger.positions.remove(SOURCE, 1)
    gone = ledger.positions.remove(SOURCE, 2, reason="replaced")
    assert (gone.version, ledger.positions.find(SOURCE)) == (2, None)
    (kept,) = ledger.positions.removals(SOURCE)
    assert (kept.entity, kept.from_status, kept.to_status) == ("position", "version 2", "REMOVED")
    assert kept.reason == 'replaced; it stood at version 2, {"value":20}'
    with pytest.raises(NotFound):
        ledger.positions.remove(SOURCE)
    load(ledger, 5)
    assert ledger.positions.get(SOURCE).version == 1


def test_a_source_that_is_forgotten_pins_no_version_any_more(ledger: Ledger) -> None:
    for number in (10, 20):
        load(ledger, number)
    table = ledger.tables.get("silver.orders")
    reader = VersionsPosition({"silver.orders": 1}, {"silver.orders": table.table_id})
    ledger.positions.advance("report.large", reader)

    def kept() -> str | None:
        return ledger.snapshots.list("silver.orders")[1].kept

    assert kept() == "source report.large has read up to version 1"
    ledger.positions.remove("report.large")
    assert kept() == "one of the 10 newest"
