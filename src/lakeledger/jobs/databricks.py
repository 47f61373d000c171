"""Jobs on Databricks, over the Jobs API 2.2 with the Databricks SDK's own authentication.

Settings go in and out as the API's JSON: the SDK's dataclasses would lose every field that they do not know yet.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from lakeledger import clock
from lakeledger.errors import Conflict, Failed, Forbidden, Invalid, LakeledgerError, NotFound, NotInstalled, Unavailable
from lakeledger.jobs import MODULE_TAG, OWNER_TAG, Check, Job, JobSpec, refuse_second
from lakeledger.jobs.settings import ENTRY_KEYS, SENT_BY_ENTRY, Patch, entries, merge, patch
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from databricks.sdk import WorkspaceClient
    from databricks.sdk.core import ApiClient, Config

API = "/api/2.2/jobs"
PAGE = 100
LONGEST_MESSAGE = 500

_GONE = re.compile(r"\b(?:job|run)\W+(?:(?:with|id)\W+)*\d+\W+(?:does not exist|doesn't exist|not found)", re.IGNORECASE)


@dataclass(frozen=True)
class Backoff:
    """How long to keep trying while Databricks is busy: each pause doubles, and is never shorter than `Retry-After` asks for."""

    attempts: int = 6
    first_seconds: float = 1.0
    longest_seconds: float = 60.0
    pause: Callable[[float], None] = time.sleep

    def seconds(self, attempt: int, asked: float | None) -> float | None:
        """The pause after the given attempt, or None if it is not worth waiting."""
        if attempt >= self.attempts or (asked or 0) > self.longest_seconds:
            return None
        return max(min(self.first_seconds * 2.0 ** (attempt - 1), self.longest_seconds), asked or 0)


class DatabricksBackend:
    """Jobs of one Databricks workspace. Without arguments, it is the one that the SDK finds: environment, profile, the cluster itself.

    Raises NotInstalled without the SDK, and Invalid if there is no way to sign in. Every verb raises Forbidden, and
    Unavailable once Databricks has been busy or out of reach for as long as `backoff` allows.
    """

    def __init__(
        self,
        host: str | None = None,
        token: str | None = None,
        profile: str | None = None,
        client: WorkspaceClient | None = None,
        *,
        backoff: Backoff | None = None,
        timeout_seconds: float = 60.0,
    ) -> None:
        self._backoff = backoff or Backoff()
        self._config = _sign_in(host, token, profile, client, timeout_seconds)
        self._api = _client(self._config)
        self._secrets = _secrets(self._config)

    @property
    def name(self) -> str:
        """With its workspace: the ids of one workspace's jobs mean nothing in another."""
        return f"databricks:{urlsplit(self.host).netloc}"

    @property
    def host(self) -> str:
        """The address of the workspace."""
        return str(self._config.host)

    def list(self) -> Sequence[Job]:
        """Every job with our tag, whole. The API cannot filter by tag: it is asked for all jobs, a hundred at a time."""
        return [job for found in self._pages({}) if OWNER_TAG in _tags(found) and (job := self._whole(found))]

    def find(self, job_id: str) -> Job | None:
        """The job as it is now, or None if somebody deleted it."""
        try:
            return self._get(job_id)
        except NotFound:
            return None

    def create(self, spec: JobSpec, seen: Container[str] = ()) -> Job:
        """Make the job, once: before each try it is looked for by its name and tags. Raises Invalid, or Conflict if it was there before."""
        tags = spec.settings.get("tags") or {}
        if not tags.get(OWNER_TAG) or tags.get(MODULE_TAG) != spec.module_name:
            raise Invalid(
                f"the job of module {spec.module_name!r} needs the tags {OWNER_TAG} and {MODULE_TAG}: it could not be found again"
            )
        if found := self._made(spec.settings, seen):
            refuse_second(spec, [Job(str(found["job_id"]), found["settings"])], seen)
        what = f"create the job of module {spec.module_name!r}"
        made = self._call(what, "POST", "/create", body=spec.settings, done=lambda: self._made(spec.settings, seen))
        job_id = str(made["job_id"])
        # A job found again may have been made from earlier settings.
        return self.update(job_id, spec) if "settings" in made else Job(job_id, dict(spec.settings))

    def update(self, job_id: str, spec: JobSpec, remove: Sequence[str] = (), check: Check | None = None) -> Job:
        """Set these settings in place and remove those fields (`schedule`, `tasks/load`, `tasks/load/timeout_seconds`).

        Only what differs is sent, and what is not named stays as people set it. `check` sees the job as it is right before, and may
        refuse by raising. Raises NotFound and Invalid.
        """
        current = self._get(job_id)
        if check:
            check(current)
        target = merge(current.settings, spec.settings, remove)
        changes = patch(current.settings, target)
        if changes:
            self._send(current, changes)
        if merged := self._merged_lists(current, target):
            self._set_anew(current, {name: target.get(name) for name in merged})
        return replace(current, settings=target)

    def delete(self, job_id: str, check: Check | None = None) -> None:
        """Delete the job; one that is gone already is no error. `check` sees it right before, and may refuse by raising."""
        try:
            if check:
                check(self._get(job_id))
            self._call(f"delete job {job_id}", "POST", "/delete", body={"job_id": _number(job_id)})
        except NotFound:
            return

    def run_now(self, job_id: str, parameters: Mapping[str, str] | None = None) -> str:
        """Start it now, once even if an answer is lost; the id of the run. Raises NotFound and Invalid."""
        body: dict[str, Any] = {"job_id": _number(job_id), "idempotency_token": clock.new_id()}
        if parameters:
            body["job_parameters"] = dict(parameters)
        return str(self._call(f"run job {job_id}", "POST", "/run-now", body=body)["run_id"])

    def cancel(self, run_id: str) -> None:
        """End a run; Databricks takes a while to do so, and does not mind if it has ended. Raises NotFound."""
        self._call(f"cancel run {run_id}", "POST", "/runs/cancel", body={"run_id": _number(run_id, "run")})

    def _send(self, job: Job, changes: Patch) -> None:
        body: dict[str, Any] = {"job_id": _number(job.job_id), "new_settings": changes.new_settings}
        if changes.fields_to_remove:
            body["fields_to_remove"] = changes.fields_to_remove
        self._call(f"update job {job.job_id}", "POST", "/update", body=body)

    def _merged_lists(self, before: Job, target: Mapping[str, Any]) -> Sequence[str]:
        """The lists in which a removed parameter or environment is still there.

        The API documents that it merges lists by key, but names only tasks and clusters, and removes single entries of no others.
        """
        others = [name for name in ENTRY_KEYS if name not in SENT_BY_ENTRY]
        if all(entries(before.settings, name).keys() <= entries(target, name).keys() for name in others):
            return []
        after = self._get(before.job_id).settings
        return [name for name in others if not entries(after, name).keys() <= entries(target, name).keys()]

    def _set_anew(self, job: Job, lists: Mapping[str, Any]) -> None:
        """Remove these lists and set them again. A reset would do it, too, but overwrite whatever people set meanwhile."""
        wanted = {name: value for name, value in lists.items() if value}
        self._send(job, Patch(wanted, list(lists)))
        after = self._get(job.job_id).settings
        # Whether a field that is both removed and set is there in the end, the API does not document.
        if missing := {name: value for name, value in wanted.items() if not after.get(name)}:
            self._send(job, Patch(missing))

    def _get(self, job_id: str) -> Job:
        query = {"job_id": _number(job_id)}
        page = self._call(f"read job {job_id}", "GET", "/get", query=query)
        settings: dict[str, Any] = page.get("settings") or {}
        while token := page.get("next_page_token"):
            page = self._call(f"read job {job_id}", "GET", "/get", query={**query, "page_token": token})
            for name in ENTRY_KEYS:
                known = entries(settings, name)
                if more := [entry for key, entry in entries(page.get("settings") or {}, name).items() if key not in known]:
                    settings[name] = [*known.values(), *more]
        return Job(job_id, settings)

    def _pages(self, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        asked = {**query, "limit": PAGE, "expand_tasks": True}
        while True:
            page = self._call("list the jobs", "GET", "/list", query=asked)
            yield from page.get("jobs") or []
            if not page.get("next_page_token"):
                return
            asked["page_token"] = page["next_page_token"]

    def _whole(self, found: dict[str, Any]) -> Job | None:
        """A listed job; of one with long lists only the first hundred entries are listed, so it is read."""
        job_id = str(found["job_id"])
        return self.find(job_id) if found.get("has_more") else Job(job_id, found.get("settings") or {})

    def _made(self, settings: Mapping[str, Any], seen: Container[str]) -> dict[str, Any] | None:
        """The job that a lost request made, if it did; none of those that were there before."""
        wanted = {name: settings["tags"][name] for name in (OWNER_TAG, MODULE_TAG)}
        by_name = {"name": settings["name"]} if settings.get("name") else {}
        made = (found for found in self._pages(by_name) if str(found["job_id"]) not in seen)
        return next((found for found in made if wanted.items() <= _tags(found).items()), None)

    def _call(
        self,
        what: str,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        body: dict[str, Any] | None = None,
        done: Callable[[], dict[str, Any] | None] | None = None,
    ) -> dict[str, Any]:
        """One call, tried again while Databricks is busy. `done` tells what a request did whose answer was lost."""
        attempt = 0
        while True:
            attempt += 1
            try:
                answer = self._api.do(method, API + path, query=query, body=body, headers=self._headers())
                return cast("dict[str, Any]", answer)
            except (OSError, ValueError) as error:
                failure = self._translated(error, f"cannot {what} on {self.host}", attempt)
                wait = self._backoff.seconds(attempt, getattr(error, "retry_after_secs", None))
                if wait is None or not isinstance(failure, Unavailable):
                    raise failure from error
            self._backoff.pause(wait)
            if done and (found := done()):
                return found

    def _headers(self) -> dict[str, str]:
        """As the SDK's own calls send it: one host may serve several workspaces."""
        workspace = getattr(self._config, "workspace_id", None)
        return {"Accept": "application/json", **({"X-Databricks-Workspace-Id": workspace} if workspace else {})}

    def _translated(self, error: Exception, what: str, attempt: int) -> LakeledgerError:
        """Our error for one of the SDK's, without secrets; they are taken out of the SDK's own, too, which remains as its cause."""
        message = _one_line(scrub(str(error), self._secrets))
        error.args = (message,)
        failure = _kind(error, message)
        if failure is Unavailable:
            tried = f"tried {attempt} times" if attempt > 1 else "tried once"
            return Unavailable(f"{what}: {message} ({tried}; try again later)")
        if failure is Conflict:
            return Conflict(f"{what}: {message}", retryable=True)
        return failure(f"{what}: {message}")


def _sign_in(host: str | None, token: str | None, profile: str | None, client: WorkspaceClient | None, timeout_seconds: float) -> Config:
    try:
        from databricks.sdk.core import Config
    except ImportError as error:
        raise NotInstalled("jobs on Databricks need its SDK: pip install 'lakeledger[databricks]'") from error
    if client is not None:
        own: Config = client.config.copy()  # type: ignore[no-untyped-call]
        return own
    try:
        return Config(
            host=host,
            token=token,
            profile=profile,
            auth_type="pat" if token else None,
            product="lakeledger",
            http_timeout_seconds=timeout_seconds,
            retry_timeout_seconds=1,  # Only for what the SDK asks the host before anything else: five minutes otherwise.
        )
    except ValueError as error:
        said = _one_line(scrub(str(error), [token] if token else []))
        raise Invalid(
            f"cannot sign in to Databricks: {said}; set DATABRICKS_HOST and DATABRICKS_TOKEN, or a profile in ~/.databrickscfg"
        ) from error


def _client(config: Config) -> ApiClient:
    """The SDK's HTTP client, trying once. By itself it would send a `create` again whose answer was lost, and make a second job."""
    from databricks.sdk.clock import RealClock
    from databricks.sdk.core import ApiClient

    class OneTry(RealClock):
        def sleep(self, seconds: float) -> None:  # noqa: ARG002  # the SDK's signature
            if error := sys.exception():
                raise error

    config._clock = OneTry()  # noqa: SLF001  # the SDK takes a clock only for a configuration it makes itself
    return ApiClient(config)


def _secrets(config: Config) -> frozenset[str]:
    values = (getattr(config, attribute.name) for attribute in config.attributes() if attribute.sensitive)
    return frozenset(value for value in values if isinstance(value, str) and value)


def _kind(error: Exception, message: str) -> type[LakeledgerError]:
    """Whose fault it is. A missing warehouse or cluster is answered like a missing job: only a job that is named as gone is gone."""
    import requests
    from databricks.sdk import errors as sdk
    from databricks.sdk.core import DatabricksError

    lost = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
    kinds: Sequence[tuple[tuple[type[Exception], ...], type[LakeledgerError]]] = (
        ((sdk.Unauthenticated, sdk.PermissionDenied), Forbidden),
        ((sdk.NotFound, sdk.BadRequest), Invalid),
        ((sdk.ResourceConflict,), Conflict),
        ((sdk.NotImplemented, sdk.Cancelled, requests.exceptions.JSONDecodeError), Failed),
        ((DatabricksError, *lost), Unavailable),  # 429 and 5xx; what the SDK has no class for are gateways' answers.
    )
    if isinstance(error, sdk.NotFound | sdk.BadRequest) and _GONE.search(message):
        return NotFound
    return next((kind for classes, kind in kinds if isinstance(error, classes)), Invalid)


def _tags(found: Mapping[str, Any]) -> dict[str, str]:
    return (found.get("settings") or {}).get("tags") or {}


def _number(id: str, what: str = "job") -> int:
    if not id.isdecimal():
        raise NotFound(f"no {what} {id!r} on Databricks: its {what} ids are numbers")
    return int(id)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}…"
