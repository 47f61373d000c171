"""A control table deployed to a Databricks workspace on this machine, and the people who work there by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from databricks_server import TOKEN, DatabricksServer
from lakeledger import Ledger
from lakeledger.control.deployment import Deployment
from lakeledger.control.documents import Module
from lakeledger.control.model import Edit
from lakeledger.control.opening import open_control
from lakeledger.control.plan import Action
from lakeledger.control.rows import to_rows
from lakeledger.jobs import MODULE_TAG, tracking
from lakeledger.jobs.databricks import Backoff, DatabricksBackend
from lakeledger.jobs.tracking import TrackedJob

if TYPE_CHECKING:
    from databricks.sdk import WorkspaceClient

WRITING = ("create", "update", "reset", "delete")
DAILY = {"quartz_cron_expression": "0 0 5 * * ?", "timezone_id": "UTC"}


def notebook(name: str, path: str = "", **more: Any) -> dict[str, Any]:
    task = {"task_type": "notebook", "notebook_task": {"notebook_path": path or f"/etl/{name}"}}
    return {"source_id": name, "source_type": "task", "transformation_config": task, **more}


def module(name: str = "shop", *sources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"module_name": name, "sources": list(sources) or [notebook("load")], **more}


@dataclass(frozen=True)
class Site:
    """What a test holds in its hands: the table, its jobs, the ledger and the workspace."""

    server: DatabricksServer
    ledger: Ledger
    deployment: Deployment
    waits: list[float]

    @property
    def hand(self) -> WorkspaceClient:
        """The workspace as a person has it before them."""
        from databricks.sdk import WorkspaceClient

        return WorkspaceClient(host=self.server.url, token=TOKEN)

    def put(self, *documents: dict[str, Any]) -> None:
        """Let the table say this of these modules, and nothing else."""
        snapshot = self.deployment.table.read()
        modules = [Module.model_validate(document) for document in documents]
        sources: dict[Any, Any] = {key: None for key in snapshot.sources if key[0] in {each.module_name for each in modules}}
        made = [to_rows(each) for each in modules]
        sources |= {row.key: row for _, found in made for row in found}
        edit = Edit(sources, {row.key: row for row, _ in made})
        self.deployment.table.commit(edit, snapshot, "ann")

    def spoil(self, name: str, source: str, text: str) -> None:
        """Write a row that nobody can carry out, as somebody else's Spark would."""
        snapshot = self.deployment.table.read()
        row = snapshot.sources.get((name, source)) or to_rows(Module.model_validate(module(name, notebook(source))))[1][0]
        self.deployment.table.commit(Edit({row.key: replace(row, transformation_config=text)}), snapshot, "somebody")

    def drop(self, name: str) -> None:
        """Delete a module."""
        snapshot = self.deployment.table.read()
        self.deployment.table.commit(Edit({key: None for key in snapshot.sources if key[0] == name}, {name: None}), snapshot, "ann")

    def apply(self, **more: Any) -> dict[str, tuple[str, str | None]]:
        """Plan and apply; what was done for each module, and to which job."""
        done = self.deployment.apply(self.deployment.plan(**more), **more)
        assert not [each.error for each in done if each.error]
        return {each.module_name: (each.action.kind, each.job_id) for each in done}

    def action(self, name: str = "shop", **more: Any) -> Action:
        """What is planned for a module."""
        return next(action for action in self.deployment.plan(**more).actions if action.module_name == name)

    def kinds(self, **more: Any) -> dict[str, str]:
        return {action.module_name: action.kind for action in self.deployment.plan(**more).actions}

    def settings(self, name: str = "shop") -> dict[str, Any]:
        """The job of a module as it is kept in the workspace. There is one."""
        (found,) = [job["settings"] for job in self.server.workspace.jobs.values() if job["settings"]["tags"].get(MODULE_TAG) == name]
        return dict(found)

    def tasks(self, name: str = "shop") -> dict[str, dict[str, Any]]:
        return {task["task_key"]: task for task in self.settings(name)["tasks"]}

    def change_by_hand(self, job_id: str | None, **settings: Any) -> None:
        """Set these fields of a job, over the API as a person's tool does."""
        body = {"job_id": int(str(job_id)), "new_settings": settings}
        self.hand.api_client.do("POST", "/api/2.2/jobs/update", body=body)
        self.server.requests.clear()

    def sent(self) -> list[str]:
        """The calls that would change something, since the last look."""
        found = [request.call for request in self.server.calls(*WRITING)]
        self.server.requests.clear()
        return found

    def tracked(self, name: str = "shop") -> TrackedJob | None:
        with self.ledger.store.read() as tx:
            return tracking.find(tx, self.deployment.table.identity, name, self.deployment.backend.name)


@contextmanager
def opened(server: DatabricksServer, ledger: Ledger, table: Path, attempts: int = 6) -> Iterator[Site]:
    """The site with that control table, made if it is not there. Pauses are noted, not made."""
    waits: list[float] = []
    backend = DatabricksBackend(server.url, TOKEN, backoff=Backoff(attempts, pause=waits.append))
    opened = open_control(str(table), ledger, backend)
    opened.deployment.table.create()
    yield Site(server, ledger, opened.deployment, waits)
    opened.close()
