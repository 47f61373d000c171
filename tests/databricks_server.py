"""A local workspace that answers the calls of the Databricks Jobs API 2.2 that we use, over HTTP and with the API's own habits.

It fills in defaults, reorders, pages lists after a hundred entries, asks for a token, and can be told to fail.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlsplit

PAGE = 100
MOST_TASKS = 1000
ENTRY_KEYS = {"tasks": "task_key", "job_clusters": "job_cluster_key", "parameters": "name", "environments": "environment_key"}
TOKEN = "dapi0123456789abcdef-canary"


class ApiError(Exception):
    """An answer that is not 200."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error_code": code, "message": message}


@dataclass(frozen=True)
class Request:
    """What was asked."""

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any]
    headers: dict[str, str] = field(repr=False)

    @property
    def call(self) -> str:
        """`create`, `list`, …"""
        return self.path.rpartition("/")[2]


@dataclass
class Fault:
    """What goes wrong with the next requests of a call. Without a status, the connection is cut instead of an answer."""

    call: str
    status: int | None = 500
    times: int = 1
    is_done: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | str = field(default_factory=lambda: {"error_code": "INTERNAL_ERROR", "message": "something broke"})
    until: threading.Event | None = None


class Workspace:
    """The jobs and runs of a workspace. `merges_all_lists`, `removes_last`, `gone_status`: where the API's documents leave two readings."""

    def __init__(self) -> None:
        self.jobs: dict[int, dict[str, Any]] = {}
        self.runs: dict[int, dict[str, Any]] = {}
        self.permissions: dict[int, list[dict[str, Any]]] = {}
        self.merges_all_lists = False
        self.removes_last = False
        self.gone_status = 404
        self._run_tokens: dict[str, int] = {}
        self._ids = count(700_000_000_000_001)

    def add(self, settings: dict[str, Any]) -> int:
        """Make a job without asking over HTTP."""
        check(settings)
        job_id = next(self._ids)
        made = {"job_id": job_id, "creator_user_name": "ada@example.com", "created_time": job_id, "settings": deepcopy(settings)}
        self.jobs[job_id] = made
        return job_id

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        permissions = body.pop("access_control_list", [])
        job_id = self.add(body)
        self.permissions[job_id] = permissions
        return {"job_id": job_id}

    def get(self, query: dict[str, str]) -> dict[str, Any]:
        found = self._job(query["job_id"])
        begin = from_token(query.get("page_token"))
        settings, has_more = page_of(as_read(found["settings"]), begin)
        answer = {**found, "settings": settings, "run_as_user_name": found["creator_user_name"]}
        return {**answer, "has_more": True, "next_page_token": to_token(begin + PAGE)} if has_more else answer

    def list(self, query: dict[str, str]) -> dict[str, Any]:
        limit, begin = int(query.get("limit", 20)), from_token(query.get("page_token"))
        if not 0 < limit <= PAGE:
            raise ApiError(400, "INVALID_PARAMETER_VALUE", f"limit must be between 1 and {PAGE}, was {limit}")
        named = query.get("name", "").casefold()
        found = [job for job in reversed(self.jobs.values()) if not named or str(job["settings"].get("name")).casefold() == named]
        expand = query.get("expand_tasks") == "true"
        answer: dict[str, Any] = {"has_more": begin + limit < len(found)}
        if found:
            answer["jobs"] = [listed(job, expand=expand) for job in found[begin : begin + limit]]
        return {**answer, "next_page_token": to_token(begin + limit)} if answer["has_more"] else answer

    def update(self, body: dict[str, Any]) -> dict[str, Any]:
        """Named fields are replaced, entries of keyed lists one by one; other entries and fields stay."""
        job = self._job(body["job_id"])
        settings = deepcopy(job["settings"])
        gone = body.get("fields_to_remove", [])
        for path in [] if self.removes_last else gone:
            remove(settings, path)
        for name, value in body.get("new_settings", {}).items():
            merged = name in ENTRY_KEYS if self.merges_all_lists else name in ("tasks", "job_clusters")
            settings[name] = merge_entries(settings.get(name, []), value, ENTRY_KEYS[name]) if merged else value
        for path in gone if self.removes_last else []:
            remove(settings, path)
        check(settings)
        job["settings"] = settings
        return {}

    def reset(self, body: dict[str, Any]) -> dict[str, Any]:
        job, settings = self._job(body["job_id"]), deepcopy(body["new_settings"])
        check(settings)
        if "run_as" in job["settings"]:
            settings.setdefault("run_as", job["settings"]["run_as"])
        job["settings"] = settings
        return {}

    def delete(self, body: dict[str, Any]) -> dict[str, Any]:
        del self.jobs[self._job(body["job_id"])["job_id"]]
        return {}

    def run_now(self, body: dict[str, Any]) -> dict[str, Any]:
        job, token = self._job(body["job_id"]), body.get("idempotency_token", "")
        known = {parameter["name"] for parameter in job["settings"].get("parameters", [])}
        if unknown := body.get("job_parameters", {}).keys() - known:
            raise ApiError(400, "INVALID_PARAMETER_VALUE", f"Job parameters {sorted(unknown)} are not defined on the job.")
        if token not in self._run_tokens:
            run_id = next(self._ids)
            state = {"life_cycle_state": "PENDING"}
            self.runs[run_id] = {"run_id": run_id, "job_id": job["job_id"], "state": state, "overriding": body.get("job_parameters", {})}
            self._run_tokens[token or str(run_id)] = run_id
            return {"run_id": run_id, "number_in_job": run_id}
        return {"run_id": self._run_tokens[token]}

    def cancel_run(self, body: dict[str, Any]) -> dict[str, Any]:
        self.get_run({"run_id": body["run_id"]})["state"] = {"life_cycle_state": "TERMINATED", "result_state": "CANCELED"}
        return {}

    def get_run(self, query: dict[str, str]) -> dict[str, Any]:
        found = self.runs.get(int(query["run_id"]))
        if found is None:
            raise ApiError(self.gone_status, "INVALID_PARAMETER_VALUE", f"Run {query['run_id']} does not exist.")
        return found

    def permit(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        job_id = int(path.rpartition("/")[2])
        if body:
            self.permissions[job_id] = body["access_control_list"]
        return {"object_id": f"/jobs/{job_id}", "access_control_list": self.permissions.get(job_id, [])}

    def _job(self, job_id: Any) -> dict[str, Any]:
        found = self.jobs.get(int(job_id))
        if found is None:
            code = "INVALID_PARAMETER_VALUE" if self.gone_status == 400 else "RESOURCE_DOES_NOT_EXIST"
            raise ApiError(self.gone_status, code, f"Job {job_id} does not exist.")
        return found


class DatabricksServer(ThreadingHTTPServer):
    """The workspace on a port of the loopback, with what was asked and what is to go wrong."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.token = token
        self.workspace = Workspace()
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def fail(self, call: str, **more: Any) -> None:
        """Let the next requests of a call go wrong, as Fault says."""
        self.faults.append(Fault(call, **more))

    def calls(self, *names: str) -> list[Request]:
        """What was asked, in order; only these calls if any are named."""
        return [request for request in self.requests if "/jobs/" in request.path and (not names or request.call in names)]

    def next_fault(self, call: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.call == call and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None

    def answer(self, request: Request) -> dict[str, Any]:
        """What the API answers. Raises ApiError."""
        if request.path == "/.well-known/databricks-config":
            return {"oidc_endpoint": f"{self.url}/oidc", "workspace_id": "1234567890", "account_id": "an-account"}
        given = request.headers.get("Authorization", "")
        if not given:
            raise ApiError(401, "UNAUTHENTICATED", "Credential was not sent or was of an unsupported type for this API.")
        if given != f"Bearer {self.token}":
            raise ApiError(403, "PERMISSION_DENIED", f"Invalid access token: {given}")
        with self.lock:
            return self._carry_out(request)

    def _carry_out(self, request: Request) -> dict[str, Any]:
        workspace = self.workspace
        reading = {"list": workspace.list, "get": workspace.get, "runs/get": workspace.get_run}
        writing = {verb: getattr(workspace, verb.replace("-", "_")) for verb in ("create", "update", "reset", "delete", "run-now")}
        writing["runs/cancel"] = workspace.cancel_run
        if request.path.startswith("/api/2.0/permissions/jobs/"):
            return workspace.permit(request.path, request.body)
        if request.path == "/api/2.0/preview/scim/v2/Me":
            return {"userName": "ada@example.com", "id": "1"}
        name = request.path.removeprefix("/api/2.2/jobs/")
        if request.method == "GET" and name in reading:
            return reading[name](request.query)
        if request.method == "POST" and name in writing:
            answer: dict[str, Any] = writing[name](deepcopy(request.body))
            return answer
        raise ApiError(404, "ENDPOINT_NOT_FOUND", f"No API found for '{request.method} {request.path}'")


@contextmanager
def serving(token: str = TOKEN) -> Iterator[DatabricksServer]:
    """A workspace that is there until the end of the block."""
    with DatabricksServer(token) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: DatabricksServer

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was asked is in `requests`."""

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}"))

    def do_PUT(self) -> None:
        self.do_POST()

    def _answer(self, body: dict[str, Any]) -> None:
        parts = urlsplit(self.path)
        request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), body, dict(self.headers))
        self.server.requests.append(request)
        fault = self.server.next_fault(request.call)
        if fault is None or fault.is_done:
            status, answer = self._carried_out(request)
        if fault is None:
            self._send(status, answer, {})
            return
        if fault.until:
            fault.until.wait(30)
        if fault.status is None:
            self.close_connection = True
        else:
            self._send(fault.status, fault.body, fault.headers)

    def _carried_out(self, request: Request) -> tuple[int, dict[str, Any]]:
        try:
            return 200, self.server.answer(request)
        except ApiError as error:
            return error.status, error.body

    def _send(self, status: int, answer: dict[str, Any] | str, headers: dict[str, str]) -> None:
        content = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):  # The client lost patience.
            self.close_connection = True


