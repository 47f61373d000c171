"""Checks and reconciliations as producers: asked about a target they do their work, whose own commit keeps what it found, and tell that.

So their facts are kept once, with the run that found them, however they were asked for: the runner calls them `duplicate` where they are
kept already, and `stored` where they go to another repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakeledger.records import MetadataRecord
from lakeledger.records.producing import MetadataRequest

if TYPE_CHECKING:
    from lakeledger.quality import Suite
    from lakeledger.records.slice import Records

DQ, RECON = "dq_result", "recon_result"


@dataclass(frozen=True)
class WorkFacts:
    """Says what some work finds out about a target; `is_of` tells its records from those of others that were written meanwhile."""

    producer_id: str
    kind: str
    _known: Records
    _work: Callable[[MetadataRequest], object]
    _is_of: Callable[[MetadataRequest, MetadataRecord], bool]

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({self.kind})

    def supports(self, request: MetadataRequest) -> bool:
        return request.target.table is not None

    def produce(self, request: MetadataRequest) -> Iterable[MetadataRecord]:
        """The facts that the work kept. Raises what keeps it from being done."""
        place = self._known.head()
        self._work(request)
        return [each for each in self._known.log(place, None, self.kind) if self._is_of(request, each)]


def quality(known: Records, check: Callable[[str, Suite], object], suite: Suite) -> WorkFacts:
    """What a check of a table by a suite finds; that it fails is a fact like any other."""
    from lakeledger.quality import QualityFailed

    def work(request: MetadataRequest) -> None:
        with suppress(QualityFailed):
            check(request.target.name, suite)

    return WorkFacts("quality.v1", DQ, known, work, lambda request, record: record.target.name_key == request.target.name_key)


def recon(known: Records, reconcile: Callable[[Any], object], reconciliation: Any) -> WorkFacts:
    """What a reconciliation finds, of whichever table it compares."""
    name = reconciliation["name"] if isinstance(reconciliation, dict) else reconciliation.name
    return WorkFacts(
        "recon.v1", RECON, known, lambda _: reconcile(reconciliation), lambda _, record: record.context.job_id == f"recon:{name}"
    )
