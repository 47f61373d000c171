"""Which files of a source are new."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from lakeledger.errors import Failed, Invalid
from lakeledger.lake import StoredFile
from lakeledger.pipelines.sources.files import (
    OnChange,
    check_unchanged,
    discover,
    identify,
    matches_glob,
    plan_full,
    plan_incremental,
    split_glob,
)
from lakeledger.sync import SourceFile


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    folder = tmp_path / "landing"
    folder.mkdir()
    for name in ("a.csv", "b.csv"):
        (folder / name).write_text(f"id\n{name}\n", encoding="utf-8")
    return folder


def found(landing: Path) -> list[StoredFile]:
    return discover("*.csv", landing)


def names(files: list[SourceFile] | list[StoredFile]) -> list[str]:
    return [Path(file.path).name for file in files]


def first_read(landing: Path) -> list[SourceFile]:
    reading = plan_incremental(found(landing), [], "refuse")
    assert reading is not None
    return reading.files


def touch(path: Path) -> None:
    os.utime(path, (path.stat().st_mtime + 60,) * 2)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/data/*.csv", ("/data", "*.csv")),
        ("/data/2026-??/x.csv", ("/data", "2026-??/x.csv")),
        ("/data/**/x.csv", ("/data", "**/x.csv")),
        ("/data/[ab]/x.csv", ("/data", "[ab]/x.csv")),
        ("s3://bucket/in/*.csv", ("s3://bucket/in", "*.csv")),
        ("/data/x.csv", ("/data/x.csv", "")),
    ],
)
def test_the_folder_in_front_of_the_first_wildcard_is_where_to_look(pattern: str, expected: tuple[str, str]) -> None:
    assert split_glob(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.csv", "a.csv", True),
        ("*.csv", "x/a.csv", False),
        ("*.csv", "a.csv.gz", False),
        ("*.csv", "acsv", False),
        ("?.csv", "a.csv", True),
        ("?.csv", "ab.csv", False),
        ("?.csv", "/.csv", False),
        ("**/*.csv", "a.csv", True),
        ("**/*.csv", "x/y/a.csv", True),
        ("x/**/a.csv", "x/a.csv", True),
        ("x/**/a.csv", "xa.csv", False),
        ("**", "x/a.csv", True),
        ("x/**", "x/y/a.csv", True),
        ("[ab].csv", "b.csv", True),
        ("[ab].csv", "c.csv", False),
        ("[a-c].csv", "b.csv", True),
        ("[!ab].csv", "c.csv", True),
        ("[!ab].csv", "a.csv", False),
        ("x[!ab]y.csv", "x/y.csv", False),
        ("a(1)+{2}.csv", "a(1)+{2}.csv", True),
        ("[a", "[a", True),
        ("[\\d].csv", "5.csv", False),
    ],
)
def test_a_glob_matches_as_in_a_shell(pattern: str, path: str, matches: bool) -> None:
    assert matches_glob(path, pattern) is matches


def test_files_are_found_with_absolute_paths_in_order_without_bookkeeping(landing: Path) -> None:
    (landing / "_SUCCESS.csv").touch()
    (landing / ".a.csv.crc").touch()
    (landing / "deep").mkdir()
    (landing / "deep" / "c.csv").write_text("id\n", encoding="utf-8")
    assert [file.path for file in found(landing)] == [f"{landing}/a.csv", f"{landing}/b.csv"]
    assert names(discover("**/*.csv", landing)) == ["a.csv", "b.csv", "c.csv"]
    assert names(discover(f"{landing}/a.csv", Path("/elsewhere"))) == ["a.csv"]
    assert names(discover(f"file://{landing}/*.csv", Path("/elsewhere"))) == ["a.csv", "b.csv"]


def test_a_file_is_the_same_from_wherever_the_document_is_addressed(landing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(landing.parent)
    from_above = discover("landing/*.csv", Path())
    monkeypatch.chdir(landing)
    assert discover("*.csv", Path()) == discover("../landing/*.csv", Path()) == from_above == found(landing)


def test_a_folder_name_with_brackets_is_no_pattern(tmp_path: Path) -> None:
    folder = tmp_path / "[2026]"
    folder.mkdir()
    (folder / "a.csv").write_text("id\n", encoding="utf-8")
    assert names(discover("*.csv", folder)) == ["a.csv"]
    assert names(discover("a.csv", folder)) == ["a.csv"]


def test_a_file_named_without_wildcards_must_be_there(landing: Path) -> None:
    with pytest.raises(Invalid, match=r"no such file: .*/nothing\.csv"):
        discover("nothing.csv", landing)
    assert discover("nothing*.csv", landing) == []


def test_everything_is_new_at_first(landing: Path) -> None:
    reading = plan_incremental(found(landing), [], "refuse")
    assert reading is not None
    assert names(reading.files) == ["a.csv", "b.csv"]
    assert reading.position.count == 2


def test_nothing_is_new_afterwards(landing: Path) -> None:
    assert plan_incremental(found(landing), first_read(landing), "refuse") is None


def test_only_what_came_is_read_and_the_position_counts_all(landing: Path) -> None:
    known = first_read(landing)
    (landing / "c.csv").write_text("id\n3\n", encoding="utf-8")
    reading = plan_incremental(found(landing), known, "refuse")
    assert reading is not None
    assert names(reading.files) == ["c.csv"]
    assert reading.position.count == 3


@pytest.mark.parametrize("on_change", ["refuse", "ignore"])
def test_a_file_that_was_only_touched_is_not_new(landing: Path, on_change: OnChange) -> None:
    known = first_read(landing)
    touch(landing / "a.csv")
    assert plan_incremental(found(landing), known, on_change) is None


def test_a_file_that_changed_is_refused_or_ignored(landing: Path) -> None:
    known = first_read(landing)
    (landing / "a.csv").write_text("id\nother\n", encoding="utf-8")
    with pytest.raises(Invalid, match=r"a\.csv changed after it was read, and its rows would come twice: restore it"):
        plan_incremental(found(landing), known, "refuse")
    assert plan_incremental(found(landing), known, "ignore") is None


def renames(landing: Path, known: list[SourceFile]) -> tuple[dict[str, str], list[str], int]:
    """Which names became which, what is new, and how many files the position counts."""
    reading = plan_incremental(found(landing), known, "refuse")
    assert reading is not None
    return {Path(old).name: Path(file.path).name for old, file in reading.renamed.items()}, names(reading.files), reading.position.count


def registered(landing: Path, known: list[SourceFile]) -> list[SourceFile]:
    """The files as they are known after what became of them was noted."""
    reading = plan_incremental(found(landing), known, "refuse")
    moved = reading.moved if reading else {}
    return [replace(moved[file.path], content_hash=file.content_hash) if file.path in moved else file for file in known]


def alike(landing: Path) -> None:
    """Give all files the same time; they have the same size."""
    for file in landing.iterdir():
        os.utime(file, (1_000, 1_000))


def test_a_file_that_was_renamed_is_not_new(landing: Path) -> None:
    known = first_read(landing)
    (landing / "a.csv").rename(landing / "z.csv")
    assert renames(landing, known) == ({"a.csv": "z.csv"}, [], 2)


def test_a_copy_beside_its_original_is_new(landing: Path) -> None:
    known = first_read(landing)
    (landing / "z.csv").write_bytes((landing / "a.csv").read_bytes())
    assert renames(landing, known) == ({}, ["z.csv"], 3)


def test_one_file_is_renamed_to_one_name(landing: Path) -> None:
    known = first_read(landing)
    (landing / "y.csv").write_bytes((landing / "a.csv").read_bytes())
    (landing / "a.csv").rename(landing / "z.csv")
    assert renames(landing, known) == ({"a.csv": "y.csv"}, ["z.csv"], 3)


def test_files_that_rotate_are_known_by_their_content(landing: Path) -> None:
    known = first_read(landing)
    (landing / "b.csv").rename(landing / "c.csv")
    (landing / "a.csv").rename(landing / "b.csv")
    (landing / "a.csv").write_text("id\ntoday\n", encoding="utf-8")
    assert renames(landing, known) == ({"a.csv": "b.csv", "b.csv": "c.csv"}, ["a.csv"], 3)


def test_files_that_swap_their_names_are_known_by_their_content(landing: Path) -> None:
    known = first_read(landing)
    (landing / "a.csv").rename(landing / "x")
    (landing / "b.csv").rename(landing / "a.csv")
    (landing / "x").rename(landing / "b.csv")
    for name in ("a.csv", "b.csv"):
        touch(landing / name)
    assert renames(landing, known) == ({"a.csv": "b.csv", "b.csv": "a.csv"}, [], 2)


def test_files_that_look_alike_are_known_by_their_content_when_one_took_the_place_of_the_other(landing: Path) -> None:
    alike(landing)
    known = first_read(landing)
    (landing / "b.csv").rename(landing / "c.csv")
    (landing / "a.csv").rename(landing / "b.csv")
    assert renames(landing, known) == ({"a.csv": "b.csv", "b.csv": "c.csv"}, [], 2)


def test_a_whole_row_of_files_that_look_alike_may_move_up(landing: Path) -> None:
    for name in ("c.csv", "d.csv"):
        (landing / name).write_text(f"id\n{name}\n", encoding="utf-8")
    alike(landing)
    known = first_read(landing)
    for old, new in (("d", "e"), ("c", "d"), ("b", "c"), ("a", "b")):
        (landing / f"{old}.csv").rename(landing / f"{new}.csv")
    (landing / "a.csv").write_text("id\nnew!!\n", encoding="utf-8")
    alike(landing)
    assert renames(landing, known) == (
        {"a.csv": "b.csv", "b.csv": "c.csv", "c.csv": "d.csv", "d.csv": "e.csv"},
        ["a.csv"],
        5,
    )


@pytest.mark.parametrize("on_change", ["refuse", "ignore"])
def test_a_rotation_that_drops_the_oldest_file_brings_only_what_is_new(landing: Path, on_change: OnChange) -> None:
    known = first_read(landing)
    (landing / "a.csv").rename(landing / "b.csv")
    (landing / "a.csv").write_text("id\ntoday\n", encoding="utf-8")
    reading = plan_incremental(found(landing), known, on_change)
    assert reading is not None
    assert [Path(file.path).name for file in reading.renamed.values()] == ["b.csv"]
    assert (names(reading.files), reading.position.count) == (["a.csv"], 3)


def test_a_file_whose_place_another_one_took_stays_known_by_its_content(landing: Path) -> None:
    gone, other = known = first_read(landing)
    (landing / "b.csv").rename(landing / "a.csv")
    assert renames(landing, known) == ({"b.csv": "a.csv"}, [], 2)
    known = registered(landing, known)
    assert sorted(file.content_hash for file in known) == sorted(file.content_hash for file in (gone, other))
    assert plan_incremental(found(landing), known, "refuse") is None
    (landing / "back.csv").write_text("id\na.csv\n", encoding="utf-8")
    reading = plan_incremental(found(landing), known, "refuse")
    assert reading is not None
    assert ([Path(file.path).name for file in reading.renamed.values()], reading.files) == (["back.csv"], [])


def test_files_that_come_back_to_a_place_again_and_again_stay_known(landing: Path) -> None:
    (landing / "0.csv").write_bytes((landing / "a.csv").read_bytes())  # a copy: the same content is known twice
    known = first_read(landing)
    contents = sorted(file.content_hash for file in known)
    for content in ("b.csv", "a.csv", "b.csv", "a.csv"):
        for file in landing.iterdir():
            file.unlink()
        (landing / "a.csv").write_text(f"id\n{content}\n", encoding="utf-8")
        reading = plan_incremental(found(landing), known, "refuse")
        assert reading is None or reading.files == []
        known = registered(landing, known)
        assert len({file.path for file in known}) == 3
        assert sorted(file.content_hash for file in known) == contents


def test_a_changed_file_of_the_same_size_is_noticed(landing: Path) -> None:
    known = first_read(landing)
    (landing / "a.csv").write_text("id\nA.csv\n", encoding="utf-8")
    touch(landing / "a.csv")
    with pytest.raises(Invalid, match="changed after it was read"):
        plan_incremental(found(landing), known, "refuse")


def test_a_file_that_vanished_changes_nothing(landing: Path) -> None:
    known = first_read(landing)
    (landing / "a.csv").unlink()
    assert plan_incremental(found(landing), known, "refuse") is None


def test_the_position_tells_sets_of_files_apart_whatever_their_order(landing: Path) -> None:
    both = plan_incremental(found(landing), [], "refuse")
    turned = plan_incremental(reversed(found(landing)), [], "refuse")
    (landing / "b.csv").write_text("id\nother\n", encoding="utf-8")
    other = plan_incremental(found(landing), [], "refuse")
    assert both is not None
    assert turned is not None
    assert other is not None
    assert both.position == turned.position
    assert both.position != other.position


def test_a_full_load_reads_all_that_is_there_now(landing: Path) -> None:
    known = first_read(landing)
    (landing / "a.csv").unlink()
    (landing / "c.csv").write_text("id\n3\n", encoding="utf-8")
    reading = plan_full(found(landing), known)
    assert names(reading.files) == ["b.csv", "c.csv"]
    assert reading.position.count == 3


def test_a_full_load_of_the_same_files_is_at_the_same_position(landing: Path) -> None:
    first = plan_full(found(landing), [])
    touch(landing / "a.csv")
    again = plan_full(found(landing), first.files)
    assert again.position == first.position
    assert [file.identity for file in again.files] == [file.identity for file in first.files]


def test_a_full_load_takes_a_changed_file_as_it_is_now(landing: Path) -> None:
    first = plan_full(found(landing), [])
    (landing / "a.csv").write_text("id\nother\n", encoding="utf-8")
    again = plan_full(found(landing), first.files)
    assert again.position.count == first.position.count
    assert again.position.digest != first.position.digest


def test_a_file_that_vanishes_while_it_is_identified_fails_the_run(landing: Path) -> None:
    listed = found(landing)
    (landing / "a.csv").unlink()
    with pytest.raises(Failed, match=r"a\.csv vanished while it was being read: run it again"):
        identify(listed)


def test_a_file_that_changes_while_it_is_read_is_not_loaded(landing: Path) -> None:
    read = first_read(landing)
    check_unchanged(read, found(landing))
    (landing / "b.csv").write_text("id\nsomething else\n", encoding="utf-8")
    with pytest.raises(Failed, match=r"b\.csv changed while it was being read") as caught:
        check_unchanged(read, found(landing))
    assert caught.value.retryable
    (landing / "b.csv").unlink()
    with pytest.raises(Failed, match=r"b\.csv changed"):
        check_unchanged(read, found(landing))


def test_a_changed_file_is_read_in_place_of_itself_with_what_is_new(landing: Path) -> None:
    first = plan_incremental(found(landing), [], "replace")
    assert first is not None
    assert first.changed == ()
    (landing / "a.csv").write_text("id\nother\n", encoding="utf-8")
    (landing / "c.csv").write_text("id\nc\n", encoding="utf-8")
    second = plan_incremental(found(landing), first.files, "replace")
    assert second is not None
    assert (sorted(names(second.files)), [Path(path).name for path in second.changed]) == (["a.csv", "c.csv"], ["a.csv"])
    assert second.position.count == 3
    known = {file.path: file for file in (*first.files, *second.files)}
    assert plan_incremental(found(landing), known.values(), "replace") is None
