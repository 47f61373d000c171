"""The monitor: every changed file in one look, bad ones named and in nobody's way, errors that never advance the cursor."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from contract.making import wait_until
from lakeledger import Invalid, Ledger
from lakeledger.control import memory, sql
from lakeledger.control.monitor import Cycle, MetadataMonitor
from lakeledger.db.queries import statement
from lakeledger.jobs import Job
from lakeledger.jobs.local import LocalBackend

# What has to do with files is the same whatever database the ledger is on.
on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


def document(module: str, query: str = "select 1 as x") -> str:
    return f"""
modules:
  - module_name: {module}
    sources:
      - source_id: one
        source_type: sql
        target_config: {{table: {module}_one}}
        transformation_config: {{sql_task: {{sql_query: "{query}"}}}}
"""


def twice(module: str) -> str:
    """The same with a second source."""
    return document(module) + document(module).partition("sources:\n")[2].replace("one", "two")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "yaml"
    made.mkdir()
    return made


@pytest.fixture
def monitor(ledger: Ledger, tmp_path: Path, folder: Path) -> Iterator[MetadataMonitor]:
    made = MetadataMonitor(str(tmp_path / "control/etl_control"), folder, 60, ledger=ledger, settle_seconds=0)
    yield made
    made.close()


@pytest.fixture
def watch(ledger: Ledger, tmp_path: Path, folder: Path) -> Iterator[Callable[..., tuple[MetadataMonitor, list[Cycle]]]]:
    """Makes monitors of the folder, each with what it tells."""
    made: list[MetadataMonitor] = []

    def make(interval: float = 600, **more: Any) -> tuple[MetadataMonitor, list[Cycle]]:
        seen: list[Cycle] = []
        made.append(MetadataMonitor(str(tmp_path / "control/etl_control"), folder, interval, ledger=ledger, tell=seen.append, **more))
        return made[-1], seen

    yield make
    for monitor in made:
        monitor.close()


Watch = Callable[..., tuple[MetadataMonitor, list[Cycle]]]


def age(path: Path, seconds: float = 60) -> None:
    """As if the file had been written so long ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def done(cycle: Cycle) -> dict[str, str]:
    return {each.module_name: each.action.kind for each in cycle.applied}


def test_every_changed_file_is_noticed_in_one_look(monitor: MetadataMonitor, folder: Path) -> None:
    assert monitor.check().errors == []
    for name in "abc":
        (folder / f"{name}.yaml").write_text(document(name))
    assert done(monitor.check()) == {"a": "create", "b": "create", "c": "create"}
    for name in "ab":
        (folder / f"{name}.yaml").write_text(document(name, "select 2 as x"))
    (folder / "below").mkdir()
    (folder / "below/d.yml").write_text(document("d"))
    second = monitor.check()
    assert [key for key in (second.imported.changed if second.imported else []) if key[1]] == [("a", "one"), ("b", "one"), ("d", "one")]
    assert done(second)["d"] == "create"
    third = monitor.check()
    assert not third.did_something
    assert monitor.cursor() == third.version


def test_a_bad_file_is_named_and_the_others_are_carried_out_and_the_cursor_waits(monitor: MetadataMonitor, folder: Path) -> None:
    (folder / "good.yaml").write_text(document("good"))
    (folder / "bad.yaml").write_text(document("bad").replace("source_type: sql", "source_type: sqll"))
    cycle = monitor.check()
    assert done(cycle) == {"good": "create"}
    (error,) = cycle.errors
    assert f"{folder}/bad.yaml:6:" in error
    assert "did you mean 'sql'" in error
    assert monitor.cursor() is None
    (folder / "bad.yaml").write_text(document("bad"))
    assert (done(monitor.check()), monitor.cursor() is not None) == ({"bad": "create", "good": "unchanged"}, True)


def test_a_hand_made_change_and_a_file_that_changed_the_same_row_are_a_conflict_that_stops_nobody(
    monitor: MetadataMonitor, folder: Path
) -> None:
    for name in "ab":
        (folder / f"{name}.yaml").write_text(document(name))
    monitor.check()
    table = monitor._opened.deployment.table
    sql.run(table, "UPDATE etl_control SET execution_order = 5 WHERE module_name = 'a'", "ann")
    (folder / "a.yaml").write_text(document("a").replace("source_type: sql", "source_type: sql\n        execution_order: 7"))
    (folder / "b.yaml").write_text(document("b", "select 9 as x"))
    cycle = monitor.check()
    assert any("execution_order was 1; the file has 7, the table has 5" in line for line in cycle.errors)
    assert cycle.imported is not None
    assert ("b", "one") in cycle.imported.changed
    assert table.read().sources["a", "one"].execution_order == 5


