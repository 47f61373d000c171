"""A task that calls an API: over real HTTP, tried again while it makes sense, without giving secrets away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from integration.test_tasks import error_of, module, only, run, task
from lakeledger import Ledger
from lakeledger.control.documents import parse
from lakeledger.errors import Invalid


@dataclass
class Api:
    """A server that answers as it is told to, and remembers what it was asked."""

    server: ThreadingHTTPServer
    answers: list[tuple[int, dict[str, str], str]] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str], str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/jobs?day=1"


@pytest.fixture
def api() -> Iterator[Api]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            made.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, self.rfile.read(length).decode()))
            status, headers, text = made.answers.pop(0) if made.answers else (200, {}, '{"ok": true}')
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(text.encode())

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _answer  # noqa: N815 - the names that the server looks for

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Api(server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def call(api: Api, **more: Any) -> Any:
    return module(task("call", "api_call", {"url": api.url, **more}))


def facts(ledger: Ledger, result: Any) -> dict[str, Any]:
    return dict(ledger.runs.steps(result.run_id)[0].metadata)


def test_an_api_is_called_and_its_answer_is_kept(ledger: Ledger, tmp_path: Path, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "s3cret-token-value")
    how = {"method": "POST", "body": {"day": "{{job.parameters.day}}"}, "headers": {"Authorization": "Bearer {{env.API_TOKEN}}"}}
    api.answers = [(200, {}, '{"you": "sent s3cret-token-value"}')]
    result = run(ledger, call(api, **how), tmp_path, {"day": "2026-01-02"})
    assert only(result).status == "COMPLETED"
    kept = facts(ledger, result)
    assert (kept["status"], kept["attempts"]) == (200, 1)
    assert kept["answer"].startswith('{"you": "sent')
    ((method, path, headers, body),) = api.asked
    assert (method, path, body) == ("POST", "/jobs?day=1", '{"day": "2026-01-02"}')
    assert (headers["authorization"], headers["content-type"]) == ("Bearer s3cret-token-value", "application/json")
    assert "s3cret" not in str(kept)


def test_it_is_tried_again_with_the_same_key_while_the_server_is_busy(ledger: Ledger, tmp_path: Path, api: Api) -> None:
    api.answers = [(503, {"Retry-After": "0.01"}, "busy"), (429, {"Retry-After": "0.01"}, "slow down")]
    result = run(ledger, call(api), tmp_path)
    assert facts(ledger, result)["attempts"] == 3
    assert len({headers["idempotency-key"] for _, _, headers, _ in api.asked}) == 1


def test_what_is_refused_for_good_is_not_tried_again(ledger: Ledger, tmp_path: Path, api: Api) -> None:
    api.answers = [(422, {}, "no such day\nmore")]
    assert error_of(run(ledger, call(api), tmp_path)) == f"GET {api.url} was answered with 422: no such day"
    assert len(api.asked) == 1


def test_the_retries_have_an_end(ledger: Ledger, tmp_path: Path, api: Api) -> None:
    api.answers = [(500, {"Retry-After": "0.01"}, "broken")] * 2
    assert "still answered with 500 after 2 attempts: broken" in error_of(run(ledger, call(api, retries=1), tmp_path))


def test_nobody_at_the_address_is_named(ledger: Ledger, tmp_path: Path) -> None:
    nobody = module(task("call", "api_call", {"url": "http://ann:s3cret@127.0.0.1:9/", "retries": 0}))
    said = error_of(run(ledger, nobody, tmp_path))
    assert "is not answered" in said
    assert "s3cret" not in said


def test_a_redirect_is_not_followed_because_the_other_host_would_get_the_secrets(ledger: Ledger, tmp_path: Path, api: Api) -> None:
    api.answers = [(302, {"Location": "http://elsewhere.example/"}, "")]
    assert "302: http://elsewhere.example/" in error_of(run(ledger, call(api), tmp_path))
    assert len(api.asked) == 1


def test_other_statuses_may_mean_success(ledger: Ledger, tmp_path: Path, api: Api) -> None:
    api.answers = [(404, {}, "gone")]
    assert only(run(ledger, call(api, method="DELETE", expected_status=[204, 404]), tmp_path)).status == "COMPLETED"


def test_only_http_is_called() -> None:
    with pytest.raises(Invalid, match=r"is no address: write http://… or https://…"):
        parse(str({"modules": [{"module_name": "m", "sources": [task("call", "api_call", {"url": "file:///etc/passwd"})]}]}), "m.yaml")
