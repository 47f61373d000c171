"""The storm: processes that work on one ledger while others of them are killed, stopped and held up, and the server restarts."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import lakeledger
from lakeledger import Ledger, Settings
from lakeledger.control.documents import parse
from lakeledger.control.settings import job_spec
from lakeledger.errors import LakeledgerError, NotFound
from lakeledger.jobs.local import LocalBackend
from postgres_server import Server

TESTS = Path(__file__).parent.parent
WORKER = Path(__file__).parent / "worker.py"
SCHEDULER = TESTS / "acceptance/scheduling.py"

LEASE_SECONDS = 4.0
OUTAGE_SECONDS = 60.0
KEEP_SECONDS = 15.0
HOLD_SECONDS = 5.0
# A stopped worker is not healthy: after its lease and the time to answer, somebody else takes over.
LONG_STOP_SECONDS = 2 * LEASE_SECONDS
# No call of the ledger takes longer: an outage, then the wait for one lock.
BOUND_SECONDS = OUTAGE_SECONDS + 30

JOB = """\
modules:
  - module_name: counting
    parameters: {number: "0"}
    sources:
      - source_id: count
        source_type: task
        transformation_config:
          task_type: python
          python_task: {function: "steps:count", parameters: {number: "{{job.parameters.number}}"}}
"""
STEPS = """\
from lakeledger import NumberPosition

def count(context, number):
    context.stop.wait(0.3)
    context.ledger.positions.advance(f"jobs.n{number}", NumberPosition(int(number)))
