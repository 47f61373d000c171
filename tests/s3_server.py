"""A real S3 server for tests: moto, in a process of its own on the loopback."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from integration.waiting import until

# What every client is given; moto takes any, unless it is told to check them. The secret must never be seen.
SECRET = "hunter2hunter2hunter2"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true"}


class MissingServer(Exception):
    """moto is not installed."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class S3Server:
    """A server that can be stopped and started again, empty, at the same place. `log` has every request."""

    log: Path
    port: int = field(default_factory=_free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @staticmethod
    def find() -> None:
        """Raises MissingServer."""
        if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask_cors") is None:
            raise MissingServer("moto is not installed: pip install 'moto[s3]' flask-cors")

    def start(self, *buckets: str) -> None:
        """Start it with these buckets. Raises MissingServer."""
        self.find()
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **CREDENTIALS})
        until(self._answers, f"moto on port {self.port}: {self.log.read_text()[-500:]}")
        for bucket in buckets:
            self._send("PUT", bucket)

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()

    def refuse_everybody(self) -> None:
        """From now on credentials are checked, and nobody has any."""
        self._send("POST", "moto-api/reset-auth", b"0")

    def requests(self) -> list[str]:
        """Method and path of every request so far."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return [line.split('"')[1].rpartition(" ")[0] for line in lines if '"' in line and "HTTP/1.1" in line]

    def _answers(self) -> bool:
        try:
            self._send("GET", "moto-api/")
        except (URLError, ConnectionError):
            return False
        return True

    def _send(self, method: str, path: str, body: bytes | None = None) -> None:
        request = Request(f"{self.endpoint}/{path}", data=body, method=method, headers={"Content-Type": "text/plain"})
        with urlopen(request, timeout=10):
            pass
