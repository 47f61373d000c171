"""Any sequence of changes: at every version that is left, another engine finds the rows and names that a simple model has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import lakeledger
from contract.test_publishing import ORDERS, change, put
from empty_ledgers import new_sqlite_url
from iceberg_readers import READERS
from lakeledger import Ledger, clock
from lakeledger.lake.parquet import Parquet
from lakeledger.lake.storage import Storage
from lakeledger.tables import Files, Layout, NewFile

TYPES = {"long": pa.int64(), "string": pa.string()}
Row = dict[str, Any]


@dataclass
class Model:
    """The table as it should be: its columns, and the rows of each of its files; and what each version looked like."""

    columns: dict[str, str] = field(default_factory=lambda: {"id": "long"})
    files: dict[str, list[Row]] = field(default_factory=dict)
    versions: list[tuple[list[str], list[str]]] = field(default_factory=list)
    made: int = 0

    def note(self) -> None:
        rows = [repr([row.get(name) for name in self.columns]) for rows in self.files.values() for row in rows]
        self.versions.append((list(self.columns), sorted(rows)))

    def rows(self, count: int) -> list[Row]:
        self.made += count
        return [{name: self._value(type_, self.made - number) for name, type_ in self.columns.items()} for number in range(count)]

    def forget(self, name: str) -> None:
        for rows in self.files.values():
            for row in rows:
                row.pop(name, None)

    def rename(self, old: str, new: str) -> None:
        self.columns = {new if name == old else name: type_ for name, type_ in self.columns.items()}
        self.files = {
            path: [{new if name == old else name: value for name, value in row.items()} for row in rows]
            for path, rows in self.files.items()
        }

    def _value(self, type_: str, number: int) -> Any:
        return number if type_ == "long" else f"text {number}"


@contextmanager
def opened() -> Iterator[Ledger]:
    with (
        TemporaryDirectory() as folder,
        lakeledger.open(new_sqlite_url(Path(folder)), warehouse=f"{folder}/warehouse", metadata="sync") as ledger,
    ):
        yield ledger


def write(ledger: Ledger, model: Model, rows: list[Row]) -> NewFile:
    """A file with these rows, whose columns have their physical names."""
    known = ledger.tables.metadata("shop.orders") if ledger.tables.find("shop.orders") else None
    physical = {each["name"]: each["physical_name"] for each in known.schema["fields"]} if known else {}
    columns = {physical.get(name, name): pa.array([row[name] for row in rows], TYPES[type_]) for name, type_ in model.columns.items()}
    storage, path = Storage(f"{ledger.warehouse}/{ORDERS.folder}"), f"data/run/{clock.new_id()}.parquet"
    whole = Path(storage.inner(path))
    whole.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), whole)
    facts = Parquet().inspect(storage, path, {}, set(columns))
    return NewFile(path, whole.stat().st_size, facts.rows, "", facts.compression, facts.bounds, clock.now())


def commit(ledger: Ledger, model: Model, rows: list[Row], mode: str, **more: Any) -> None:
    file = write(ledger, model, rows)
    model.files[file.path] = rows
    schema = {"fields": [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in model.columns.items()]}
    put(ledger, change(ledger, file, schema=schema, layout=Layout(), **more), mode=mode)


def apply(ledger: Ledger, model: Model, step: str, number: int, mode: str) -> None:
    others = [name for name in model.columns if name != "id"]
    match step:
        case "overwrite":
            model.files.clear()
            commit(ledger, model, model.rows(number), mode, operation="overwrite", retires="all")
        case "replace file" if model.files:
            path = sorted(model.files)[number % len(model.files)]
            del model.files[path]
            commit(ledger, model, model.rows(1), mode, operation="overwrite", retires=Files(frozenset([path])))
        case "rename" if others:
            model.rename(old := others[number % len(others)], new := f"c{model.made}_{number}")
            ledger.columns.rename("shop.orders", old, new)
        case "drop" if others:
            model.forget(name := others[number % len(others)])
            del model.columns[name]
            ledger.columns.drop("shop.orders", name)
        case "add" if free := [name for name in ("a", "b") if name not in model.columns]:
            model.columns[free[0]] = ("long", "string")[number % 2]
            ledger.columns.add("shop.orders", free[0], ("bigint", "string")[number % 2])
        case _:
            commit(ledger, model, model.rows(number), mode)
    model.note()


STEP = st.tuples(
    st.sampled_from(["append", "overwrite", "replace file", "rename", "drop", "add", "add"]),
    st.integers(1, 4),
    st.sampled_from(["sync", "sync", "async"]),
)


@given(st.lists(STEP, min_size=1, max_size=10))
def test_other_engines_find_what_the_model_has_at_every_version(steps: list[tuple[str, int, str]]) -> None:
    with opened() as ledger:
        model = Model()
        commit(ledger, model, model.rows(2), "sync")
        model.note()
        for step, number, mode in steps:
            apply(ledger, model, step, number, mode)
        ledger.publisher.publish("shop.orders")
        published = [each for each in ledger.tables.history("shop.orders") if each.iceberg_snapshot_id]
        assert published[0].version == len(model.versions)
        for each in published:
            names, rows = model.versions[each.version - 1]
            for reader in ("pyiceberg", "duckdb"):
                found = READERS[reader](ledger, "shop.orders", each.iceberg_snapshot_id or 0)
                assert found.column_names == names, (reader, each.version)
                assert sorted(repr(list(row.values())) for row in found.to_pylist()) == rows, (reader, each.version)
