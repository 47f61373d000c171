"""Documents are read from files, folders and patterns; whatever stands in a file, it is read or named with the reason."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import tried
from lakeledger.control import document_files, yaml_text
from lakeledger.control.documents import Document, load, load_all, parse
from lakeledger.control.paths import misplaced
from lakeledger.control.reading import Files
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
    write(tmp_path, a_yml=module("a"), b_yml="modules: [", c_yml=b"\xff", d_yml=module("d"), e_yml="modules: {}\nmore: 1\n")
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


@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_a_link_that_is_swapped_while_it_is_read_leads_nowhere_else(tmp_path: Path, swapped: str) -> None:
    write(tmp_path, outside__x_yml="secret: outside", folder__good__x_yml="inside: true")
    folder = tmp_path / "folder"
    inside, outside, link = folder / "good", tmp_path / "outside", folder / "link"
    path = link / "x.yml"
    if swapped == "file":
        inside, outside, link = inside / "x.yml", outside / "x.yml", folder / "link.yml"
        path = link
    enough = threading.Event()

    def swap() -> None:
        while not enough.is_set():
            for target in (outside, inside):
                (folder / ".next").symlink_to(target)
                (folder / ".next").replace(link)

    link.symlink_to(inside)
    swapper = threading.Thread(target=swap)
    swapper.start()
    found = set()
    for _ in range(4_000):
        try:
            found.add(document_files.text(path, folder))
        except Invalid:
            continue
    enough.set()
    swapper.join()
    assert found == {"inside: true"}


def test_a_folder_that_becomes_a_link_while_it_is_read_leads_nowhere_else(tmp_path: Path) -> None:
    write(tmp_path, outside__x_yml="secret: outside", folder__sub__x_yml="inside: true")
    folder = tmp_path / "folder"
    enough = threading.Event()

    def swap() -> None:
        (folder / "link").symlink_to(tmp_path / "outside")
        while not enough.is_set():
            for coming, going in (("link", "real"), ("real", "link")):
                (folder / "sub").rename(folder / going)
                (folder / coming).rename(folder / "sub")

    swapper = threading.Thread(target=swap)
    swapper.start()
    found = set()
    for _ in range(2_000):
        try:
            found.add(document_files.text(folder / "sub/x.yml", folder))
        except Invalid:
            continue
    enough.set()
    swapper.join()
    assert found <= {"inside: true"}


def test_a_followed_file_is_read_again_only_if_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a_yml=module("a"), b_yml=module("b"), bad_yml="modules: [")
    for name in ("a.yml", "b.yml"):
        os.utime(tmp_path / name, (1, 1))
    files = Files(0)
    first, second = files.load_all(tmp_path), files.load_all(tmp_path)
    assert [one.document is other.document for one, other in zip(first.documents, second.documents, strict=True)] == [True, True, True]
    assert second.problems == first.problems != []
    (tmp_path / "a.yml").write_text(module("c"))
    os.utime(tmp_path / "a.yml", (1, 1))  # as long as before, and of the same time
    third = files.load_all(tmp_path)
    assert list(third.modules) == ["c", "b"]
    assert third.modules["b"] is first.modules["b"]
    monkeypatch.setenv("LAKELEDGER_VAR_any", "other")
    assert files.load_all(tmp_path).modules["b"] is not first.modules["b"]
    (tmp_path / "b.yml").unlink()
    assert list(files.load_all(tmp_path).modules) == ["c"]


def test_a_fresh_file_is_named_and_due_when_it_is_settled(tmp_path: Path) -> None:
    write(tmp_path, new_yml=module("new"), old_yml=module("old"))
    os.utime(tmp_path / "old.yml", (1, 1))
    files = Files(60)
    assert files.due_in(tmp_path) == float("inf")
    assert list(files.load_all(tmp_path).modules) == ["old"]
    assert files.left == [tmp_path / "new.yml"]
    assert 0 < files.due_in(tmp_path) <= 60
    assert 0 < files.settles_in(tmp_path) <= 60
    os.utime(tmp_path / "new.yml", (time.time() - 61, time.time() - 61))
    assert (files.due_in(tmp_path), files.settles_in(tmp_path)) == (0, 0)
    assert list(files.load_all(tmp_path).modules) == ["new", "old"]
    assert files.due_in(tmp_path) == float("inf")
    (tmp_path / "old.yml").unlink()
    assert files.due_in(tmp_path) == 0


@pytest.mark.parametrize(
    ("path", "warned"),
    [
        ("in/day.csv", True),
        ("in/*.csv", True),
        ("in/*.json", False),
        ("in/**/*.json", True),  # only `in` is looked for
        ("../folder/in/day.csv", True),
        ("../folder/none/day.csv", False),
        ("**/*.csv", False),
        ("../**/*.csv", False),
        ("~nosuchuser/day.csv", False),
        ("~/day.csv", False),
        ("/in/day.csv", False),
        ("s3://bucket/day.csv", False),
    ],
)
def test_a_path_is_looked_for_without_going_through_the_whole_disk(tmp_path: Path, path: str, warned: bool) -> None:
    source = f"{{source_id: a, source_type: files, source_config: {{path: '{path}'}}, target_config: {{table: t}}}}"
    write(tmp_path, folder__in__day_csv="", folder__m_yml=f"modules: [{{module_name: m, sources: [{source}]}}]")
    (tmp_path / "folder/in/day_csv").rename(tmp_path / "folder/in/day.csv")
    (tmp_path / "far/away").mkdir(parents=True)
    loading = load_all(tmp_path / "folder")
    assert loading.problems == []
    assert [str(path) in warning for warning in misplaced(loading, tmp_path / "far/away")] == [True] * warned


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
