"""JARs that Spark lacks: fetched once by Spark's own resolver, checked against their recorded hashes, and used offline afterwards.

What belongs to a set, with the SHA-256 of each file, is recorded in `jars.json` beside this module.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from lakeledger.config import SparkSettings, suggest
from lakeledger.errors import Failed, Invalid, NotInstalled, Unavailable
from lakeledger.pipelines import java

FETCH_SECONDS = 600
# Where a company's own mirror may be named: they are given to the resolver.
RESOLVER_CONF = ("spark.jars.ivySettings", "spark.jars.repositories")
# A class of Spark's that ends at once: the resolver works before it.
_NOTHING = "org.apache.hadoop.util.VersionInfo"
_NO_NETWORK = re.compile(
    r"SERVER ERROR|UnknownHostException|ConnectException|SocketTimeout|Connection (?:refused|reset|timed out)|NoRouteToHost"
)

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Jar:
    """One file as it must be."""

    name: str
    sha256: str
    size: int

    @property
    def path(self) -> Path:
        return folder() / self.name

    @property
    def is_here(self) -> bool:
        """Whether it is in the cache; its content was checked when it was put there."""
        try:
            return self.path.stat().st_size == self.size
        except OSError:
            return False


@dataclass(frozen=True)
class JarSet:
    """Files that belong together. `steps` are what the resolver is asked for, one after the other: packages, without what they exclude."""

    name: str
    purpose: str
    marker: str
    steps: tuple[dict[str, list[str]], ...]
    jars: tuple[Jar, ...]

    @property
    def size(self) -> int:
        return sum(jar.size for jar in self.jars)

    @property
    def is_here(self) -> bool:
        return all(jar.is_here for jar in self.jars)

    def state(self) -> str:
        """`ready`, `missing`, or `damaged` if a file is not what was recorded."""
        if not self.is_here:
            return "missing"
        return "ready" if all(_sha256(jar.path) == jar.sha256 for jar in self.jars) else "damaged"


@lru_cache(maxsize=1)
def known() -> dict[str, JarSet]:
    """Every set, by its name."""
    recorded: dict[str, Any] = json.loads(files("lakeledger.pipelines").joinpath("jars.json").read_text(encoding="utf-8"))
    return {
        name: JarSet(
            name, each["purpose"], each["marker"], tuple(each["steps"]), tuple(Jar(file, *facts) for file, facts in each["jars"].items())
        )
        for name, each in recorded.items()
    }


def find(name: str) -> JarSet:
    """The set of that name. Raises Invalid."""
    if found := known().get(name):
        return found
    raise Invalid(f"there are no JARs {name!r}: choose from {', '.join(known())}{suggest(name, list(known()))}")


def folder() -> Path:
    """Where the files are: they can be copied to a machine without a network."""
    return java.cache_folder() / "jars"


def conf(settings: SparkSettings) -> dict[str, str]:
    """What a session that is started must be told to have the JARs of the settings. Raises NotInstalled with the command that fetches them.

    What Spark has already, or the user's own configuration brings, is left to them.
    """
    wanted = [each for name in settings.jars if not _has(each := find(name), settings.conf)]
    if missing := [each.name for each in wanted if not each.is_here]:
        names = " ".join(missing)
        raise NotInstalled(f"Spark needs the JARs of {names}, which are not here: run `lakeledger jars fetch {names}` once")
    if not wanted:
        return {}
    given = [settings.conf["spark.jars"]] if settings.conf.get("spark.jars") else []
    return {"spark.jars": ",".join([*given, *dict.fromkeys(str(jar.path) for each in wanted for jar in each.jars)])}


def fetch(name: str, settings: Mapping[str, str] | None = None, progress: Progress = lambda _: None) -> bool:
    """Have a set in the cache; False if it was there already. `settings` is Spark's configuration, which may name a mirror.

    Raises Invalid, NotInstalled if Spark or Java is missing, Unavailable if Maven Central is not reached, and Failed.
    """
    wanted = find(name)
    if wanted.state() == "ready":
        return False
    try:
        folder().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failed(f"cannot write to {folder()}: {error.strerror}; set XDG_CACHE_HOME to a folder that can be written") from error
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder()) as work:
        resolve(wanted, Path(work), settings or {}, progress)
        found = {jar: Path(work, "jars", jar.name) for jar in wanted.jars}
        for jar, path in found.items():
            if not path.is_file():
                raise Failed(f"{jar.name} of {name} was not among what was fetched: please report it")
            if _sha256(path) != jar.sha256:
                raise Failed(
                    f"{jar.name} is not the file that was recorded (SHA-256 {jar.sha256[:12]}…): nothing was kept; check your mirror"
                )
        for jar, path in found.items():
            path.replace(jar.path)
    return True


def resolve(wanted: JarSet, work: Path, settings: Mapping[str, str], progress: Progress) -> None:
    """Let Spark's resolver bring the packages of a set into `work/jars`. Raises NotInstalled, Unavailable or Failed."""
    home = _spark_home()
    environment = {**os.environ, "JAVA_HOME": str(java.prepare(java.find())), "SPARK_HOME": str(home)}
    mirrors = [word for name in RESOLVER_CONF if name in settings for word in ("--conf", f"{name}={settings[name]}")]
    for step in wanted.steps:
        command = [str(home / "bin" / "spark-submit"), "--packages", ",".join(step["packages"])]
        if step["excludes"]:
            command += ["--exclude-packages", ",".join(step["excludes"])]
        command += ["--conf", f"spark.jars.ivy={work}", *mirrors, "--class", _NOTHING, "spark-internal"]
        code, told = _run(command, environment, progress)
        if code:
            raise _failure(wanted, told)


