"""Commands of dbt, run one after the other in its project. Where dbt writes is said by its own profile, not by the task."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger.control.tasks import DbtTask
from lakeledger.errors import Invalid, NotInstalled
from lakeledger.pipelines.tasks import process

if TYPE_CHECKING:
    from lakeledger.pipelines import Context


def run(context: Context, task: DbtTask) -> dict[str, Any]:
    """Run the commands until one fails; what they printed last. Raises Invalid, NotInstalled or Failed."""
    commands = [_words(command) for command in task.commands]
    program = shutil.which("dbt", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
    if program is None:
        raise NotInstalled("dbt is not installed: pip install dbt-core and the adapter of your database")
    folder = context.base / (task.project_directory or "")
    profiles = {"DBT_PROFILES_DIR": str(context.base / task.profiles_directory)} if task.profiles_directory else {}
    output: list[str] = []
    for words in commands:
        output += process.run([program, *words[1:]], folder=folder, stop=context.stop, environment=profiles)
    return {"commands": len(commands), "output": output[-process.KEPT_LINES :]}


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Invalid(f"cannot read the dbt command {command!r}: {error}") from error
    if words[:1] != ["dbt"]:
        raise Invalid(f"{command!r} is no command of dbt: each begins with `dbt`")
    return words
