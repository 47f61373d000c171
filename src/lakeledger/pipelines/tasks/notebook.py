"""A notebook as Databricks writes it to a `.py` file, run in this process with `spark`, `dbutils` and `context` as its names."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lakeledger.control.tasks import NotebookTask
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.pipelines import Context

CELLS = re.compile(r"^# COMMAND -+[ \t]*$", re.MULTILINE)
MAGIC = re.compile(r"^# MAGIC %(\w+)", re.MULTILINE)
# Cells for people only.
READ_ONLY = ("md", "md-sandbox")


class _Exit(BaseException):
    """The notebook said that it is done."""


@dataclass(frozen=True)
class Widgets:
    """The parameters of a notebook, by the names that `dbutils.widgets` has."""

    values: dict[str, str]

    def get(self, name: str) -> str:
        """The value of a parameter. Raises Invalid if nobody gave one."""
        if name not in self.values:
            raise Invalid(f"the notebook has no parameter {name!r}: it has {', '.join(self.values) or 'none'}; give it in base_parameters")
        return self.values[name]

    def getAll(self) -> dict[str, str]:  # noqa: N802 - Databricks' name
        """Every parameter."""
        return dict(self.values)

    def text(self, name: str, defaultValue: str = "", label: str | None = None) -> None:  # noqa: ARG002, N803 - Databricks' names
        """Declare a parameter with its default."""
        self.values.setdefault(name, str(defaultValue))

    def dropdown(self, name: str, defaultValue: str, choices: object = (), label: str | None = None) -> None:  # noqa: ARG002, N803
        """Declare a parameter with its default."""
        self.values.setdefault(name, str(defaultValue))


class _Notebook:
    @staticmethod
    def exit(value: object = "") -> NoReturn:
        """End the notebook here, with something to say."""
        raise _Exit(str(value))


@dataclass(frozen=True)
class Dbutils:
    """What there is of `dbutils` outside Databricks."""

    widgets: Widgets
    notebook: _Notebook = field(default_factory=_Notebook)


def run(context: Context, task: NotebookTask) -> dict[str, Any]:
    """Run the notebook; what it exits with, if anything. Raises Invalid, or what its cells raise."""
    path = _find(task.notebook_path, context.base)
    source = path.read_text(encoding="utf-8")
    check_cells(source, path.name)
    try:
        tree = ast.parse(source, str(path))
    except SyntaxError as error:
        raise Invalid(f"{path.name}:{error.lineno}: {error.msg}") from error
    parameters: Mapping[str, str] = {**task.base_parameters, **context.parameters}
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path), "context": context, "dbutils": Dbutils(Widgets({**parameters}))}
    if any(isinstance(node, ast.Name) and node.id == "spark" for node in ast.walk(tree)):
        names["spark"] = context.spark
    try:
        exec(compile(tree, str(path), "exec"), names)  # noqa: S102 - that is what a notebook is for
    except _Exit as exited:
        return {"exit": str(exited)} if str(exited) else {}
    return {}


def check_cells(source: str, name: str) -> None:
    """Raises Invalid if a cell is not Python: it would be left out without a word."""
    for number, cell in enumerate(CELLS.split(source), 1):
        for magic in MAGIC.findall(cell):
            if magic not in READ_ONLY:
                raise Invalid(f"cell {number} of {name} begins with %{magic}: here only Python cells run; deploy the module to Databricks")


def _find(given: str, base: Path) -> Path:
    path = base / given
    found = [each for each in (path, path.with_name(f"{path.name}.py")) if each.is_file() and each.suffix == ".py"]
    if found:
        return found[0]
    if path.suffix == ".ipynb" or path.with_name(f"{path.name}.ipynb").is_file():
        raise Invalid(f"{given} is an .ipynb notebook: export it as a source file (.py) to run it here, or deploy the module to Databricks")
    raise Invalid(f"there is no notebook {given} in {base}: one that is in a workspace runs on Databricks only")
