"""Whatever is done to a table and in whatever order, Delta's readers find every version that is published and kept as the ledger has it."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakeledger
from contract.delta_tables import compact, put
from contract.keeping import let_pass
from delta_readers import actions, entries, seen, told
from empty_ledgers import new_sqlite_url
from lakeledger import Ledger, delta_publishing, failpoints
from lakeledger.tables.schema import shown
from lakeledger.testing import raise_at

STEPS = [
    "append",
    "append",
    "overwrite",
    "delete",
    "compact",
    "rename",
    "add",
    "drop",
    "widen",
    "publish",
    "publish",
    "crash",
    "maintain",
    "off",
]


DAY = timedelta(days=1)


class Crashed(Exception):
    """A publisher was stopped."""


def columns(ledger: Ledger) -> dict[str, str]:
    return {field["name"]: field["type"] for field in shown(ledger.tables.view("shop.orders").schema)["fields"]}


def row(number: int, types: dict[str, str]) -> tuple[Any, ...]:
    return tuple(str(number) if type_ == "string" else number for type_ in types.values())


def do(ledger: Ledger, step: str, number: int) -> None:
    types = columns(ledger)
    match step:
        case "append":
            put(ledger, row(number, types), row(number + 1, types), columns=types)
        case "overwrite":
            put(ledger, row(number, types), columns=types, operation="overwrite", retires="all")
        case "delete":
            put(ledger, columns=types, operation="delete", retires="all")
        case "compact":
            names, rows = list(types), [eval(text) for text in told(ledger)[1]]
            if rows:
                compact(ledger, *(tuple(each[name] for name in names) for each in rows), columns=types)
        case "rename":
            ledger.columns.rename("shop.orders", list(types)[number % len(types)], f"n{number}")
        case "add":
            ledger.columns.add("shop.orders", f"a{number % 5}" if f"a{number % 5}" not in types else f"b{number}", "string")
        case "drop" if len(types) > 1:
            ledger.columns.drop("shop.orders", list(types)[number % len(types)])
        case "widen":
            wider = {name: "long" if type_ == "integer" else type_ for name, type_ in types.items()}
            put(ledger, row(number, wider), columns=wider)
        case _:
            care(ledger, step, number)


def care(ledger: Ledger, step: str, number: int) -> None:
    """What is done about a table and not to it."""
    match step:
        case "publish":
            ledger.publish("shop.orders", ["delta"])
        case "crash":
            put(ledger, row(number, columns(ledger)), columns=columns(ledger))
            ledger.publisher.set_formats("shop.orders", ["delta"])
            with pytest.raises(Crashed), raise_at(failpoints.DELTA[number % 4], Crashed()):
                ledger.publish("shop.orders", ["delta"])
        case "maintain":
            let_pass(ledger, 2)
            assert [each.problems for each in ledger.maintenance.maintain(apply=True).tables] == [[]]
        case "off":
            ledger.publisher.set_formats("shop.orders", ["iceberg"])


def check(ledger: Ledger) -> None:
    found = ledger.tables.delta("shop.orders")
    if found is None or found.delta_version is None:
        return
    versions = [each.version for each in ledger.tables.history("shop.orders", None) if each.delta_version is not None]
    assert found.version in versions
    assert {version: seen(ledger, version) for version in versions} == {version: told(ledger, version) for version in versions}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 20)), min_size=5, max_size=20))
def test_every_published_version_is_what_the_ledger_has(
    steps: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_publishing, "ENTRIES", 3)
    folder: Path = tmp_path_factory.mktemp("model")
    numbers = count(100)
    with lakeledger.open(new_sqlite_url(folder), warehouse=str(folder / "warehouse")) as ledger:
        ledger.snapshots.set_policy("", keep_versions=2, keep_for=DAY, grace=DAY)
        put(ledger, (1, 1, "a"), columns={"id": "long", "size": "integer", "name": "string"})
        for step, number in steps:
            do(ledger, step, number + next(numbers) * 21)
        check(ledger)
        ledger.publish("shop.orders", ["delta"])
        check(ledger)
        assert seen(ledger) == told(ledger)
        told_of = [actions(entry, "txn")[0]["version"] for entry in entries(ledger)]
        assert told_of == sorted(told_of)
        assert ledger.repair.verify("shop.orders", deep=False).ok
