"""Documents are read from files, folders and patterns; whatever stands in a file, it is read or named with the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import tried
from lakeledger.control import yaml_text
from lakeledger.control.documents import Document, load, load_all, parse
from lakeledger.errors import Invalid
from unit.random_modules import NASTY


def module(name: str) -> str:
    return (
        f"modules:\n  - module_name: {name}\n    sources:\n      - source_id: a\n        source_type: sql\n"
        f"        transformation_config: {{sql_task: {{sql_query: select 1}}}}\n        target_config: {{table: {name}}}\n"
    )


def write(folder: Path, **files: str | bytes) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yml", ".yml").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def names(document: Document) -> list[str]:
    return [module.module_name for module in document.modules]


def problem(text: str) -> str:
    with pytest.raises(Invalid) as caught:
        parse(text, "x.yml")
    return str(caught.value)


def test_a_folder_is_read_as_one_document_with_all_that_is_below_it(tmp_path: Path) -> None:
    write(tmp_path, b_yml=module("b"), a_yaml=module("a"), deep__er__c_yml=module("c"), d_txt="no", **{".hidden_yml": "x"})
    write(tmp_path, **{".git__e_yml": "x"})
    assert names(load(tmp_path)) == ["a", "b", "c"]
    assert names(load(str(tmp_path))) == ["a", "b", "c"]


def test_a_pattern_is_read_as_one_document(tmp_path: Path) -> None:
    write(tmp_path, a_yml=module("a"), b_yml=module("b"), c_yaml=module("c"), deep__a_yml=module("d"))
    assert names(load(tmp_path / "*.yml")) == ["a", "b"]
    assert names(load(tmp_path / "**" / "a.yml")) == ["a", "d"]
    with pytest.raises(Invalid, match="no file matches"):
        load(tmp_path / "*.json")


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    write(tmp_path, **{"a[1]_yml": module("a")})
    assert names(load(tmp_path / "a[1].yml")) == ["a"]


def test_a_module_in_two_files_is_taken_from_neither_and_both_are_named(tmp_path: Path) -> None:
    write(tmp_path, a_yml=module("shop"), b_yml=module("shop"), c_yml=module("other"))
    with pytest.raises(Invalid) as caught:
        load(tmp_path)
    a, b = tmp_path / "a.yml", tmp_path / "b.yml"
    assert str(caught.value).splitlines() == [
        f"{a}:1:1: module 'shop' is also in {b}: keep one of them",
        f"{b}:1:1: module 'shop' is also in {a}: keep one of them",
    ]
    assert list(load_all(tmp_path).modules) == ["other"]


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    write(tmp_path, a_yml=module("a"), b_yml="modules: [", c_yml=b"\xff", d_yml=module("d"), e_yml="modules: []\nmore: 1\n")
    loading = load_all(tmp_path)
    assert list(loading.modules) == ["a", "d"]
    assert [(loaded.path.name, loaded.document is not None, len(loaded.problems)) for loaded in loading.documents] == [
        ("a.yml", True, 0),
        ("b.yml", False, 1),
        ("c.yml", False, 1),
        ("d.yml", True, 0),
        ("e.yml", False, 2),
    ]
    assert len(loading.problems) == 4
    assert all(str(tmp_path) in problem for problem in loading.problems)


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, outside_yml=module("outside"), folder__in_yml=module("inside"))
    folder = tmp_path / "folder"
    (folder / "out.yml").symlink_to(tmp_path / "outside.yml")
    (folder / "same.yml").symlink_to(folder / "nothing.yml")
    (folder / "round.yml").symlink_to(folder / "round.yml")
    (folder / "up").symlink_to(tmp_path)
    loading = load_all(folder)
    assert list(loading.modules) == ["inside"]
    assert [loaded.path.name for loaded in loading.documents] == ["in.yml", "out.yml", "round.yml", "same.yml"]
    assert any("leads out of" in problem for problem in loading.problems)
    assert names(load(folder / "out.yml")) == ["outside"]


def test_what_is_not_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yml")
    assert load_all(tmp_path).problems == [f"cannot read {tmp_path}/pipe.yml: it is not a file"]


def test_a_file_that_is_too_long_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "long.yml").open("wb") as file:
        file.truncate(100_000_000)
    assert load_all(tmp_path).problems == [
        f"{tmp_path}/long.yml:1:1: the document is longer than 1,048,576 bytes: split it into several files"
    ]
    assert problem("#" * 1_048_577).startswith("x.yml:1:1: the document is longer than 1,048,576 bytes")


def test_a_line_that_is_too_long_is_refused_because_reading_it_takes_minutes() -> None:
    assert problem(f"modules: []\na: {'!' * 70_000}") == "x.yml:2:65537: the line is longer than 65,536 characters"


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf" + module("a").encode(), module("a").replace("\n", "\r\n").encode()])
def test_a_byte_order_mark_and_windows_lines_are_fine(tmp_path: Path, data: bytes) -> None:
    assert names(load(write(tmp_path, a_yml=data) / "a.yml")) == ["a"]


def test_bytes_that_are_no_text_are_named_with_their_place(tmp_path: Path) -> None:
    write(tmp_path, a_yml=b"a: 1\nb: \x00", b_yml="a: é\nb: ".encode() + b"\xe9", c_yml=module("c").encode("utf-16"))
    places = [problem.rpartition("/")[2] for problem in load_all(tmp_path).problems]
    assert places == [
        "a.yml:2:4: not a text: the byte 0x00; save the file as UTF-8",
        "b.yml:2:4: not a text: the byte 0xe9; save the file as UTF-8",
        "c.yml:1:1: not a text: the byte 0xff; save the file as UTF-8",
    ]


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGED = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize("text", [BOMB, MERGED])
def test_an_alias_bomb_is_refused_before_it_grows(text: str) -> None:
    assert "the document has more than 100,000 values (aliases count as what they stand for)" in problem(text)


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "&a a: &b {<<: *b}", "[" * 60 + "]" * 60, "[" * 1_000, "{a: " * 5000])
def test_what_is_nested_too_deep_is_refused(text: str) -> None:
    assert "nested more than 50 levels deep" in problem(text)


def test_aliases_and_merge_keys_are_understood() -> None:
    text = """\
