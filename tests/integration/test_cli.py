"""The command line as people and scripts use it: answers, JSON, exit codes, errors, terminals and pipes."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner, Result

import lakeledger
from lakeledger import Ledger, NumberPosition
from lakeledger.cli import Program, program, show
from lakeledger.runs import Run, Step, Transition
from lakeledger.sync import Marker, MarkerChange, SourceFile
from lakeledger.tables import DataFile, Snapshot, Table, TableMetadata, TableStats

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PROGRAM = str(Path(sys.executable).parent / "lakeledger")
SECRET = "hunter2"
NOBODY = f"postgresql://me:{SECRET}@127.0.0.1:1/ledger"

READING = [
    ["runs", "list"],
    ["runs", "show", "0199b2c4"],
    ["runs", "recover"],
    ["tables", "list"],
    ["tables", "show", "bronze.orders"],
    ["tables", "files", "bronze.orders"],
    ["tables", "history", "bronze.orders"],
    ["tables", "verify", "--all"],
    ["tables", "sweep"],
    ["positions", "list"],
    ["positions", "show", "shop.orders"],
]


@pytest.fixture(autouse=True)
def quiet_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test works in its own folder and without the settings of whoever runs it."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("LAKELEDGER_")] + ["COLUMNS", "NO_COLOR", "FORCE_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAKELEDGER_MIRROR", "off")


def invoke(*words: str) -> Result:
    return CliRunner().invoke(program, list(words))


def answer(*words: str, code: int = 0) -> Any:
    """What a command prints with --json: one document, and nothing on stderr."""
    result = invoke(*words, "--json")
    assert (result.exit_code, result.stderr) == (code, ""), result.output
    return json.loads(result.stdout)


def started(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    # The environment is named because readline, which pytest loads, sets COLUMNS behind Python's back.
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, env=dict(os.environ), **more)


def columns(row_type: type[Any]) -> set[str]:
    return {field.name for field in fields(row_type)}


@pytest.fixture
def orders(lake: Ledger, url: str) -> list[str]:
    """A ledger with one table, one run and one position; the options that lead there."""
    frame = lake.spark.createDataFrame([(1, "EU"), (2, "US")], "id long, region string")
    with lake.run("shop") as run, run.step("orders") as step:
        lake.append(frame, "bronze.orders", run=step, position=("shop.orders", NumberPosition(2)))
    return ["--url", url, "--warehouse", lake.settings.warehouse_uri]


def pipeline(*modules: tuple[str, list[dict[str, Any]]]) -> str:
    """Write a pipeline.yaml; JSON is YAML."""
    document = {"modules": [{"module_name": name, "sources": sources} for name, sources in modules]}
    Path("pipeline.yaml").write_text(json.dumps(document, indent=2))
    return "pipeline.yaml"


def sql(source_id: str, query: str, order: int = 1) -> dict[str, Any]:
    return {
        "source_id": source_id,
        "source_type": "sql",
        "execution_order": order,
        "target_config": {"schema": "gold", "table": source_id},
        "transformation_config": {"task_type": "sql_query", "sql_task": {"sql_query": query}},
    }


def csv(source_id: str, path: str, order: int = 1) -> dict[str, Any]:
    return {
        "source_id": source_id,
        "source_type": "files",
        "execution_order": order,
        "source_config": {"path": path},
        "target_config": {"schema": "bronze", "table": source_id},
    }


def test_every_list_and_page_is_json_with_the_columns_of_its_tables(lake: Ledger, orders: list[str]) -> None:
    (run,) = lake.runs.list()

    def keys(*words: str) -> dict[str, Any]:
        found: dict[str, Any] = answer(*words, *orders)
        rows = {key: value[0] if isinstance(value, list) and value else value for key, value in found.items()}
        return {key: set(row) for key, row in rows.items() if isinstance(row, dict | list)}

    assert keys("runs", "list") == {"runs": columns(Run)}
    assert keys("runs", "show", run.id) == {"run": columns(Run), "steps": columns(Step), "transitions": columns(Transition)}
    assert keys("tables", "list") == {"tables": columns(Table)}
    assert keys("tables", "show", "bronze.orders") == {
        "table": columns(Table),
        "stats": columns(TableStats),
        "metadata": columns(TableMetadata),
        "snapshots": columns(Snapshot),
    }
    assert keys("tables", "files", "bronze.orders") == {"table": columns(Table), "files": columns(DataFile)}
    assert keys("tables", "history", "bronze.orders") == {"table": columns(Table), "snapshots": columns(Snapshot)}
    assert keys("positions", "list") == {"positions": columns(Marker)}
    assert keys("positions", "show", "shop.orders") == {"position": columns(Marker), "history": columns(MarkerChange), "files": set()}
    assert answer("tables", "files", "bronze.orders", "--version", "1", *orders)["version"] == 1
    assert answer("tables", "verify", "--all", *orders) == {
        "verifications": [{"table": "bronze.orders", "ok": True, "checked": lake.tables.get("bronze.orders").file_count, "findings": []}]
    }
    assert answer("tables", "sweep", *orders) == {"deleted": False, "grace_seconds": 3600, "leftovers": []}
    assert answer("runs", "recover", *orders) == {"runs": [], "silent": []}


def test_the_values_in_json_are_those_of_the_ledger(lake: Ledger, orders: list[str]) -> None:
    (run,) = lake.runs.list()
    (shown,) = answer("runs", "list", *orders)["runs"]
    assert shown["pipeline_logging_id"] == run.id
    assert (shown["status"], shown["records_processed"], shown["end_time"]) == ("COMPLETED", 2, shown["end_time"])
    assert datetime.fromisoformat(shown["start_time"]) == run.start_time
    assert answer("tables", "list", *orders)["tables"][0]["row_count"] == 2
    assert answer("positions", "show", "shop.orders", *orders)["position"]["position_data"] == {"value": 2}


def test_migrations_and_versions_are_json_too(bare_url: str) -> None:
    applied = answer("db", "migrate", "--url", bare_url)["applied"]
    assert [step["version"] for step in applied] == list(range(1, len(applied) + 1))
    assert answer("db", "migrate", "--url", bare_url)["applied"] == []
    status = answer("db", "status", "--url", bare_url)
    assert status["pending"] == 0
    assert [set(step) for step in status["migrations"]] == [{"version", "name", "applied_at"}] * len(applied)
    assert answer("version")["version"]["lakeledger"] == lakeledger.__version__


def test_every_command_has_json_and_an_example() -> None:
    def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield path, command
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            if below := command.get_command(context, name):
                yield from leaves(below, f"{path} {name}")

    found = dict(leaves(program, "lakeledger"))
    assert len(found) > 60
    for path, command in found.items():
        assert "--json" in [name for parameter in command.params for name in parameter.opts], path
        assert path in (command.help or ""), f"{path} --help shows no example"


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_reading_never_makes_a_ledger(words: list[str], tmp_path: Path) -> None:
    missing = f"sqlite:///{tmp_path}/new/ledger.db"
    result = invoke(*words, "--url", missing)
    assert result.exit_code == 2
    assert result.stderr == f"error: no ledger at {missing}: run `lakeledger init` or give --url\n"
    assert list(tmp_path.iterdir()) == []


def test_reading_leaves_the_database_of_another_program_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "app.db") as connection:
        connection.execute("create table users (name text)")
    connection.close()
    result = invoke("tables", "list", "--url", "sqlite:///app.db")
    assert (result.exit_code, "no ledger in" in result.stderr) == (2, True)
    with sqlite3.connect(tmp_path / "app.db") as connection:
        assert connection.execute("select name from sqlite_master").fetchall() == [("users",)]
    connection.close()


@pytest.mark.parametrize(
    ("words", "code", "kind", "told"),
    [
        (["runs", "list", "--url", "mysql://a:hunter2@b/c"], 2, "Invalid", "use sqlite:///path/to/file.db or postgresql://"),
        (["runs", "list", "--url", NOBODY], 1, "Unavailable", "cannot be reached"),
        (["runs", "list", "--url", f"postgresql://127.0.0.1:1/x?password={SECRET}"], 1, "Unavailable", "cannot be reached"),
        (["runs", "list", "--url", "sqlite:///broken.db"], 2, "Invalid", "is not a usable SQLite database"),
        (["runs", "list", "--url", "sqlite:///~nobody_of_that_name/x.db"], 2, "Invalid", "without ~"),
        (["runs", "list", "--tenant", "Not A Tenant"], 2, "Invalid", "tenant 'Not A Tenant' must match"),
        (["runs", "list", "--tenant", ""], 2, "Invalid", "--tenant is empty"),
        (["runs", "list", "--limit", "0"], 2, "Invalid", "0 is not in the range"),
        (["runs", "list", "--status", "BROKEN"], 2, "Invalid", "'BROKEN' is not one of"),
        (["runs", "show", "0199b2c4", "--url", "sqlite:///good.db"], 2, "NotFound", "no run '0199b2c4'"),
        (["tables", "show", "a`b;drop", "--url", "sqlite:///good.db"], 2, "Invalid", "table name 'a`b;drop' is not allowed"),
        (["tables", "show", "nothing", "--url", "sqlite:///good.db"], 2, "NotFound", "no table main.nothing"),
        (["tables", "files", "x", "--version", "9" * 30], 2, "Invalid", "is not in the range"),
        (["tables", "verify"], 2, "Invalid", "give either a table's NAME or --all"),
        (["tables", "sweep", "--grace", "soon"], 2, "Invalid", "'soon' is not a time span"),
        (["tables", "sweep", "--grace", "999999999d"], 2, "Invalid", "at most 3650d"),
        (["positions", "show", "shop", "--url", "sqlite:///good.db"], 2, "NotFound", "no position for 'shop'"),
        (["run", "absent.yaml"], 2, "Invalid", "no such file"),
        (["run", "--trigger", "cosmic ray"], 2, "Invalid", "is not one of"),
        (["init", "broken.db/below"], 2, "Invalid", "cannot write"),
        (["tabels"], 2, "Invalid", "no command 'tabels'; did you mean 'tables'?"),
        (["runs", "list", "--frobnicate"], 2, "Invalid", "--frobnicate"),
        (["runs", "show", "\udcff\udcfe\udcfd\udcfc"], 2, "Invalid", "is not valid UTF-8"),
    ],
    ids=lambda value: " ".join(value).encode(errors="replace").decode() if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said_in_one_line_without_a_trace_or_a_secret(
    words: list[str], code: int, kind: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.db").write_bytes(b"this is no database, it is prose" * 100)
    lakeledger.open("sqlite:///good.db").close()
    said = invoke(*words)
    assert (said.exit_code, said.stdout) == (code, "")
    last = said.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert told in last
    error = answer(*words, code=code)["error"]
    assert set(error) == {"type", "message", "retryable"}
    assert (error["type"], error["retryable"], told in error["message"]) == (kind, kind == "Unavailable", True)
    assert "Traceback" not in said.output
    assert SECRET not in said.output + json.dumps(error)


def test_an_unknown_key_is_named_with_its_line_and_the_likely_word_before_anything_is_opened(tmp_path: Path) -> None:
    Path("pipeline.yaml").write_text(
        "modules:\n"
        "  - module_name: shop\n"
        "    sources:\n"
        "      - source_id: orders\n"
        "        source_type: files\n"
        "        source_config: {path: data/*.csv}\n"
        "        target_cofnig: {table: orders}\n"
    )
    result = invoke("run")
    assert result.exit_code == 2
    assert f"error: {tmp_path}/pipeline.yaml:7:9: unknown key 'target_cofnig'; did you mean 'target_config'?" in result.stderr.splitlines()
    assert all(line.startswith("error: ") for line in result.stderr.splitlines())
    assert [path.name for path in tmp_path.iterdir()] == ["pipeline.yaml"]


def test_a_module_that_is_not_in_the_file_is_told_before_anything_is_opened(tmp_path: Path) -> None:
    pipeline(("shop", [sql("one", "select 1 as n")]))
    result = invoke("run", "--module", "shpo")
    assert (result.exit_code, "it has shop; did you mean 'shop'?" in result.stderr) == (2, True)
    assert not (tmp_path / "lakeledger.db").exists()


def test_an_unexpected_error_asks_to_be_reported_and_keeps_its_trace_for_those_who_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "bomb.py").write_text(f"import click\n\n@click.command()\ndef bomb():\n    raise ValueError('{NOBODY} exploded')\n")
    cli = Program("test", lazy={"bomb": "bomb:bomb"})
    quiet = CliRunner().invoke(cli, ["bomb"])
    assert quiet.exit_code == 1
    assert re.fullmatch(r"error: unexpected ValueError: \S+ exploded: please report it; LAKELEDGER_DEBUG=1 shows the trace\n", quiet.stderr)
    monkeypatch.setenv("LAKELEDGER_DEBUG", "1")
    loud = CliRunner().invoke(cli, ["bomb"])
    assert (loud.exit_code, "Traceback" in loud.stderr, SECRET in loud.output + quiet.output) == (1, True, False)


def test_a_ledger_of_a_later_release_is_refused() -> None:
    lakeledger.open("sqlite:///later.db").close()
    with sqlite3.connect("later.db") as connection:
        connection.execute("insert into schema_migrations values (99, 'tomorrow', 'x', '2030-01-01T00:00:00.000000Z')")
    connection.close()
    for words in (["runs", "list"], ["db", "status"]):
        error = answer(*words, "--url", "sqlite:///later.db", code=1)["error"]
        assert (error["type"], "upgrade lakeledger" in error["message"]) == ("Failed", True)
    assert invoke("doctor", "--url", "sqlite:///later.db").exit_code == 1


def test_init_makes_a_project_that_runs_at_once_and_loads_each_file_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = answer("init", "shop")
    assert [Path(path).relative_to(tmp_path / "shop").as_posix() for path in made["files"]] == [
        "lakeledger.toml",
        "pipeline.yaml",
        "data/orders_1.csv",
    ]
    monkeypatch.chdir("shop")
    first = answer("run")
    ((shop,),) = first.values()
    assert set(shop) == {"module_name", "run", "steps"}
    assert (set(shop["run"]), set(shop["steps"][0])) == (columns(Run), columns(Step))
    assert [(step["step_name"], step["status"], step["rows_processed"]) for step in shop["steps"]] == [
        ("orders", "COMPLETED", 8),
        ("revenue_by_day", "COMPLETED", 3),
    ]
    again = invoke("run")
    assert (again.exit_code, again.stdout.count("nothing new")) == (0, 2)
    Path("data/orders_2.csv").write_text("order_id,ordered_at,customer,amount\n9,2026-03-05T10:00:00Z,Ada,1.00\n")
    assert [step["rows_processed"] for step in answer("run")["modules"][0]["steps"]] == [1, 4]
    assert answer("tables", "show", "bronze.orders")["table"]["row_count"] == 9
    assert [file["path"].rpartition("/")[2] for file in answer("positions", "show", "shop.orders")["files"]] == [
        "orders_2.csv",
        "orders_1.csv",
    ]
    assert {"path", "size", "modified_at", "content_hash"} == columns(SourceFile)
    assert answer("tables", "verify", "--all")["verifications"][0]["ok"]


def test_init_overwrites_nothing_and_names_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text("mine")
    result = invoke("init")
    assert (result.exit_code, str(tmp_path / "pipeline.yaml") in result.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["pipeline.yaml"]
    assert (tmp_path / "pipeline.yaml").read_text() == "mine"


def test_init_leaves_no_half_project_when_there_is_no_ledger_to_be_had() -> None:
    failed = invoke("init", "shop", "--url", NOBODY, "--warehouse", "lake")
    assert (failed.exit_code, SECRET in failed.output) == (1, False)
    assert [path for path in Path("shop").rglob("*") if path.is_file()] == []
    assert invoke("init", "shop").exit_code == 0


def test_init_writes_down_the_options_but_no_password(url: str, tmp_path: Path) -> None:
    given = url.replace("postgres@", f"postgres:{SECRET}@")
    result = invoke("init", "shop", "--url", given, "--warehouse", "lake", "--tenant", "retail")
    assert result.exit_code == 0, result.output
    written = (tmp_path / "shop/lakeledger.toml").read_text()
    assert SECRET not in written + result.output
    assert f'warehouse = "{tmp_path}/lake"' in written
    assert 'tenant = "retail"' in written
    assert (f'url = "{url}"' in written) == (given == url)


def test_a_run_that_partly_failed_exits_with_three_and_says_what_failed_and_what_waits(spark: SparkSession) -> None:
    pipeline(("shop", [sql("good", "select 1 as n"), csv("absent", "absent.csv"), sql("later", "select 2 as n", order=2)]))
    result = invoke("run")
    assert result.exit_code == 3
    assert re.search(r"good\s+gold.good\s+✓ COMPLETED\s+1\s.*version 1", result.stdout)
    assert re.search(r"✗ FAILED\s+absent\s+no such file: .*absent.csv; check the source's path", result.stdout)
    assert re.search(r"– SKIPPED\s+later\s+waits for absent", result.stdout)
    run_id = re.findall(r"next: lakeledger runs logs (\S+)", result.stdout)[0]
    assert answer("runs", "show", run_id)["run"]["status"] == "FAILED"
    statuses = {step["step_name"]: step["status"] for step in answer("run", code=3)["modules"][0]["steps"]}
    assert statuses == {"good": "COMPLETED", "absent": "FAILED", "later": "SKIPPED"}


def test_a_run_that_failed_altogether_exits_with_one() -> None:
    pipeline(("shop", [csv("absent", "absent.csv"), sql("later", "select 1 as n", order=2)]))
    result = invoke("run")
    assert result.exit_code == 1
    assert "shop.absent → bronze.absent: running" in result.stderr.splitlines()
    assert "Traceback" not in result.output


def test_a_warehouse_that_cannot_be_written_fails_the_load_and_the_doctor_says_so(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    pipeline(("shop", [sql("one", "select 1 as n")]))
    result = invoke("run", "--warehouse", "file/lake")
    assert (result.exit_code, f"cannot write to {tmp_path}/file/lake" in result.stdout) == (1, True)
    checks = {check["check"]: check for check in answer("doctor", "--warehouse", "file/lake", code=1)["checks"]}
    assert (checks["warehouse"]["status"], checks["store"]["status"]) == ("fail", "ok")


def test_a_module_that_is_running_is_refused_and_its_holder_named() -> None:
    pipeline(("shop", [csv("absent", "absent.csv")]))
    with lakeledger.open("sqlite:///lakeledger.db") as ledger, ledger.run("shop", exclusive=True) as holder:
        result = invoke("run")
        assert (result.exit_code, f"run {holder.id} on {ledger.worker.name}" in result.stderr) == (1, True)
        error = answer("run", code=1)["error"]
        assert (error["type"], error["retryable"]) == ("Conflict", True)


def test_a_module_that_is_held_does_not_stop_the_others(spark: SparkSession) -> None:
    pipeline(("shop", [csv("absent", "absent.csv")]), ("other", [sql("one", "select 1 as n")]))
    with lakeledger.open("sqlite:///lakeledger.db") as ledger, ledger.run("shop", exclusive=True):
        shop, other = answer("run", code=3)["modules"]
    assert (shop["module_name"], shop["error"]["type"]) == ("shop", "Conflict")
    assert (other["module_name"], other["run"]["status"]) == ("other", "COMPLETED")


def test_the_trigger_is_noted_and_one_module_can_be_chosen(spark: SparkSession) -> None:
    pipeline(("shop", [csv("absent", "absent.csv")]), ("other", [sql("one", "select 1 as n")]))
    (module,) = answer("run", "--module", "other", "--trigger", "scheduler")["modules"]
    assert (module["run"]["pipeline_id"], module["run"]["trigger_type"]) == ("other", "scheduler")


def test_the_run_of_a_killed_worker_is_recovered_with_a_verdict() -> None:
    code = "import lakeledger, os\nlakeledger.open('sqlite:///lakeledger.db').run('shop').__enter__()\nos.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    (lost,) = answer("runs", "list", "--status", "running")["runs"]
    result = invoke("runs", "recover")
    assert result.exit_code == 0
    assert re.search(r"shop\s+✗ FAILED\s.*was lost before it committed; run it again", result.stdout)
    assert answer("runs", "show", lost["pipeline_logging_id"])["run"]["status"] == "FAILED"
    assert "no run is lost" in invoke("runs", "recover").stdout


def test_runs_are_found_by_the_beginning_of_their_id() -> None:
    with lakeledger.open("sqlite:///lakeledger.db") as ledger:
        ids = []
        for _ in range(3):
            with ledger.run("shop") as run:
                ids.append(run.id)
    assert answer("runs", "show", ids[1][: show.SHORT_ID])["run"]["pipeline_logging_id"] == ids[1]
    assert "several runs begin with" in invoke("runs", "show", ids[0][:6]).stderr
    assert [run["pipeline_logging_id"] for run in answer("runs", "list", "--limit", "2")["runs"]] == ids[:0:-1]


def test_tenants_do_not_see_each_other() -> None:
    with lakeledger.open("sqlite:///lakeledger.db", tenant="retail") as ledger, ledger.run("shop"):
        pass
    assert answer("runs", "list")["runs"] == []
    assert len(answer("runs", "list", "--tenant", "retail")["runs"]) == 1


def test_verify_names_every_file_that_is_not_as_registered_and_exits_with_one(lake: Ledger, orders: list[str]) -> None:
    table = lake.tables.get("bronze.orders")
    path = Path(table.location, lake.tables.files("bronze.orders")[0].file_path)
    path.rename(path.with_name("part-other.parquet"))
    result = invoke("tables", "verify", "bronze.orders", "--quick", *orders)
    assert result.exit_code == 1
    assert re.search(rf"missing\s+data/\S+/{re.escape(path.name)}\s", result.stdout)
    assert re.search(r"untracked\s+data/\S+/part-other.parquet\s", result.stdout)
    (found,) = answer("tables", "verify", "--all", *orders, code=1)["verifications"]
    assert ([set(item) for item in found["findings"]], found["ok"]) == ([{"problem", "path", "detail", "repair", "repaired"}] * 2, False)


def test_sweep_deletes_only_when_told_and_only_what_is_old_enough(lake: Ledger, orders: list[str]) -> None:
    (run,) = lake.runs.list()
    left = Path(lake.tables.get("bronze.orders").location, "data", run.id, "crash", "part-0.parquet")
    left.parent.mkdir()
    left.write_bytes(b"half")
    assert answer("tables", "sweep", *orders)["leftovers"] == []
    assert "1 file, 4 B would be deleted" in invoke("tables", "sweep", "--grace", "0", *orders).stdout
    assert left.exists()
    swept = answer("tables", "sweep", "--grace", "0", "--delete", *orders)
    assert (swept["deleted"], [set(item) for item in swept["leftovers"]]) == (True, [{"table", "path", "size"}])
    assert not left.exists()
    assert answer("tables", "verify", "--all", *orders)["verifications"][0]["ok"]


def test_a_position_is_found_although_its_module_has_a_dot() -> None:
    from lakeledger import Source

    with lakeledger.open("sqlite:///lakeledger.db") as ledger:
        ledger.positions.advance(Source("shop.eu", "orders"), NumberPosition(7))
    assert answer("positions", "show", "shop.eu.orders")["position"]["position_data"] == {"value": 7}


def test_the_doctor_finds_a_sound_project_sound_without_starting_spark() -> None:
    invoke("init")
    found = answer("doctor")
    assert found["ok"], found
    names = ["python", "lakeledger", "settings", "store", "published", "warehouse", "java", "pyspark"]
    assert [check["check"] for check in found["checks"]] == names
    assert {tuple(check) for check in found["checks"]} == {("check", "status", "detail", "fix")}


def test_the_doctor_names_each_broken_thing_with_its_fix_and_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = {check["check"]: check for check in answer("doctor", code=1)["checks"]}
    assert (checks["store"]["status"], checks["store"]["fix"]) == ("fail", "lakeledger init")
    assert (checks["settings"]["status"], checks["settings"]["fix"]) == ("warn", "lakeledger init")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "lakeledger.toml").write_text("ulr = 'x'\n")
    assert "did you mean 'url'?" in invoke("doctor").stdout
    (tmp_path / "lakeledger.toml").unlink()
    shown = invoke("doctor", "--url", NOBODY)
    assert (shown.exit_code, SECRET in shown.output, "cannot be reached" in shown.stdout) == (1, False, True)


def test_the_doctor_runs_a_query_when_asked(spark: SparkSession) -> None:
    invoke("init")
    checks = {check["check"]: check for check in answer("doctor", "--spark")["checks"]}
    assert "counted to 1,000" in checks["spark"]["detail"]


def failed_run(name: str, error: str) -> Run:
    with lakeledger.open("sqlite:///lakeledger.db") as ledger:
        with ledger.run(name) as run:
            run.fail(error)
        return ledger.runs.get(run.id)


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    name = "[red]shop[/red] \x1b[2J :smile: \x9b1m"
    run = failed_run(name, "no\nsuch \x1b]0;title\x07 luck [bold]")
    for words in (["runs", "list"], ["runs", "show", run.id]):
        shown = invoke(*words).stdout
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
        assert r"[red]shop[/red] \x1b[2J :smile: \x9b1m" in shown


def test_a_pipe_gets_whole_lines() -> None:
    failed_run("shop", "word " * 300)
    done = started("runs", "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert max(line.count("word") for line in done.stdout.splitlines()) == 300, done.stdout
    assert "\x1b" not in done.stdout


def test_a_reader_that_leaves_early_is_no_error() -> None:
    lakeledger.open("sqlite:///lakeledger.db").close()
    for words in (["runs", "list", "--json"], ["db", "status"], ["--help"]):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([PROGRAM, *words], stdout=writing, stderr=subprocess.PIPE, check=False)
        os.close(writing)
        assert done.stderr == b""


def on_a_terminal(*words: str, **env: str) -> tuple[int, str]:
    """Run it on a real terminal of 100 columns: the exit code, and every byte it wrote."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    process = subprocess.Popen(
        [PROGRAM, *words], stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm-256color", **env}
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:  # on Linux, the end of a terminal is an error
        pass
    os.close(ours)
    return process.wait(), seen.decode()


