"""The kinds of records have JSON Schemas, and what the ledger writes is valid by them."""

from __future__ import annotations

import jsonschema
import pytest

from contract.making import append, new_file, overwrite
from contract.measuring import days_ago, load_at, load_daily
from lakeledger import Ledger, schemas
from lakeledger.clock import new_id, now
from lakeledger.commit import commit
from lakeledger.errors import NotFound
from lakeledger.pipelines.effects import RefusedVolume
from lakeledger.quality import Suite, SuiteResult
from lakeledger.quality.store import found
from lakeledger.quality.verdict import Seen, judge
from lakeledger.quality.volume import VolumeVerdict
from lakeledger.sync import Advance, NumberPosition, parse_source
from lakeledger.tables import parse_name


def check(ledger: Ledger, kind: str) -> int:
    """How many records of a kind are valid by its schema, each of which says which version of it that is."""
    schema = schemas.kind(kind)
    written = ledger.records.history(kind=kind, limit=None)
    for record in written:
        jsonschema.validate(record.payload, schema, cls=jsonschema.Draft202012Validator)
        assert record.version == schema["version"]
    return len(written)


@pytest.mark.parametrize("kind", schemas.KINDS)
def test_a_schema_is_one(kind: str) -> None:
    schema = schemas.kind(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert (schema["version"], set(schema["required"]) <= set(schema["properties"])) == ("1", True)


def test_what_loads_write_is_valid(ledger: Ledger) -> None:
    append(ledger, new_file("a"), position=Advance(parse_source("shop.orders"), NumberPosition(7)))
    overwrite(ledger, new_file("b"))
    load_daily(ledger, [10] * 3)
    load_at(ledger, days_ago(0.5), 0, load="backfill")
    refused = RefusedVolume(parse_name("silver.orders"), "load", 5, 50, 1, "append", VolumeVerdict("fail", 5, "too few"))
    with ledger.run("load") as run, ledger.store.write() as tx:
        commit(tx, run.fence, [], [], [refused])
    assert (check(ledger, "ingestion_volume"), check(ledger, "ingestion_runtime")) == (7, 6)


def test_what_checks_write_is_valid(ledger: Ledger) -> None:
    suite = Suite.of("orders", [{"not_null": "id"}, {"row_count": 1}])
    for bad in (0, 1):
        checks = tuple(judge(each, Seen(1, 0, bad, value=1), now()) for each in suite.expectations)
        with ledger.run("orders", kind="quality") as run, ledger.store.write() as tx:
            commit(tx, run.fence, [], [], [found(SuiteResult(suite, "main.orders", checks, new_id()), is_visible=not bad)])
    assert check(ledger, "dq_result") == 2
    assert [record.quality for record in ledger.records.history(kind="dq_result")] == [{"status": "fail"}, {"status": "pass"}]


def test_what_is_no_result_is_not_valid() -> None:
    for kind, payload in (("recon_result", {"check": "count", "status": "ok"}), ("dq_result", {"overall_status": "pass"})):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(payload, schemas.kind(kind))


def test_a_kind_that_nobody_knows_is_refused() -> None:
    with pytest.raises(NotFound, match="ingestion_volume"):
        schemas.kind("volume")
