"""Databases and functions as a module declares them, and loads that read something else than what is new."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.loading import HEADER, only, orders, put, rows, run
from integration.source_database import Shop, need_driver, shop_on
from lakeledger import Ledger, NumberPosition, codec
from lakeledger.control import documents
from lakeledger.tables import store as table_store
from postgres_server import Server


@pytest.fixture
def shop(postgres: Server) -> Iterator[Shop]:
    need_driver()
    with shop_on(postgres) as made:
        yield made


def document(source_type: str, config: dict[str, Any], work: dict[str, Any] | None = None, **target: Any) -> str:
    source = {
        "source_id": "orders",
        "source_type": source_type,
        "source_config": config,
        "transformation_config": work or {},
        "target_config": {"table": "orders", **target},
    }
    return codec.to_json({"modules": [{"module_name": "shop", "sources": [source]}]})


def jdbc(shop: Shop, **work: Any) -> str:
    config = {"url": shop.url, "table": f"{shop.schema}.orders", "user": "{{env.SHOP_USER}}", "columns": ["id", "name"]}
    return document("jdbc", config, {"watermark_column": "id", **work})


def add(shop: Shop, *names: str) -> None:
    for name in names:
        shop.do("insert into orders (name) values (%s)", name)


def test_a_database_is_declared_and_loaded_by_its_watermark(
    lake: Ledger, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_USER", "postgres")
    add(shop, "a", "b")
    (preview,) = lake.preview_module(documents.parse(jdbc(shop), "shop.yml").modules[0], tmp_path)
    assert (preview.would, preview.detail["position"]["before"]) == ("load", None)
    assert only(run(lake, jdbc(shop), tmp_path)).status == "COMPLETED"
    add(shop, "c")
    assert run(lake, jdbc(shop), tmp_path).rows == 1
    assert run(lake, jdbc(shop), tmp_path).rows == 0
    assert rows(lake.read("orders")) == [(1, "a"), (2, "b"), (3, "c")]
    shop.do("update orders set name = 'B' where id = 2")
    refreshed = run(lake, jdbc(shop), tmp_path, full_refresh=True)
    assert refreshed.rows == 3
    assert rows(lake.read("orders")) == [(1, "a"), (2, "B"), (3, "c")]
    assert lake.positions.get("shop.orders").position_data["value"] == 3


def test_a_window_of_a_database_is_loaded_beside_and_the_position_stays(
    sqlite_lake: Ledger, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_USER", "postgres")
    add(shop, "a", "b", "c")
    sqlite_lake.positions.advance("shop.orders", NumberPosition(2), reason="only what is new from here")
    assert run(sqlite_lake, jdbc(shop), tmp_path).rows == 1
    refused = only(run(sqlite_lake, jdbc(shop), tmp_path, window=("1", "3")))
    assert refused.status == "FAILED"
    assert "reaches into what was loaded before" in (refused.error or "")
    sql = "modules: [{module_name: m, sources: [{source_id: q, source_type: sql, target_config: {table: q}, "
    sql += "transformation_config: {sql_task: {sql_query: select 1 as n}}}]}]"
    assert "cannot be loaded by a window" in (only(run(sqlite_lake, sql, tmp_path, window=(1, 2))).error or "")


def test_a_function_is_declared(sqlite_lake: Ledger, tmp_path: Path) -> None:
    (tmp_path / "shop_api.py").write_text(
        "import pyarrow as pa\n"
        "def fetch(upto, position=None):\n"
        "    done = position['value'] if position else 0\n"
        "    return (pa.table({'n': list(range(done, upto))}), upto) if done < upto else None\n"
    )
    for upto, loaded in ((2, 2), (5, 3), (5, 0)):
        declared = document("function", {"function": "shop_api:fetch", "parameters": {"upto": upto}}, {"load_type": "incremental"})
        assert run(sqlite_lake, declared, tmp_path).rows == loaded
    assert rows(sqlite_lake.read("orders")) == [(0,), (1,), (2,), (3,), (4,)]


def test_a_full_refresh_of_files_replaces_what_was_appended(lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    run(lake, orders(), base)
    put(base / "orders/2.csv", f"{HEADER}2,b,2.5\n")
    run(lake, orders(), base)
    (base / "orders/1.csv").unlink()
    refreshed = run(lake, orders(), base, full_refresh=True)
    assert (only(refreshed).status, refreshed.rows) == ("COMPLETED", 1)
    assert rows(lake.read("orders")) == [(2, "b", 2.5)]
    assert run(lake, orders(), base).rows == 0


def test_a_query_is_declared_by_what_is_new_in_its_table(lake: Ledger, base: Path) -> None:
    doubled = """\
modules:
  - module_name: report
    sources:
      - source_id: doubled
        source_type: sql
        transformation_config: {load_type: incremental, sql_task: {sql_query: "select id * 2 as twice from orders"}}
        target_config: {table: doubled}
