"""Registry and storage are compared by name and size."""

from __future__ import annotations

from datetime import UTC, datetime

from lakeledger.lake import StoredFile
from lakeledger.tables import DataFile
from lakeledger.tables.verify import Finding, compare, run_of

AT = datetime(2026, 1, 1, tzinfo=UTC)


def known(path: str, size: int = 10, state: str = "live") -> DataFile:
    return DataFile(
        id=path, tenant_id="default", table_id="t", file_name=path.rpartition("/")[2], file_path=path, file_size=size, file_type="parquet",
        partition_path="", row_count=7, checksum=None, is_compressed=True, column_bounds={}, state=state, added_version=3,
        removed_version=None, run_id=run_of(path), iceberg_metadata_state="pending", created_at=AT, modified_at=AT,
    )  # fmt: skip


def present(*paths: str, size: int = 10) -> dict[str, StoredFile]:
    return {path: StoredFile(path, size, AT) for path in paths}


def test_a_table_as_registered_has_no_findings() -> None:
    assert compare([known("data/r1/a"), known("data/r1/b")], present("data/r1/a", "data/r1/b"), set()) == []


def test_a_file_that_is_gone_is_missing() -> None:
    assert compare([known("data/r1/a")], {}, set()) == [Finding("missing", "data/r1/a", "7 rows of version 3")]


def test_a_file_of_another_size_is_changed() -> None:
    found = compare([known("data/r1/a")], present("data/r1/a", size=11), set())
    assert found == [Finding("changed", "data/r1/a", "11 bytes, registered with 10")]


def test_a_file_that_nobody_registered_is_untracked() -> None:
    assert compare([], present("data/r1/a"), set()) == [Finding("untracked", "data/r1/a", "10 bytes that no version knows")]


def test_files_of_a_run_that_is_still_writing_are_nobodys_fault() -> None:
    assert compare([], present("data/r1/a", "data/r2/b"), {"r1"}) == [Finding("untracked", "data/r2/b", "10 bytes that no version knows")]


def test_retired_files_are_still_registered_and_must_be_there() -> None:
    assert compare([known("data/r1/a", state="retired")], present("data/r1/a"), set()) == []
    assert [finding.problem for finding in compare([known("data/r1/a", state="retired")], {}, set())] == ["missing"]


def test_the_run_of_a_file_is_the_folder_below_data() -> None:
    assert run_of("data/r1/x/part-0") == "r1"
    assert run_of("data/part-0") == ""
    assert run_of("part-0") == ""