"""


@dataclass
class Process:
    """A worker: started anew after it was killed. `stopped` has when it was stopped and when it went on."""

    name: str
    command: list[str]
    log: Path
    errors: Path
    source: str = "-"
    running: subprocess.Popen[str] | None = None
    stopped: list[tuple[int, float, float]] = field(default_factory=list)

    def start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
        with self.errors.open("ab") as errors:
            self.running = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                text=True,
                start_new_session=True,
                env=environment,
            )

    @property
    def pid(self) -> int:
        assert self.running is not None
        return self.running.pid

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        assert self.running is not None
        self.running.wait(60)
        self._close()

    def end(self, seconds: float) -> int | None:
        """Ask it to end; how it did, or None if it had to be killed."""
        assert self.running is not None
        self.running.send_signal(signal.SIGTERM)
        self._close()
        try:
            return self.running.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def _close(self) -> None:
        if self.running and self.running.stdin:
            with suppress(BrokenPipeError):
                self.running.stdin.close()

    def events(self) -> list[dict[str, Any]]:
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]


def status(backend: LocalBackend, id: str) -> str:
    """How a run of a job stands, or stood until the janitor cleaned it up: then only what it did shows that it was carried out."""
    try:
        return backend.run(id).status
    except NotFound:
        return "cleaned up"


class Storm:
    """Everything that works on one ledger, and what was done to it. The same seed does the same, as far as processes can."""

    def __init__(self, folder: Path, url: str, server: Server | None, seed: int, *, spark: bool = False) -> None:
        self.folder, self.url, self.server = folder, url, server
        self.warehouse = str(folder / "warehouse")
        self.seen: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._timers: list[threading.Timer] = []
        self._busy_until = {"hold": 0.0, "restart": 0.0}
        self._pause = threading.Event()
        folder.mkdir(exist_ok=True)
        (folder / "steps.py").write_text(STEPS, encoding="utf-8")
        self.writers = [self._worker("writer", f"writer{n}", "ab"[n % 2]) for n in range(4)]
        self.sources = ["a", "b"]
        if spark:
            self.writers += [self._worker("spark", f"spark{n}", "s") for n in range(2)]
            self.sources.append("s")
        self.schedulers = [self._scheduler(f"scheduler{n}") for n in range(2)]
        self.janitor = self._worker("janitor", "janitor", "-")
        self.holder = self._worker("holder", "holder", "-")
        self.jobs: list[str] = []

    @property
    def processes(self) -> list[Process]:
        return [*self.writers, *self.schedulers, self.janitor, self.holder]

    def open(self) -> Ledger:
        return lakeledger.open(Settings(self.url, self.warehouse, lease_seconds=LEASE_SECONDS, outage_seconds=OUTAGE_SECONDS))

    def _worker(self, kind: str, name: str, source: str) -> Process:
        log = self.folder / f"{name}.jsonl"
        role = {
            "name": name,
            "url": self.url,
            "warehouse": self.warehouse,
            "source": source,
            "lease_seconds": LEASE_SECONDS,
            "outage_seconds": OUTAGE_SECONDS,
            "log": str(log),
            "keep_seconds": KEEP_SECONDS,
        }
        return Process(name, [sys.executable, str(WORKER), kind, json.dumps(role)], log, self.folder / f"{name}.err", source)

    def _scheduler(self, name: str) -> Process:
        command = [sys.executable, str(SCHEDULER), self.url, self.warehouse, str(LEASE_SECONDS)]
        return Process(name, command, self.folder / f"{name}.jsonl", self.folder / f"{name}.err")

    def rage(self, seconds: float) -> None:
        """Let them all work, and disturb them for so long; then let them come to rest."""
        with self.open() as ledger:
            (module,) = parse(JOB, "counting.yml").modules
            backend = LocalBackend(ledger.store, "storm")
            spec = job_spec(module, "etl_control", str(self.folder))
            job_id = backend.create(replace(spec, settings={**spec.settings, "max_retries": 50})).job_id
            for process in self.processes:
                process.start()
            try:
                self._wait_for_work()
                self._disturb(backend, job_id, seconds)
                self._calm_down(backend)
            finally:
                for process in self.processes:
                    process.signal(signal.SIGCONT)
                    process.kill()

    def _wait_for_work(self) -> None:
        """Until each source has had a load, so that a busy machine has its storm as well."""
        ends = time.monotonic() + BOUND_SECONDS
        while {process.source for process in self.writers if process.events()} != set(self.sources) and time.monotonic() < ends:
            self._pause.wait(0.1)

    def _disturb(self, backend: LocalBackend, job_id: str, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while (now := time.monotonic()) < ends:
            with suppress(LakeledgerError):  # the storm itself may meet an outage
                if len(self.jobs) < seconds / 2:
                    self.jobs.append(backend.run_now(job_id, {"number": str(len(self.jobs) + 1)}))
            self._chance.choice([self._kill, self._stop_shortly, self._stop_for_long, self._hold, self._restart])(now)
            self._pause.wait(self._chance.uniform(0.3, 1.2))

    def _calm_down(self, backend: LocalBackend) -> None:
        """Let what was stopped go on, and wait until every job that was asked for has ended, for as long as one after the other does."""
        for timer in self._timers:
            timer.join()
        left, ends = len(self.jobs), time.monotonic() + BOUND_SECONDS
        while waiting := [id for id in self.jobs if status(backend, id) in ("queued", "running")]:
            if len(waiting) < left:
                left, ends = len(waiting), time.monotonic() + BOUND_SECONDS
            self.seen["jobs left by the storm"] = max(self.seen["jobs left by the storm"], left)
            if time.monotonic() > ends:
                break
            self._pause.wait(0.2)
        for process in self.processes:
            if process.end(60) is None:
                self.seen[f"{process.name} did not end"] += 1

    def _kill(self, _now: float) -> None:
        victim = self._chance.choice([*self.writers, *self.schedulers, self.janitor])
        victim.kill()
        victim.start()
        self.seen["killed"] += 1

    def _stop_shortly(self, _now: float) -> None:
        self._stop(self._chance.uniform(0.2, 1.5), "stopped shortly")

    def _stop_for_long(self, _now: float) -> None:
        self._stop(LONG_STOP_SECONDS, "stopped for long")

    def _stop(self, seconds: float, name: str) -> None:
        victim = self._chance.choice([*self.writers, *self.schedulers, self.janitor])
        pid, began = victim.pid, time.time()
        victim.signal(signal.SIGSTOP)

        def go_on() -> None:
            victim.signal(signal.SIGCONT)
            victim.stopped.append((pid, began, time.time()))

        # By a thread of its own: the storm itself may wait for the very process that is stopped.
        timer = threading.Timer(seconds, go_on)
        timer.start()
        self._timers.append(timer)
        self.seen[name] += 1

    def _hold(self, now: float) -> None:
        if now < self._busy_until["hold"] or self.holder.running is None or self.holder.running.stdin is None:
            return
        self._busy_until["hold"] = now + 2 * HOLD_SECONDS
        self.holder.running.stdin.write(f"{HOLD_SECONDS}\n")
        self.holder.running.stdin.flush()
        self.seen["held"] += 1

    def _restart(self, now: float) -> None:
        if self.server is None or now < self._busy_until["restart"]:
            return
        self._busy_until["restart"] = now + 8
        self.server.stop()
        self._pause.wait(self._chance.uniform(0, 1.5))
        self.server.resume()
        self.seen["restarted"] += 1
