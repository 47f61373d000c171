"""Failures of the background in the error log: those of part `monitor` stand there as errors of the table `lakeledger.monitor`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from lakeledger.errors import Conflict, NotFound
from lakeledger.runs.exceptions import trace_of
from lakeledger.sync.errors import Errors, ErrorType, NewError, classify
from lakeledger.sync.failures import error_code

SCHEMA = "lakeledger"
LOOKED_AT = 1_000


@dataclass(frozen=True)
class KeptFailures:
    """One row per failure, open until it is over. What fails on another machine is that machine's."""

    _errors: Errors
    _node: str

    def still_open(self, part: str) -> dict[str, tuple[str, str]]:
        """What an earlier process left open here: id and message by subject."""
        found = self._errors.list("open", schema=SCHEMA, table=part, limit=LOOKED_AT)
        mine = [(error, error.error_details or {}) for error in found]
        return {details["subject"]: (error.id, error.error_message) for error, details in mine if details.get("node") == self._node}

    def add(self, part: str, subject: str, message: str, error: BaseException | None) -> str:
        """Keep a failure; its id. It is not tried again by whoever retries errors: its part does that itself."""
        new = NewError(
            SCHEMA,
            part,
            classify(error) if error else ErrorType.VALIDATION,
            message,
            error_code=error_code(error) if error else None,
            error_details={"subject": subject, "node": self._node},
            stack_trace=trace_of(error) if error else None,
            max_retries=0,
        )
        return self._errors.log(new).id

    def settle(self, id: str) -> None:
        """It is over, unless somebody has settled it already."""
        with suppress(Conflict, NotFound):
            self._errors.resolve(id, "it works again")
