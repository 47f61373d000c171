"""One SQL statement on the control table without Spark: what it may be, what it does, and what is wrong with it."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contract.controlling import put, source
from lakeledger import Conflict, Invalid
from lakeledger.control import edits, scratch, sql
from lakeledger.control.delta import DeltaControlTable
from lakeledger.control.model import Edit, JobRow, ModuleRow, Snapshot
from lakeledger.control.statements import parse

CONFIGS = """'{"path": "x"}', '{"table": "t"}', '{}'"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a control table, made once to be copied: making one takes longer than a statement on it."""
    folder = tmp_path_factory.mktemp("shop")
    made = DeltaControlTable(str(folder / "etl_control"))
    made.create()
    rows = put(source("a"), source("b", execution_order=2), source("c", "depot", is_active=False), ModuleRow("shop", "the shop"))
    made.commit(rows, made.read(), by="anna")
    return folder


@pytest.fixture
def control(shop: Path, tmp_path: Path) -> DeltaControlTable:
    shutil.copytree(shop, tmp_path, dirs_exist_ok=True)
    return DeltaControlTable(str(tmp_path / "etl_control"))


def run(control: DeltaControlTable, statement: str, **more: Any) -> sql.SqlResult:
    return sql.run(control, statement, by="bob", **more)


def refused(control: DeltaControlTable, statement: str) -> str:
    """Why a statement is refused; nothing was changed then."""
    before = control.read()
    with pytest.raises(Invalid) as raised:
        run(control, statement)
    assert control.read() == before
    return str(raised.value)


def order(snapshot: Snapshot) -> dict[str, int]:
    return {key[1]: row.execution_order for key, row in snapshot.sources.items()}


# What runs


@pytest.mark.parametrize(
    "insert",
    [
        f"INSERT INTO etl_control VALUES ('new', 'shop', 'files', 3, {CONFIGS}, true)",
        f"INSERT INTO TABLE fe_ppark_demo.job_demo.etl_control VALUES ('new', 'shop', 'files', 3, {CONFIGS}, TRUE);",
        f"insert into `a-b`.`c`.`etl_control` values (\"new\", 'shop', 'files', 3, {CONFIGS}, true, current_timestamp(), now())",
        f"INSERT INTO ETL_CONTROL VALUES ('new', 'shop', 'files', 3, {CONFIGS}, DEFAULT, DEFAULT, current_timestamp)",
        """INSERT INTO etl_control (module_name, source_id, source_type, execution_order, source_config, target_config)
           VALUES ('shop', 'new', 'files', 3, '{"path": "x"}', '{"table": "t"}') -- a comment""",
        """INSERT INTO etl_control
           SELECT 'new', module_name, source_type, execution_order + 2, '{"path": "x"}', '{"table": "t"}', '{}', true
           FROM etl_control WHERE source_id = 'a'""",
        f"WITH n AS (SELECT 3 AS n) INSERT INTO etl_control SELECT 'new', 'shop', 'files', n, {CONFIGS}, true FROM n",
    ],
)
def test_an_insert_may_give_eight_values_ten_or_named_ones(control: DeltaControlTable, insert: str) -> None:
    done = run(control, insert)
    assert (done.kind, done.inserted, done.updated, done.deleted, done.changed) == ("INSERT", 1, 0, 0, 1)
    row = done.snapshot.sources["shop", "new"]
    expected = source("new", execution_order=3, source_config='{"path": "x"}', target_config='{"table": "t"}')
    assert row.content_hash == expected.content_hash
    assert row.created_timestamp is not None
    assert row.created_timestamp == row.updated_timestamp, "both are the time of the commit"
    assert control.read() == done.snapshot


