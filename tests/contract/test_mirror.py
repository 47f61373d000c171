"""The lake's own tables: each row of the ledger once, as it is now, whatever happens between two refreshes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.making import AT, add_api_key, add_dq_result, execute, expire_lease, rows, something_of_everything, together, wait_until
from contract.mirroring import PARTS, agrees, lake, move_run, oracle, own_runs, refresh
from contract.rebuilt import rebuilt
from lakeledger import Conflict, Invalid, Ledger, Settings
from lakeledger.config import MirrorSettings, RetentionSettings
from lakeledger.maintenance import components, lake_mirror
from lakeledger.maintenance.mirror import changes, writing
from lakeledger.maintenance.mirror.initializer import MetadataInitializer
from lakeledger.sync.cleanup import clean
from lakeledger.tables import TableMetadata

SEED = Path(__file__).parents[2] / "src/lakeledger/schemas/tables"
TYPES = {"STRING": "string", "JSON": "string", "INTEGER": "long", "TIMESTAMP": "timestamp", "DATE": "date", "BOOLEAN": "boolean"}


def made(ledger: Ledger, name: str) -> TableMetadata:
    """A table as the lake has it."""
    found = ledger.tables.metadata(f"default_metadata.{name}")
    assert found is not None
    return found


def test_a_tenants_first_refresh_makes_the_four_tables_as_they_are_declared(ledger: Ledger) -> None:
    refresh(ledger)
    for name in PARTS:
        found = made(ledger, name)
        told = [(each["name"], TYPES[each["type"]]) for each in json.loads((SEED / f"{name}.json").read_text())]
        assert [(each["name"], each["type"]) for each in found.schema["fields"] if not each.get("hidden")] == told
    layouts = {name: made(ledger, name) for name in PARTS}
    assert {name: each.partition_by for name, each in layouts.items()} == {
        "pipeline_runs": ["lakeledger_hidden_day_of_start_time"],
        "step_logs": ["lakeledger_hidden_day_of_start_time"],
        "api_keys": [],
        "dq_results": ["ingestion_date"],
    }
    assert {name: each.sort_by for name, each in layouts.items()} == {
        "pipeline_runs": ["tenant_id", "pipeline_id", "status"],
        "step_logs": ["pipeline_logging_id", "status"],
        "api_keys": [],
        "dq_results": ["tenant_id", "target_table", "overall_status"],
    }


def test_a_run_is_one_row_from_its_start_to_its_end(ledger: Ledger) -> None:
    with ledger.run("orders", parameters={"date": "2025-11-15", "filters": {"region": "US"}}) as run, run.step("extract"):
        refresh(ledger)
        (row,) = lake(ledger, "pipeline_runs")
        assert (row["pipeline_id"], row["status"], row["end_time"]) == ("orders", "RUNNING", None)
        assert [each["status"] for each in lake(ledger, "step_logs")] == ["RUNNING"]
    assert refresh(ledger) == {"pipeline_runs": 1, "step_logs": 1}
    second = next(run for run in ledger.runs.list() if run.pipeline_id == "lake_mirror")
    assert (second.records_inserted, second.records_updated) == (0, 2)
    (row,) = lake(ledger, "pipeline_runs")
    assert (row["status"], row["parameters"]) == ("COMPLETED", {"date": "2025-11-15", "filters": {"region": "US"}})
    assert row["duration_ms"] is not None
    agrees(ledger)


def test_a_run_whose_worker_is_lost_does_not_run_for_ever(ledger: Ledger) -> None:
    run = ledger.run("orders")
    run.__enter__()
    refresh(ledger)
    run._ended.set()
    expire_lease(ledger, run.id)
    ledger.runs.recover(silence=timedelta(0))
    refresh(ledger)
    assert [each["status"] for each in lake(ledger, "pipeline_runs")] == ["FAILED"]


def test_every_table_follows_and_a_key_is_not_in_the_lake(ledger: Ledger) -> None:
    refresh(ledger)
    something_of_everything(ledger)
    assert refresh(ledger) == {"pipeline_runs": 2, "step_logs": 1, "dq_results": 1, "api_keys": 1}
    agrees(ledger)
    assert [row["api_key_hash"] for row in lake(ledger, "api_keys")] == ["redacted"]
    told = [change for change in ledger.changes.after(limit=1_000) if change.table_name == "api_keys"]
    assert told
    assert not any("api_key_hash" in (change.after or {}) for change in told)
    execute(ledger, "update api_keys set is_active = false, last_used_at = :at", at=AT)
    assert refresh(ledger) == {"api_keys": 1}
    agrees(ledger)


def test_where_nothing_has_changed_nothing_is_done(ledger: Ledger) -> None:
    with ledger.run("orders"):
        pass
    refresh(ledger)
    before = own_runs(ledger), {name: ledger.tables.get(f"default_metadata.{name}").current_version for name in PARTS}
    for _ in range(3):
        assert refresh(ledger) == {}
    assert (own_runs(ledger), {name: ledger.tables.get(f"default_metadata.{name}").current_version for name in PARTS}) == before
    assert {each.waiting for each in ledger.mirror.status()} == {0}


def test_whatever_happens_between_refreshes_each_row_is_there_once_as_it_is(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "PAGE", 7)
    monkeypatch.setattr(writing, "SMALL_FILES", 3)
    chance, begun = random.Random(16), []
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for number in range(60):
        match chance.randrange(6):
            case 0 | 1:
                run = ledger.run(f"p{chance.randrange(3)}", parameters={"number": number})
                run.__enter__()
                move_run(ledger, run.id, start + timedelta(hours=chance.randrange(72)))
                begun.append(run)
            case 2 if begun:
                begun.pop(chance.randrange(len(begun))).__exit__(None, None, None)
            case 3 if begun:
                with begun[0].step(f"s{number}") as step:
                    step.metadata["rows"] = number
            case 4:
                add_dq_result(ledger, f"r{number:03}", start + timedelta(hours=number), [{"check": number}] if number % 2 else None)
            case _:
                refresh(ledger)
    for run in begun:
        run.__exit__(None, None, None)
    refresh(ledger)
    agrees(ledger)


def test_a_run_that_begins_after_midnight_leaves_the_day_in_which_it_was_planned(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        move_run(ledger, run.id, datetime(2026, 3, 1, 23, 59, tzinfo=UTC))
        refresh(ledger)
        move_run(ledger, run.id, datetime(2026, 3, 2, 0, 1, tzinfo=UTC))
    refresh(ledger)
    agrees(ledger)
    files = ledger.tables.files("default_metadata.pipeline_runs")
    assert [file.partition_path for file in files] == ["lakeledger_hidden_day_of_start_time=2026-03-02"]


def forget(ledger: Ledger, **kept: float) -> None:
    """What retention does when everything is over for long."""
    nothing = dict.fromkeys(("positions_days", "records_days", "quality_days", "changes_days", "runs_days", "keyed_runs_days"), 10000.0)
    clean(ledger.store, RetentionSettings(**{**nothing, **kept}))  # type: ignore[arg-type]  # days


def test_what_retention_deletes_from_the_ledger_stays_in_the_lake(ledger: Ledger) -> None:
    something_of_everything(ledger)
    refresh(ledger)
    before = {name: lake(ledger, name) for name in PARTS}
    forget(ledger, runs_days=0, quality_days=0)
    assert (oracle(ledger, "pipeline_runs"), oracle(ledger, "dq_results")) == ([], [])
    refresh(ledger)
    assert {name: lake(ledger, name) for name in PARTS} == before


def test_what_retention_was_faster_to_delete_is_copied_from_the_feed(ledger: Ledger) -> None:
    refresh(ledger)
    something_of_everything(ledger)
    expected = oracle(ledger, "pipeline_runs")
    forget(ledger, runs_days=0)
    refresh(ledger)
    # The feed has no documents.
    assert lake(ledger, "pipeline_runs") == [{**row, "parameters": None} for row in expected]
    assert len(lake(ledger, "step_logs")) == 1


def test_a_feed_that_was_deleted_meanwhile_is_made_up_for_from_the_ledger(ledger: Ledger) -> None:
    refresh(ledger)
    something_of_everything(ledger)
    forget(ledger, changes_days=0)
    assert ledger.changes.after() == []
    assert {each.name for each in ledger.mirror.status() if each.waiting is None} == {*PARTS}
    refresh(ledger)
    agrees(ledger)
    before = own_runs(ledger)
    assert refresh(ledger) == {}
    assert own_runs(ledger) == before


def test_a_ledger_that_was_rebuilt_goes_on_with_the_tables_that_its_lake_has(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.run("before"):
        pass
    add_api_key(ledger, "before")
    refresh(ledger)
    with rebuilt(ledger, f"sqlite:///{tmp_path}/again.db") as found:
        # Its feed begins anew: the position that the lake carries would skip what it has not numbered yet.
        assert {each.waiting for each in found.mirror.status()} == {None}
        with found.run("after"):
            pass
        refresh(found)
        assert sorted(row["pipeline_id"] for row in lake(found, "pipeline_runs")) == ["after", "before", "rebuild"]
        assert [row["api_key_id"] for row in lake(found, "api_keys")] == ["before"]
        assert refresh(found) == {}


def test_many_refreshes_at_once_copy_each_row_once(ledger: Ledger) -> None:
    for number in range(20):
        with ledger.run(f"p{number}"):
            pass
    together(lambda _: refresh(ledger), 3)
    refresh(ledger)
    agrees(ledger)


def test_small_files_become_few_without_spark(ledger: Ledger) -> None:
    for number in range(writing.SMALL_FILES + 2):
        with ledger.run(f"p{number}"):
            pass
        refresh(ledger)
    assert ledger.tables.get("default_metadata.pipeline_runs").file_count <= writing.SMALL_FILES
    agrees(ledger)


def declare(folder: Path, name: str, change: Any) -> None:
    """The project's own file: ours with a change."""
    own = folder / "configs/metadata/schemas"
    own.mkdir(parents=True, exist_ok=True)
    columns = json.loads((SEED / f"{name}.json").read_text())
    (own / f"{name}.json").write_text(json.dumps(change(columns)))


