"""The YAML that declares what runs, as `modules:` or as `jobs:`: checked as a whole, each problem with its line and column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError, model_validator

from lakeledger.config import suggest
from lakeledger.control import document_files, graph, problems, shapes, variables, yaml_text
from lakeledger.control.expectations import QualityConfig, parse_suite
from lakeledger.control.modules import (
    AnySource,
    CallableSource,
    DeltaSource,
    FilesSource,
    IcebergSource,
    JdbcSource,
    KafkaSource,
    LoadingSource,
    Module,
    ReplicationSource,
    SqlSource,
    TaskSource,
    refuse_doubled,
)
from lakeledger.control.values import Part, Text
from lakeledger.control.yaml_text import Problem
from lakeledger.errors import Invalid

__all__ = [
    "AnySource",
    "CallableSource",
    "DeltaSource",
    "Document",
    "FilesSource",
    "IcebergSource",
    "JdbcSource",
    "KafkaSource",
    "Loaded",
    "Loading",
    "LoadingSource",
    "Module",
    "ReplicationSource",
    "SqlSource",
    "TaskSource",
    "load",
    "load_all",
    "parse",
]


class Document(Part):
    """One YAML file."""

    metadata_version: Text = "1.0"
    modules: list[Module]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Document:
        refuse_doubled([module.module_name for module in self.modules], "module_name", "in the document")
        return self


@dataclass(frozen=True)
class Loaded:
    """One file: what it says, or what is wrong with it, and the given variables that it does not use. Its paths are relative to it."""

    path: Path
    document: Document | None
    problems: tuple[str, ...] = ()
    unused: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Loading:
    """Several files: those that are wrong do not stop the others."""

    documents: tuple[Loaded, ...]

    @property
    def problems(self) -> list[str]:
        return [problem for loaded in self.documents for problem in loaded.problems]

    def refuse_unused(self) -> None:
        """Raises Invalid for a variable that was given and that no file uses: most likely, it is misspelt."""
        unused = frozenset.intersection(*(loaded.unused for loaded in self.documents)) if self.documents else ()
        if unused:
            raise Invalid(f"no file uses the variable {min(unused)!r}; correct its name, or leave it out")

    @property
    def modules(self) -> dict[str, Module]:
        """The modules of the files without problems."""
        return {module.module_name: module for loaded in self.documents if loaded.document for module in loaded.document.modules}


def load(path: Path | str, variables: Mapping[str, Any] | None = None) -> Document:
    """Read and check a file, a folder or a pattern as one document. Raises Invalid: every problem as `file:line:column: what to do`."""
    loading = load_all(path, variables)
    if loading.problems:
        raise Invalid("\n".join(loading.problems))
    found = [loaded.document for loaded in loading.documents if loaded.document]
    return found[0] if len(found) == 1 else Document(modules=[module for document in found for module in document.modules])


def load_all(path: Path | str, variables: Mapping[str, Any] | None = None) -> Loading:
    """Read and check each file on its own. Raises Invalid only if there is none."""
    path = Path(path)
    folder = path if path.is_dir() else None
    return Loading(refuse_shared([load_file(file, folder, variables) for file in document_files.find(path)]))


def parse(text: str, name: str, variables: Mapping[str, Any] | None = None) -> Document:
    """Check a document's text. Raises Invalid."""
    checked = _check(text, name, variables)
    if isinstance(checked, Document):
        return checked
    raise Invalid("\n".join(checked))


def load_file(path: Path, folder: Path | None, given: Mapping[str, Any] | None) -> Loaded:
    """Read and check one file; below a folder, no link is followed out of it."""
    try:
        text = document_files.text(path, folder)
    except Invalid as error:
        return Loaded(path, None, (str(error),))
    checked, unused = _check(text, str(path), given), variables.unused(text, given or {})
    if isinstance(checked, Document):
        wrong = wrong_suites(checked.modules, path.parent)
        return Loaded(path, None if wrong else checked, tuple(wrong), unused)
    return Loaded(path, None, tuple(checked), unused)


def wrong_suites(modules: Iterable[Module], folder: Path) -> list[str]:
    """What is wrong with the suite files that modules name, each file once."""
    found: dict[str, str] = {}
    for source in (source for module in modules for source in module.sources):
        for quality in expected_of(source):
            if quality.suite_file and quality.suite_file not in found:
                try:
                    quality.read(folder, source.source_id)
                except Invalid as error:
                    found[quality.suite_file] = str(error)
    return list(found.values())