def test_rows_of_one_insert_have_one_time_and_given_times_are_kept(control: DeltaControlTable) -> None:
    values = ", ".join(
        f"('n{number}', 'new', 'files', 1, {CONFIGS}, true, current_timestamp(), current_timestamp())" for number in range(3)
    )
    done = run(control, f"INSERT INTO etl_control VALUES {values}")
    times = {at for key, row in done.snapshot.sources.items() if key[0] == "new" for at in (row.created_timestamp, row.updated_timestamp)}
    assert len(times) == 1
    given = f"('old', 'new', 'files', 1, {CONFIGS}, true, TIMESTAMP '2020-01-02 03:04:05', '2021-01-01T00:00:00+01:00')"
    row = run(control, f"INSERT INTO etl_control VALUES {given}").snapshot.sources["new", "old"]
    assert row.created_timestamp == datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert row.updated_timestamp == datetime(2020, 12, 31, 23, tzinfo=UTC)


def test_an_update_changes_the_rows_that_it_names_in_one_commit(control: DeltaControlTable) -> None:
    before = control.read()
    done = run(control, "UPDATE x.y.etl_control AS t SET t.execution_order = t.execution_order * 10 WHERE t.module_name = 'shop'")
    assert (done.updated, done.snapshot.version) == (2, before.version + 1)
    assert order(done.snapshot) == {"a": 10, "b": 20, "c": 1}
    changed, was = done.snapshot.sources["shop", "a"], before.sources["shop", "a"]
    assert changed.created_timestamp == was.created_timestamp
    assert changed.updated_timestamp == done.snapshot.sources["shop", "b"].updated_timestamp != was.updated_timestamp
    assert done.snapshot.sources["depot", "c"] == before.sources["depot", "c"]


def test_the_updates_of_the_document_run_as_they_stand(control: DeltaControlTable) -> None:
    config = '{"format": "csv", "changed_files": "ignore", "path": "y"}'
    statement = f"""
        UPDATE fe_ppark_demo.job_demo.etl_control
        SET execution_order = 2,
            source_config = '{config}',
            updated_timestamp = current_timestamp()
        WHERE source_id = 'a' AND module_name = 'shop';
    """
    assert run(control, statement).snapshot.sources["shop", "a"].source_config == config
    done = run(control, "UPDATE etl_control SET is_active = false, updated_timestamp = current_timestamp() WHERE source_id = 'a'")
    assert not done.snapshot.sources["shop", "a"].is_active


def test_a_source_can_be_given_another_name(control: DeltaControlTable) -> None:
    before = control.read().sources["shop", "a"]
    done = run(control, "UPDATE etl_control SET source_id = 'z', module_name = 'depot' WHERE source_id = 'a'")
    assert set(done.snapshot.sources) == {("depot", "z"), ("shop", "b"), ("depot", "c")}
    row = done.snapshot.sources["depot", "z"]
    assert row.created_timestamp == before.created_timestamp
    assert row.updated_timestamp is not None
    assert before.updated_timestamp is not None
    assert row.updated_timestamp > before.updated_timestamp


def test_a_delete_removes_what_it_names(control: DeltaControlTable) -> None:
    assert run(control, "DELETE FROM etl_control WHERE module_name IN (SELECT module_name FROM etl_control_modules)").deleted == 2
    assert run(control, "DELETE FROM etl_control").snapshot.sources == {}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE etl_control SET is_active = true WHERE source_id = 'a'",
        "UPDATE etl_control SET updated_timestamp = now() WHERE source_id = 'a'",
        'UPDATE etl_control SET source_config = \'{  "path":"in/*.csv" }\'',
        "UPDATE etl_control SET is_active = false WHERE source_id = 'A'",
        "DELETE FROM etl_control WHERE source_id LIKE 'A%'",
    ],
)
def test_a_statement_that_changes_nothing_makes_no_commit(control: DeltaControlTable, statement: str) -> None:
    before = control.read()
    assert run(control, statement).snapshot == before
    assert control.read() == before


