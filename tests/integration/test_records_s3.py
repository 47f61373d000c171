"""Records on an object store: as files of their own, and as the history of a ledger whose warehouse is there."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from contract.repositories import ORDERS, START, fact, numbers
from empty_ledgers import new_sqlite_url
from lakeledger import Ledger, Settings
from lakeledger.clock import now
from lakeledger.config import RecordSettings, S3Settings
from lakeledger.records import Stored
from s3_server import S3Server


@pytest.mark.parametrize("repository", ["s3://lake/metadata", "sql"])
def test_records_on_s3_are_stored_once_found_compacted_and_forgotten(repository: str, bucket: S3Server, tmp_path: Path) -> None:
    settings = Settings(new_sqlite_url(tmp_path), "s3://lake/shop", records=RecordSettings(repository), s3=S3Settings(bucket.endpoint))
    with Ledger(settings) as ledger:
        kept = ledger.records.repository
        assert kept.bulk_store(fact(number, "ingestion_volume") for number in (3, 0, 2, 1)) == Stored(4, 0)
        kept.store(fact(9, "ingestion_volume", produced_at=now()))
        assert kept.bulk_store([fact(3, "ingestion_volume")]) == Stored(0, 1)
    with Ledger(settings) as ledger:
        kept = ledger.records.repository
        assert numbers(kept.history(ORDERS, "ingestion_volume")) == [9, 3, 2, 1, 0]
        assert numbers(kept.log()) == [3, 0, 2, 1, 9]
        (moved,) = kept.compact(START + timedelta(days=1), dry_run=False)
        assert (moved.records, moved.files) == (4, 1)
        assert kept.bulk_store([fact(2, "ingestion_volume")]) == Stored(0, 1)
    with Ledger(settings) as ledger:
        assert numbers(ledger.records.history(ORDERS, "ingestion_volume", limit=3)) == [9, 3, 2]
        assert numbers(ledger.records.log(1)) == [0, 2, 1, 9]
        (gone,) = ledger.records.retain(dry_run=False)
        assert (gone.records, gone.files) == (4, 1)
        assert numbers(ledger.records.history(ORDERS, "ingestion_volume")) == [9]