"""
    for number in (1, 2):
        put(base / f"orders/{number}.csv", f"{HEADER}{number},a,1.5\n")
        run(lake, orders(), base)
        assert run(lake, doubled, base).rows == 1
    assert run(lake, doubled, base).rows == 0
    assert rows(lake.read("doubled")) == [(2,), (4,)]


def files(base: Path, *days: str) -> None:
    for number, text in enumerate(days):
        put(base / f"orders/{number}.csv", text)


def declared_files(work: dict[str, Any], schema: str, **target: Any) -> str:
    return document("files", {"path": "orders/*.csv", "schema": schema}, work, **target)


def test_rows_are_merged_by_the_keys_of_the_target(lake: Ledger, base: Path) -> None:
    merged = declared_files({}, "id int, name string, price double", keys="id")
    files(base, f"{HEADER}1,a,1.5\n2,b,2.5\n")
    assert only(run(lake, merged, base)).status == "COMPLETED"
    files(base, f"{HEADER}1,a,1.5\n2,b,2.5\n", f"{HEADER}2,B,2.5\n3,c,3.5\n")
    result = run(lake, merged, base)
    assert result.rows == 2
    assert rows(lake.read("orders")) == [(1, "a", 1.5), (2, "B", 2.5), (3, "c", 3.5)]
    ended = lake.runs.get(result.run_id)
    assert (ended.records_inserted, ended.records_updated, ended.records_deleted) == (1, 1, 0)
    assert run(lake, merged, base).rows == 0


def test_a_snapshot_deletes_what_is_missing_from_the_source(lake: Ledger, base: Path) -> None:
    diffed = declared_files({"load_type": "snapshot_diff"}, "id int, name string, price double", keys="id")
    files(base, f"{HEADER}1,a,1.5\n2,b,2.5\n")
    run(lake, diffed, base)
    files(base, f"{HEADER}2,B,2.5\n3,c,3.5\n")
    result = run(lake, diffed, base)
    ended = lake.runs.get(result.run_id)
    assert rows(lake.read("orders")) == [(2, "B", 2.5), (3, "c", 3.5)]
    assert (ended.records_inserted, ended.records_updated, ended.records_deleted) == (1, 1, 1)
    files(base, HEADER)
    assert only(run(lake, diffed, base)).status == "FAILED"
    assert lake.read("orders").count() == 2


def test_changes_are_applied_in_the_order_that_they_name(lake: Ledger, base: Path) -> None:
    target = {"keys": "id", "sequence_by": "at", "apply_as_deletes": "op = 'D'", "except_column_list": ["op", "at"]}
    changes = declared_files({"load_type": "cdc"}, "id int, name string, op string, at int", **target)
    head = "id,name,op,at\n"
    files(base, f"{head}1,a,I,1\n2,b,I,2\n1,A,U,5\n")
    run(lake, changes, base)
    assert rows(lake.read("orders")) == [(1, "A"), (2, "b")]
    files(base, f"{head}1,a,I,1\n2,b,I,2\n1,A,U,5\n", f"{head}2,,D,6\n1,late,U,3\n", f"{head}2,again,U,4\n3,c,I,7\n")
    run(lake, changes, base)
    assert rows(lake.read("orders")) == [(1, "A"), (3, "c")]


def test_everything_is_applied_again_where_a_sequence_decides(sqlite_lake: Ledger, base: Path) -> None:
    target = {"keys": "id", "sequence_by": "at", "apply_as_deletes": "op = 'D'", "except_column_list": ["op"]}
    changes = declared_files({"load_type": "cdc"}, "id int, name string, op string, at int", **target)
    files(base, "id,name,op,at\n1,a,I,1\n2,b,I,2\n", "id,name,op,at\n2,,D,5\n1,A,U,4\n")
    run(sqlite_lake, changes, base)
    again = only(run(sqlite_lake, changes, base, full_refresh=True))
    assert again.status == "COMPLETED", again.error
    assert rows(sqlite_lake.read("orders")) == [(1, "A", 4)]


def test_a_full_refresh_by_keys_lets_no_bad_row_pass_because_it_would_delete_the_good_one(sqlite_lake: Ledger, base: Path) -> None:
    merged = declared_files({}, "id int, name string, price double", keys="id", bad_rows="quarantine", required_columns="name")
    files(base, f"{HEADER}1,a,1.5\n2,b,2.5\n")
    run(sqlite_lake, merged, base)
    files(base, f"{HEADER}1,,1.5\n2,b,2.5\n3,c,3.5\n")
    refused = only(run(sqlite_lake, merged, base, full_refresh=True))
    assert "would delete rows whose new values are bad" in (refused.error or "")
    assert sqlite_lake.read("orders").count() == 2


def test_a_window_is_merged_again_after_its_rows_were_corrected(
    sqlite_lake: Ledger, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_USER", "postgres")
    merged = jdbc(shop).replace('"target_config":{"table":"orders"}', '"target_config":{"table":"orders","keys":"id"}')
    add(shop, "a", "b")
    run(sqlite_lake, merged, tmp_path)
    for name in ("B", "C"):
        shop.do("update orders set name = %s where id = 2", name)
        assert run(sqlite_lake, merged, tmp_path, window=(1, 3)).rows == 1
        assert rows(sqlite_lake.read("orders")) == [(1, "a"), (2, name)]


def test_new_rows_of_a_table_that_is_merged_cannot_be_told(sqlite_lake: Ledger, base: Path) -> None:
    query = """\
modules:
  - module_name: report
    sources:
      - source_id: names
        source_type: sql
        transformation_config: {load_type: incremental, sql_task: {sql_query: "select id from orders"}}
        target_config: {table: names}
"""
    merged = declared_files({}, "id int, name string, price double", keys="id")
    files(base, f"{HEADER}1,a,1.5\n")
    run(sqlite_lake, merged, base)
    assert run(sqlite_lake, query, base).rows == 1
    files(base, f"{HEADER}1,a,1.5\n", f"{HEADER}1,A,1.5\n2,b,2.5\n")
    run(sqlite_lake, merged, base)
    assert "not only appended" in (only(run(sqlite_lake, query, base)).error or "")
    with sqlite_lake.store.read() as tx:
        assert table_store.origins(tx, sqlite_lake.tables.get("orders")) == {"shop.orders"}