def test_settings_of_modules_are_edited_in_their_own_table(control: DeltaControlTable) -> None:
    run(control, """INSERT INTO etl_control_modules (module_name, schedule) VALUES ('depot', '{"cron": "0 1 * * *"}')""")
    run(
        control,
        "UPDATE a.b.etl_control_modules SET description = 'new', max_concurrent_runs = 2, trigger = NULL WHERE module_name = 'shop'",
    )
    done = run(control, "INSERT INTO etl_control_modules VALUES ('more', NULL, NULL, NULL, '{}', '{}', NULL, 60, NULL)")
    modules = done.snapshot.modules
    assert (modules["depot"].schedule, modules["shop"].description, modules["shop"].max_concurrent_runs) == (
        '{"cron": "0 1 * * *"}',
        "new",
        2,
    )
    assert (modules["more"].timeout_seconds, modules["more"].max_concurrent_runs) == (60, None)
    assert run(control, "DELETE FROM etl_control_modules WHERE module_name = 'more'").deleted == 1


def test_who_ran_which_statement_is_in_the_history(control: DeltaControlTable) -> None:
    run(control, "UPDATE etl_control_modules\n SET parameters = '{\"url\": \"x://u:hunter22@host/db\"}' WHERE module_name = 'shop'")
    newest = control.history(1)[0]
    assert newest.by == "bob"
    assert newest.reason.startswith("UPDATE etl_control_modules SET parameters")
    assert "hunter22" not in newest.reason


# What is read


@pytest.mark.parametrize(
    ("select", "rows"),
    [
        ("SELECT source_id, is_active FROM a.b.etl_control ORDER BY source_id", (("a", True), ("b", True), ("c", False))),
        ("SELECT count(*) AS n FROM etl_control WHERE is_active", ((2,),)),
        ("SELECT x.etl_control.source_id FROM x.etl_control WHERE source_id ILIKE 'A'", (("a",),)),
        ("SELECT source_config:path, target_config:table FROM etl_control LIMIT 1", (("in/*.csv", "orders"),)),
        ("SELECT get_json_object(source_config, '$.path') FROM etl_control WHERE source_id = 'a'", (("in/*.csv",),)),
        ("SELECT s.source_id FROM etl_control s JOIN etl_control_modules m USING (module_name) ORDER BY 1 DESC", (("b",), ("a",))),
        ("WITH x AS (SELECT max(execution_order) AS n FROM etl_control) SELECT n FROM x", ((2,),)),
        (
            "SELECT if(is_active, 'on', 'off'), concat(module_name, '.', source_id) FROM etl_control WHERE NOT is_active",
            (("off", "depot.c"),),
        ),
        ("(SELECT 1 AS n UNION ALL SELECT 2) ORDER BY n", ((1,), (2,))),
        ("SELECT count(*) FROM etl_control WHERE updated_timestamp > current_timestamp() - INTERVAL 1 DAY", ((3,),)),
        ("SELECT count(*) FROM etl_control WHERE updated_timestamp > current_timestamp() + INTERVAL '2' HOURS", ((0,),)),
        ("SELECT count(*) FROM etl_control WHERE created_timestamp > TIMESTAMP '2020-01-01 00:00:00'", ((3,),)),
    ],
)
def test_a_select_may_ask_anything_about_the_tables(control: DeltaControlTable, select: str, rows: tuple[Any, ...]) -> None:
    before = control.read()
    found = run(control, select)
    assert (found.kind, found.rows, found.is_cut, found.snapshot) == ("SELECT", rows, False, before)


def test_a_long_answer_is_cut(control: DeltaControlTable) -> None:
    found = run(control, "SELECT source_id FROM etl_control ORDER BY 1", limit=2)
    assert (found.columns, found.rows, found.is_cut) == (("source_id",), (("a",), ("b",)), True)