def _run(command: Sequence[str], environment: Mapping[str, str], progress: Progress) -> tuple[int, str]:
    """Run the resolver, telling each file as it comes. Its exit code and what it said."""
    from threading import Timer

    with subprocess.Popen(
        command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as run:
        deadline = Timer(FETCH_SECONDS, run.kill)
        deadline.start()
        try:
            told = []
            for line in run.stdout or ():
                told.append(line)
                if found := re.search(r"downloading \S+/(\S+\.jar)", line):
                    progress(found[1])
            return run.wait(), "".join(told)
        except BaseException:
            run.kill()
            raise
        finally:
            deadline.cancel()


def _failure(wanted: JarSet, told: str) -> Failed | Unavailable:
    mirror = "for a mirror, set spark.jars.repositories or spark.jars.ivySettings under [spark.conf]"
    if half := list(_half_fetched(wanted)):
        return Failed(
            f"the JARs of {wanted.name} cannot be fetched: {half[0]} has a POM without its JAR, and is looked into first; remove it"
        )
    if _NO_NETWORK.search(told):
        return Unavailable(
            f"the JARs of {wanted.name} cannot be fetched: Maven Central is not reached; check the network and try again, or {mirror}"
        )
    lines = [line.strip() for line in told.splitlines() if re.search(r"not found|download failed|Exception", line)]
    return Failed(f"the JARs of {wanted.name} cannot be fetched: {lines[0] if lines else 'the resolver failed'}; {mirror}")


def _half_fetched(wanted: JarSet) -> Iterator[Path]:
    """Folders of a partial Maven run: Ivy takes the POM for the promise of a JAR."""
    repository = Path.home() / ".m2" / "repository"
    for jar in wanted.jars:
        group, _, rest = jar.name.removesuffix(".jar").partition("_")
        for pom in (repository / group.replace(".", "/")).glob("*/*/*.pom"):
            if pom.stem == rest and not pom.with_suffix(".jar").exists():
                yield pom.parent


def _has(wanted: JarSet, given: Mapping[str, str]) -> bool:
    """Whether Spark has the set without us."""
    named = ",".join(given.get(name, "") for name in ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath"))
    return wanted.marker in named or any(_spark_home().joinpath("jars").glob(f"{wanted.marker}*.jar"))


def _spark_home() -> Path:
    try:
        import pyspark
    except ImportError as error:
        raise NotInstalled("Spark is not installed: pip install 'lakeledger[spark]'") from error
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
