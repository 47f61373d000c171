"""The gates of loads, asked before anything is started: what collectors found in the catalogs of their sources."""

from __future__ import annotations

from lakeledger.control.documents import LoadingSource, Module
from lakeledger.insights.gate import source_target
from lakeledger.pipelines import Context


def check_gate(context: Context, module: str, source_id: str) -> None:
    """Raise Invalid if the catalog of a source has a breaking change that nobody accepted."""
    context.ledger.insights.gate(source_target(f"{module}.{source_id}")).check()


def all_closed(context: Context, module: Module) -> str | None:
    """Why a run of the module would load nothing: the gate of each of its active sources is closed. None if one is open.

    A module that does anything else is run, too; a closed gate then fails its own source, and nothing that does not wait for it.
    """
    active = [each for each in module.sources if each.is_active]
    if not active or not all(isinstance(each, LoadingSource) for each in active):
        return None
    gates = (context.ledger.insights.gate(source_target(f"{module.module_name}.{each.source_id}")) for each in active)
    reasons = []
    for gate in gates:
        if gate.is_open:
            return None
        reasons.append(f"{gate.name}: {gate.reason}")
    return "; ".join(reasons)
