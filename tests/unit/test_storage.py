"""Files wherever they are."""

from __future__ import annotations

import errno
import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lakeledger import locations
from lakeledger.config import S3Settings, Settings
from lakeledger.errors import Failed, Invalid, Unavailable
from lakeledger.lake import Storage, StoredFile, stores

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


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("nothing://x", r"nothing:// is not supported as a place for files: use a local path, s3://bucket/…"),
        ("s3n://lake/x", r"s3n:// is not supported as a place for files: write s3://…"),
        ("wasbs://c@a.blob.core.windows.net/x", r"write abfss://…"),
        ("https://lake.s3.amazonaws.com/x", r"https:// is not supported"),
        ("file://server/share", r"names the machine 'server'"),
        ("://x", r"is no place for files"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(location: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=told):
        Storage(location)
    with pytest.raises(Invalid, match=told):
        Settings(url=f"sqlite:///{tmp_path}/ledger.db", warehouse=location)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("s3://lake/x?endpoint_override=localhost:9000", r"^s3://lake/x is followed by options: .* settings under \[s3\]$"),
        ("gs://lake/x#1", "is followed by options"),
        ("s3://", "names no bucket"),
        ("s3:///folder", "names no bucket: write s3://bucket/folder"),
        ("s3://ann@lake/x", r"^s3://…@lake holds credentials"),
        ("abfss://container/x", "does not name a container and its account"),
        ("s3://lake/a/../b", "an object store takes them for names"),
        ("s3://lake//b", "has an empty part"),
        ("dbfs:/", "names no folder"),
    ],
)
def test_a_warehouse_that_is_not_a_plain_place_is_refused(location: str, told: str) -> None:
    with pytest.raises(Invalid, match=told):
        Settings(warehouse=location)


@pytest.mark.parametrize("location", ["s3://AKIA:hunter2hunter2@lake/x", "s3://lake/x?secret_key=hunter2hunter2"])
def test_no_secret_of_a_warehouse_is_shown(location: str) -> None:
    with pytest.raises(Invalid) as refused:
        Settings(warehouse=location)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("location", "one_spelling", "spark"),
    [
        ("s3://lake/shop/", "s3://lake/shop", "s3a://lake/shop"),
        ("s3a://lake/shop", "s3://lake/shop", "s3a://lake/shop"),
        ("S3A://lake", "s3://lake", "s3a://lake"),
        ("s3://lake/a b/ü%20[x]", "s3://lake/a b/ü%20[x]", "s3a://lake/a b/ü%20[x]"),
        ("gs://lake/shop", "gs://lake/shop", "gs://lake/shop"),
        ("abfss://c@a.dfs.core.windows.net/x/", "abfss://c@a.dfs.core.windows.net/x", "abfss://c@a.dfs.core.windows.net/x"),
        ("hdfs://name:8020/lake", "hdfs://name:8020/lake", "hdfs://name:8020/lake"),
        ("hdfs:///lake", "hdfs:///lake", "hdfs:///lake"),
        ("dbfs:/lake/shop/", "dbfs:/lake/shop", "dbfs:/lake/shop"),
        ("dbfs:///lake", "dbfs:/lake", "dbfs:/lake"),
        ("file:///a%20folder/x", "/a folder/x", "file:///a folder/x"),
        ("/lake/100%", "/lake/100%", "file:///lake/100%"),
        ("/Volumes/main/shop/lake", "/Volumes/main/shop/lake", "file:///Volumes/main/shop/lake"),
    ],
)
def test_a_place_has_one_spelling_for_people_and_one_for_spark(location: str, one_spelling: str, spark: str) -> None:
    found = Settings(warehouse=location).warehouse_uri
    assert (found, locations.for_spark(found)) == (one_spelling, spark)


def test_on_databricks_volumes_are_given_to_spark_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    assert locations.for_spark("/Volumes/main/shop/lake") == "/Volumes/main/shop/lake"


@pytest.mark.parametrize("location", ["dbfs:/lake", "/Volumes/main/shop/lake"])
def test_a_place_of_databricks_is_refused_elsewhere(location: str) -> None:
    if Path("/dbfs").exists() or Path("/Volumes").exists():
        pytest.skip("this machine has such places")
    with pytest.raises(Invalid, match=f"{location} is a place of Databricks"):
        Storage(location)


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("file:///a%20b/1.json", "/a b/1.json"),
        ("file:/a/1.json", "/a/1.json"),
        ("s3a://lake/a%20b.json", "s3://lake/a b.json"),
        ("hdfs://name/x", "hdfs://name/x"),
    ],
)
def test_what_spark_names_is_told_as_people_write_it(uri: str, told: str) -> None:
    assert locations.from_spark(uri) == told


def test_a_relative_path_is_no_url_whatever_is_in_it() -> None:
    assert [locations.is_url(text) for text in ("a/b", "dbfs", "C:/x", "s3://b", "dbfs:/x")] == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("told", "expected", "retryable"),
    [
        ("AWS Error NETWORK_CONNECTION during HeadBucket operation: curlCode: 7", "cannot be reached (NETWORK_CONNECTION)", True),
        ("AWS Error ACCESS_DENIED during ListObjectsV2 operation", "refuses access (ACCESS_DENIED): set AWS_PROFILE", False),
        ("AWS Error UNKNOWN (HTTP status 403) during HeadObject operation", "refuses access", False),
        ("AWS Error NO_SUCH_BUCKET during PutObject operation", "there is no bucket 'lake'", False),
        ("java.net.ConnectException: Connection refused", "cannot be reached", True),
        ("Bucket does not exist: software.amazon.awssdk…NoSuchBucketException", "there is no bucket 'lake'", False),
        ("NoAuthWithAWSException: No AWS Credentials provided", "refuses access", False),
    ],
)
def test_what_a_store_says_becomes_unavailable_with_the_fix(told: str, expected: str, retryable: bool) -> None:
    found = stores.explain(told, "s3://lake/x", S3Settings())
    assert isinstance(found, Unavailable)
    assert expected in str(found)
    assert found.retryable is retryable


def test_what_is_not_about_the_store_is_left_alone() -> None:
    assert stores.explain("Column 'id' does not exist", "s3://lake/x", S3Settings()) is None


def test_a_file_is_put_once_and_whole_also_where_there_are_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Storage(str(tmp_path))

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "no links here")

    for name in ("with", "without"):
        assert storage.put(f"log/{name}", b"first")
        assert not storage.put(f"log/{name}", b"second")
        assert storage.read(f"log/{name}") == b"first"
        monkeypatch.setattr(os, "link", refuse)
    storage.replace("log/with", b"third")
    assert storage.read("log/with") == b"third"
    assert sorted(path.name for path in (tmp_path / "log").iterdir()) == ["with", "without"]
