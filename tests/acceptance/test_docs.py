"""The README and the tutorial are true: every command and every line of Python in them is run here."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
PROGRAM = str(Path(sys.executable).parent / "lakeledger")
BLOCK = re.compile(r"^```(python|console|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str, *languages: str) -> list[tuple[str, str]]:
    return [(language, text) for language, text in BLOCK.findall((ROOT / page).read_text()) if language in languages]


def run_page(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for language, text in blocks(page, "python", "console"):
        if language == "python":
            exec(compile(text, page, "exec"), {"__name__": "page"})
            continue
        for line in text.splitlines():
            words = shlex.split(line.removeprefix("$ "))
            if words[0] == "cd":
                monkeypatch.chdir(words[1])
            else:
                subprocess.run([PROGRAM, *words[1:]], check=True, stdout=subprocess.DEVNULL)


def test_the_readme_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("README.md", tmp_path, monkeypatch)
    assert capsys.readouterr().out == "2 1\n"


def test_the_readme_fits_on_one_screen_and_its_python_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 60
    ((_, code),) = blocks("README.md", "python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 15


def test_the_tutorial_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/tutorial.md", tmp_path, monkeypatch)


def test_the_guide_to_other_engines_runs_and_its_names_are_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_page("docs/guides/publishing.md", tmp_path, monkeypatch)
    guide = (ROOT / "docs/guides/publishing.md").read_text()
    places = re.findall(r"^\| `.*\| `(lakeledger\.\S+)` \|$", guide, re.MULTILINE)
    assert len(places) == 9
    for place in places:
        parts = place.split(".")
        depth = next(depth for depth in range(len(parts), 0, -1) if find_spec_of(".".join(parts[:depth])))
        found: object = importlib.import_module(".".join(parts[:depth]))
        for name in parts[depth:]:
            found = getattr(found, name)


def find_spec_of(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_the_guide_to_maintenance_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/maintenance.md", tmp_path, monkeypatch)


def test_the_example_pipeline_in_the_guide_is_valid() -> None:
    from lakeledger.control.documents import parse

    ((_, text),) = blocks("docs/guides/pipelines.md", "yaml")
    assert [source.source_id for source in parse(text, "guide").modules[0].sources] == ["orders", "daily_revenue"]


@pytest.mark.parametrize("page", sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]))
def test_links_between_pages_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"
