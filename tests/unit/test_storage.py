"""Files wherever they are."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lakeledger.errors import Failed, Invalid
from lakeledger.lake import Storage, StoredFile

AT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


def put(folder: Path, path: str, content: bytes = b"x") -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


@pytest.fixture(params=["path", "url", "trailing slash"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    root = tmp_path / "a folder"
    root.mkdir()
    return Storage({"path": f"{root}", "url": root.as_uri(), "trailing slash": f"{root}/"}[request.param])


@pytest.fixture
def root(storage: Storage) -> Path:
    return Path(storage.inner(""))


def test_files_are_listed_in_order_below_the_root(storage: Storage, root: Path) -> None:
    put(root, "b/y", b"22")
    put(root, "b/c/x", b"333")
    put(root, "a", b"1")
    assert [(file.path, file.size) for file in storage.files()] == [("a", 1), ("b/c/x", 3), ("b/y", 2)]
    assert [file.path for file in storage.files("b")] == ["b/c/x", "b/y"]


def test_times_are_known_to_the_microsecond(storage: Storage, root: Path) -> None:
    moment = int(AT.timestamp()) * 10**9 + 678_901_000
    os.utime(put(root, "a"), ns=(moment, moment))
    assert storage.files()[0].modified_at == AT


def test_a_folder_that_is_not_there_is_empty(storage: Storage) -> None:
    assert storage.files("nothing") == []
    assert storage.folders("nothing") == []


def test_folders_are_those_directly_inside(storage: Storage, root: Path) -> None:
    put(root, "b/c/x")
    put(root, "a/x")
    put(root, "file")
    assert storage.folders() == ["a", "b"]
    assert storage.folders("b") == ["c"]


@pytest.mark.parametrize("path", ["_SUCCESS", ".part-0.crc", "_temporary/0/part-0", "data/run/_spark_metadata/0", ".hidden/x", "data/._x"])
def test_what_engines_keep_for_themselves_is_bookkeeping(path: str) -> None:
    assert StoredFile(path, 1, AT).is_bookkeeping


@pytest.mark.parametrize("path", ["part-0.parquet", "data/run/part_0", "_year=2026/part-0", "data/by_x=_/part-0", "data/by_x=.a/part-0"])
def test_data_is_no_bookkeeping_even_if_a_partition_begins_with_an_underscore(path: str) -> None:
    assert not StoredFile(path, 1, AT).is_bookkeeping


def test_the_name_of_a_file_is_the_last_part_of_its_path() -> None:
    assert StoredFile("a/b/c.csv", 1, AT).name == "c.csv"
    assert StoredFile("c.csv", 1, AT).name == "c.csv"


def test_a_checksum_is_the_sha256_of_the_content(storage: Storage, root: Path) -> None:
    content = os.urandom(3 << 20)
    put(root, "big", content)
    assert storage.checksum("big") == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_checksums_of_many_files_come_in_order_and_none_for_those_that_are_gone(storage: Storage, root: Path) -> None:
    for index in range(20):
        put(root, f"f{index}", str(index).encode())
    found = list(storage.checksums([*(f"f{index}" for index in range(20)), "gone"]))
    assert found[-1] == ("gone", None)
    assert [path for path, _ in found[:-1]] == [f"f{index}" for index in range(20)]
    assert len({checksum for _, checksum in found}) == 21


def test_a_file_that_cannot_be_read_is_an_error_and_the_rest_is_not_read(storage: Storage, root: Path) -> None:
    put(root, "first")
    (root / "folder").mkdir()
    found = storage.checksums(["first", "folder", *(f"gone{index}" for index in range(100))])
    assert next(found)[0] == "first"
    with pytest.raises(OSError, match="folder"):
        next(found)
    assert list(found) == []
    assert list(storage.checksums([])) == []


def test_folders_are_made_and_removed_and_removing_twice_is_no_error(storage: Storage, root: Path) -> None:
    storage.make("a/b")
    put(root, "a/b/x")
    storage.remove("a/b/x")
    storage.remove("a/b/x")
    assert storage.files() == []
    storage.remove_folder("a")
    storage.remove_folder("a")
    assert storage.folders() == []


def test_what_cannot_be_done_is_said_with_the_reason(storage: Storage, root: Path) -> None:
    put(root, "file")
    with pytest.raises(Invalid, match="choose a writable warehouse"):
        storage.make("file/inside")
    (root / "folder").mkdir()
    with pytest.raises(Failed, match="cannot delete"):
        storage.remove("folder")


def test_a_url_that_cannot_be_opened_is_refused() -> None:
    with pytest.raises(Invalid, match="cannot open 'nothing://x'"):
        Storage("nothing://x")
