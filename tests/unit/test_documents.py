"""YAML documents are checked as a whole; each problem comes with its line, its column and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakeledger.control.documents import Document, FilesSource, SqlSource, load, parse
from lakeledger.control.tasks import KINDS
from lakeledger.errors import Invalid
from lakeledger.tables import TableName

MODES = "input should be 'append', 'overwrite', 'overwrite_partitions', 'merge', 'insert_only' or 'scd2'"

SHOP = """\
metadata_version: "1.0"
modules:
  - module_name: shop
    description: the shop
    sources:
      - source_id: orders
        source_type: files
        source_config:
          path: landing/orders/*.csv
          options: {sep: ";"}
        transformation_config:
          load_type: incremental
        target_config:
          schema: bronze
          table: orders
          write_mode: append
      - source_id: daily
        source_type: sql
        execution_order: 2
        transformation_config:
          sql_task:
            sql_query: select * from bronze.orders where day > :day
            parameters: {day: 1.5, more: [1, 2]}
        target_config: {schema: gold, table: daily}
"""


def changed(*replacements: tuple[str, str]) -> str:
    text = SHOP
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def problems(text: str) -> list[str]:
    with pytest.raises(Invalid) as caught:
        parse(text, "shop.yaml")
    return str(caught.value).splitlines()


def shop(text: str = SHOP) -> Document:
    return parse(text, "shop.yaml")


def test_a_document_is_read() -> None:
    module = shop().modules[0]
    files, query = module.sources
    assert isinstance(files, FilesSource)
    assert isinstance(query, SqlSource)
    assert files.target_config.name == TableName("bronze", "orders")
    assert (files.write_mode, query.write_mode) == ("append", "overwrite")
    assert query.transformation_config.sql_task.parameters == {"day": 1.5, "more": [1, 2]}
    assert (module.module_name, module.description) == ("shop", "the shop")


def test_values_are_plain_python_so_that_spark_and_json_take_them() -> None:
    query = shop().modules[0].sources[1]
    assert isinstance(query, SqlSource)
    parameters: dict[str, Any] = query.transformation_config.sql_task.parameters
    assert [type(value) for value in parameters.values()] == [float, list]


def test_a_table_without_a_schema_is_in_main() -> None:
    assert shop(changed(("          schema: bronze\n", ""))).modules[0].sources[0].target == "main.orders"


def test_sources_run_level_by_level_and_inactive_ones_not_at_all() -> None:
    assert [[source.source_id for source in level] for level in shop().modules[0].levels()] == [["orders"], ["daily"]]
    text = changed(("execution_order: 2", "execution_order: 1"))
    assert [[source.source_id for source in level] for level in shop(text).modules[0].levels()] == [["orders", "daily"]]
    text = changed(("execution_order: 2", "is_active: false"))
    assert [[source.source_id for source in level] for level in shop(text).modules[0].levels()] == [["orders"]]


def test_the_hash_changes_with_the_configuration_and_not_with_its_layout() -> None:
    before = shop().modules[0].config_hash
    assert (
        shop(changed(("{schema: gold, table: daily}", "\n          table: daily # the day\n          schema: gold"))).modules[0].config_hash
        == before
    )
    assert shop(changed(("bronze.orders where", "bronze.orders  where"))).modules[0].config_hash != before


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("metadata_version", "metadata_verson", "shop.yaml:1:1: unknown key 'metadata_verson'; did you mean 'metadata_version'?"),
        ("description", "descripton", "shop.yaml:4:5: unknown key 'descripton'; did you mean 'description'?"),
        ("execution_order", "execution_ordre", "shop.yaml:19:9: unknown key 'execution_ordre'; did you mean 'execution_order'?"),
        ("schema: bronze", "schmea: bronze", "shop.yaml:14:11: unknown key 'schmea'; did you mean 'schema'?"),
        ("schema: bronze", "schema_name: bronze", "shop.yaml:14:11: unknown key 'schema_name'; did you mean 'schema'?"),
        ("options:", "optoins:", "shop.yaml:10:11: unknown key 'optoins'; did you mean 'options'?"),
        ("load_type:", "load_tpye:", "shop.yaml:12:11: unknown key 'load_tpye'; did you mean 'load_type'?"),
        ("parameters:", "paramters:", "shop.yaml:23:13: unknown key 'paramters'; did you mean 'parameters'?"),
        ("write_mode:", "zzz:", "shop.yaml:16:11: unknown key 'zzz'"),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_a_suggestion(old: str, new: str, expected: str) -> None:
    assert problems(changed((old, new))) == [expected]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "source_type: sql",
            "source_type: sqll",
            f"shop.yaml:18:9: source_type 'sqll' is not one of {', '.join(KINDS)}; did you mean 'sql'?",
        ),
        (
            "        source_type: sql\n",
            "",
            f"shop.yaml:17:9: source_type is missing: {', '.join(KINDS[:-1])} or task",
        ),
        ("          path: landing/orders/*.csv\n", "", "shop.yaml:8:9: modules.sources.source_config.path is missing"),
        (
            "execution_order: 2",
            "execution_order: -1",
            "shop.yaml:19:9: modules.sources.execution_order: input should be greater than or equal to 0",
        ),
        ("source_id: daily", 'source_id: " "', "shop.yaml:17:9: modules.sources.source_id: string should have at least 1 character"),
        (
            "schema: bronze",
            "partition_by: day",
            "shop.yaml:14:11: modules.sources.target_config.partition_by: input should be a valid list",
        ),
        (
            "write_mode: append",
            "write_mode: upsert",
            f"shop.yaml:16:11: modules.sources.target_config.write_mode: {MODES}",
        ),
        (
            "sql_query: select * from bronze.orders where day > :day",
            "sql_query: ''",
            "shop.yaml:20:9: task_type sql_query needs sql_task.sql_query",
        ),
        (
            "          sql_task:",
            "          task_type: sql_file\n          sql_task:",
            "shop.yaml:20:9: task_type sql_file needs sql_task.sql_file_path",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_line(old: str, new: str, expected: str) -> None:
    assert problems(changed((old, new))) == [expected]


def test_an_unsafe_table_name_is_refused() -> None:
    assert problems(changed(("table: orders", "table: ../orders"))) == [
        "shop.yaml:13:9: table name 'bronze.../orders' is not allowed: write table or schema.table, with letters, digits and underscores"
    ]


def test_all_problems_are_told_at_once_in_the_order_of_lines() -> None:
    found = problems(changed(("options:", "optoins:"), ("schema: bronze", "schmea: bronze"), ("execution_order: 2", "execution_order: x")))
    assert [problem.split(":")[1] for problem in found] == ["10", "14", "19"]


def test_columns_of_a_csv_without_a_header_are_not_optional() -> None:
    wrong = changed(('          options: {sep: ";"}', '          optional_columns: [id]\n          options: {header: "false"}'))
    assert problems(wrong) == ["shop.yaml:8:9: a CSV without a header has its columns by their places: none of them can be optional"]


def test_changed_files_are_not_loaded_beside_their_old_rows() -> None:
    wrong = changed(("          options:", "          changed_files: load\n          options:"))
    assert problems(wrong) == [
        "shop.yaml:6:9: changed_files load with append would keep the old rows of a changed file beside its new ones: use load_type full"
    ]


def test_incremental_with_overwrite_is_refused() -> None:
    assert problems(changed(("write_mode: append", "write_mode: overwrite"))) == [
        "shop.yaml:6:9: incremental with overwrite would keep only the newest rows: use append, merge, or load_type full"
    ]


def test_full_with_append_is_refused() -> None:
    assert problems(changed(("load_type: incremental", "load_type: full"))) == [
        "shop.yaml:6:9: full with append would add every row again at each run: use overwrite, or load_type incremental"
    ]


def test_a_full_load_overwrites_by_itself() -> None:
    text = changed(("load_type: incremental", "load_type: full"), ("          write_mode: append\n", ""))
    assert shop(text).modules[0].sources[0].write_mode == "overwrite"


def test_a_source_id_that_is_used_twice_in_a_module_is_refused() -> None:
    assert problems(changed(("source_id: daily", "source_id: orders"))) == [
        "shop.yaml:3:5: source_id orders is used more than once in the module"
    ]


def test_a_module_name_that_is_used_twice_is_refused_because_positions_belong_to_it() -> None:
    twice = SHOP + SHOP.partition("modules:\n")[2]
    assert "module_name shop is used more than once" in "\n".join(problems(twice))


def test_a_source_that_overwrites_what_another_one_writes_is_refused_because_that_would_be_lost() -> None:
    text = changed(("{schema: gold, table: daily}", "{schema: bronze, table: Orders}"))
    assert "bronze.orders" in "\n".join(problems(text)).lower()


@pytest.mark.parametrize("option", ["header: true", "maxColumns: 500"])
def test_reader_options_may_be_written_as_yaml_writes_them(option: str) -> None:
    source = shop(changed(('sep: ";"', option))).modules[0].sources[0]
    assert isinstance(source, FilesSource)
    name, _, value = option.partition(": ")
    assert source.source_config.options == {name: value}


def test_the_version_may_be_written_without_quotes() -> None:
    assert shop(changed(('"1.0"', "1.0"))).metadata_version == "1.0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "shop.yaml:1:1: the document must be a mapping with `modules:` or `jobs:`"),
        ("- a", "shop.yaml:1:1: the document must be a mapping with `modules:` or `jobs:`"),
        ("metadata_version: '1'", "shop.yaml:1:1: modules is missing"),
        ("modules:", "shop.yaml:1:1: modules: input should be a valid list"),
        ("modules:\n\t- a", "shop.yaml:2:1: not valid YAML: found character '\\t' that cannot start any token"),
        ("modules: [\n", "shop.yaml:2:1: not valid YAML: expected the node content, but found '<stream end>'"),
        ("modules: *nothing", "shop.yaml:1:10: not valid YAML: found undefined alias 'nothing'"),
        ("a: 1\n---\nb: 2", "shop.yaml:2:1: not valid YAML: but found another document"),
    ],
)
def test_bad_yaml_is_told_with_its_line(text: str, expected: str) -> None:
    assert problems(text) == [expected]


def test_a_character_that_yaml_forbids_is_refused() -> None:
    assert problems("a: \x01") == ["shop.yaml:1:4: not valid YAML: the character #x0001 is not allowed"]


def test_a_file_is_read_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(SHOP, encoding="utf-8")
    assert load(path) == shop()


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no such file"):
        load(tmp_path / "nothing.yaml")
    with pytest.raises(Invalid, match="no YAML file in"):
        load(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"a: b\nc: \xff\xfe\x00")
    with pytest.raises(Invalid, match=r"binary\.yaml:2:4: not a text: the byte 0xff; save the file as UTF-8"):
        load(tmp_path / "binary.yaml")