@pytest.fixture
def own(url: str, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger whose project has a folder of its own."""
    with lakeledger.open(Settings(url, str(tmp_path / "warehouse"), base=tmp_path)) as opened:
        yield opened


RUN_KIND = {"name": "run_kind", "type": "STRING", "mode": "NULLABLE", "description": "What kind of run"}
TEAM = {"name": "team", "type": "STRING", "mode": "NULLABLE", "description": "Filled by nobody yet"}


def test_a_projects_own_file_adds_columns_which_are_filled_from_the_ledger(own: Ledger, tmp_path: Path) -> None:
    with own.run("before"):
        pass
    refresh(own)
    declare(tmp_path, "pipeline_runs", lambda columns: [*columns, RUN_KIND, TEAM])
    with own.run("after"):
        pass
    refresh(own)
    assert [(row["pipeline_id"], row["run_kind"], row["team"]) for row in lake(own, "pipeline_runs")] == [
        ("before", None, None),
        ("after", "pipeline", None),
    ]
    refresh(own, "pipeline_runs", full=True)
    agrees(own, "pipeline_runs")
    assert {row["run_kind"] for row in lake(own, "pipeline_runs")} == {"pipeline"}


def test_new_columns_come_although_no_row_has_changed(own: Ledger, tmp_path: Path) -> None:
    refresh(own)
    declare(tmp_path, "step_logs", lambda columns: [*columns, TEAM])
    refresh(own)
    assert made(own, "step_logs").schema["fields"][-1]["name"] == "team"


def test_a_change_that_would_lose_data_is_refused_with_the_ways_on(own: Ledger, tmp_path: Path) -> None:
    with own.run("orders"):
        pass
    refresh(own)
    declare(tmp_path, "pipeline_runs", lambda columns: columns[:-1])
    done = {each.table: each.problem for each in own.mirror.refresh()}
    problem = done.pop("default_metadata.pipeline_runs")
    assert "would lose data of default_metadata.pipeline_runs: column parameters is gone" in str(problem)
    assert "mirror recreate pipeline_runs --as pipeline_runs_v2 --apply" in str(problem)
    assert set(done.values()) == {None}, "the other tables go on"
    assert own.mirror.status()[0].problem == problem
    assert len(lake(own, "pipeline_runs")) == 1


def test_a_table_that_is_made_anew_keeps_the_rows_so_far_under_a_tag(own: Ledger, tmp_path: Path) -> None:
    with own.run("old"):
        pass
    refresh(own)
    forget(own, runs_days=0)
    with own.run("new"):
        pass
    refresh(own)
    declare(tmp_path, "pipeline_runs", lambda columns: columns[:-1])
    planned = own.mirror.recreate("pipeline_runs")
    assert (planned.rows, planned.kept_in, planned.refreshed) == (2, "default_metadata.pipeline_runs", None)
    assert len(lake(own, "pipeline_runs")) == 2, "a dry run"
    done = own.mirror.recreate("pipeline_runs", apply=True)
    assert done.tag is not None
    assert [row["pipeline_id"] for row in lake(own, "pipeline_runs")] == ["new"]
    assert "parameters" not in lake(own, "pipeline_runs")[0]
    assert [row["pipeline_id"] for row in lake(own, "pipeline_runs", done.tag)] == ["old", "new"]
    with own.run("later"):
        pass
    refresh(own)
    agrees(own, "pipeline_runs")


def test_a_new_table_is_begun_beside_the_old_one_which_stays(own: Ledger, tmp_path: Path) -> None:
    with own.run("orders"):
        pass
    refresh(own)
    before = lake(own, "pipeline_runs")
    declare(tmp_path, "pipeline_runs", lambda columns: [*columns[:-1], RUN_KIND])
    done = own.mirror.recreate("pipeline_runs", as_="pipeline_runs_v2", apply=True)
    assert (done.table, done.kept_in, done.tag) == ("default_metadata.pipeline_runs_v2", "default_metadata.pipeline_runs", None)
    with own.run("later"):
        pass
    refresh(own)
    assert lake(own, "pipeline_runs") == before
    assert lake(own, "pipeline_runs_v2") == oracle(own, "pipeline_runs")
    assert own.mirror.status()[0].table == "default_metadata.pipeline_runs_v2"
    with pytest.raises(Conflict, match="pipeline_runs_v2 is there already"):
        own.mirror.recreate("pipeline_runs", as_="pipeline_runs_v2")
    for name in ("Runs", "step_logs"):
        with pytest.raises(Invalid, match="a new table cannot be called"):
            own.mirror.recreate("pipeline_runs", as_=name)


def test_the_initializer_makes_tables_by_the_names_of_the_seed(ledger: Ledger) -> None:
    initializer = MetadataInitializer(ledger)
    made = [
        initializer._ensure_pipeline_runs_table("default_metadata"),
        initializer._ensure_step_logs_table("default_metadata"),
        initializer._ensure_api_keys_table("default_metadata", recreate=False),
        initializer._ensure_dq_results_table("project.default_metadata"),
    ]
    assert made == [f"default_metadata.{name}" for name in PARTS] == initializer.ensure_tables()
    assert initializer._ensure_pipeline_runs_table("default_metadata", recreate=True) == "default_metadata.pipeline_runs"
    assert len(ledger.snapshots.tags("default_metadata.pipeline_runs")) == 1
    with pytest.raises(Invalid, match="the tables of this tenant are in default_metadata, not in other_metadata"):
        initializer._ensure_step_logs_table("other_metadata")


def test_each_tenant_has_tables_of_its_own(ledger: Ledger) -> None:
    other = ledger.for_tenant("acme")
    for each, name in ((ledger, "ours"), (other, "theirs")):
        with each.run(name):
            pass
        add_api_key(each, name)
        refresh(each)
    for each, name, dataset in ((ledger, "ours", "default_metadata"), (other, "theirs", "acme_metadata")):
        assert each.mirror.dataset == dataset
        assert [(row["pipeline_id"], row["tenant_id"]) for row in lake(each, "pipeline_runs")] == [(name, each.settings.tenant)]
        assert [row["api_key_id"] for row in lake(each, "api_keys")] == [name]
        assert {table.schema_name for table in each.tables.list()} == {dataset}


def test_the_component_makes_and_fills_the_tables_on_the_first_run(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake_mirror, "FIRST_SECONDS", 0.01)
    quick = Settings(ledger.settings.url, ledger.settings.warehouse, mirror=MirrorSettings(every_seconds=0.05))
    with lakeledger.open(quick) as opened, opened.astha({}, components=True):
        with opened.run("orders"):
            pass
        wait_until(lambda: opened.tables.find("default_metadata.dq_results") is not None)
        wait_until(lambda: [row["status"] for row in lake(opened, "pipeline_runs")] == ["COMPLETED"])
        versions = opened.tables.get("default_metadata.pipeline_runs").current_version
        with opened.run("more"):
            pass
        wait_until(lambda: len(lake(opened, "pipeline_runs")) == 2)
    assert opened.tables.get("default_metadata.pipeline_runs").current_version <= versions + 3, "it does not feed itself"


def test_a_mirror_that_is_switched_off_waits_for_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake_mirror, "FIRST_SECONDS", 0.0)
    component = components()["lake_mirror"]
    off = Settings(ledger.settings.url, ledger.settings.warehouse, mirror=MirrorSettings(enabled=False))
    with lakeledger.open(off) as opened:
        subscriber = component(opened)
        subscriber.on_refresh()
        assert isinstance(subscriber, lake_mirror.LakeMirror)
        assert subscriber._timers._waiting == {}
        assert not opened.mirror.is_due()
    on = Settings(ledger.settings.url, ledger.settings.warehouse)
    with lakeledger.open(on) as opened:
        assert opened.mirror.is_due()
        refresh(opened)
        assert not opened.mirror.is_due()
    assert rows(ledger, "select 1 from pipeline_runs where trigger_by = 'lake_mirror'") == []
