"""Any sequence of changes: at every version that others see, another engine finds the rows, names and tags that a simple model has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import lakeledger
from contract.test_publishing import ORDERS, change, put
from empty_ledgers import new_sqlite_url
from iceberg_readers import READERS, catalog
from lakeledger import Ledger, clock
from lakeledger.columns import Columns
from lakeledger.lake.parquet import Parquet
from lakeledger.lake.storage import Storage
from lakeledger.tables import Files, Layout, NewFile

NAME = "shop.orders"
TYPES = {"long": pa.int64(), "string": pa.string()}
OTHER = {"long": "string", "string": "long"}
SQL = {"long": "bigint", "string": "string"}
NOTHING = timedelta(0)
Row = dict[str, Any]


@dataclass
class Model:
    """The table as it should be: its columns, the rows of each of its files, its versions, its tags, and which versions others see."""

    columns: dict[str, str] = field(default_factory=lambda: {"id": "long"})
    files: dict[str, list[Row]] = field(default_factory=dict)
    versions: dict[int, tuple[list[str], list[str]]] = field(default_factory=dict)
    tags: dict[str, int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    current: int = 0
    made: int = 0

    def note(self, mode: str) -> None:
        """The table has one more version."""
        rows = [repr([row.get(name) for name in self.columns]) for rows in self.files.values() for row in rows]
        self.current += 1
        self.versions[self.current] = list(self.columns), sorted(rows)
        if mode == "sync":
            self.show()

    def show(self, *, is_anew: bool = False) -> None:
        """Others see the table as it is now. What is published anew, or for the first time, has the versions with a tag."""
        self.seen = {*(self.tags.values() if is_anew or not self.seen else self.seen), self.current}

    def rows(self, count: int) -> list[Row]:
        self.made += count
        return [{name: self._value(type_, self.made - number) for name, type_ in self.columns.items()} for number in range(count)]

    def forget(self, name: str) -> None:
        del self.columns[name]
        for rows in self.files.values():
            for row in rows:
                row.pop(name, None)

    def rename(self, old: str, new: str) -> None:
        self.columns = {new if name == old else name: type_ for name, type_ in self.columns.items()}
        self.files = {
            path: [{new if name == old else name: value for name, value in row.items()} for row in rows]
            for path, rows in self.files.items()
        }

    def expire(self, newest: int) -> None:
        """What is neither among the newest nor tagged, published or current is gone."""
        kept = {*sorted(self.versions)[-newest:], *self.tags.values(), self.current, *sorted(self.seen)[-1:]}
        self.versions = {version: self.versions[version] for version in self.versions if version in kept}
        self.seen &= kept

    def _value(self, type_: str, number: int) -> Any:
        return number if type_ == "long" else f"text {number}"


@contextmanager
def opened() -> Iterator[Ledger]:
    with (
        TemporaryDirectory() as folder,
        lakeledger.open(new_sqlite_url(Path(folder)), warehouse=f"{folder}/warehouse", metadata="sync") as ledger,
    ):
        yield ledger


def write(ledger: Ledger, model: Model, rows: list[Row], *, retyped: str | None = None) -> NewFile:
    """A file with these rows, whose columns have their physical names; one that gets another type has a new one."""
    known = ledger.tables.metadata(NAME) if ledger.tables.find(NAME) else None
    physical = {each["name"]: each["physical_name"] for each in known.schema["fields"]} if known else {}
    if retyped and known:
        physical[retyped] = f"{retyped}_{len(known.columns) + 1}" if retyped in known.columns else retyped
    columns = {physical.get(name, name): pa.array([row.get(name) for row in rows], TYPES[type_]) for name, type_ in model.columns.items()}
    storage, path = Storage(f"{ledger.warehouse}/{ORDERS.folder}"), f"data/run/{clock.new_id()}.parquet"
    whole = Path(storage.inner(path))
    whole.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), whole)
    facts = Parquet().inspect(storage, path, {}, set(columns))
    return NewFile(path, whole.stat().st_size, facts.rows, "", facts.compression, facts.bounds, clock.now())


def commit(ledger: Ledger, model: Model, rows: list[Row], mode: str, *, retyped: str | None = None, **more: Any) -> None:
    file = write(ledger, model, rows, retyped=retyped)
    model.files[file.path] = rows
    schema = {"fields": [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in model.columns.items()]}
    put(ledger, change(ledger, file, schema=schema, layout=Layout(), **more), mode=mode)
    model.note(mode)


def columns(ledger: Ledger, mode: str) -> Columns:
    ledger.publisher.set_mode(NAME, mode)
    return ledger.columns


def apply(ledger: Ledger, model: Model, step: str, number: int, mode: str) -> None:
    others = [name for name in model.columns if name != "id"]
    match step:
        case "overwrite":
            model.files.clear()
            commit(ledger, model, model.rows(number), mode, operation="overwrite", retires="all")
        case "retype":
            name = list(model.columns)[number % len(model.columns)]
            model.files.clear()
            model.columns[name] = OTHER[model.columns[name]]
            commit(ledger, model, model.rows(number), mode, retyped=name, operation="overwrite", retires="all")
        case "replace file" if model.files:
            path = sorted(model.files)[number % len(model.files)]
            del model.files[path]
            commit(ledger, model, model.rows(1), mode, operation="overwrite", retires=Files(frozenset([path])))
        case "compact" if model.files:
            paths = sorted(model.files)[:number]
            rows = [row for path in paths for row in model.files.pop(path)]
            commit(ledger, model, rows, mode, operation="replace", retires=Files(frozenset(paths)))
        case "tag":
            version = sorted(model.versions)[number % len(model.versions)]
            ledger.snapshots.tag(NAME, f"tag {version}", version)
            model.tags[f"tag {version}"] = version
        case "untag" if model.tags:
            ledger.snapshots.untag(NAME, model.tags.popitem()[0])
        case "expire" | "maintain":
            ledger.snapshots.set_policy(NAME, keep_versions=number, keep_for=NOTHING, grace=NOTHING)
            work = ledger.maintenance.expire if step == "expire" else ledger.maintenance.maintain
            assert work(apply=True).tables[0].problems == []
            model.expire(number)
        case "publish":
            ledger.publisher.publish(NAME, anew=number == 1)
            model.show(is_anew=number == 1)
        case _:
            alter(ledger, model, step, others[number % len(others)] if others else None, number, mode)


def alter(ledger: Ledger, model: Model, step: str, name: str | None, number: int, mode: str) -> None:
    """Change a column, or append where there is none to change."""
    free = [each for each in ("a", "b") if each not in model.columns]
    if step == "rename" and name:
        model.rename(name, new := f"c{model.made}_{number}_{model.current}")
        columns(ledger, mode).rename(NAME, name, new)
    elif step in ("drop", "add again") and name:
        type_ = model.columns[name]
        model.forget(name)
        columns(ledger, mode).drop(NAME, name)
        if step == "add again":
            model.note(mode)
            model.columns[name] = OTHER[type_]
            columns(ledger, mode).add(NAME, name, SQL[OTHER[type_]])
    elif step == "add" and free:
        model.columns[free[0]] = ("long", "string")[number % 2]
        columns(ledger, mode).add(NAME, free[0], SQL[model.columns[free[0]]])
    else:
        commit(ledger, model, model.rows(number), mode)
        return
    model.note(mode)


def check(ledger: Ledger, model: Model) -> None:
    """Every reader finds the versions that it should, and no others, as they should be, and their tags."""
    history = {each.version: each for each in ledger.tables.history(NAME)}
    assert history.keys() == model.versions.keys()
    by_id = {each.iceberg_snapshot_id: each.version for each in history.values() if each.iceberg_snapshot_id}
    with catalog(ledger) as found:
        metadata = found.load_table(NAME).metadata
    assert {by_id.get(each.snapshot_id) for each in metadata.snapshots} == model.seen
    refs = {name: by_id[ref.snapshot_id] for name, ref in metadata.refs.items()}
    assert refs == {"main": model.current, **{name: version for name, version in model.tags.items() if version in model.seen}}
    for version in sorted(model.seen):
        names, rows = model.versions[version]
        for reader, read in READERS.items():
            table = read(ledger, NAME, history[version].iceberg_snapshot_id or 0)
            assert table.column_names == names, (reader, version)
            assert sorted(repr(list(row.values())) for row in table.to_pylist()) == rows, (reader, version)


STEP = st.tuples(
    st.sampled_from(
        [
            *["append", "overwrite", "retype", "replace file", "compact", "rename", "drop", "add", "add", "add again"],
            *["tag", "tag", "untag", "expire", "maintain", "publish"],
        ]
    ),
    st.integers(1, 4),
    st.sampled_from(["sync", "sync", "async"]),
)


@settings(max_examples=settings().max_examples * 3 // 5)
@given(st.lists(STEP, min_size=1, max_size=12), st.sampled_from(["sync", "async"]))
def test_other_engines_find_what_the_model_has_at_every_version(steps: list[tuple[str, int, str]], first: str) -> None:
    with opened() as ledger:
        model = Model()
        commit(ledger, model, model.rows(2), first)
        for step, number, mode in steps:
            apply(ledger, model, step, number, mode)
        ledger.publisher.publish(NAME)
        model.show()
        check(ledger, model)
