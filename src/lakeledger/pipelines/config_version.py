"""Which version of its configuration a run is made from: the commit of the folder that it is in, else the configuration's own hash."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

GIT_SECONDS = 5.0


def config_version(base: Path, config_hash: str) -> str:
    """The Git commit of the folder, with `-dirty` if a file in it was changed since; the hash if it is in no repository."""
    return _commit(base) or config_hash


def _commit(base: Path) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    try:
        head = _ask(git, base, "rev-parse", "--verify", "HEAD")
        changed = _ask(git, base, "status", "--porcelain", "--untracked-files=no", "--", ".") if head else None
    except (OSError, subprocess.TimeoutExpired):
        return None
    return f"{head}-dirty" if changed else head


def _ask(git: str, base: Path, *words: str) -> str | None:
    """What Git answers, or None if it refuses. Whose repository it is depends on the folder alone, and nothing is locked."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [git, "-C", str(base), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=GIT_SECONDS, check=False, env={**environment, "GIT_OPTIONAL_LOCKS": "0"}
    )
    return done.stdout.strip() if done.returncode == 0 else None