@on_sqlite
def test_a_folder_of_hostile_files_is_survived_and_each_is_named_with_its_reason(
    monitor: MetadataMonitor, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.yaml").write_text(document("outside"))
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    hostile = {
        "bomb.yaml": bomb.encode(),
        "huge.yaml": b"x: " + b"y" * 10_000_000,
        "binary.yaml": bytes(range(256)) * 10,
        "nul.yaml": b"modules: \0",
        "half.yaml": document("half")[:-40].encode(),
        "list.yaml": b"- 1\n- 2\n",
        "empty.yaml": b"",
        "deep.yaml": b"[" * 5_000,
        "tag.yaml": b"modules: !!python/object/apply:os.system ['true']\n",
        "twice.yaml": b"modules: []\nmodules: []\n",
    }
    for name, content in hostile.items():
        (folder / name).write_bytes(content)
    (folder / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (folder / "loop.yaml").symlink_to(folder / "loop.yaml")
    (folder / "good.yaml").write_text(document("good"))
    cycle = monitor.check()
    assert done(cycle) == {"good": "create"}
    told = "\n".join(cycle.errors)
    for name in (*hostile, "link.yaml", "loop.yaml"):
        assert f"{folder / name}" in told, name
    assert "leads out of" in told
    assert "Traceback" not in told
    assert "outside" not in {row.module_name for row in monitor._opened.deployment.table.read().sources.values()}


@on_sqlite
def test_it_looks_as_often_as_told_and_at_once_when_a_file_changes(ledger: Ledger, tmp_path: Path, folder: Path) -> None:
    seen: list[Cycle] = []
    monitor = MetadataMonitor(str(tmp_path / "etl_control"), folder, 60, ledger=ledger, tell=seen.append, settle_seconds=0)
    (folder / "a.yaml").write_text(document("a"))
    thread = threading.Thread(target=lambda: monitor.run_continuous(max_iterations=2))
    thread.start()
    wait_until(lambda: len(seen) == 1)
    names = iter(range(10_000))

    def changed() -> bool:
        (folder / "b.yaml").write_text(document("b", f"select {next(names)} as x"))
        return len(seen) == 2

    wait_until(changed, 60)
    thread.join(30)
    assert not thread.is_alive()
    monitor.close()


def test_two_monitors_at_once_make_each_job_once(ledger: Ledger, tmp_path: Path, folder: Path) -> None:
    for number in range(5):
        (folder / f"{number}.yaml").write_text(document(f"m{number}"))
    monitors = [MetadataMonitor(str(tmp_path / "etl_control"), folder, 60, ledger=ledger, settle_seconds=0) for _ in range(2)]
    threads = [threading.Thread(target=monitor.check) for monitor in monitors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monitors[0].check()
    jobs = monitors[0]._opened.deployment.backend.list()
    assert sorted(job.module_name or "" for job in jobs) == [f"m{number}" for number in range(5)]


def test_two_monitors_that_import_the_same_changes_have_nothing_to_complain_of(watch: Watch, folder: Path) -> None:
    (one, _), (other, _) = watch(settle_seconds=0), watch(settle_seconds=0)
    errors: list[str] = []
    for number in range(5):
        for name in "abc":
            (folder / f"{name}.yaml").write_text(document(name, f"select {number} as x"))
        start = threading.Barrier(2)

        def look(monitor: MetadataMonitor, start: threading.Barrier = start) -> None:
            start.wait()
            errors.extend(monitor.check().errors)

        threads = [threading.Thread(target=look, args=(monitor,)) for monitor in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


@on_sqlite
def test_a_file_that_may_still_be_written_is_left_for_later_even_if_it_makes_sense_already(watch: Watch, folder: Path) -> None:
    monitor, _ = watch(settle_seconds=30)
    (folder / "shop.yaml").write_text(document("shop"))  # the first of two sources
    (folder / "bad.yaml").write_text("modules: [")
    first = monitor.check()
    assert (first.applied, first.errors) == ([], [])
    (folder / "shop.yaml").write_text(twice("shop"))
    age(folder / "shop.yaml")
    second = monitor.check()
    assert (done(second), second.errors) == ({"shop": "create"}, [])
    assert len(monitor._opened.deployment.backend.list()[0].settings["tasks"]) == 2
    age(folder / "bad.yaml")
    (error,) = monitor.check().errors
    assert f"{folder}/bad.yaml:1:" in error


@on_sqlite
def test_a_file_that_was_read_and_is_written_again_loses_nothing_meanwhile(watch: Watch, folder: Path) -> None:
    monitor, _ = watch(settle_seconds=30)
    (folder / "shop.yaml").write_text(twice("shop"))
    age(folder / "shop.yaml")
    monitor.check()
    (folder / "shop.yaml").write_text(document("shop"))
    cycle = monitor.check()
    assert (done(cycle), cycle.errors) == ({"shop": "unchanged"}, [])
    assert cycle.imported is not None
    assert (cycle.imported.changed, cycle.imported.kept) == ([], [])


@on_sqlite
def test_a_file_from_the_future_is_read_or_named(watch: Watch, folder: Path) -> None:
    monitor, _ = watch(settle_seconds=30)
    (folder / "shop.yaml").write_text(document("shop"))
    (folder / "bad.yaml").write_text("modules: [")
    for name in ("shop", "bad"):
        age(folder / f"{name}.yaml", -86_400)
    cycle = monitor.check()
    assert done(cycle) == {"shop": "create"}
    assert [error.partition(":")[0] for error in cycle.errors] == [f"{folder}/bad.yaml"]


@on_sqlite
def test_the_next_look_comes_when_a_fresh_file_is_settled_and_not_only_after_the_interval(watch: Watch, folder: Path) -> None:
    monitor, seen = watch(600, settle_seconds=0.2)
    (folder / "shop.yaml").write_text(document("shop"))
    thread = threading.Thread(target=monitor.run_continuous)
    thread.start()
    wait_until(lambda: any(done(cycle) == {"shop": "create"} for cycle in seen), 30)
    monitor.stop()
    thread.join(30)
    assert not thread.is_alive()


@on_sqlite
def test_a_file_that_changes_during_a_look_is_read_soon(watch: Watch, folder: Path) -> None:
    monitor, seen = watch(600, settle_seconds=0)
    (folder / "shop.yaml").write_text(document("shop"))
    tell = monitor._tell

    def change(cycle: Cycle) -> None:  # after the look, and before anybody watches the folder again
        if not seen:
            (folder / "late.yaml").write_text(document("late"))
        tell(cycle)

    monitor._tell = change
    thread = threading.Thread(target=monitor.run_continuous)
    thread.start()
    wait_until(lambda: any(done(cycle).get("late") == "create" for cycle in seen), 30)
    monitor.stop()
    thread.join(30)
    assert not thread.is_alive()


@on_sqlite
def test_the_last_look_waits_for_fresh_files_and_tells_what_is_wrong_with_them(watch: Watch, folder: Path) -> None:
    monitor, seen = watch(600, settle_seconds=0.2)
    (folder / "good.yaml").write_text(document("good"))
    (folder / "bad.yaml").write_text("modules: [")
    assert monitor.run_continuous(max_iterations=1) == 1
    (cycle,) = seen
    assert done(cycle) == {"good": "create"}
    (error,) = cycle.errors
    assert f"{folder}/bad.yaml:1:" in error
    assert monitor.cursor() is None


@on_sqlite
def test_the_last_look_does_not_wait_for_ever_and_names_what_is_written_on_and_on(watch: Watch, folder: Path) -> None:
    monitor, seen = watch(600, settle_seconds=0.4)
    enough = threading.Event()

    def write() -> None:
        while not enough.wait(0.001):
            (folder / "busy.yaml").write_text(document("busy"))

    writer = threading.Thread(target=write)
    writer.start()
    wait_until((folder / "busy.yaml").exists)
    monitor.run_continuous(max_iterations=1)
    enough.set()
    writer.join()
    (cycle,) = seen
    assert (cycle.applied, cycle.errors) == ([], [f"{folder}/busy.yaml: it is still being written, and was left out"])
    assert monitor.cursor() is None


def test_whoever_waits_for_fresh_files_can_be_stopped(watch: Watch, folder: Path) -> None:
    monitor, seen = watch(600, settle_seconds=600)
    (folder / "shop.yaml").write_text(document("shop"))
    looks: list[int] = []
    thread = threading.Thread(target=lambda: looks.append(monitor.run_continuous(max_iterations=1)))
    thread.start()
    monitor.stop()
    thread.join(30)
    assert (looks, seen) == ([0], [])


@on_sqlite
def test_a_folder_that_goes_away_when_it_is_to_be_watched_is_survived(watch: Watch, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor, seen = watch(0.05, settle_seconds=0)
    real = watchfiles.watch

    def too_late(*arguments: Any, **more: Any) -> Any:
        shutil.rmtree(folder)
        return real(*arguments, **more)

    monkeypatch.setattr(watchfiles, "watch", too_late)
    assert monitor.run_continuous(max_iterations=2) == 2
    assert [bool(cycle.errors) for cycle in seen] == [False, True]


def test_what_nobody_expected_is_the_error_of_a_look_and_not_the_end(ledger: Ledger, watch: Watch, folder: Path) -> None:
    class Broken(LocalBackend):
        calls = 0

        def list(self) -> Sequence[Job]:
            Broken.calls += 1
            if Broken.calls == 1:
                raise ZeroDivisionError("by nothing")
            return super().list()

    monitor, seen = watch(0.05, settle_seconds=0, backend=Broken(ledger.store, "ann"))
    (folder / "shop.yaml").write_text(document("shop"))
    assert monitor.run_continuous(max_iterations=2) == 2
    assert seen[0].errors == ["the monitor could not work: ZeroDivisionError: by nothing"]
    assert (done(seen[1]), seen[1].errors) == ({"shop": "create"}, [])


@on_sqlite
def test_a_path_of_nobodys_home_or_through_the_whole_disk_stops_no_look(watch: Watch, folder: Path) -> None:
    monitor, _ = watch(settle_seconds=0)
    for name, path in (("home", "~nosuchuser/x.csv"), ("disk", "../../../../../../**/*.csv")):
        source = f"{{source_id: a, source_type: files, source_config: {{path: '{path}'}}, target_config: {{table: {name}}}}}"
        (folder / f"{name}.yaml").write_text(f"modules: [{{module_name: {name}, sources: [{source}]}}]")
    cycle = monitor.check()
    assert cycle.imported is not None
    assert cycle.imported.changed == [("disk", "a"), ("home", "a")]
    assert cycle.imported.warnings == []


def test_a_look_that_finds_nothing_new_remembers_nothing_anew(ledger: Ledger, watch: Watch, folder: Path) -> None:
    monitor, _ = watch(settle_seconds=0)
    for name in "ab":
        (folder / f"{name}.yaml").write_text(document(name))

    def remembered() -> dict[tuple[str, str | None], str]:
        with ledger.store.read() as tx:
            rows = tx.all(statement("select id, module_name, source_id from control_imports where tenant_id = :tenant_id"))
        return {(row["module_name"], row["source_id"]): row["id"] for row in rows}

    monitor.check()
    first = remembered()
    assert len(first) == 4
    monitor.check()
    assert remembered() == first
    (folder / "a.yaml").write_text(document("a", "select 2 as x"))
    monitor.check()
    assert {key for key, id in remembered().items() if first[key] != id} == {("a", "one")}


@pytest.mark.parametrize(
    ("name", "index"), [("forget_source", "control_imports_by_source"), ("forget_module", "control_imports_by_module")]
)
def test_what_is_forgotten_is_found_by_its_index(ledger: Ledger, name: str, index: str) -> None:
    query = getattr(memory.sql, name).texts[""]
    with ledger.store.write() as tx:
        if tx.dialect == "postgres":
            tx.execute(statement("set local enable_seqscan = off"))  # a table this small is read as a whole
        explain = statement(f"{'explain' if tx.dialect == 'postgres' else 'explain query plan'} {query}")
        plan = tx.all(explain, control_table="t", module_name="m", source_id="s")
    assert index in str(plan)


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
def test_a_settle_time_must_make_sense(ledger: Ledger, tmp_path: Path, seconds: float) -> None:
    with pytest.raises(Invalid, match="settle_seconds"):
        MetadataMonitor(str(tmp_path / "etl_control"), None, ledger=ledger, settle_seconds=seconds)


@pytest.mark.parametrize("seconds", [0, -1, float("inf")])
def test_an_interval_must_make_sense(ledger: Ledger, tmp_path: Path, seconds: float) -> None:
    with pytest.raises(Invalid, match="check_interval_seconds"):
        MetadataMonitor(str(tmp_path / "etl_control"), None, seconds, ledger=ledger)


FOLLOWS = """
import sys
from lakeledger.control import MetadataMonitor
table, folder, url = sys.argv[1:]
with MetadataMonitor(table, folder, 60, ledger=url, settle_seconds=0, tell=lambda _: print("looked", flush=True)) as monitor:
    monitor.run_continuous()
"""


@on_sqlite
def test_a_monitor_in_a_script_ends_at_the_first_ctrl_c(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "followed"
    folder.mkdir()
    command = [sys.executable, "-c", FOLLOWS, str(tmp_path / "control/etl_control"), str(folder), url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert child.stdout.readline() == "looked\n"
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=30)
    assert child.returncode != 0
    assert "KeyboardInterrupt" in said
