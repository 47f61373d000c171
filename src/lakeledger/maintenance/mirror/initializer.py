"""Seed 003's way in: the four tables by the names that its documents give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lakeledger.errors import Invalid
from lakeledger.maintenance.mirror.layout import TABLES

if TYPE_CHECKING:
    from lakeledger.maintenance.mirror import Mirror


class HasMirror(Protocol):
    """The ledger of a tenant."""

    @property
    def mirror(self) -> Mirror: ...


class MetadataInitializer:
    """Makes the lake's own tables of a tenant from their JSON files. `recreate=True` makes one anew and keeps a backup.

    Each gives the table's full name, and raises Invalid for a dataset that is not the tenant's: what is written there is read there.
    """

    def __init__(self, ledger: HasMirror) -> None:
        self._mirror: Mirror = ledger.mirror

    def ensure_tables(self, dataset_name: str | None = None, recreate: bool = False) -> list[str]:
        """All four."""
        return [self._ensure(name, dataset_name or self._mirror.dataset, recreate) for name in TABLES]

    def _ensure_pipeline_runs_table(self, dataset_name: str, recreate: bool = False) -> str:
        return self._ensure("pipeline_runs", dataset_name, recreate)

    def _ensure_step_logs_table(self, dataset_name: str, recreate: bool = False) -> str:
        return self._ensure("step_logs", dataset_name, recreate)

    def _ensure_api_keys_table(self, dataset_name: str, recreate: bool = False) -> str:
        return self._ensure("api_keys", dataset_name, recreate)

    def _ensure_dq_results_table(self, dataset_name: str, recreate: bool = False) -> str:
        return self._ensure("dq_results", dataset_name, recreate)

    def _ensure(self, name: str, dataset_name: str, recreate: bool) -> str:
        own = self._mirror.dataset
        if dataset_name.rpartition(".")[2] != own:
            raise Invalid(
                f"the tables of this tenant are in {own}, not in {dataset_name}: open the ledger of the tenant that it belongs to"
            )
        if recreate:
            return self._mirror.recreate(name, apply=True, reason="recreate=True").table
        return str(self._mirror.ensure(name))