def test_jobs_can_be_read_when_they_are_given_and_never_written(control: DeltaControlTable) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    jobs = [JobRow("shop", "local", "7", "shop", "active", "a hash", 3, at, at)]
    found = run(control, "SELECT j.job_id, count(*) FROM etl_control JOIN x.etl_control_jobs j USING (module_name) GROUP BY 1", jobs=jobs)
    assert found.rows == (("7", 2),)
    assert run(control, "SELECT job_id FROM etl_control_jobs", jobs=[]).rows == ()
    with pytest.raises(Invalid, match="etl_control_jobs cannot be written"):
        run(control, "DELETE FROM etl_control_jobs", jobs=jobs)
    assert "is in the ledger" in refused(control, "SELECT * FROM etl_control_jobs")


# What columns are compared with


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("execution_order < '2'", ["a"]),
        ("'2' <= execution_order", ["b", "c"]),
        ("execution_order IN ('1', 3)", ["a", "c"]),
        ("execution_order BETWEEN '2' AND '3'", ["b", "c"]),
        ("is_active <> 'true'", ["c"]),
        ("is_active = 'FALSE'", ["c"]),
        ("is_active = 1", ["a", "b"]),
        ("NOT is_active", ["c"]),
        ("created_timestamp > '2026-01-01T00:00:00Z'", ["a", "b", "c"]),
        ("created_timestamp < '2026-01-01'", []),
        ("source_id <> 'a'", ["b", "c"]),
    ],
)
def test_a_value_is_cast_to_the_column_that_it_is_compared_with(control: DeltaControlTable, condition: str, expected: list[str]) -> None:
    rows = [source(name, execution_order=number, is_active=name != "c") for number, name in enumerate("abc", 1)]
    control.commit(Edit(dict.fromkeys(control.read().sources) | {row.key: row for row in rows}), control.read(), "ann")
    found = run(control, f"SELECT source_id FROM etl_control WHERE {condition} ORDER BY source_id")
    assert [row[0] for row in found.rows] == expected


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("execution_order = 'many'", "execution_order is a number: compare it with one, not with 'many'"),
        ("execution_order = true", "execution_order is a number"),
        ("is_active = 'maybe'", "is_active is true or false"),
        ("is_active IN (0, 7)", "is_active is true or false: compare it with that, not with 7"),
        ("source_id <> 7", "source_id is a text: compare it with one, in quotes, not with 7"),
        ("updated_timestamp > 'yesterday'", "updated_timestamp is a time: compare it with one, for example"),
        ("updated_timestamp > 7", "updated_timestamp is a time"),
    ],
)
def test_a_comparison_that_could_only_go_wrong_is_refused(control: DeltaControlTable, condition: str, reason: str) -> None:
    before = control.read()
    assert reason in refused(control, f"DELETE FROM etl_control WHERE {condition}")
    assert control.read() == before


