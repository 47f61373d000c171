"""Compressed metadata is read by every engine, gone on from, swept and repaired, as the other is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import lakeledger
from contract.keeping import ORDERS, let_pass, overwrite, put
from iceberg_readers import READERS
from lakeledger import Invalid, Ledger
from lakeledger.config import Settings


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    with opened(url, tmp_path, "gzip") as found:
        yield found


def opened(url: str, folder: Path, compression: str) -> Ledger:
    return lakeledger.open(Settings(url, str(folder / "warehouse"), metadata="sync", metadata_compression=compression))


def seen(ledger: Ledger, reader: str) -> dict[int, list[int]]:
    found = [each for each in ledger.tables.history(ORDERS) if each.iceberg_snapshot_id]
    return {each.version: sorted(READERS[reader](ledger, ORDERS, each.iceberg_snapshot_id or 0)["id"].to_pylist()) for each in found}


def pointer(ledger: Ledger) -> Path:
    found = ledger.tables.publication(ORDERS)
    assert found is not None
    return Path(found.metadata_location or "")


def test_every_engine_reads_it_at_every_version(ledger: Ledger) -> None:
    put(ledger, [1])
    put(ledger, [2])
    overwrite(ledger, [3])
    assert pointer(ledger).name.endswith(".gz.metadata.json")
    assert pointer(ledger).read_bytes()[:2] == b"\x1f\x8b"
    for reader in READERS:
        assert seen(ledger, reader) == {1: [1], 2: [1, 2], 3: [3]}, reader


def test_either_goes_on_from_the_other(ledger: Ledger, url: str, tmp_path: Path) -> None:
    put(ledger, [1])
    with opened(url, tmp_path, "none") as plain:
        put(plain, [2])
        assert not pointer(plain).name.endswith(".gz.metadata.json")
    with opened(url, tmp_path, "gzip") as packed:
        put(packed, [3])
        assert pointer(packed).name.endswith(".gz.metadata.json")
        assert seen(packed, "pyiceberg") == {1: [1], 2: [1, 2], 3: [1, 2, 3]}


def test_it_is_expired_tagged_and_swept(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("", keep_versions=1, keep_for=timedelta(days=1), grace=timedelta(0))
    for number in range(1, 16):
        overwrite(ledger, [number])
    ledger.snapshots.tag(ORDERS, "june", 2)
    let_pass(ledger, 10)
    (care,) = ledger.maintenance.maintain(apply=True).tables
    assert (care.problems, len(care.expired)) == ([], 13)
    assert care.metadata.files > 0
    assert pointer(ledger).name.endswith(".gz.metadata.json")
    assert seen(ledger, "pyiceberg") == {2: [2], 15: [15]}
    let_pass(ledger, 10)
    ledger.maintenance.maintain(apply=True)
    assert seen(ledger, "duckdb") == {2: [2], 15: [15]}
    assert ledger.repair.verify(ORDERS).defects == []


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", b"no gzip", b'{"format-version": 2}'])
def test_spoilt_metadata_is_found_and_published_anew(ledger: Ledger, content: bytes) -> None:
    put(ledger, [1])
    pointer(ledger).write_bytes(content)
    (defect,) = ledger.repair.verify(ORDERS).defects
    assert (defect.problem, defect.repair) == ("published", "publish shop.orders anew")
    assert ledger.repair.verify(ORDERS, apply=True).ok
    assert seen(ledger, "pyiceberg") == {1: [1]}


def test_another_compression_is_refused() -> None:
    with pytest.raises(Invalid, match="metadata_compression cannot be 'zstd': write none or gzip"):
        replace(Settings(), metadata_compression="zstd")