def visible(text: str) -> list[str]:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "").splitlines()


def test_a_terminal_of_100_columns_shows_ids_in_one_piece_and_colours_unless_told_not_to() -> None:
    run = failed_run("a_pipeline_with_quite_a_long_name_for_a_list", "a long story " * 20)
    code, shown = on_a_terminal("runs", "list")
    lines = visible(shown)
    assert (code, max(map(len, lines)) <= 100, "\x1b[31m" in shown) == (0, True, True)
    assert sum(run.id[: show.SHORT_ID] in line for line in lines) == 2
    assert lines[-1] == f"next: lakeledger runs show {run.id[: show.SHORT_ID]}"
    assert "\x1b" not in on_a_terminal("runs", "list", NO_COLOR="1")[1]


def test_progress_is_live_on_a_terminal_and_leaves_only_the_result() -> None:
    pipeline(("shop", [csv("absent", "absent.csv"), sql("later", "select 1 as n", order=2)]))
    code, shown = on_a_terminal("run")
    assert code == 1
    assert "shop.later" in shown
    assert "\x1b[?25h" in shown, "the cursor is given back"
    assert any(re.match(r"absent\s+bronze.absent\s+✗ FAILED", line) for line in visible(shown))


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        (show.size(0), "0 B"),
        (show.size(999), "999 B"),
        (show.size(1_000), "1.0 kB"),
        (show.size(1_234_567), "1.2 MB"),
        (show.size(999_999), "1.0 MB"),
        (show.size(5 * 10**18), "5,000.0 PB"),
        (show.duration(0), "0 ms"),
        (show.duration(2_400), "2.4 s"),
        (show.duration(59_990), "1 min 0 s"),
        (show.duration(185_000), "3 min 5 s"),
        (show.duration(7_800_000), "2 h 10 min"),
        (show.duration(273_600_000), "3 d 4 h"),
        (show.duration(None), ""),
        (show.count(1_234_567), "1,234,567"),
        (show.plural(1, "file"), "1 file"),
        (show.ago(datetime.now(UTC)), "just now"),
        (show.ago(datetime.now(UTC) - timedelta(minutes=5, seconds=1)), "5 min ago"),
        (show.ago(datetime.now(UTC) - timedelta(days=1, minutes=1)), "1 day ago"),
        (show.ago(datetime(2020, 2, 29, tzinfo=UTC)), "2020-02-29"),
    ],
)
def test_figures_are_written_for_people(told: str, wanted: str) -> None:
    assert told == wanted


