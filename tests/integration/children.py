"""Starting other processes and being sure that they, and the JVM that each has started, are gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent
SCRIPT = Path(__file__).parent / "child.py"
DEADLINE_SECONDS = 180


@dataclass(frozen=True)
class Child:
    """A process in a session of its own. What it prints goes to a pipe, what goes wrong to a log."""

    process: subprocess.Popen[str]
    log: Path

    def tell(self, do: str, **arguments: Any) -> None:
        """Give a command to a serving child."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        """What a serving child answers."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the child ended:\n{self.errors}"
        return json.loads(line)

    def wait(self) -> int:
        """How the process ended. Afterwards its JVM is gone as well."""
        try:
            return self.process.wait(DEADLINE_SECONDS)
        finally:
            self.end()

    def end(self) -> None:
        """Kill whatever is left of its session, and wait until nobody holds the pipe any more."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # it leads its session, so its id is also that of its group
        self.process.communicate(timeout=DEADLINE_SECONDS)

    @property
    def errors(self) -> str:
        """The end of what it wrote to its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-4000:]


def start(log: Path, *arguments: str, script: Path = SCRIPT, folder: Path | None = None) -> Child:
    """Start the script with these arguments, in the folder. What a killed one leaves in its temporary folder goes with the test's."""
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    scratch = log.with_suffix(".tmp")
    scratch.mkdir()
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                "TMPDIR": str(scratch),
                "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={scratch}",
            },
        )
    return Child(process, log)


@contextmanager
def serving(log: Path) -> Iterator[Child]:
    """A child that waits for commands."""
    child = start(log, "serve")
    try:
        yield child
    finally:
        child.end()
