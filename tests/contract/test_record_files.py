"""Records in a folder: laid out as documented, whole at every moment, shared by processes, and following the ledger."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contract.making import append, new_file, wait_until
from contract.repositories import ORDERS, START, fact, numbers
from empty_ledgers import new_sqlite_url
from lakeledger import Failed, Ledger, MetadataContext, MetadataRecord, MetadataTarget
from lakeledger.config import RecordSettings, load
from lakeledger.records import file_log
from lakeledger.records.file_repository import FileRepository

MAIN = MetadataTarget("itcftth", "itcftth", "srv_cfsver_ct_main")


@pytest.fixture
def filed(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger whose records are in a folder."""
    settings = load(url=new_sqlite_url(tmp_path), warehouse=str(tmp_path / "warehouse"))
    with Ledger(replace(settings, records=RecordSettings(f"file://{tmp_path}/metadata"))) as opened:
        yield opened


@pytest.fixture
def folder(filed: Ledger, tmp_path: Path) -> Path:
    return tmp_path / "metadata"


def again(filed: Ledger) -> FileRepository:
    """The same folder as another process opens it."""
    return FileRepository(filed.settings.records.repository, filed.store)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_layout_is_that_of_the_document(filed: Ledger, folder: Path) -> None:
    volume = MetadataRecord(
        MAIN,
        MetadataContext("job", "run-123"),
        "ingestion_volume",
        {"rows": 1},
        "ingestion.v1",
        produced_at=datetime(2024, 1, 10, 5, tzinfo=UTC),
    )
    recon = replace(
        volume,
        kind="recon_result",
        context=MetadataContext("job", "run-456"),
        produced_at=datetime(2024, 1, 10, 6, tzinfo=UTC),
        dedupe_key="",
    )
    filed.records.bulk_store([volume, recon])
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    assert files == [
        "index.json",
        "log/00000000000000000001.jsonl",
        "metadata.log",
        "records/ingestion_volume/itcftth.srv_cfsver_ct_main/2024-01-10T05:00:00Z_run-123.json",
        "records/recon_result/itcftth.srv_cfsver_ct_main/2024-01-10T06:00:00Z_run-456.json",
    ]
    index = json.loads((folder / "index.json").read_text())
    latest = index["artifacts"]["itcftth.srv_cfsver_ct_main"]["recon_result"]
    assert (index["sequence"], latest["records"], latest["latest"]["record"]) == (2, 1, files[4])
    document = json.loads((folder / files[3]).read_text())
    assert MetadataRecord.from_dict(document) == volume
    assert [line["sequence"] for line in lines(folder / files[1])] == [1, 2]
    assert [(line["sequence"], line["record"]) for line in lines(folder / "metadata.log")] == [(1, files[3]), (2, files[4])]


def test_records_of_one_moment_and_run_have_files_of_their_own(filed: Ledger, folder: Path) -> None:
    context = MetadataContext("job", "run-1")
    for number in range(3):
        filed.records.store(fact(number, produced_at=START, context=context))
    filed.records.store(fact(3, produced_at=START + timedelta(milliseconds=5), context=context))
    assert sorted(path.name for path in folder.rglob("*.json"))[:4] == [
        "2026-01-01T00:00:00.005000Z_run-1.json",
        "2026-01-01T00:00:00Z_run-1.json",
        "2026-01-01T00:00:00Z_run-1_2.json",
        "2026-01-01T00:00:00Z_run-1_3.json",
    ]
    assert numbers(again(filed).history(ORDERS, "custom")) == [3, 2, 1, 0]


@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", ".", "x" * 400, "ö \n\t:*?", "con"])
def test_no_name_leads_out_of_the_folder(filed: Ledger, folder: Path, name: str) -> None:
    target, context = MetadataTarget(name, name, name), MetadataContext(run_id=name)
    filed.records.store(fact(1, target=target, context=context))
    (found,) = [path for path in folder.rglob("*.json") if path.name != "index.json"]
    assert found.relative_to(folder / "records/custom").parts[1:]
    assert len(found.relative_to(folder).parts) == 4
    assert again(filed).latest(target, "custom") == fact(
        1, target=target, context=context, record_id=json.loads(found.read_text())["record_id"]
    )


