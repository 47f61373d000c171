"""What has to be loaded before a command answers: nothing that it does not need, counted instead of timed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from integration.starting import HEAVY, loaded_by, project
from lakeledger.cli import program

pytestmark = pytest.mark.usefixtures("quiet")

# What runs pipelines, or waits for them; and what asks Spark's resolver.
ON_SPARK = {"demo", "run", "scheduler", "monitor", "jars fetch", "quality check", "quality try", "recon run"}
# What goes on until it is told to end.
UNTIL_TOLD = {"astha", "records send", "records receive"}
# What looks at files: pyarrow reads from every store.
ON_FILES = {
    *("tables sweep", "tables verify", "tables publish", "tables read-with", "tables register"),
    *("snapshots create", "maintain", "db move-warehouse", "rebuild", "mirror refresh"),
}
# What is over, or not there, is refused.
REFUSED = {
    **dict.fromkeys(("schema accept", "events forget", "jobs cancel", "quality show", "recon explain"), 2),
    **dict.fromkeys(("bands exclude", "bands accept", "bands restore"), 2),
    **dict.fromkeys(("runs cancel", "errors ignore"), 1),
}


def names(command: click.Command, path: str = "") -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield path.strip()
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from names(below, f"{path} {name}")


def test_no_command_loads_what_it_does_not_need(tmp_path: Path) -> None:
    commands = project(tmp_path).commands()
    assert {*commands} == {*names(program)} - ON_SPARK - ON_FILES - UNTIL_TOLD, "every command says here what it loads"
    told: dict[str, tuple[int, set[str]]] = {}
    for allowed in {frozenset(allowed): None for _, allowed in commands.values()}:
        alike = {name: [*name.split(), *words] for name, (words, own) in commands.items() if own == allowed}
        told |= zip(alike, loaded_by([*alike.values()], tmp_path, allowed), strict=True)
    assert {name: code for name, (code, _) in told.items() if code} == REFUSED
    needless = {name: packages & HEAVY - commands[name][1] for name, (_, packages) in told.items()}
    assert {name: packages for name, packages in needless.items() if packages} == {}


def test_help_of_any_group_loads_nothing_heavy(tmp_path: Path) -> None:
    groups = {name.split()[0] for name in names(program)}
    for (code, packages), name in zip(loaded_by([[each, "--help"] for each in groups], tmp_path), groups, strict=True):
        assert (code, packages & HEAVY) == (0, set()), name


def test_what_waits_for_spark_loads_it_only_then(tmp_path: Path) -> None:
    project(tmp_path)
    (ended, scheduling), (moved, monitoring) = loaded_by([["scheduler", "--once"], ["monitor", "--iterations", "1"]], tmp_path)
    assert (ended, moved) == (0, 0)
    assert not {"pyspark", "pyarrow", "numpy", "pandas", "deltalake", "pydantic"} & scheduling
    assert not {"pyspark", "pyarrow", "numpy", "pandas"} & monitoring


def loaded(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_and_its_help_load_next_to_nothing() -> None:
    assert {name for name in loaded("import lakeledger") if name.startswith("lakeledger")} == {"lakeledger"}
    helping = loaded("from lakeledger.cli import program\ntry:\n    program.main(['--help'])\nexcept SystemExit:\n    pass")
    assert not (HEAVY | {"rich", "sqlite3"}) & helping


def test_a_ledger_is_opened_without_what_it_may_never_be_asked_for(tmp_path: Path) -> None:
    opened = loaded(f"import lakeledger\nlakeledger.open('sqlite:///{tmp_path}/ledger.db').close()")
    assert not HEAVY & {name.partition(".")[0] for name in opened}
    slices = {"sync.capture", "sync.errors", "tables.model", "records", "events", "jobs", "control", "pipelines"}
    assert not {f"lakeledger.{name}" for name in slices} & opened
