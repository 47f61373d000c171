"""Who is working: a name for people, and an identity by which the same machine can tell a dead worker from a slow one."""

from __future__ import annotations

import getpass
import hashlib
import os
import socket
import uuid
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Worker:
    """A process. `instance_id` names the machine, its boot and its process namespace: only there does the pid mean anything.

    `usd_per_hour` is the price of the compute it works on, if one is set.
    """

    name: str
    node_id: str
    instance_id: str
    usd_per_hour: float | None = None


def this_worker(usd_per_hour: float | None = None) -> Worker:
    """The worker that this process is."""
    host = socket.gethostname()
    seen = (host, _read("/proc/sys/kernel/random/boot_id") or str(uuid.getnode()), _link("/proc/self/ns/pid"))
    return Worker(f"{host}:{os.getpid()}", host, hashlib.sha256("|".join(seen).encode()).hexdigest()[:16], usd_per_hour)


def is_gone(here: Worker, name: str | None, instance_id: str | None) -> bool:
    """Whether that worker certainly no longer exists: it ran on this machine and its process is not there."""
    if not name or instance_id != here.instance_id:
        return False
    try:
        pid = int(name.rpartition(":")[2])
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError):
        return False
    return _state(pid) == "Z"


def user_name() -> str:
    """Who is at the keyboard, as far as the system knows."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _state(pid: int) -> str:
    # A killed child that nobody has waited for still answers signals; its state gives it away.
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].strip()[:1]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""
