"""Failures of the background in the error log: those of part `monitor` stand there as errors of the table `lakeledger.monitor`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lakeledger.errors import Conflict, NotFound
from lakeledger.redaction import scrub
from lakeledger.runs import Worker
from lakeledger.runs.exceptions import trace_of
from lakeledger.runs.worker import is_gone
from lakeledger.sync.errors import Errors, ErrorStatus, ErrorType, NewError, classify
from lakeledger.sync.failures import error_code

SCHEMA = "lakeledger"
LOOKED_AT = 1_000


@dataclass(frozen=True)
class KeptFailures:
    """One row per failure, open until it is over.

    What fails on another machine is that machine's; what fails for another `owner`, such as a monitor of another table, is that one's.
    """

    _errors: Errors
    _worker: Worker
    _owner: str = ""

    def still_open(self, part: str) -> dict[str, tuple[str, str]]:
        """What an earlier process left open here: id and message by subject."""
        found = self._errors.list("open", schema=SCHEMA, table=part, limit=LOOKED_AT)
        mine = [(error, error.error_details or {}) for error in found]
        return {details["subject"]: (error.id, error.error_message) for error, details in mine if self._is_mine(details)}

    def add(self, part: str, subject: str, message: str, error: BaseException | None) -> str:
        """Keep a failure; its id. It is not tried again by whoever retries errors: its part does that itself."""
        new = NewError(
            SCHEMA,
            part,
            classify(error) if error else ErrorType.VALIDATION,
            message,
            error_code=error_code(error) if error else None,
            error_details={"subject": subject, **self._place, "worker": self._worker.name, "instance": self._worker.instance_id},
            stack_trace=trace_of(error) if error else None,
            max_retries=0,
        )
        return self._errors.log(new).id

    def is_over(self, id: str) -> bool:
        """Whether somebody took it for over. What somebody ignores is not: it still fails, and does not matter."""
        try:
            return self._errors.get(id).status == ErrorStatus.RESOLVED
        except NotFound:
            return True

    def settle(self, id: str, note: str) -> None:
        """It is over, unless somebody has settled it already."""
        with suppress(Conflict, NotFound):
            self._errors.resolve(id, note)

    @property
    def _place(self) -> dict[str, str]:
        return {"node": self._worker.node_id, "owner": scrub(self._owner)}

    def _is_mine(self, details: Mapping[str, Any]) -> bool:
        """Whether it failed here. What has no subject failed in a process, and is its own as long as that one lives."""
        if any(details.get(name) != value for name, value in self._place.items()):
            return False
        name, instance = details.get("worker"), details.get("instance")
        lives_beside = instance == self._worker.instance_id and name != self._worker.name and not is_gone(self._worker, name, instance)
        return bool(details["subject"]) or not lives_beside
