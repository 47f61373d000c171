"""YAML files into the control table: read, merged with what people changed there, and committed at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakeledger.control import memory
from lakeledger.control.documents import Loading, load_all
from lakeledger.control.memory import Imported
from lakeledger.control.merge import AnyKey, Choice, Merge, MergeConflict, merge
from lakeledger.control.model import Snapshot
from lakeledger.control.paths import misplaced
from lakeledger.control.table import ControlTable
from lakeledger.db import Store


@dataclass(frozen=True)
class Import:
    """What became of the files: the keys that were put or deleted, and what stood in the way."""

    snapshot: Snapshot
    changed: list[AnyKey] = field(default_factory=list)
    kept: list[AnyKey] = field(default_factory=list)
    conflicts: list[MergeConflict] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "version": self.snapshot.version,
            "changed": [list(key) for key in self.changed],
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
        loading = load_all(path, variables)
        if not dry_run and loading.modules:
            self._table.create()
        with self._store.read() as tx:
            last = _of_these(memory.imported(tx, self._table.location), loading, path)
        snapshot = self._table.read() if self._table.exists() else Snapshot(-1, -1)
        made = merge(last, snapshot, loading.modules.values(), prune=prune, choose=choose)
        if not dry_run and loading.modules:
            snapshot = self._carry_out(made, snapshot, loading)
        changed: list[AnyKey] = [*made.edit.sources, *((name, None) for name in made.edit.modules)]
        return Import(snapshot, changed, made.kept, made.conflicts, loading.problems, misplaced(loading, self._base))

    def _carry_out(self, made: Merge, snapshot: Snapshot, loading: Loading) -> Snapshot:
        """First the table, then what is remembered of it: a crash in between leaves a file that says what the table says."""
        if made.edit:
            names = ", ".join(sorted(str(each.path) for each in loading.documents if each.document))
            snapshot = self._table.commit(made.edit, snapshot, self._actor, f"import of {names}"[:500])
        files = {name: str(each.path) for each in loading.documents if each.document for name in _names(each.document)}
        with self._store.write() as tx:
            for row in made.said:
                memory.remember(tx, self._table.location, [row], files.get(row.module_name, ""), self._actor)
            memory.forget(tx, self._table.location, made.gone)
        return snapshot


def _names(document: Any) -> Sequence[str]:
    return [module.module_name for module in document.modules]


def _of_these(last: Imported, loading: Loading, path: Path) -> Imported:
    """Of what was imported, the part that these files speak for: their own, and what files said that are no longer in the folder.

    A file that cannot be read speaks for nothing, so that nothing of it is taken for deleted.
    """
    good = {str(each.path) for each in loading.documents if each.document}
    bad = {str(each.path) for each in loading.documents if not each.document}

    def speaks(module: str) -> bool:
        file = last.files.get(module, "")
        return file in good or (file not in bad and path.is_dir() and Path(file).is_relative_to(path) and not Path(file).exists())

    return Imported(
        {key: row for key, row in last.sources.items() if speaks(key[0])},
        {name: row for name, row in last.modules.items() if speaks(name)},
        last.files,
    )