def test_the_installed_program_exits_with_the_code_that_says_how_it_went(tmp_path: Path) -> None:
    assert started("--version").stdout == f"lakeledger {lakeledger.__version__}\n"
    assert started("init", "shop").returncode == 0
    assert started("runs", "list", cwd=tmp_path / "shop").returncode == 0
    assert started("runs", "list").returncode == 2
    assert started().returncode == 2
    failed = started("runs", "list", "--json", "--url", NOBODY)
    assert (failed.returncode, failed.stderr, json.loads(failed.stdout)["error"]["type"]) == (1, "", "Unavailable")


def test_an_interruption_is_quiet(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "endless.yaml")
    process = subprocess.Popen([PROGRAM, "run", "endless.yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with (tmp_path / "endless.yaml").open("w"):  # opens once the program reads it
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, ("", "\n"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_cancelled_and_commits_nothing(number: signal.Signals) -> None:
    pipeline(("slow", [sql("slow", "select sum(id % 7) as n from range(1000000000000)"), sql("later", "select 1 as n", order=2)]))
    process = subprocess.Popen([PROGRAM, "run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "starting Spark" not in (line := process.stderr.readline()):
        assert line
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stdout, "Traceback" in stderr) == (130, "", False)
    (run,) = answer("runs", "list")["runs"]
    assert run["status"] == "CANCELLED"
    assert answer("tables", "list")["tables"] == []
