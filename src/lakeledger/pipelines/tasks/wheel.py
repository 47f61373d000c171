"""An entry point of an installed distribution, run by a Python of its own, as a wheel on a cluster is."""

from __future__ import annotations

import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import TYPE_CHECKING, Any

from lakeledger.control.tasks import PythonWheelTask
from lakeledger.errors import NotInstalled
from lakeledger.pipelines.tasks import process

if TYPE_CHECKING:
    from lakeledger.pipelines import Context

# As the scripts that pip makes: the function's return value is the exit code.
_CALL = """\
import functools, importlib, sys
module, _, path = sys.argv[1].partition(":")
sys.argv = sys.argv[2:]
sys.exit(functools.reduce(getattr, path.split("."), importlib.import_module(module))())
"""


def run(context: Context, task: PythonWheelTask) -> dict[str, Any]:
    """Call the entry point with its parameters as words; what it printed last. Raises NotInstalled or Failed."""
    try:
        package = distribution(task.package_name)
    except PackageNotFoundError as error:
        raise NotInstalled(f"{task.package_name} is not installed: pip install it into {sys.prefix}") from error
    named = {**task.named_parameters, **(context.parameters if task.named_parameters else {})}
    words = [*task.parameters, *(f"--{name}={value}" for name, value in named.items())]
    command = [sys.executable, "-c", _CALL, _target(package, task), task.entry_point, *words]
    return {"output": process.run(command, folder=context.base, stop=context.stop)}


def _target(package: Distribution, task: PythonWheelTask) -> str:
    """The function of the entry point; without one of that name, the function of that name in the package."""
    found = [point.value.partition("[")[0].strip() for point in package.entry_points if point.name == task.entry_point]
    return found[0] if found else f"{task.package_name.replace('-', '_')}:{task.entry_point}"