def test_half_a_line_is_seen_by_nobody_and_cut_off_by_the_next_writer(filed: Ledger, folder: Path) -> None:
    filed.records.bulk_store(fact(number) for number in range(3))
    log = folder / "log/00000000000000000001.jsonl"
    with log.open("ab") as file:
        file.write(b'{"sequence": 4, "kind": "custom", "payl')
    with (folder / "metadata.log").open("ab") as file:
        file.write(b'{"seq')
    other = again(filed)
    assert numbers(other.log()) == [0, 1, 2]
    other.store(fact(3))
    assert numbers(filed.records.log()) == numbers(again(filed).log()) == [0, 1, 2, 3]
    assert [line["sequence"] for line in lines(log)] == [line["sequence"] for line in lines(folder / "metadata.log")] == [1, 2, 3, 4]


def test_files_and_the_catalog_are_made_again_from_the_log(filed: Ledger, folder: Path) -> None:
    filed.records.bulk_store(fact(number) for number in range(5))
    filed.records.close()
    index = (folder / "index.json").read_bytes()
    (folder / "index.json").unlink()
    lost, torn, *_ = sorted((folder / "records/custom/sales.orders").iterdir())
    whole = torn.read_bytes()
    lost.unlink()
    torn.write_bytes(whole[:20])
    other = again(filed)
    assert numbers(other.history(ORDERS, "custom")) == [4, 3, 2, 1, 0]
    assert other.rebuild() == 5
    assert lost.exists()
    assert (folder / "index.json").read_bytes() == index


def test_a_log_that_somebody_broke_is_named(filed: Ledger, folder: Path) -> None:
    filed.records.store(fact(1))
    (folder / "log/00000000000000000001.jsonl").write_text("{broken\n")
    with pytest.raises(Failed, match=r"log/00000000000000000001\.jsonl has a line that is not JSON"):
        again(filed).latest(ORDERS, "custom")


def test_two_processes_share_a_folder(filed: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_log, "FILE_BYTES", 2_000)
    others = [again(filed), again(filed)]
    for number in range(20):
        others[number % 2].store(fact(number))
    assert [numbers(each.log()) for each in others] == [list(range(20))] * 2
    assert [numbers(each.history(ORDERS, "custom")) for each in others] == [list(range(19, -1, -1))] * 2
    assert len(list((Path(others[0]._storage.root) / "log").iterdir())) > 3


def test_each_tenant_has_a_folder_of_its_own(filed: Ledger, folder: Path) -> None:
    filed.records.store(fact(1))
    other = filed.for_tenant("globex")
    other.records.store(fact(2))
    assert [numbers(each.records.query()) for each in (filed, other)] == [[1], [2]]
    assert (folder / "tenants/globex/index.json").exists()


def test_what_commits_write_is_found_in_the_folder_too(filed: Ledger) -> None:
    """The repository is swapped by a setting, and nothing else changes."""
    append(filed, new_file("a", 10))
    filed.records.emit(fact(1))
    volume = filed.records.latest("silver.orders", "ingestion_volume")
    assert volume is not None
    assert volume.payload["rows"] == 10
    append(filed, new_file("b", 20))
    history = filed.records.history("silver.orders", "ingestion_volume")
    assert [each.payload["rows"] for each in history] == [20, 10]
    with filed.store.read() as tx:
        assert tx.tenant_id == "default"
    fresh = Ledger(filed.settings)
    assert [each.payload["rows"] for each in fresh.records.history("silver.orders", "ingestion_volume")] == [20, 10]
    fresh.close()


def test_a_tail_goes_on_where_it_ended_each_record_once(keeper: Ledger) -> None:
    keeper.records.bulk_store(fact(number) for number in range(5))
    heard: list[MetadataRecord] = []
    stop = threading.Event()

    def listen(place: int) -> None:
        heard.extend(keeper.records.tail(place, follow=True, stop=stop))

    listener = threading.Thread(target=listen, args=(0,))
    listener.start()
    keeper.records.emit_many(fact(number) for number in range(5, 9))
    wait_until(lambda: len(heard) == 9)
    stop.set()
    listener.join(30)
    keeper.records.emit(fact(9))
    rest = list(keeper.records.tail(heard[-1].sequence or 0))
    assert numbers([*heard, *rest]) == list(range(10))