# What is refused


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("", "there is no statement"),
        (" ; -- nothing\n ; ", "there is no statement"),
        ("SELECT 1; DELETE FROM etl_control", "one statement at a time"),
        ("DROP TABLE etl_control", "DROP does not run here"),
        ("CREATE TABLE x (a int)", "CREATE does not run here"),
        ("ALTER TABLE etl_control ADD COLUMN x INT", "ALTER does not run here"),
        ("TRUNCATE TABLE etl_control", "TRUNCATE does not run here"),
        ("MERGE INTO etl_control USING x ON true WHEN MATCHED THEN DELETE", "MERGE does not run here"),
        ("PRAGMA journal_mode", "PRAGMA does not run here"),
        ("ATTACH DATABASE 'x.db' AS x", "ATTACH does not run here"),
        ("EXPLAIN SELECT 1", "EXPLAIN does not run here"),
        ("VACUUM etl_control", "VACUUM does not run here"),
        ("VALUES (1)", "VALUES does not run here"),
        ("DELETE FROM etl_contrl", "no table 'etl_contrl' here, only etl_control and etl_control_modules; did you mean 'etl_control'?"),
        ("SELECT * FROM bronze.customers", "no table 'customers' here"),
        ("UPDATE etl_control SET execution_order = 1 WHERE source_id IN (SELECT id FROM other)", "no table 'other' here"),
        ("UPDATE etl_control SET execution_order = 1 FROM etl_control_modules m", "UPDATE … FROM does not run here"),
        ("DELETE FROM etl_control WHERE true RETURNING *", "DELETE … RETURNING does not run here"),
        ("INSERT OVERWRITE etl_control SELECT * FROM etl_control", "INSERT … OVERWRITE does not run here"),
        ("INSERT INTO etl_control BY NAME SELECT 1 AS source_id", "INSERT … BY NAME does not run here"),
        ("INSERT INTO etl_control VALUES ('a', 'b')", "2 values do not fit: give 8 (source_id, module_name"),
        ("INSERT INTO etl_control (source_id, module_name) VALUES ('a')", "a row has 1 values for 2 columns"),
        ("INSERT INTO etl_control (sourceid) VALUES ('a')", "no column 'sourceid'; did you mean 'source_id'?"),
        ("INSERT INTO etl_control (source_id, Source_ID) VALUES ('a', 'b')", "named more than once"),
        ("UPDATE etl_control SET owner = 'x'", "no column 'owner'"),
        ("UPDATE etl_control SET created_timestamp = now()", "created_timestamp cannot be set"),
        ("UPDATE etl_control SET updated_timestamp = '2020-01-01'", "updated_timestamp cannot be set"),
        ("UPDATE etl_control SET execution_order = 1 WHERE `sourceid` = 'a'", "no column 'sourceid'; did you mean 'source_id'?"),
        ("SELECT * FROM etl_control VERSION AS OF 1", "earlier versions are not read here"),
        ("SELECT * FROM pragma_table_info('etl_control')", "reads the control table, not"),
        ("SELECT * FROM csv.`/etc/passwd`", "no table '/etc/passwd' here"),
        ("SELECT load_extension('x')", "not authorized"),
        ("SELECT readfile('/etc/passwd')", "no such function"),
        ("SELECT name FROM sqlite_master", "no table 'sqlite_master' here"),
        ("SELECT zeroblob(1000000000)", "too big"),
        ("SELECT 'a", "cannot read the statement"),
        ("SELECT FROM WHERE", "cannot"),
        ("DELETE etl_control WHERE true", "DELETE FROM table WHERE"),
        ("INSERT INTO VALUES ('a')", "INSERT INTO table VALUES"),
        ("SELECT TIMESTAMP 'soon'", "'soon' is no timestamp"),
        ("SELECT now() - INTERVAL '1 2' DAY TO HOUR", "does not run without Spark"),
        (f"SELECT {'(' * 3000}1{')' * 3000}", "nested too deeply"),
        (f"SELECT '{'x' * 1_000_001}'", "more than 1000000"),
    ],
)
def test_what_does_not_belong_here_is_refused(control: DeltaControlTable, statement: str, reason: str) -> None:
    assert reason in refused(control, statement)


def test_a_statement_without_end_is_stopped(control: DeltaControlTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "SECONDS", 0.2)
    assert "was stopped" in refused(control, "WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x")


