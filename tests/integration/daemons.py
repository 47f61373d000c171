"""Spark's own servers, as processes of the tests: a Spark Connect server, and a standalone cluster on loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from integration.waiting import until
from lakeledger.pipelines import java
from lakeledger.pipelines.reaching import reach
from spark_conf import JAVA_OPTIONS

HOST = "127.0.0.1"
BIN = Path(pyspark.__file__).parent / "bin"
WORKERS = 2


def free_port() -> int:
    """A port that nobody listens at, now."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


@dataclass
class Daemon:
    """One process that leads a session of its own: what it starts ends with it."""

    name: str
    command: list[str]
    folder: Path
    is_up: Callable[[Daemon], bool]
    memory: str = "256m"
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        scratch = self.folder / "tmp"  # what a killed one leaves goes with the tests' folder
        scratch.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "JAVA_HOME": str(java.prepare(java.find())),
            "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={scratch}",
            "SPARK_LOCAL_DIRS": str(scratch),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": self.memory,
            "SPARK_DAEMON_JAVA_OPTS": " ".join(JAVA_OPTIONS),
        }
        environment.pop("SPARK_HOME", None)
        with (self.folder / f"{self.name}.log").open("wb") as log:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )

    def wait(self) -> None:
        """Until it serves."""
        until(self._has_come_up, f"{self.name} to come up")

    def kill(self) -> None:
        """End it at once, with all that it started."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(60)
            self.process = None

    @property
    def log(self) -> str:
        return (self.folder / f"{self.name}.log").read_text(encoding="utf-8", errors="replace")

    def _has_come_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"{self.name} ended:\n{self.log[-4000:]}"
        return self.is_up(self)


@dataclass
class Servers:
    """Some of them together. Started again, they are at the same address."""

    url: str
    daemons: list[Daemon] = field(default_factory=list)

    def start(self) -> None:
        try:
            for daemon in self.daemons:
                daemon.start()
            for daemon in self.daemons:
                daemon.wait()
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        for daemon in reversed(self.daemons):
            daemon.kill()


def connect_server(folder: Path) -> Servers:
    """A Spark Connect server that computes by itself."""
    port = free_port()
    conf = {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": HOST,
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.ui.enabled": "false",
    }
    settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    command = [str(BIN / "spark-submit"), "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]"]
    server = Daemon("connect", [*command, *settings], folder, lambda _: reach(HOST, port) is None, memory="1g")
    return Servers(f"sc://{HOST}:{port}", [server])


def standalone(folder: Path) -> Servers:
    """A master and two workers, each with one core and one gigabyte."""
    port = free_port()
    url = f"spark://{HOST}:{port}"
    run = [str(BIN / "spark-class")]
    address = ["--host", HOST, "--webui-port", "0"]
    master = Daemon(
        "master",
        [*run, "org.apache.spark.deploy.master.Master", *address, "--port", str(port)],
        folder,
        lambda _: reach(HOST, port) is None,
    )
    workers = [
        Daemon(
            f"worker{number}",
            [
                *run,
                "org.apache.spark.deploy.worker.Worker",
                *address,
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                str(folder / "w"),
                url,
            ],
            folder,
            lambda daemon: "Successfully registered with master" in daemon.log,
        )
        for number in range(1, WORKERS + 1)
    ]
    return Servers(url, [master, *workers])
