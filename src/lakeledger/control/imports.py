"""YAML files into the control table: read, merged with what people changed there, and committed at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from lakeledger.control import memory
from lakeledger.control.documents import Loading, Module, load_all
from lakeledger.control.memory import Imported
from lakeledger.control.merge import AnyKey, Choice, Merge, MergeConflict, merge
from lakeledger.control.model import Snapshot
from lakeledger.control.paths import misplaced
from lakeledger.control.table import ControlTable, project_of
from lakeledger.db import Store


@dataclass(frozen=True)
class Import:
    """What became of the files: the keys that were put or deleted, and what stood in the way.

    `deleted` are among the changed. `left` are among the kept: no file has them any more.
    """

    snapshot: Snapshot
    changed: list[AnyKey] = field(default_factory=list)
    deleted: list[AnyKey] = field(default_factory=list)
    kept: list[AnyKey] = field(default_factory=list)
    left: list[AnyKey] = field(default_factory=list)
    conflicts: list[MergeConflict] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "version": self.snapshot.version,
            "changed": [list(key) for key in self.changed],
            "deleted": [list(key) for key in self.deleted],
            "kept": [list(key) for key in self.kept],
            "conflicts": [conflict.words() for conflict in self.conflicts],
            "problems": self.problems,
            "warnings": self.warnings,
        }


@dataclass(frozen=True)
class Importer:
    """Brings files into one control table, whose relative paths are meant from `_base`."""

    _store: Store
    _actor: str
    _table: ControlTable
    _base: Path
    _read: Callable[[Path, Mapping[str, Any] | None], Loading] = load_all

    def load(
        self,
        path: str | Path,
        variables: Mapping[str, Any] | None = None,
        *,
        prune: bool = False,
        choose: Choice | None = None,
        dry_run: bool = False,
    ) -> Import:
        """Import a file, a folder or a glob. A bad file is named and stops no other; a conflict changes nothing of its row."""
        path = Path(path).absolute()
        loading = self._read(path, variables)
        loading.refuse_unused()
        if not dry_run and loading.modules:
            self._table.create()
        is_there = self._table.exists()
        with self._store.read() as tx:
            known = memory.imported(tx, self._table.identity) if is_there else Imported({}, {}, {})
        last = _of_these(self._located(known), loading, path)
        snapshot = self._table.read() if is_there else Snapshot(-1, -1)
        made = merge(last, snapshot, loading.modules.values(), prune=prune, choose=choose)
        if not dry_run and is_there:
            snapshot = self._carry_out(made, snapshot, loading, last)
        changed: list[AnyKey] = [*made.edit.sources, *((name, None) for name in made.edit.modules)]
        warnings = misplaced(loading, self._base)
        return Import(snapshot, changed, made.pruned, made.kept, made.left, made.conflicts, loading.problems, warnings)

    def _carry_out(self, made: Merge, snapshot: Snapshot, loading: Loading, last: Imported) -> Snapshot:
        """First the table, then what is remembered of it: a crash in between leaves a file that says what the table says."""
        if made.edit:
            names = ", ".join(sorted(str(each.path) for each in loading.documents if each.document))
            snapshot = self._table.commit(made.edit, snapshot, self._actor, f"import of {names}"[:500])
        files = {module.module_name: str(path) for path, module in _stated(loading)}
        said = ((row, files[row.module_name]) for row in made.said)
        if (new := [each for each in said if not last.says(*each)]) or made.gone:
            with self._store.write() as tx:
                memory.remember(tx, self._table.identity, ((row, self.name(file)) for row, file in new), self._actor)
                memory.forget(tx, self._table.identity, made.gone)
        return snapshot

    def name(self, file: str) -> str:
        """A file as it is remembered: within the project relative to it, so that it is the same one when the project moves."""
        project = project_of(self._table)
        return Path(file).relative_to(project).as_posix() if project and Path(file).is_relative_to(project) else file

    def _located(self, last: Imported) -> Imported:
        """What is remembered, with the files as whole paths."""
        project = project_of(self._table) or Path("/")
        whole = {file: str(project / file) for file in set(last.files.values())}
        return replace(last, files={key: whole[file] for key, file in last.files.items()})


def _stated(loading: Loading) -> Iterator[tuple[Path, Module]]:
    for each in loading.documents:
        for module in each.document.modules if each.document else ():
            yield each.path, module


def _of_these(last: Imported, loading: Loading, path: Path) -> Imported:
    """Of what was imported, what these files state, whichever file said it then, and what has left them.

    That is what they themselves said before, and what files said that are no longer in the folder. A file that cannot be read speaks
    for nothing, so that nothing of it is taken for deleted.
    """
    stated: set[AnyKey] = set()
    for _, module in _stated(loading):
        stated |= {(module.module_name, None), *((module.module_name, source.source_id) for source in module.sources)}
    speaks = _speaks(loading, path)
    wanted = {key for key, file in last.files.items() if key in stated or speaks(file)}
    return Imported(
        {key: row for key, row in last.sources.items() if key in wanted},
        {name: row for name, row in last.modules.items() if (name, None) in wanted},
        last.files,
    )


def _speaks(loading: Loading, path: Path) -> Callable[[str], bool]:
    """Whether these files say what becomes of a row that the named file said."""
    readable = {str(each.path): each.document is not None for each in loading.documents}
    is_folder = path.is_dir()

    @cache
    def speaks(file: str) -> bool:
        if file in readable:
            return readable[file]
        return is_folder and Path(file).is_relative_to(path) and not Path(file).exists()

    return speaks
