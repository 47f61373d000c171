"""A function of the project or of an installed package, called with what it needs.

The project's own modules are imported anew for each task: a scheduler that runs for weeks then runs the code that is there today.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lakeledger.config import suggest
from lakeledger.control.tasks import PythonTask
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.pipelines import Context

# What a function calls the parameter that is to be given its context.
CONTEXT = "context"

# The modules that were imported from project folders, by name. Nothing else is ever imported twice.
_projects: dict[str, ModuleType] = {}
_importing = threading.Lock()


def run(context: Context, task: PythonTask) -> dict[str, Any]:
    """Call the function; the facts that it returns, if any. Raises Invalid if there is none that takes these, or what it raises."""
    function = load(task.function, context.base)
    facts = function(**arguments(task.function, function, context, task.parameters))
    if inspect.isawaitable(facts):
        if inspect.iscoroutine(facts):
            facts.close()
        raise Invalid(f"{task.function} is asynchronous: give a function that returns when it is done")
    if facts is not None and not isinstance(facts, dict):
        raise Invalid(f"{task.function} returned {type(facts).__name__}: a task returns a dict of facts, or nothing")
    return facts or {}


def arguments(name: str, function: Callable[..., Any], context: Context, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the task gives, and the context if the function has a parameter of that name. Raises Invalid if they do not fit."""
    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # Written in C: it does not say what it takes.
        return dict(given)
    named = {each.name: each.default for each in taken if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    takes_all = any(each.kind is each.VAR_KEYWORD for each in taken)
    values = {CONTEXT: context, **given} if takes_all or CONTEXT in named else dict(given)
    for word in given:
        if word not in named and not takes_all:
            raise Invalid(f"{name} has no parameter {word!r}: it takes {', '.join(named) or 'none'}{suggest(word, list(named))}")
    if missing := [word for word, default in named.items() if default is inspect.Parameter.empty and word not in values]:
        told = "" if CONTEXT in named else f"; what is to be given the context is called {CONTEXT!r}"
        raise Invalid(f"{name} needs {', '.join(missing)}: add that to the task's parameters{told}")
    return values


def load(name: str, base: Path) -> Callable[..., Any]:
    """The function that `package.module:function` names. Raises Invalid."""
    module_name, _, path = name.partition(":")
    with _importing:
        module = _import(module_name, base)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise Invalid(f"{module_name} has no function {path!r}{suggest(part, dir(found))}")
        found = getattr(found, part)
    if not callable(found):
        raise Invalid(f"{name} is no function, but {type(found).__name__}")
    return found  # type: ignore[no-any-return]  # it can be called, more is not known


def send_by_value() -> None:
    """Spark's workers cannot import the project's modules: have functions of them sent whole."""
    from pyspark import cloudpickle

    with _importing:
        for name, module in _projects.items():
            if sys.modules.get(name) is module:
                cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # it has no types


def _import(name: str, base: Path) -> ModuleType:
    folder = str(base.resolve())
    sys.path[:] = [folder, *(path for path in sys.path if path != folder)]
    for known, module in list(_projects.items()):
        if sys.modules.get(known) is module:
            del sys.modules[known]
    _projects.clear()
    importlib.invalidate_caches()
    before = set(sys.modules)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # The module is there; what it needs is not.
        raise Invalid(f"there is no module {name!r}, neither in {folder} nor installed: check the function of the task") from error
    finally:
        _projects.update({known: module for known, module in sys.modules.items() if known not in before and _is_from(module, folder)})
    return module


def _is_from(module: ModuleType, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and Path(str(file)).is_relative_to(folder) and "site-packages" not in Path(str(file)).parts
