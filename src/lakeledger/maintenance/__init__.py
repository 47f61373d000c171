"""What follows the ledger's changes and keeps tables in order: components, each alone with the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakeledger.events.subscribers import Factory


def components() -> dict[str, Factory]:
    """The components that hear of changes, as what makes each from the ledger of a tenant."""
    from lakeledger.maintenance.compactor import Compactor
    from lakeledger.maintenance.delta_updater import DeltaUpdater
    from lakeledger.maintenance.iceberg_updater import IcebergUpdater
    from lakeledger.maintenance.lake_mirror import LakeMirror
    from lakeledger.maintenance.orchestrator import MetadataOrchestrator
    from lakeledger.maintenance.snapshotter import Snapshotter

    def iceberg_updater(ledger: Any) -> IcebergUpdater:
        return IcebergUpdater(ledger.store, ledger.publisher)

    def delta_updater(ledger: Any) -> DeltaUpdater:
        return DeltaUpdater(ledger.store, ledger.delta)

    def compactor(ledger: Any) -> Compactor:
        settings, failures = ledger.settings.compaction, ledger.sync.background("compactor")
        made = Compactor(ledger.store, ledger.publisher, ledger.compaction, settings, lambda: ledger.has_spark, failures)
        ledger.at_close(made.close)
        return made

    def snapshotter(ledger: Any) -> Snapshotter:
        made = Snapshotter(ledger.store, ledger.publisher)
        ledger.at_close(made.close)
        return made

    def metadata_orchestrator(ledger: Any) -> MetadataOrchestrator:
        return MetadataOrchestrator(ledger.store, ledger.publisher)

    def lake_mirror(ledger: Any) -> LakeMirror:
        made = LakeMirror(ledger.store, ledger.mirror, ledger.settings.mirror, ledger.sync.background("mirror"))
        ledger.at_close(made.close)
        return made

    return {
        "iceberg_updater": iceberg_updater,
        "delta_updater": delta_updater,
        "compactor": compactor,
        "snapshotter": snapshotter,
        "metadata_orchestrator": metadata_orchestrator,
        "lake_mirror": lake_mirror,
    }
