"""The YAML that says where history lies: which raw sources there are, how each is read, and what must come out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakeledger.config import suggest
from lakeledger.control import document_files, yaml_text
from lakeledger.errors import Invalid
from lakeledger.pipelines import references

READERS = ("progress_log", "slice_manifest", "guardrail_report", "recon_output", "catalog_snapshot", "csv", "sql")
MAPPED = ("csv", "sql")
_SOURCE = ("name", "reader", "path", "url", "query", "user", "password", "kind", "columns", "source_id", "schema", "table", "job_id")
_BASELINE = ("reader", "path", "url", "query", "user", "password", "columns", "tolerance_percent", "sample")
_DOCUMENT = ("sources", "tables", "baselines", "source_id", "schema", "producer_id")


@dataclass(frozen=True)
class RawSource:
    """One raw source. What `source_id`, `schema`, `table` and `job_id` say counts where its entries do not say it themselves.

    `columns` of CSV and SQL are the parts of a record (`produced_at`, `table`, `run_id`, `slice`, `payload.rows` …) by the names that they
    have there.
    """

    name: str
    reader: str
    path: str | None = None
    url: str | None = None
    query: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    kind: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    source_id: str | None = None
    schema: str | None = None
    table: str | None = None
    job_id: str | None = None


@dataclass(frozen=True)
class Baseline:
    """What a dashboard says already, by table and day or run: as many as `sample` of its rows are compared."""

    read: RawSource
    tolerance_percent: float = 0.0
    sample: int = 20


@dataclass(frozen=True)
class Inventory:
    """All raw sources, which tables must have history, and what it is compared with. Files are found from `base`."""

    base: Path
    sources: tuple[RawSource, ...]
    tables: tuple[str, ...] | None = None
    baselines: tuple[Baseline, ...] = ()
    producer_id: str = "backfill.v1"


def load(path: Path | str) -> Inventory:
    """The inventory that a YAML file declares. Raises Invalid with file:line:column."""
    file = Path(path)
    tree = yaml_text.read(document_files.text(file, hint="write an inventory: sources with reader and path"))
    if tree.problems:
        raise Invalid("\n".join(f"{file}:{each.line}:{each.column}: {each.text}" for each in tree.problems))
    try:
        return parse(tree.value, file.parent)
    except Misplaced as error:
        found = tree.problem(error.path, str(error))
        raise Invalid(f"{file}:{found.line}:{found.column}: {found.text}") from error


class Misplaced(Invalid):
    """What is wrong at a path of the document."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


def parse(document: Any, base: Path) -> Inventory:
    """An inventory as a value. Raises Invalid that says where it is wrong."""
    _check_words((), document, _DOCUMENT)
    given: Sequence[Any] = document.get("sources") or ()
    if not isinstance(given, list) or not given:
        raise Misplaced((), "an inventory needs sources: a list, each with a reader and a path")
    shared = {name: document[name] for name in ("source_id", "schema") if name in document}
    sources = tuple(_source(("sources", number), each, shared) for number, each in enumerate(given))
    baselines = tuple(_baseline(("baselines", number), each) for number, each in enumerate(document.get("baselines") or ()))
    tables = document.get("tables")
    return Inventory(
        base, sources, None if tables is None else tuple(map(str, tables)), baselines, document.get("producer_id") or "backfill.v1"
    )


def _source(path: tuple[str | int, ...], given: Any, shared: Mapping[str, Any], known: Sequence[str] = _SOURCE) -> RawSource:
    _check_words(path, given, known)
    reader = given.get("reader")
    if reader not in READERS:
        raise Misplaced((*path, "reader"), f"reader {reader!r} is not known: use {', '.join(READERS)}{suggest(str(reader), [*READERS])}")
    needs = ("url", "query") if reader == "sql" else ("path",)
    if missing := [name for name in needs if not given.get(name)]:
        raise Misplaced(path, f"a source that is read as {reader} needs {' and '.join(missing)}")
    if reader in MAPPED and "columns" not in given:
        raise Misplaced(path, f"a source that is read as {reader} needs columns: which of its columns are which part of a record")
    columns = {str(name): str(column) for name, column in (given.get("columns") or {}).items()}
    return RawSource(**{"name": f"{reader} {path[-1]}", **shared, **given, "columns": columns})


def _baseline(path: tuple[str | int, ...], given: Any) -> Baseline:
    _check_words(path, given, _BASELINE)
    read = {name: value for name, value in given.items() if name not in ("tolerance_percent", "sample")}
    source = _source(path, read, {})
    if source.reader not in MAPPED or "table" not in source.columns or "rows" not in source.columns:
        raise Misplaced(path, "a baseline is read as csv or sql, with columns for table, rows, and day or run_id")
    if not {"day", "run_id"} & set(source.columns):
        raise Misplaced(path, "a baseline needs a column for day or run_id, by which its rows are compared")
    return Baseline(source, float(given.get("tolerance_percent") or 0), int(given.get("sample") or 20))


def _check_words(path: tuple[str | int, ...], given: Any, known: Sequence[str]) -> None:
    if not isinstance(given, dict):
        raise Misplaced(path, f"{'.'.join(map(str, path)) or 'an inventory'} must be a mapping, not {type(given).__name__}")
    for word in given:
        if word not in known:
            raise Misplaced((*path, word), f"{word!r} is not known here: use {', '.join(known)}{suggest(str(word), [*known])}")


def secret(text: str | None) -> str | None:
    """What `${env:NAME}` stands for."""
    return references.replace(text, {}) if text else None
