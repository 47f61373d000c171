"""`lakeledger init --from`: a project for the files that are there, which runs unchanged."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from integration.commands import answer, invoke
from integration.source_database import shop_on
from lakeledger.control import documents
from postgres_server import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("quiet")


def landing(folder: Path) -> Path:
    (folder / "orders").mkdir(parents=True)
    for day in (1, 2):
        text = f"id;ordered_at;amount;note\n{day}0;2026-01-0{day}T10:00:00Z;9.5;\n{day}1;2026-01-0{day}T11:00:00Z;3;\n"
        (folder / f"orders/orders_2026-01-0{day}.csv").write_text(text)
    with gzip.open(folder / "clicks-7.jsonl.gz", "wt") as stream:
        stream.write('{"click id": "a", "page": {"path": "/x", "ms": 3}}\n{"click id": "b", "page": {"path": "/y", "ms": 4}}\n')
    parquet.write_table(pa.table({"sku": ["a", "b"], "updated_at": pa.array([1, 2], pa.timestamp("us", "UTC"))}), folder / "prices.parquet")
    (folder / "broken.json").write_text('[{"a": 1}]')
    (folder / "notes.csv").write_text('\ufeffid,note\n1,"two\nlines"\n2,one\n')
    (folder / "doubled.csv").write_text("x,x\n1,2\n")
    (folder / "README.md").write_text("no data")
    return folder


def test_the_project_says_what_it_found_and_runs_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    landing(tmp_path / "landing")
    done = invoke("init", "shop", "--from", "landing")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "shop/pipeline.yaml").read_text()
    (module,) = documents.load(tmp_path / "shop/pipeline.yaml").modules
    assert {source.source_id: source.target for source in module.sources} == {
        "orders": "bronze.orders",
        "clicks": "bronze.clicks",
        "notes": "bronze.notes",
        "prices": "bronze.prices",
    }
    assert "left out: doubled.csv cannot be read: it has the column 'x' twice" in " ".join(done.output.split())
    assert "may be the key: id" in text
    assert "may order changes: updated_at" in text
    assert "not known: note is empty in the sample" in text
    assert "broken" in text
    assert "(left out)" in text
    settings = ["--settings", str(tmp_path / "shop/lakeledger.toml")]
    (ended,) = answer("run", *settings)["modules"]
    assert {step["step_name"]: step["rows_processed"] for step in ended["steps"]} == {
        "orders": 4,
        "clicks": 2,
        "notes": 2,
        "prices": 2,
    }


@pytest.mark.parametrize("origin", ["nothing", "empty", "jdbc:oracle:thin:@db"])
def test_nothing_to_load_is_refused_and_leaves_nothing(origin: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused = invoke("init", "shop", "--from", origin)
    assert refused.exit_code == 2
    assert not (tmp_path / "shop").exists()


TABLE = """
create table orders (id bigint primary key, updated_at timestamptz not null, amount numeric(10, 2), area money);
create table notes (body text);
insert into orders values (1, now(), 9.5, 1), (2, now(), 3, 2)
"""


def test_a_database_becomes_a_document(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_USER", "postgres")
    with shop_on(postgres, TABLE) as shop:
        done = invoke("init", "shop", "--from", shop.url)
        assert done.exit_code == 0, done.output
        text = (tmp_path / "shop/pipeline.yaml").read_text()
        (module,) = documents.load(tmp_path / "shop/pipeline.yaml").modules
        found = {each.source_config.table: each for each in module.sources if isinstance(each, documents.JdbcSource)}
        orders, notes = found[f"{shop.schema}.orders"], found[f"{shop.schema}.notes"]
    assert (orders.write_mode, orders.target_config.keys) == ("merge", ("id",))
    assert orders.transformation_config.watermark_column == ("updated_at", "id")
    assert orders.source_config.columns == ("id", "updated_at", "amount")
    assert orders.source_config.user == "{{env.SOURCE_USER}}"
    assert (notes.transformation_config.load_type, notes.write_mode) == ("full", "overwrite")
    assert "not known: area" in text
    assert "it has no primary key" in text
