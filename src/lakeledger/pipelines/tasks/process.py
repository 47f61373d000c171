"""Another program, started for a task and ended with it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from lakeledger.errors import Failed, Invalid
from lakeledger.pipelines import capturing

KEPT_LINES = 30
POLL_SECONDS = 0.1
GRACE_SECONDS = 5.0


def run(command: Sequence[str], *, folder: Path, stop: threading.Event, environment: Mapping[str, str] | None = None) -> list[str]:
    """Run a program to its end; the last lines that it printed. Raises Failed if it fails, or if the task is stopped."""
    name = Path(command[0]).name
    try:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise Invalid(f"cannot start {name} in {folder}: {error.strerror}") from error
    lines: deque[str] = deque(maxlen=KEPT_LINES)
    reader = threading.Thread(target=_read, args=(process, lines, capturing.current()), name=f"output-of-{process.pid}", daemon=True)
    reader.start()
    try:
        code = _wait(process, stop)
    finally:
        _end(process)
    reader.join(GRACE_SECONDS)
    if stop.is_set() and code != 0:
        raise Failed(f"{name} was stopped")
    if code != 0:
        said = next((line for line in reversed(lines) if line.strip()), "it printed nothing")
        raise Failed(f"{name} ended with {code}: {said.strip()}")
    return list(lines)


def _read(process: subprocess.Popen[str], lines: deque[str], output: capturing.Output | None) -> None:
    with cast("IO[str]", process.stdout) as printed:
        for line in printed:
            lines.append(line.rstrip("\n"))
            if output:
                output.write(line)


def _wait(process: subprocess.Popen[str], stop: threading.Event) -> int:
    while not stop.is_set():
        with suppress(subprocess.TimeoutExpired):
            return process.wait(POLL_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)  # it leads its session, so its id is also that of its group
    with suppress(subprocess.TimeoutExpired):
        return process.wait(GRACE_SECONDS)
    return -signal.SIGKILL


def _end(process: subprocess.Popen[str]) -> None:
    """Whatever of it is left must not go on by itself."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