def expected_of(source: AnySource) -> list[QualityConfig]:
    """What a source expects of rows: of those that it writes, or of a table that it checks."""
    task = getattr(source.transformation_config, "data_quality_task", None)
    target = source.target_config.quality if source.target_config else None
    return [each for each in (target, task) if each is not None]


def _check(text: str, name: str, given: Mapping[str, Any] | None) -> Document | list[str]:
    """The document, or all that is wrong with it."""
    tree = yaml_text.read(text)
    if isinstance(tree.value, dict) and "expectations" in tree.value and tree.value.keys().isdisjoint(("modules", "jobs")):
        return _check_suite(text, name)
    found, document = _read(tree, given) if isinstance(tree.value, dict) else (_no_mapping(tree), None)
    if document and not found:
        return document
    return [f"{name}:{problem.line}:{problem.column}: {problem.text}" for problem in sorted(set(found))]


def _check_suite(text: str, name: str) -> Document | list[str]:
    """A suite file, which may lie among the others, declares no module."""
    try:
        parse_suite(text, name)
    except Invalid as error:
        return str(error).splitlines()
    return Document(modules=[])


def _no_mapping(tree: yaml_text.Tree) -> list[Problem]:
    return list(tree.problems) or [Problem(1, 1, "the document must be a mapping with `modules:` or `jobs:`")]


def _read(tree: yaml_text.Tree, given: Mapping[str, Any] | None) -> tuple[list[Problem], Document | None]:
    value, unknown = variables.substitute(tree.value, given)
    shaped = shapes.as_modules(value)
    found = [*tree.problems, *(tree.problem(path, text) for path, text in (*unknown, *shaped.problems))]
    try:
        document = Document.model_validate(shaped.value)
    except ValidationError as error:
        known = {(problem.line, problem.column) for problem in found}  # what cannot be filled in is wrong only once
        more = problems.problems(error, Document, shaped, tree)
        return [*found, *(problem for problem in more if (problem.line, problem.column) not in known)], None
    return [*found, *(tree.problem(shaped.origin(path), text) for path, text in _misled(document))], document


def _misled(document: Document) -> list[tuple[yaml_text.Path, str]]:
    """Dependencies that lead nowhere, or round in a circle."""
    return [(("modules", at, *path), text) for at, module in enumerate(document.modules) for path, text in wrong_dependencies(module)]


def wrong_dependencies(module: Module) -> list[tuple[yaml_text.Path, str]]:
    """What is wrong with what the module's sources wait for, and where."""
    orders = {source.source_id: source.execution_order for source in module.sources}
    unknown: list[tuple[yaml_text.Path, str]] = [
        (("sources", at, "depends_on"), f"{source.source_id} depends on {other!r}, which is not there{suggest(other, list(orders))}")
        for at, source in enumerate(module.sources)
        for other in source.depends_on
        if other not in orders
    ]
    if unknown or all(orders[other] < source.execution_order for source in module.sources for other in source.depends_on):
        return unknown  # whoever waits only for earlier numbers is in no circle
    try:
        graph.tasks(module)
    except Invalid as error:
        return [((), str(error))]
    return []


def refuse_shared(documents: list[Loaded]) -> tuple[Loaded, ...]:
    """A module that stands in two files is taken from neither: nobody could say which one counts."""
    files: dict[str, list[Path]] = {}
    for loaded in documents:
        for module in loaded.document.modules if loaded.document else ():
            files.setdefault(module.module_name, []).append(loaded.path)
    shared = {name: paths for name, paths in files.items() if len(paths) > 1}
    return tuple(_unshared(loaded, shared) for loaded in documents)


def _unshared(loaded: Loaded, shared: Mapping[str, list[Path]]) -> Loaded:
    modules = loaded.document.modules if loaded.document else ()
    others = {
        module.module_name: ", ".join(str(path) for path in shared[module.module_name] if path != loaded.path)
        for module in modules
        if module.module_name in shared
    }
    told = tuple(f"{loaded.path}:1:1: module {name!r} is also in {paths}: keep one of them" for name, paths in others.items())
    return replace(loaded, document=None, problems=told) if told else loaded