modules:
  - module_name: a
    sources:
      - &first {source_id: a, source_type: sql, transformation_config: &work {sql_task: {sql_query: select 1}}, target_config: {table: a}}
      - {<<: *first, source_id: b, target_config: {table: b}}
      - {source_id: c, <<: [*first, {is_active: false}], transformation_config: *work, target_config: {table: c}}
"""
    sources = parse(text, "x.yml").modules[0].sources
    assert [(source.source_id, source.target, source.is_active) for source in sources] == [
        ("a", "main.a", True),
        ("b", "main.b", True),
        ("c", "main.c", False),
    ]


def test_a_key_that_is_used_twice_is_named_with_both_lines() -> None:
    text = module("a").replace("        source_type: sql\n", "        source_type: sql\n        source_id: b\n")
    assert problem(text) == "x.yml:6:9: the key 'source_id' is used twice, first in line 4"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            "!!python/object/apply:os.system [ls]",
            "the tag !!python/object/apply:os.system is not allowed: a document holds plain values only",
        ),
        ("!secret a", "the tag !secret is not allowed: a document holds plain values only"),
        ("!!binary aGk=", "the tag !!binary is not allowed"),
        ("!!set {a, b}", "the tag !!set is not allowed"),
        ("!!omap [a: 1]", "the tag !!omap is not allowed"),
        (".nan", "'.nan' cannot be read: put it in quotes if it is a text"),
        ("-.inf", "'-.inf' cannot be read"),
        ("1e999", "'1e999' cannot be read"),
        ("1" * 5000, "'1111111111111111111111111111111111111111' cannot be read"),
        ("!!int x", "'x' cannot be read"),
        ("2026-13-45", "'2026-13-45' cannot be read: put it in quotes if it is a text"),
        ('"\\ud800"', "the text holds a character that cannot be stored"),
        ('"a\\0b"', "the text holds a character that cannot be stored"),
        ('"\\U00110000"', "not valid YAML"),
        ("{[a]: 1}", "a key must be a text"),
        ("{<<: 1}", "`<<` takes over the keys of a mapping, or of a list of them"),
    ],
)
def test_what_no_document_may_hold_is_refused(value: str, told: str) -> None:
    assert f"x.yml:{'1' if '110000' in value else '3'}:" in problem(f"modules:\n  - module_name: a\n    description: {value}\n")
    assert told in problem(f"modules:\n  - module_name: a\n    description: {value}\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("~", None),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", 1000),
        ("1e3", 1000.0),
        ("2026-01-02 10:00:00", "2026-01-02 10:00:00"),
        ("12:30", "12:30"),
        ("!!str 1", "1"),
        ("'1'", "1"),
        ("=", "="),
    ],
)
def test_values_are_read_as_yaml_1_2_says(text: str, value: object) -> None:
    tree = yaml_text.read(f"a: {text}")
    assert (tree.value, tree.problems) == ({"a": value}, ())


PIECES = st.sampled_from(
    [
        *NASTY,
        *(
            "modules:",
            "jobs:",
            "variables:",
            "\n",
            "\n  - ",
            "\n    ",
            ": ",
            ", ",
            "{",
            "}",
            "[",
            "]",
            "&a ",
            "*a",
            "<<: ",
            "!!map ",
            "!x ",
        ),
        *(
            "module_name",
            "sources",
            "source_id",
            "source_type: task",
            "transformation_config",
            "depends_on",
            "tasks",
            "${var.a}",
            "%YAML 1.1\n---\n",
        ),
    ]
)


@tried(2)
@given(st.lists(PIECES | st.text(max_size=4), max_size=25).map("".join) | st.text(max_size=60))
def test_any_text_is_a_document_or_invalid(text: str) -> None:
    found = []
    try:
        parse(text, "x.yml")
    except Invalid as error:
        found = str(error).split("\n")
    assert all(line.startswith("x.yml:") for line in found)


@given(st.binary(max_size=60) | st.integers(0, 400).map(lambda size: module("a").encode()[:size]))
def test_any_bytes_are_a_document_or_invalid(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.yml"
    path.write_bytes(data)
    loading = load_all(path)
    assert [loaded.document is None for loaded in loading.documents] == [bool(loading.problems)]
