"""Producers: asked about targets, their facts kept whatever the kind, and never the end of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from contract.repositories import ORDERS, fact
from lakeledger import Ledger, MetadataContext, MetadataProducer, MetadataRecord, MetadataRequest, MetadataTarget
from lakeledger.config import RecordSettings
from lakeledger.records import ProducerOutcome
from lakeledger.records.environment import environment


@dataclass(frozen=True)
class Collector:
    """Says the same facts of every table of one source."""

    facts: tuple[MetadataRecord, ...] = ()
    capabilities: frozenset[str] = frozenset({"schema_snapshot", "statistics_snapshot", "custom"})
    failure: Exception | None = None
    producer_id: str = field(default="collector.v1")

    def supports(self, request: MetadataRequest) -> bool:
        return request.target.source_id == "erp"

    def produce(self, request: MetadataRequest) -> Iterable[MetadataRecord]:  # noqa: ARG002 - it says the same of all
        yield from self.facts
        if self.failure:
            raise self.failure


REQUEST = MetadataRequest(ORDERS, MetadataContext("collect", "run-1"))
THREE = tuple(fact(number, kind) for number, kind in enumerate(("schema_snapshot", "statistics_snapshot", "custom")))


def test_every_kind_that_a_producer_says_is_stored(ledger: Ledger) -> None:
    producer: MetadataProducer = Collector(THREE)
    result = ledger.records.produce(producer, REQUEST)
    assert (result.outcome, result.emitted.stored) == (ProducerOutcome.STORED, 3)
    assert result.kinds == ("schema_snapshot", "statistics_snapshot", "custom")
    assert [ledger.records.latest(ORDERS, kind) is not None for kind in result.kinds] == [True] * 3
    assert ledger.records.produce(producer, REQUEST).outcome == "duplicate"


def test_results_are_named(ledger: Ledger) -> None:
    elsewhere = MetadataRequest(MetadataTarget("crm", "sales", "orders"))
    lineage = MetadataRequest(ORDERS, kinds=("lineage",))
    one = MetadataRequest(ORDERS, kinds=("custom",))
    results = [
        ledger.records.produce(Collector(THREE), elsewhere),
        ledger.records.produce(Collector(THREE), lineage),
        ledger.records.produce(Collector(), REQUEST),
        ledger.records.produce(Collector(THREE, failure=ValueError("no answer from postgresql://ann:hunter2@db/erp")), REQUEST),
        ledger.records.produce(Collector(THREE), one),
    ]
    assert [each.outcome.value for each in results] == ["unsupported_target", "capability_missing", "no_records", "error", "stored"]
    assert results[1].message == "collector.v1 does not produce lineage: it produces custom, schema_snapshot, statistics_snapshot"
    assert results[3].message == "ValueError: no answer from postgresql://ann:***@db/erp"
    assert [record.kind for record in results[4].records] == ["custom"]
    assert len(ledger.records.query()) == 1


def test_a_producer_that_fails_fails_its_caller_only_if_asked_to(ledger: Ledger) -> None:
    failing = Collector(THREE, failure=RuntimeError("broken"))
    assert ledger.records.produce(failing, REQUEST).outcome.is_failure
    with pytest.raises(RuntimeError, match="broken"):
        ledger.records.produce(failing, REQUEST, must_succeed=True)
    outcomes = ledger.records.runner.execute_all([failing, Collector(THREE)], [REQUEST])
    assert [each.outcome.value for each in outcomes] == ["error", "stored"]


def test_what_is_emitted_says_where_it_comes_from(ledger: Ledger) -> None:
    made = fact(1, context=MetadataContext("job", "run", extras={"cluster": "mine", "try": 2}))
    stored = ledger.records.emit(made)
    assert stored is not None
    assert stored.context.namespace == "default"
    assert stored.context.extras == {**ledger.records.environment, "cluster": "mine", "try": 2}
    assert set(ledger.records.environment) == {"cluster", "workspace", "tenant", "orchestrator", "schedule"}
    again = ledger.records.emit(made)
    assert again is not None
    assert again.sequence == stored.sequence
    done = ledger.records.emit_many([made, fact(2), ledger.records.record("sales.orders", "custom", {"number": 3}, "me.v1")])
    assert (done.stored, done.duplicates) == (2, 1)


def test_the_environment_is_what_is_set_or_what_tools_say() -> None:
    databricks = {"DB_CLUSTER_ID": "0101-x", "DATABRICKS_HOST": "https://w", "DATABRICKS_JOB_ID": "7", "DATABRICKS_JOB_NAME": "nightly"}
    assert environment("acme", variables=databricks) == {
        "cluster": "0101-x", "workspace": "https://w", "tenant": "acme", "orchestrator": "databricks", "schedule": "nightly",
    }  # fmt: skip
    airflow = {"AIRFLOW_CTX_DAG_ID": "shop"}
    found = environment("acme", RecordSettings(cluster="c", workspace="w"), airflow)
    assert found == {"cluster": "c", "workspace": "w", "tenant": "acme", "orchestrator": "airflow", "schedule": "shop"}
