"""Projects that are moved, copied or renamed keep their jobs, leave those of others alone, and see what a control table left behind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import lakeledger
from lakeledger import config
from lakeledger.control import audit
from lakeledger.control.deployment import Deployment
from lakeledger.control.documents import Module
from lakeledger.control.imports import Importer
from lakeledger.control.model import Edit
from lakeledger.control.monitor import MetadataMonitor
from lakeledger.control.opening import open_control, place_of
from lakeledger.control.rows import to_rows
from lakeledger.jobs import tracking

SOURCE = {
    "source_id": "load",
    "source_type": "sql",
    "target_config": {"table": "t"},
    "transformation_config": {"sql_task": {"sql_query": "select 1 as x"}},
}


@pytest.fixture
def project(url: str, tmp_path: Path) -> Path:
    """A folder with settings; on SQLite with its ledger, too."""
    folder = tmp_path / "shop"
    folder.mkdir()
    if url.startswith("sqlite:///"):
        Path(url.removeprefix("sqlite:///")).rename(folder / "ledger.db")
        url = "sqlite:///ledger.db"
    (folder / "lakeledger.toml").write_text(f"url = {json.dumps(url)}\n")
    return folder


@pytest.fixture
def sales(url: str, tmp_path: Path) -> Path:
    """One of two projects, with `hr` beside it, whose ledger is in neither."""
    for name in ("sales", "hr"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lakeledger.toml").write_text(f"url = {json.dumps(url)}\n")
    return tmp_path / "sales"


@contextmanager
def opened(folder: Path, table: str | None = None) -> Iterator[Deployment]:
    with lakeledger.open(config.read_file(folder / "lakeledger.toml")) as ledger:
        deployment = open_control(table, ledger).deployment
        deployment.table.create()
        yield deployment


def put(deployment: Deployment, *names: str) -> None:
    made = [to_rows(Module.model_validate({"module_name": name, "schedule": {"cron": "0 5 * * *"}, "sources": [SOURCE]})) for name in names]
    edit = Edit({row.key: row for _, found in made for row in found}, {row.key: row for row, _ in made})
    deployment.table.commit(edit, deployment.table.read(), "ann")


def apply(deployment: Deployment, *, prune: bool = False) -> dict[str, tuple[str, str | None]]:
    done = deployment.apply(deployment.plan(prune=prune), prune=prune)
    return {each.module_name: (each.action.kind, each.job_id) for each in done}


@pytest.mark.parametrize("is_copied", [False, True])
def test_a_project_that_is_moved_or_copied_keeps_its_jobs(project: Path, is_copied: bool) -> None:
    with opened(project) as deployment:
        put(deployment, "a", "b")
        before = {name: job_id for name, (_, job_id) in apply(deployment).items()}
    there = project.parent / "elsewhere/renamed"
    shutil.copytree(project, there) if is_copied else shutil.move(project, there)
    with opened(there) as moved:
        assert moved.plan().actions[0].words() == [f"update job {before['a']}: its paths begin at {there} now"]
        assert apply(moved) == {name: ("update", job_id) for name, job_id in before.items()}
        assert len(moved.backend.list()) == 2
        assert {action.kind for action in moved.plan(prune=True).actions} == {"unchanged"}
        assert [entry.operation for entry in audit.entries(moved.table, moved._store)].count("APPLY") == 2


def test_what_was_imported_is_remembered_when_the_project_moves(project: Path) -> None:
    modules = [{"module_name": name, "description": "old", "sources": [SOURCE]} for name in "ab"]
    document = {"modules": modules}
    (project / "shop.yaml").write_text(json.dumps(document))
    with opened(project) as deployment:
        Importer(deployment._store, "ann", deployment.table, project).load(project / "shop.yaml")
    there = Path(shutil.move(project, project.parent / "moved"))
    document["modules"] = [{**modules[0], "description": "new"}]
    (there / "shop.yaml").write_text(json.dumps(document))
    with opened(there) as moved:
        found = Importer(moved._store, "ann", moved.table, there).load(there / "shop.yaml", prune=True)
        assert found.conflicts == []
        assert [(row.module_name, row.description) for row in found.snapshot.modules.values()] == [("a", "new")]
        assert [key[0] for key in found.snapshot.sources] == ["a"]


def test_jobs_of_a_control_table_that_is_gone_are_told_and_pruned(project: Path) -> None:
    with opened(project) as deployment:
        put(deployment, "a", "b")
        left = {str(job_id) for _, job_id in apply(deployment).values()}
    with opened(project, "control/other") as other:
        put(other, "b")
        kept = str(apply(other)["b"][1])
        assert other.plan().warnings == ()  # the first one is there
        assert apply(other, prune=True) == {"b": ("unchanged", kept)}
        shutil.rmtree(project / "control/etl_control")
        (warning,) = other.plan().warnings
        assert warning.startswith(
            "the control table control/etl_control is no longer there, but its jobs are (a, b): `lakeledger plan --prune`"
        )
        actions = [action for action in other.plan(prune=True).actions if action.kind == "remove"]
        assert {action.job_id for action in actions} == left
        assert {action.reason for action in actions} == {
            "it was left behind by the control table control/etl_control, which is no longer there"
        }
        other.apply(other.plan(prune=True), prune=True)
        assert [job.job_id for job in other.backend.list()] == [kept]
        assert {action.kind for action in other.plan(prune=True).actions} == {"unchanged"}
        assert other.plan().warnings == ()


def test_two_projects_in_one_ledger_leave_each_others_jobs_alone(sales: Path) -> None:
    hr = sales.parent / "hr"
    with opened(sales) as deployment:
        put(deployment, "daily", "orders")
        before = apply(deployment)
        jobs = deployment.backend.list()
    with opened(hr) as other:
        put(other, "daily", "people")
        assert {name: kind for name, (kind, _) in apply(other).items()} == {"daily": "create", "people": "create"}
        plan = other.plan(prune=True)
        assert ({action.module_name for action in plan.actions}, plan.warnings) == ({"daily", "people"}, ())
        assert [job.module_name for job in other.backend.list() if job.base == str(hr)] == ["daily", "people"]
        assert [job for job in other.backend.list() if job.base != str(hr)] == jobs
        assert [entry.operation for entry in audit.entries(other.table, other._store)].count("APPLY") == 1
    with opened(sales) as deployment:
        assert apply(deployment, prune=True) == {name: ("unchanged", job_id) for name, (_, job_id) in before.items()}


def test_two_projects_in_one_ledger_remember_their_own_files_and_how_far_they_were_watched(sales: Path) -> None:
    for project in (sales, sales.parent / "hr"):
        document = {"modules": [{"module_name": "daily", "description": project.name, "sources": [SOURCE]}]}
        (project / "daily.yaml").write_text(json.dumps(document))
        with lakeledger.open(config.read_file(project / "lakeledger.toml")) as ledger, MetadataMonitor(ledger=ledger) as monitor:
            assert monitor.cursor() is None
            found = Importer(ledger.store, "ann", open_control(ledger=ledger).deployment.table, project).load(project / "daily.yaml")
            assert (found.changed, found.conflicts) == ([("daily", "load"), ("daily", None)], [])
            monitor.check()
            assert monitor.cursor() == 1


def test_jobs_of_another_project_that_was_moved_or_lost_sight_of_are_none_of_ours(sales: Path) -> None:
    with opened(sales) as deployment:
        put(deployment, "daily", "orders")
        daily, orders = (job_id for _, job_id in apply(deployment).values())
        with deployment._store.write() as tx:
            assert tracking.remove(tx, deployment.table.identity, "orders", "local")
    sales.rename(sales.parent / "moved")
    with opened(sales.parent / "hr") as other:
        put(other, "orders")
        assert apply(other, prune=True)["orders"][0] == "create"
        plan = other.plan(prune=True)
        assert ([action.module_name for action in plan.actions], plan.warnings) == (["orders"], ())
        assert {daily, orders} < {job.job_id for job in other.backend.list()}


def test_a_control_table_is_the_same_from_every_working_directory(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, file = tmp_path / "shop", tmp_path / "shop/shop.yaml"
    project.mkdir()
    if url.startswith("sqlite:///"):
        (project / "state").mkdir()
        url = f"sqlite:///{Path(url.removeprefix('sqlite:///')).rename(project / 'state/ledger.db')}"
    (project / "lakeledger.toml").write_text(f"url = {json.dumps(url)}\n")
    modules = [{"module_name": name, "sources": [SOURCE]} for name in "ab"]
    file.write_text(json.dumps({"modules": modules}))
    with opened(project) as deployment:
        Importer(deployment._store, "ann", deployment.table, project).load(file)
        before = apply(deployment)
    file.write_text(json.dumps({"modules": modules[:1]}))
    monkeypatch.chdir("/")
    with lakeledger.open(config.load(url=url)) as ledger:
        there = open_control(str(project / "control/etl_control"), ledger).deployment
        assert (there.base, there.owner) == (str(project), "control/etl_control")
        assert apply(there, prune=True) == {name: ("unchanged", job_id) for name, (_, job_id) in before.items()}
        Importer(ledger.store, "ann", there.table, project).load(file, prune=True)
        assert {name: kind for name, (kind, _) in apply(there).items()} == {"a": "unchanged", "b": "pause"}
    with opened(project) as deployment:
        assert {action.kind for action in deployment.plan().actions} == {"unchanged"}
        assert {job.job_id for job in deployment.backend.list()} == {job_id for _, job_id in before.values()}


def test_a_control_table_made_anew_has_its_jobs_again_in_the_projects_own_ledger(project: Path) -> None:
    with opened(project) as deployment:
        put(deployment, "a", "b")
        before = {name: job_id for name, (_, job_id) in apply(deployment).items()}
        is_shared = deployment._store.database.dialect == "postgres"
    shutil.rmtree(project / "control")
    with opened(project) as anew:
        put(anew, "b")
        if is_shared:  # then they may be those of another project in a folder of this name
            assert {name: kind for name, (kind, _) in apply(anew, prune=True).items()} == {"b": "create"}
            (warning,) = anew.plan(prune=True).warnings
            assert warning.startswith(
                "the ledger has jobs of another control table control/etl_control, which is not the one here (a, b): "
            )
            assert set(before.values()) < {job.job_id for job in anew.backend.list()}
        else:
            assert apply(anew) == {"a": ("pause", before["a"]), "b": ("adopt", before["b"])}
            assert (apply(anew), anew.plan().warnings) == ({name: ("unchanged", job_id) for name, job_id in before.items()}, ())
            assert apply(anew, prune=True) == {"a": ("remove", before["a"]), "b": ("unchanged", before["b"])}


def test_a_control_table_is_known_by_its_place_in_the_project(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/lakeledger.toml").write_text('url = "sqlite:///data/ledger.db"\n')
    settings = config.read_file(tmp_path / "shop/lakeledger.toml")
    base = settings.base
    assert place_of(str(base / "control/etl"), settings) == "control/etl"
    for elsewhere in (str(tmp_path / "etl"), "s3://bucket/etl", "main.ops.etl", "/Volumes/main/ops/etl", str(base)):
        assert place_of(elsewhere, settings) == elsewhere
    (base / "lakeledger.toml").unlink()  # then the ledger's folder is the project, whoever asks from wherever
    assert place_of(str(base / "data/etl"), settings) == "etl"
    assert place_of(str(base / "control/etl"), settings) == str(base / "control/etl")
