"""Where this process runs, as records say it: cluster, workspace, tenant, orchestrator and schedule."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lakeledger.config import RecordSettings
from lakeledger.records.model import MetadataContext

KEYS = ("cluster", "workspace", "tenant", "orchestrator", "schedule")

# What others set in the processes that they start: who schedules them, and by which variable the schedule is known.
_ORCHESTRATORS = {
    "airflow": ("AIRFLOW_CTX_DAG_ID", "AIRFLOW_CTX_DAG_ID"),
    "dagster": ("DAGSTER_RUN_JOB_NAME", "DAGSTER_RUN_JOB_NAME"),
    "prefect": ("PREFECT__FLOW_RUN_ID", "PREFECT__FLOW_RUN_NAME"),
    "databricks": ("DATABRICKS_JOB_ID", "DATABRICKS_JOB_NAME"),
    "github": ("GITHUB_ACTIONS", "GITHUB_WORKFLOW"),
    "lakeledger": ("LAKELEDGER_JOB", "LAKELEDGER_JOB"),
}
_CLUSTERS = ("DB_CLUSTER_NAME", "DB_CLUSTER_ID", "EMR_CLUSTER_ID", "DATAPROC_CLUSTER_NAME")
_WORKSPACES = ("DATABRICKS_WORKSPACE_ID", "DATABRICKS_HOST", "KUBERNETES_NAMESPACE", "POD_NAMESPACE")


def environment(tenant: str, settings: RecordSettings | None = None, variables: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What is known of where this process runs: what is set, else what the variables of known tools say; None for what nobody said."""
    given = settings or RecordSettings()
    known = next((name for name, (sign, _) in _ORCHESTRATORS.items() if variables.get(sign)), None)
    return {
        "cluster": given.cluster or _first(variables, _CLUSTERS) or socket.gethostname(),
        "workspace": given.workspace or _first(variables, _WORKSPACES),
        "tenant": tenant,
        "orchestrator": given.orchestrator or known,
        "schedule": given.schedule or (variables.get(_ORCHESTRATORS[known][1]) if known else None),
    }


def _first(variables: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((variables[name] for name in names if variables.get(name)), None)


def filled(context: MetadataContext, surroundings: Mapping[str, Any]) -> MetadataContext:
    """The context with where it runs; what a producer said itself counts."""
    if all(name in context.extras for name in KEYS) and context.namespace:
        return context
    return replace(context, namespace=context.namespace or surroundings["tenant"], extras={**surroundings, **context.extras})
