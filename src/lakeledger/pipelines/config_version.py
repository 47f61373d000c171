"""Which version of its configuration a run is made from: the commit of the folder that it is in, else the configuration's own hash."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

GIT_SECONDS = 5.0
# What tells what to run. Other files that Git does not know may lie beside it: the ledger, its tables, logs.
CONFIGURATION = ("*.yml", "*.yaml", "*.sql", "*.py", "*.ipynb")


def config_version(base: Path, config_hash: str) -> str:
    """The Git commit of the folder, with `-dirty` if that does not have what the folder has; the hash if it is in no repository.

    It does not if a file was changed since, or if a document, a query or code in the folder itself is not in Git.
    """
    return _commit(base) or config_hash


def _commit(base: Path) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    try:
        head = _ask(git, base, "rev-parse", "--verify", "HEAD")
        is_dirty = head and (_ask(git, base, "status", "--porcelain", "--untracked-files=no", "--", ".") or _has_untracked(git, base))
    except (OSError, subprocess.TimeoutExpired):
        return None
    return f"{head}-dirty" if is_dirty else head


def _has_untracked(git: str, base: Path) -> bool:
    """Also of what Git is told to ignore: that is in no commit either."""
    there = {path.name for pattern in CONFIGURATION for path in base.glob(pattern)}
    tracked = _ask(git, base, "ls-files", "-z", "--", *(f":(glob){pattern}" for pattern in CONFIGURATION)) or ""
    return not there <= set(tracked.split("\0"))


def _ask(git: str, base: Path, *words: str) -> str | None:
    """What Git answers, or None if it refuses. Whose repository it is depends on the folder alone, and nothing is locked."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [git, "-C", str(base), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=GIT_SECONDS, check=False, env={**environment, "GIT_OPTIONAL_LOCKS": "0"}
    )
    return done.stdout.strip() if done.returncode == 0 else None
