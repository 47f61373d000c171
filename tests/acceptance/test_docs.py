"""The README and the tutorial are true: every command and every line of Python in them is run here."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

import psycopg
import pytest

import lakeledger
from contract.making import append, new_file
from empty_ledgers import PostgresLedgers
from integration.source_database import need_driver
from lakeledger.control import documents
from postgres_server import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
PROGRAM = str(Path(sys.executable).parent / "lakeledger")
NAMED = re.compile(r"# (\S+\.yaml)\n")
SQL = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(python|console|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str, *languages: str) -> list[tuple[str, str]]:
    return [(language, text) for language, text in BLOCK.findall((ROOT / page).read_text()) if language in languages]


def run_page(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what a page says, in its order. A document that begins with `# name.yaml` is written to that file."""
    monkeypatch.chdir(folder)
    for language, text in blocks(page, "python", "console", "yaml"):
        if language == "yaml":
            if named := NAMED.match(text):
                Path(named[1]).parent.mkdir(parents=True, exist_ok=True)
                Path(named[1]).write_text(text)
            continue
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


def test_the_guide_to_the_lakes_own_tables_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/lake-tables.md", tmp_path, monkeypatch)


def test_the_guide_to_quality_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/quality.md", tmp_path, monkeypatch)
    documents.load(tmp_path / "shop.yaml")


def test_the_guide_to_other_engines_runs_and_its_names_are_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_page("docs/guides/publishing.md", tmp_path, monkeypatch)
    guide = (ROOT / "docs/guides/publishing.md").read_text()
    places = re.findall(r"^\| `.*\| `(lakeledger\.\S+)` \|$", guide, re.MULTILINE)
    assert len(places) >= 10
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


@pytest.mark.parametrize("page", ["sources", "coming-from"])
def test_the_guides_that_read_a_database_run(
    page: str, spark: SparkSession, postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_driver()
    server = postgres.with_database(f"shop_of_{page.replace('-', '_')}")
    with psycopg.connect(server.url(), autocommit=True) as shop:
        shop.execute("create table orders (id bigint primary key, updated_at timestamptz not null, amount numeric(10, 2))")
        shop.execute("insert into orders values (1, '2026-05-31Z', 5), (2, '2026-06-01Z', 10), (3, '2026-06-01Z', 20)")
    monkeypatch.setenv("SHOP_URL", f"jdbc:postgresql://127.0.0.1:{server.port}/{server.database}")
    monkeypatch.setenv("SHOP_USER", "postgres")
    monkeypatch.setenv("SHOP_PASSWORD", "trusted-anyway")
    run_page(f"docs/guides/{page}.md", tmp_path, monkeypatch)


def test_the_guide_to_maintenance_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/maintenance.md", tmp_path, monkeypatch)
    run_page("docs/guides/compaction.md", tmp_path, monkeypatch)


def test_the_guide_to_bands_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/bands.md", tmp_path, monkeypatch)


def test_the_guide_to_reconciliation_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/reconciliation.md", tmp_path, monkeypatch)


def test_the_guide_to_a_lost_database_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/rebuild.md", tmp_path, monkeypatch)


def test_the_guide_to_records_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/records.md", tmp_path, monkeypatch)


def test_the_guide_to_insights_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with lakeledger.open() as ledger:
        append(ledger, new_file("a", 10))
    run_page("docs/guides/insights.md", tmp_path, monkeypatch)


def test_the_guide_to_backfills_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/backfill.md", tmp_path, monkeypatch)


def test_the_sql_of_the_guides_to_records_and_insights_runs(postgres: Server, postgres_ledgers: PostgresLedgers) -> None:
    schema = postgres_ledgers.take()
    with psycopg.connect(postgres.url(schema=schema)) as connection:
        for page in ("records", "insights"):
            text = (ROOT / f"docs/guides/{page}.md").read_text()
            for statement in (each for block in SQL.findall(text) for each in block.split(";") if each.strip()):
                connection.execute(statement.encode())
    postgres_ledgers.give_back(schema)


def test_the_guide_to_merging_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/merging.md", tmp_path, monkeypatch)


def test_the_guide_to_the_stream_writer_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/stream-writer.md", tmp_path, monkeypatch)


def test_the_guide_to_load_types_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/load-types.md", tmp_path, monkeypatch)


def test_the_guide_to_change_capture_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/guides/change-capture.md", tmp_path, monkeypatch)


def test_the_example_pipelines_in_the_guide_are_valid() -> None:
    from lakeledger.control.documents import parse

    (_, text), *sources = blocks("docs/guides/pipelines.md", "yaml")
    assert [source.source_id for source in parse(text, "guide").modules[0].sources] == ["orders", "daily_revenue"]
    for _, each in sources:
        assert parse(f"modules:\n- module_name: guide\n  sources:\n{indent(each, '  ')}", "guide").modules[0].sources


@pytest.mark.parametrize("page", sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]))
def test_links_between_pages_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"
