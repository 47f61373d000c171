"""How long it takes until the command line answers: processor time, since that is what a busy machine disturbs least."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from integration.starting import project

pytestmark = pytest.mark.bench

PROGRAM = str(Path(sys.executable).parent / "lakeledger")
ROUNDS = 5
WANTED_MS = 300


def processor_ms(command: list[str]) -> float:
    """The least of a few runs."""
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    taken = []
    for _ in range(ROUNDS):
        used = os.wait4(os.posix_spawn(command[0], command, os.environ, file_actions=nowhere), 0)[2]
        taken.append((used.ru_utime + used.ru_stime) * 1000)
    return min(taken)


def test_every_command_that_needs_no_spark_answers_at_once(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bare, package = ([sys.executable, "-c", code] for code in ("pass", "import lakeledger; lakeledger.open"))
    print(f"{processor_ms(bare):4.0f} ms  bare Python\n{processor_ms(package):4.0f} ms  import lakeledger")
    commands = {name: words for name, (words, _) in project(tmp_path, url).commands().items()}
    commands |= {"--help": [], "control --help": [], "tables sweep": [], "tables verify": ["--all", "--quick"]}
    for name, words in commands.items():
        took = processor_ms([PROGRAM, *name.split(), *words])
        print(f"{took:4.0f} ms  lakeledger {name} on {url.partition(':')[0]}{'  too long' if took > WANTED_MS else ''}")
