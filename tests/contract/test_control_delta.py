"""The control table as Delta files that anybody may have written to: nothing that is in them is lost or misread."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.schema import PrimitiveType

from contract.controlling import put, remove, source
from contract.making import together
from lakeledger import Invalid, LakeledgerError, NotFound, Unavailable
from lakeledger.control import sql, table
from lakeledger.control.delta import DeltaControlTable
from lakeledger.control.history import Mark
from lakeledger.control.model import ModuleRow, SourceRow

AT = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture
def control(tmp_path: Path) -> DeltaControlTable:
    made = DeltaControlTable(str(tmp_path / "etl_control"))
    made.create()
    return made


def columns(**types: str) -> Schema:
    """The columns of a control table, with other types for some and without those that are None."""
    usual = dict.fromkeys(SourceRow.__dataclass_fields__, "string") | {"execution_order": "integer", "is_active": "boolean"}
    usual |= dict.fromkeys(("created_timestamp", "updated_timestamp"), "timestamp")
    return Schema([Field(name, PrimitiveType(type_)) for name, type_ in {**usual, **types}.items() if type_])


def by_hand(path: Path, *rows: dict[str, Any], schema: Schema | None = None) -> DeltaControlTable:
    """A control table that somebody else made, without a modules table."""
    schema = schema or columns()
    arrow = pa.schema(schema.to_arrow())
    DeltaTable.create(str(path), schema)
    write_deltalake(str(path), pa.Table.from_pylist(list(rows), schema=arrow), mode="append")
    return DeltaControlTable(str(path))


def line(source_id: str | None = "orders", module_name: str | None = "shop", **more: Any) -> dict[str, Any]:
    row = source(source_id or "", module_name or "")
    values = {name: getattr(row, name) for name in SourceRow.__dataclass_fields__}
    return {**values, "source_id": source_id, "module_name": module_name, **more}


def data(location: str) -> list[dict[str, Any]]:
    return sorted(pa.table(DeltaTable(location).scan()).to_pylist(), key=repr)


def test_a_control_table_is_the_same_one_wherever_it_is_moved_and_another_one_when_it_is_made_anew(
    control: DeltaControlTable, tmp_path: Path
) -> None:
    first = control.identity
    control.commit(put(source()), control.read(), "ann")
    shutil.copytree(control.location, tmp_path / "copy")
    assert (control.identity, DeltaControlTable(str(tmp_path / "copy")).identity) == (first, first)
    shutil.rmtree(control.location)
    with pytest.raises(NotFound, match=r"there is no control table at .*etl_control: create it first"):
        _ = DeltaControlTable(control.location).identity
    control.create()
    assert control.identity == DeltaControlTable(control.location).identity != first


def test_the_columns_are_those_of_the_document_in_its_order(control: DeltaControlTable) -> None:
    fields = DeltaTable(control.location).schema().fields
    assert [(field.name, field.type.type) for field in fields] == [
        ("source_id", "string"),
        ("module_name", "string"),
        ("source_type", "string"),
        ("execution_order", "integer"),
        ("source_config", "string"),
        ("target_config", "string"),
        ("transformation_config", "string"),
        ("is_active", "boolean"),
        ("created_timestamp", "timestamp"),
        ("updated_timestamp", "timestamp"),
    ]


def test_many_who_make_it_at_once_make_one(tmp_path: Path) -> None:
    made = [DeltaControlTable(str(tmp_path / "new/etl_control")) for _ in range(8)]
    together(lambda index: made[index].create(), len(made))
    assert made[0].read().version == 0


def test_columns_that_are_missing_or_of_another_type_are_named(tmp_path: Path) -> None:
    lacking = by_hand(tmp_path / "lacking", schema=columns(is_active="", execution_order="string"))
    with pytest.raises(Invalid, match=r"column execution_order is string, not integer; column is_active \(boolean\) is missing"):
        lacking.read()


def test_whole_numbers_of_any_size_and_times_without_a_zone_will_do(tmp_path: Path) -> None:
    schema = columns(execution_order="long", created_timestamp="timestamp_ntz")
    control = by_hand(tmp_path / "etl_control", line(created_timestamp=AT.replace(tzinfo=None)), schema=schema)
    before = control.read()
    assert before.sources["shop", "orders"].created_timestamp == AT
    after = control.commit(put(source(execution_order=2)), before, by="anna")
    assert control.read() == after
    assert after.sources["shop", "orders"].created_timestamp == AT


def test_columns_that_people_added_keep_their_values(tmp_path: Path) -> None:
    control = by_hand(tmp_path / "etl_control", line("a", owner="team a"), line("b", owner="team b"), schema=columns(owner="string"))
    base = control.read()
    after = control.commit(put(source("a", execution_order=2), source("c")), base, by="anna")
    assert {row["source_id"]: row["owner"] for row in data(control.location)} == {"a": "team a", "b": "team b", "c": None}
    control.restore(base.version, by="anna")
    assert {row["source_id"]: row["owner"] for row in data(control.location)} == {"a": "team a", "b": "team b"}
    assert after.sources["shop", "a"].execution_order == 2


def test_a_row_that_lacks_what_people_require_in_their_columns_is_refused(tmp_path: Path) -> None:
    required = Schema([*columns().fields, Field("owner", PrimitiveType("string"), nullable=False)])
    control = by_hand(tmp_path / "etl_control", line("a", owner="team a"), schema=required)
    before = control.read()
    with pytest.raises(LakeledgerError, match="owner"):
        control.commit(put(source("b")), before, by="anna")
    after = control.commit(put(source("a", execution_order=2)), before, by="anna")
    assert [(row["owner"], row["execution_order"]) for row in data(control.location)] == [("team a", 2)]
    assert control.read() == after


def test_what_is_null_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    nulls = dict.fromkeys(("source_config", "target_config", "transformation_config", "created_timestamp", "updated_timestamp"))
    read = by_hand(tmp_path / "etl_control", line(**nulls)).read()
    row = read.sources["shop", "orders"]
    assert (row.source_config, row.target_config, row.created_timestamp, read.problems) == ("{}", "{}", None, ())


def test_rows_that_cannot_be_read_are_named_with_row_and_field(tmp_path: Path) -> None:
    rows = [line("good"), line(None), line("x", None), line("y", is_active=None, execution_order=None), line("z", source_type=None)]
    read = by_hand(tmp_path / "etl_control", *rows).read()
    assert set(read.sources) == {("shop", "good")}
    assert [(problem.row_number, problem.key, problem.field) for problem in read.problems] == [
        (2, ("shop", None), "source_id"),
        (3, (None, "x"), "module_name"),
        (4, ("shop", "y"), "execution_order"),
        (4, ("shop", "y"), "is_active"),
        (5, ("shop", "z"), "source_type"),
    ]
    assert str(read.problems[2]) == "row 4 of the sources (shop.y): execution_order: is NULL: give it a value, or delete the row"


def test_two_rows_with_one_key_are_both_problems_and_both_kept(tmp_path: Path) -> None:
    control = by_hand(tmp_path / "etl_control", line("a"), line("b"), line("a", execution_order=2))
    read = control.read()
    assert set(read.sources) == {("shop", "b")}
    assert [(problem.row_number, problem.message) for problem in read.problems] == [
        (1, "the same key is in row 3 too: delete all but one"),
        (3, "the same key is in row 1 too: delete all but one"),
    ]
    after = control.commit(put(source("b", execution_order=9)), read, by="anna")
    assert [row["source_id"] for row in data(control.location)] == ["a", "a", "b"]
    assert control.read() == after
    repaired = control.commit(put(source("a", execution_order=3)), after, by="anna")
    assert (set(repaired.sources), repaired.problems) == ({("shop", "a"), ("shop", "b")}, ())
    assert control.read() == repaired


def test_rows_without_a_key_can_be_repaired_or_removed_with_sql(tmp_path: Path) -> None:
    control = by_hand(tmp_path / "etl_control", line(None, execution_order=7), line("x", None), line("y"), line("y", execution_order=2))
    assert sql.run(control, "SELECT execution_order FROM etl_control WHERE source_id IS NULL", by="anna").rows == ((7,),)
    sql.run(control, "UPDATE etl_control SET source_id = 'found' WHERE source_id IS NULL", by="anna")
    sql.run(control, "DELETE FROM etl_control WHERE module_name IS NULL", by="anna")
    done = sql.run(control, "DELETE FROM etl_control WHERE source_id = 'y' AND execution_order = 2", by="anna")
    assert done.snapshot.problems == ()
    assert set(done.snapshot.sources) == {("shop", "found"), ("shop", "y")}
    assert control.read() == done.snapshot


def test_a_table_made_without_a_modules_table_gets_one_when_it_is_needed(tmp_path: Path) -> None:
    control = by_hand(tmp_path / "etl_control", line("a"))
    before = control.read()
    assert (before.modules_version, dict(before.modules)) == (-1, {})
    same = control.commit(put(source("b")), before, by="anna")
    assert same.modules_version == -1
    after = control.commit(put(ModuleRow("shop", "new")), same, by="anna")
    assert control.read() == after
    assert control.read(before.version) == before


def test_a_version_that_was_vacuumed_is_not_found(control: DeltaControlTable) -> None:
    first = control.commit(put(source("a")), control.read(), by="anna")
    second = control.commit(put(source("a", execution_order=2)), first, by="anna")
    DeltaTable(control.location).vacuum(0, dry_run=False, enforce_retention_duration=False)
    told = "version 1 of etl_control is no longer there: its files were cleaned up"
    with pytest.raises(NotFound, match=told):
        control.read(first.version)
    with pytest.raises(NotFound, match=told):
        control.restore(first.version, by="anna")
    assert control.read().sources == second.sources


def test_an_edit_of_both_tables_that_died_in_the_middle_never_happened(control: DeltaControlTable) -> None:
    before = control.commit(put(source("a"), ModuleRow("shop", "one")), control.read(), by="anna")
    control._stage(control._now(), put(ModuleRow("shop", "two")), Mark("died", "bob"))
    assert [row["description"] for row in data(f"{control.location}_modules")] == ["two"]
    assert control.read() == before

    after = control.commit(put(source("b")), before, by="anna")
    assert after.modules == before.modules
    later = control.commit(put(source("c")), after, by="anna")
    assert [row["description"] for row in data(f"{control.location}_modules")] == ["one"], "the next edit puts right what Spark would see"
    assert later.modules == before.modules
    assert control.read() == later
    assert control.read(before.version) == before


class Forgetful(DeltaControlTable):
    """A store that says of a commit that it made that somebody else was faster."""

    def _write(self, *arguments: Any) -> Any:
        super()._write(*arguments)
        raise CommitFailedError("a version of that number is there")


def test_a_commit_that_was_made_although_the_store_denies_it_is_not_made_again(control: DeltaControlTable) -> None:
    base = control.read()
    done = Forgetful(control.location).commit(put(source("a")), base, by="anna")
    assert done.version == base.version + 1
    assert control.read() == done


def test_settings_that_somebody_changed_in_spark_count_at_once(control: DeltaControlTable) -> None:
    before = control.commit(put(source("a"), ModuleRow("shop", "one")), control.read(), by="anna")
    DeltaTable(f"{control.location}_modules").update(updates={"description": "'by hand'"})
    now = control.read()
    assert (now.version, now.modules["shop"].description) == (before.version, "by hand")
    assert [(commit.operation, commit.by) for commit in control.history() if commit.table == "etl_control_modules"] == [("UPDATE", None)]
    after = control.commit(put(ModuleRow("shop", "ours")), now, by="anna")
    assert control.read() == after


def test_an_edit_of_settings_alone_is_a_version_too(control: DeltaControlTable) -> None:
    one = control.commit(put(ModuleRow("shop", "one")), control.read(), by="anna")
    two = control.commit(put(ModuleRow("shop", "two")), one, by="anna")
    assert two.version == one.version + 1
    assert control.read(one.version).modules["shop"].description == "one"
    restored = control.restore(one.version, by="bob")
    assert restored.modules["shop"].description == "one"
    assert control.read() == restored


def test_the_last_row_can_be_deleted(control: DeltaControlTable) -> None:
    before = control.commit(put(source("a")), control.read(), by="anna")
    assert control.commit(remove(("shop", "a")), before, by="anna").sources == {}
    assert control.read().sources == {}


def test_a_store_that_cannot_be_reached_is_unavailable_and_no_secret_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "here", "AWS_MAX_RETRIES": "0"}
    for name, value in {**options, "AWS_ACCESS_KEY_ID": "AKIA0123456789ABCDEF", "AWS_SECRET_ACCESS_KEY": "s3cr3t-s3cr3t"}.items():
        monkeypatch.setenv(name, value)
    control = DeltaControlTable("s3://bucket/lake/etl_control/", {"max_retries": "0", "retry_timeout": "1s"})
    assert (control.name, control.location) == ("etl_control", "s3://bucket/lake/etl_control")
    with pytest.raises(Unavailable, match="cannot read or write the control table at s3://bucket/lake/etl_control") as raised:
        control.read()
    assert raised.value.retryable
    assert "s3cr3t" not in str(raised.value)


@pytest.mark.parametrize("name", ["main.job_demo.etl_control", "job_demo.etl_control", "`my-catalog`.job_demo.etl_control"])
def test_a_name_of_a_catalog_needs_spark(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pyspark.sql", raising=False)  # other tests in this process may have a session
    with pytest.raises(Invalid, match="open it with a Spark session"):
        table.open(name)


@pytest.mark.parametrize("location", ["", "/", "./"])
def test_nowhere_is_no_place(location: str) -> None:
    with pytest.raises(Invalid, match="no place for a control table"):
        table.open(location)


def test_settings_that_were_only_staged_stay_dead_when_the_log_is_cleaned_up(control: DeltaControlTable) -> None:
    control.commit(put(source(), ModuleRow("shop", "one")), control.read(), "ann")
    control._stage(control._now(), put(ModuleRow("shop", "two")), Mark("died", "bob"))
    for _ in range(2):
        rewrite(control.location)
    DeltaTable(control.location).create_checkpoint()
    for entry in sorted(Path(control.location, "_delta_log").glob("*.json"))[:-1]:
        entry.unlink()
    assert control.read().modules["shop"].description == "one"


def rewrite(location: str) -> None:
    """Commit what is there again, as somebody else would."""
    delta = DeltaTable(location)
    write_deltalake(location, pa.table(delta.scan()).cast(pa.schema(delta.schema().to_arrow())), mode="overwrite")