def test_every_problem_is_named_with_row_and_field_and_nothing_is_committed(control: DeltaControlTable) -> None:
    told = refused(
        control,
        f"""INSERT INTO etl_control VALUES
            ('ok', 'shop', 'files', 1, {CONFIGS}, true),
            ('bad', 'shop', 'files', 'one', '{{', '[]', '{{"a": 1, "a": 2}}', 'yes'),
            (NULL, 'shop', 'files', -1, {CONFIGS}, NULL),
            ('a', 'shop', 'files', 1, {CONFIGS}, true),
            (' blank ', 'shop', 5, 1.5, {CONFIGS}, true)""",
    )
    for expected in [
        "nothing was changed",
        "row 2 (shop.bad): execution_order: must be a whole number from 0 to 2147483647, not 'one'",
        "row 2 (shop.bad): source_config: not valid JSON",
        "row 2 (shop.bad): target_config: must be a mapping",
        "row 2 (shop.bad): transformation_config: the key 'a' is used twice",
        "row 2 (shop.bad): is_active: must be true or false, not 'yes'",
        "row 3 (shop): source_id: is missing",
        "row 3 (shop): execution_order: must be a whole number from 0 to 2147483647, not -1",
        "row 3 (shop): is_active: is missing",
        "row 4 (shop.a): source_id: there would be 2 rows with this key",
        "row 5 (shop. blank ): source_id: must be a name without blanks around it",
        "row 5 (shop. blank ): source_type: must be a text, not 5",
        "row 5 (shop. blank ): execution_order: must be a whole number",
    ]:
        assert expected in told


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE etl_control SET source_type = 'file' WHERE source_id = 'a'", "shop.a: source_type"),
        ("UPDATE etl_control SET source_config = '{}' WHERE source_id = 'a'", "shop.a: source_config.path: is missing"),
        (
            "UPDATE etl_control SET transformation_config = '{\"task_type\": \"ingst\"}' WHERE source_id = 'a'",
            "shop.a: transformation_config",
        ),
        ("UPDATE etl_control SET source_id = 'b' WHERE source_id = 'a'", "(shop.b): source_id: there would be 2 rows with this key"),
        ("UPDATE etl_control SET source_id = printf('%0201d', 1) WHERE source_id = 'a'", "source_id: has 201 characters"),
        ("UPDATE etl_control SET module_name = NULL WHERE source_id = 'a'", "module_name: is missing"),
        ("UPDATE etl_control_modules SET max_concurrent_runs = 0", "max_concurrent_runs: must be a whole number from 1"),
        ("UPDATE etl_control_modules SET schedule = 'daily'", "schedule: not valid JSON"),
        ('UPDATE etl_control_modules SET schedule = \'{"cronn": "0 1 * * *"}\'', "shop: schedule"),
    ],
)
def test_a_row_that_could_not_run_is_refused(control: DeltaControlTable, statement: str, reason: str) -> None:
    assert reason in refused(control, statement)


def test_a_source_that_is_already_wrong_can_be_switched_off(control: DeltaControlTable) -> None:
    base = control.read()
    control.commit(put(source("a", source_config="{broken", target_config="{}")), base, by="spark")
    done = run(control, "UPDATE etl_control SET is_active = false WHERE source_id = 'a'")
    assert not done.snapshot.sources["shop", "a"].is_active
    assert "source_config" in refused(control, "UPDATE etl_control SET source_config = '{broken too' WHERE source_id = 'a'")


# When others write, too


class Interrupted(DeltaControlTable):
    """Lets somebody else change the same row just before a commit, some times."""

    times = 0

    def commit(self, edit: Edit, base: Snapshot, by: str, reason: str = "") -> Snapshot:
        if self.times:
            self.times -= 1
            row = super().read().sources["shop", "a"]
            super().commit(put(source("a", execution_order=row.execution_order + 100)), super().read(), by="somebody else")
        return super().commit(edit, base, by, reason)


def test_a_statement_whose_row_changes_meanwhile_is_run_again_on_the_new_one(control: DeltaControlTable) -> None:
    busy = Interrupted(control.location)
    busy.times = 2
    done = run(busy, "UPDATE etl_control SET execution_order = execution_order + 1 WHERE source_id = 'a'")
    assert order(done.snapshot)["a"] == 1 + 100 + 100 + 1


def test_a_row_that_changes_all_the_time_is_a_conflict(control: DeltaControlTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits.attempts, "__defaults__", (0.2,))
    busy = Interrupted(control.location)
    busy.times = 1_000
    with pytest.raises(Conflict, match=r"shop\.a: execution_order was"):
        run(busy, "UPDATE etl_control SET execution_order = execution_order + 1 WHERE source_id = 'a'")


def test_quoted_names_do_not_become_texts() -> None:
    assert parse("SELECT `source_id` FROM `x`.`etl_control`", "etl_control").text == "SELECT source_id FROM etl_control"
    assert '"my-control"' in parse("DELETE FROM `my-control`", "my-control").text