def check(settings: dict[str, Any]) -> None:
    """What the API refuses. Unknown fields are kept."""
    tasks = settings.get("tasks", [])
    keys = [task.get("task_key") for task in tasks]
    if len(tasks) > MOST_TASKS:
        raise ApiError(400, "INVALID_PARAMETER_VALUE", f"The number of tasks cannot exceed {MOST_TASKS}.")
    if len(set(keys)) < len(keys):
        raise ApiError(400, "INVALID_PARAMETER_VALUE", "Duplicate task keys are not allowed.")
    if len(settings.get("tags", {})) > 25:
        raise ApiError(400, "INVALID_PARAMETER_VALUE", "A job cannot have more than 25 tags.")
    if "schedule" in settings and not {"quartz_cron_expression", "timezone_id"} <= settings["schedule"].keys():
        raise ApiError(400, "INVALID_PARAMETER_VALUE", "Missing required field in schedule: quartz_cron_expression or timezone_id.")
    if settings.get("schedule") and settings.get("continuous"):
        raise ApiError(400, "INVALID_PARAMETER_VALUE", "Only one of schedule and continuous can be used.")
    for task in tasks:
        work = [name for name in task if name.endswith("_task")]
        if len(work) != 1:
            raise ApiError(400, "INVALID_PARAMETER_VALUE", f"Task {task.get('task_key')} must specify exactly one task type, has {work}.")
        for needed in task.get("depends_on", []):
            if needed["task_key"] not in keys:
                raise ApiError(
                    400, "INVALID_PARAMETER_VALUE", f"Task {task['task_key']} depends on {needed['task_key']}, which does not exist."
                )


