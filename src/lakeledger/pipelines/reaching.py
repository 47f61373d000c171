"""Whether somebody answers at an address: Spark itself waits for minutes before it says that nobody does."""

from __future__ import annotations

import socket

SECONDS = 5.0


def reach(host: str, port: int) -> str | None:
    """Why nobody can be reached there, or None if somebody answers."""
    try:
        socket.create_connection((host.strip("[]"), port), timeout=SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return None
