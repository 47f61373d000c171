"""Partition folders say which values they hold."""

from __future__ import annotations

import pytest

from lakeledger.pipelines.partitions import partition_path, quote


def test_a_files_partition_is_named_by_the_columns_not_by_their_copies() -> None:
    path = "data/run/part/by_day=2026-01-01/by_region=EU/part-0.parquet"
    assert partition_path(path, ["day", "region"]) == "day=2026-01-01/region=EU"


def test_an_unpartitioned_table_has_one_partition_without_a_name() -> None:
    assert partition_path("data/run/part/part-0.parquet", []) == ""


def test_folders_above_the_partitions_do_not_count() -> None:
    assert partition_path("x=1/data/run/by_day=2/part-0.parquet", ["day"]) == "day=2"


def test_an_equals_sign_in_the_files_name_is_no_partition() -> None:
    assert partition_path("data/run/by_day=2/part=0.parquet", ["day"]) == "day=2"


def test_a_file_that_lies_outside_its_partition_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        partition_path("data/run/part-0.parquet", ["day"])


def test_a_column_name_is_quoted_whatever_is_in_it() -> None:
    assert quote("a`b c") == "`a``b c`"
