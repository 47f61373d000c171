"""How the JVMs of tests make files: without a process for each, which Hadoop starts to set its permissions (`java/QuickFiles.java`)."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

from class_archive import FOLDER

SOURCE = Path(__file__).parent / "java/QuickFiles.java"
JAR = FOLDER / f"quick-files-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:8]}.jar"
COMPILING_SECONDS = 120


def conf() -> dict[str, str]:
    """The settings of a Spark that makes its files so. Where Java cannot compile, files are made as always."""
    _make()
    if not JAR.stat().st_size:
        return {}
    os.environ["SPARK_DIST_CLASSPATH"] = str(JAR)  # for every JVM that is started from here, by whomever
    return {"spark.hadoop.fs.file.impl": "lakeledger.QuickFiles"}


def _make() -> None:
    """Compile it, unless that was done or tried before."""
    if JAR.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may want it at once
        if not JAR.exists():
            made = JAR.with_suffix(".new")
            made.touch()
            if (javac := shutil.which("javac")) and (spark := find_spec("pyspark")) and spark.origin:
                _compile(javac, Path(spark.origin).parent / "jars", made)
            made.rename(JAR)


def _compile(javac: str, jars: Path, made: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [javac, "--release", "17", "-cp", f"{jars}/*", "-d", folder, str(SOURCE)]
        if subprocess.run(command, check=False, capture_output=True, timeout=COMPILING_SECONDS).returncode == 0:
            with zipfile.ZipFile(made, "w") as jar:
                for path in sorted(Path(folder).rglob("*.class")):
                    jar.write(path, path.relative_to(folder))
