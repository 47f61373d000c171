"""Which version of its configuration a run was made from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from integration.test_tasks import call, module, steps_py
from lakeledger import Ledger


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=ann", "-c", "user.email=ann@example.com", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def version(ledger: Ledger, base: Path) -> str | None:
    result = ledger.run_module(module(call("good", "good")), base)
    return ledger.runs.get(result.run_id).config_version


def test_a_run_knows_the_commit_of_its_configurations_folder(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project" / "shop"
    folder.mkdir(parents=True)
    steps_py(folder, "def good(): pass\n")
    git(tmp_path / "project", "init", "-q")
    assert version(ledger, folder) == module(call("good", "good")).config_hash
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    commit = git(folder, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert version(ledger, folder) == commit
    steps_py(folder, "def good(): return None\n")
    assert version(ledger, folder) == f"{commit}-dirty"


@pytest.mark.parametrize("name", ["shop.yml", "shop.yaml", "query.sql", "more.py"])
@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_configuration_that_is_not_in_git_is_not_that_commits(ledger: Ledger, tmp_path: Path, name: str, is_ignored: bool) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    steps_py(folder, "def good(): pass\n")
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text(f"{name}\n" if is_ignored else "", encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    commit = git(folder, "rev-parse", "HEAD")
    (folder / "ledger.db").touch()
    (folder / "out").mkdir()
    (folder / "out" / "result.yml").touch()
    assert version(ledger, folder) == commit
    (folder / name).touch()
    assert version(ledger, folder) == f"{commit}-dirty"
    git(folder, "add", "-f", name)
    git(folder, "commit", "-q", "-m", "second")
    assert version(ledger, folder) == git(folder, "rev-parse", "HEAD")


def test_without_a_repository_it_is_the_hash_of_the_configuration(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps_py(tmp_path, "def good(): pass\n")
    what = module(call("good", "good")).config_hash
    assert version(ledger, tmp_path) == what
    monkeypatch.setenv("PATH", str(tmp_path))
    assert version(ledger, tmp_path) == what