def as_read(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as the API gives them back: with its defaults, in its order, without what it never returns."""
    defaults = {"format": "MULTI_TASK", "email_notifications": {}, "webhook_notifications": {}, "timeout_seconds": 0}
    read = {**defaults, "max_concurrent_runs": 1, "queue": {"enabled": True}, **deepcopy(settings)}
    source = "GIT" if settings.get("git_source") else "WORKSPACE"
    for task in read.get("tasks", []):
        task |= {"run_if": "ALL_SUCCESS", "timeout_seconds": 0, "email_notifications": {}, "webhook_notifications": {}, **task}
        if "depends_on" in task:
            task["depends_on"] = sorted(task["depends_on"], key=lambda needed: str(needed["task_key"]))
        for name in ("notebook_task", "dbt_task", "spark_python_task"):
            if name in task:
                task[name].setdefault("source", source)
    for part in ("schedule", "trigger"):
        if part in read:
            read[part].setdefault("pause_status", "UNPAUSED")
    read.get("trigger", {}).get("table_update", {}).pop("condition", None)
    return read


def listed(job: dict[str, Any], *, expand: bool) -> dict[str, Any]:
    """A job in a list: without its tasks and clusters, or with the first hundred of each."""
    settings = as_read(job["settings"])
    if not expand:
        return {**job, "settings": {name: value for name, value in settings.items() if name not in ("tasks", "job_clusters")}}
    settings, has_more = page_of(settings, 0)
    return {**job, "settings": settings, **({"has_more": True} if has_more else {})}


def page_of(settings: dict[str, Any], begin: int) -> tuple[dict[str, Any], bool]:
    """One page of every keyed list, and whether there is another."""
    pages = {name: settings[name][begin : begin + PAGE] for name in ENTRY_KEYS if name in settings}
    return {**settings, **pages}, any(len(settings[name]) > begin + PAGE for name in pages)


def merge_entries(there: list[dict[str, Any]], given: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return list({entry[key]: entry for entry in (*there, *given)}.values())


def remove(settings: dict[str, Any], path: str) -> None:
    """Remove a top-level field, or one task or cluster; nothing deeper, as the API documents it."""
    name, _, key = path.partition("/")
    if not key:
        settings.pop(name, None)
    elif name in ("tasks", "job_clusters") and "/" not in key:
        settings[name] = [entry for entry in settings.get(name, []) if entry[ENTRY_KEYS[name]] != key]
    else:
        raise ApiError(400, "INVALID_PARAMETER_VALUE", f"Cannot remove nested field {path}.")


def to_token(begin: int) -> str:
    return base64.urlsafe_b64encode(f"from {begin}".encode()).decode()


def from_token(token: str | None) -> int:
    return int(base64.urlsafe_b64decode(token).decode().removeprefix("from ")) if token else 0
