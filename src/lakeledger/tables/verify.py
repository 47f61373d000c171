"""Does storage hold what the registry says? Names every file that is missing, changed or unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lakeledger.config import S3Settings
from lakeledger.db import Store
from lakeledger.lake import Storage, StoredFile
from lakeledger.names import TableName
from lakeledger.runs import Worker, recovery
from lakeledger.runs import store as run_store
from lakeledger.tables import store
from lakeledger.tables.checksums import fill_in
from lakeledger.tables.model import DataFile, Table

DATA = "data"
# How many checksums one transaction keeps: nobody waits long for it.
CHECKSUMS_AT_A_TIME = 1_000

Problem = Literal["missing", "changed", "untracked"]


@dataclass(frozen=True)
class Finding:
    """One file that is not as the registry says."""

    problem: Problem
    path: str
    detail: str


@dataclass(frozen=True)
class Verification:
    """What a check of one table found."""

    table: Table
    checked: int
    findings: list[Finding]

    @property
    def ok(self) -> bool:
        return not self.findings


def verify(handle: Store, worker: Worker, warehouse: str, name: TableName, s3: S3Settings, *, deep: bool = True) -> Verification:
    """Compare a table's registry with its storage. `deep` reads the files and compares their checksums. Raises NotFound."""
    with handle.read() as tx:
        table = store.get(tx, name).placed(warehouse)
        known = store.files(tx, table)
        metadata = store.metadata(tx, table)
    storage = Storage(table.location, s3)
    present = {file.path: file for file in storage.files(DATA) if not file.is_bookkeeping}
    if metadata and metadata.adopted_version is not None:
        present = _without_foreign(storage, known)
    # What was committed, or is being written, since the first look is nobody's fault.
    # So are the files of another table that lives in the same place.
    with handle.read() as tx:
        added = store.known_paths(tx, store.get(tx, name).location) - {file.file_path for file in known}
        writing = {run.id for run in run_store.open_runs(tx) if not recovery.is_lost(tx, run, worker)}
    findings = compare(known, {path: file for path, file in present.items() if path not in added}, writing)
    if deep:
        suspects = {finding.path for finding in findings}
        sound = [file for file in known if file.file_path not in suspects and file.removable_since is None]
        findings += _compare_content(storage, sound)
        missing = [file.file_path for file in sound if file.checksum is None]
        for start in range(0, len(missing), CHECKSUMS_AT_A_TIME):
            fill_in(handle, table, missing[start : start + CHECKSUMS_AT_A_TIME], s3)
    return Verification(table, len(known), sorted(findings, key=lambda finding: (finding.problem, finding.path)))


def _without_foreign(storage: Storage, known: list[DataFile]) -> dict[str, StoredFile]:
    """What is there of a table that others have written: its files, and those of the ledger's runs. Whatever else is there is theirs."""
    registered, runs = {file.file_path for file in known}, {file.run_id for file in known}

    def is_of_a_run(file: StoredFile) -> bool:
        return file.path.startswith(f"{DATA}/") and run_of(file.path) in runs and not file.is_bookkeeping

    return {file.path: file for file in storage.files() if file.path in registered or is_of_a_run(file)}


def compare(known: list[DataFile], present: dict[str, StoredFile], writing: set[str]) -> list[Finding]:
    """What differs by name and size. Files of a run that is still writing are nobody's fault, nor are those that maintenance removes."""
    findings = [
        Finding("missing", file.file_path, f"{file.row_count} rows of version {file.added_version}")
        for file in known
        if file.file_path not in present and file.removable_since is None
    ]
    findings += [
        Finding("changed", file.file_path, f"{present[file.file_path].size} bytes, registered with {file.file_size}")
        for file in known
        if file.file_path in present and present[file.file_path].size != file.file_size and file.removable_since is None
    ]
    registered = {file.file_path for file in known}
    findings += [
        Finding("untracked", path, f"{file.size} bytes that no version knows")
        for path, file in present.items()
        if path not in registered and run_of(path) not in writing
    ]
    return findings


def run_of(path: str) -> str:
    """The id of the run that wrote `data/<run_id>/…`, or nothing."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def _compare_content(storage: Storage, files: list[DataFile]) -> list[Finding]:
    registered = {file.file_path: file.checksum for file in files if file.checksum}
    return [
        Finding("changed", path, "the content differs from its checksum") if found else Finding("missing", path, "it vanished just now")
        for path, found in storage.checksums(registered)
        if found != registered[path]
    ]
