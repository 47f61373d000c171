"""The monitor: every changed file in one look, bad ones named and in nobody's way, errors that never advance the cursor."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.making import wait_until
from lakeledger import Invalid, Ledger
from lakeledger.control import monitor as monitoring
from lakeledger.control import sql
from lakeledger.control.monitor import Cycle, MetadataMonitor


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


@pytest.fixture(autouse=True)
def files_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes a file here has finished it."""
    monkeypatch.setattr(monitoring, "SETTLE_SECONDS", 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "yaml"
    made.mkdir()
    return made


@pytest.fixture
def monitor(ledger: Ledger, tmp_path: Path, folder: Path) -> Iterator[MetadataMonitor]:
    made = MetadataMonitor(str(tmp_path / "control/etl_control"), folder, 60, ledger=ledger)
    yield made
    made.close()


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


def test_a_folder_of_hostile_files_is_survived_and_each_is_named_with_its_reason(
    monitor: MetadataMonitor, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.yaml").write_text(document("outside"))
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    hostile = {
        "bomb.yaml": bomb.encode(),
        "huge.yaml": b"x: " + b"y" * 100_000_000,
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


def test_it_looks_as_often_as_told_and_at_once_when_a_file_changes(ledger: Ledger, tmp_path: Path, folder: Path) -> None:
    seen: list[Cycle] = []
    monitor = MetadataMonitor(str(tmp_path / "etl_control"), folder, 60, ledger=ledger, tell=seen.append)
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
    monitors = [MetadataMonitor(str(tmp_path / "etl_control"), folder, 60, ledger=ledger) for _ in range(2)]
    threads = [threading.Thread(target=monitor.check) for monitor in monitors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monitors[0].check()
    jobs = monitors[0]._opened.deployment.backend.list()
    assert sorted(job.module_name or "" for job in jobs) == [f"m{number}" for number in range(5)]


@pytest.mark.parametrize("seconds", [0, -1, float("inf")])
def test_an_interval_must_make_sense(ledger: Ledger, tmp_path: Path, seconds: float) -> None:
    with pytest.raises(Invalid, match="check_interval_seconds"):
        MetadataMonitor(str(tmp_path / "etl_control"), None, seconds, ledger=ledger)
