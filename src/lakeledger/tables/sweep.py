"""What a crash left behind: files of runs that never committed them. Nothing else is ever deleted."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import timedelta

from lakeledger.config import S3Settings
from lakeledger.db import Store, Transaction
from lakeledger.errors import Invalid, NotFound
from lakeledger.lake import Storage, StoredFile
from lakeledger.names import TableName
from lakeledger.runs import Worker, recovery
from lakeledger.runs import store as run_store
from lakeledger.runs.recovery import NoteLost
from lakeledger.runs.worker import is_gone
from lakeledger.tables import store
from lakeledger.tables.verify import DATA, run_of

GRACE = timedelta(hours=1)


@dataclass(frozen=True)
class Leftover:
    """A file that no version of any table knows, of a run that can no longer commit."""

    table: str
    path: str
    size: int


@dataclass(frozen=True)
class Sweep:
    """What was found, and whether it was deleted."""

    leftovers: list[Leftover]
    deleted: bool


@dataclass(frozen=True)
class _Place:
    """A folder that may have files of crashed runs: of the warehouse, or of a table that others had begun, where only our runs count."""

    storage: Storage
    prefix: str
    location: str
    table: TableName


def sweep(
    handle: Store,
    worker: Worker,
    warehouse: str,
    note_lost: NoteLost,
    grace: timedelta,
    s3: S3Settings,
    *,
    delete: bool = False,
    only: Container[str] | None = None,
) -> Sweep:
    """Find, and with `delete` remove, what crashed writes left in the tenant's part of the warehouse, or `only` in some tables' folders.

    In places of tables that others had begun, only files of the ledger's own runs are looked at.

    A run's files are left over once it can no longer commit and the grace time has passed. With `delete`, runs of lost workers are ended
    first, so that they cannot.
    """
    with handle.write() if delete else handle.read() as tx:
        began = tx.now
        if delete:
            recovery.recover(tx, worker, note_lost)
        adopted = store.adopted(tx)
    storage = Storage(warehouse, s3)
    leftovers: list[Leftover] = []
    folders = [_Place(storage, f"{folder}/", folder, TableName(*folder.split("/"))) for folder in _table_folders(storage)]
    places = [*folders, *(_Place(Storage(table.location, s3), "", table.location, table.name) for table in adopted)]
    young = set[str]()
    for place in (each for each in places if only is None or each.location in only):
        found, empty, kept = _leftovers(handle, worker, place, grace)
        leftovers += found
        young |= kept
        if delete:
            for leftover in found:
                place.storage.remove(f"{place.prefix}{leftover.path}")
            for path in empty:
                place.storage.remove_folder(f"{place.prefix}{path}")
    if delete and only is None:
        with handle.write() as tx:
            if folders or not store.list_page(tx, 1):  # A warehouse that is not mounted has nothing to sweep now, but later.
                run_store.remove_forgotten(tx, began - grace, young)
    return Sweep(leftovers, delete)


def _table_folders(storage: Storage) -> Iterator[str]:
    for schema in storage.folders():
        for table in storage.folders(schema):
            yield f"{schema}/{table}"


def _leftovers(handle: Store, worker: Worker, place: _Place, grace: timedelta) -> tuple[list[Leftover], list[str], set[str]]:
    """The files to delete in one table's folder, the folders of dead runs that are empty then, and the runs whose files are too young."""
    storage, name = place.storage, place.table
    # First who may still write, then what is there, then what is known: a run that is dead at the first look adds nothing later.
    runs = storage.folders(f"{place.prefix}{DATA}")
    with handle.read() as tx:
        dead = {run_id for run_id in runs if _is_dead(tx, run_id, worker)}
        oldest = tx.now - grace
    present = [_relative(file, place.prefix) for file in storage.files(f"{place.prefix}{DATA}")]
    with handle.read() as tx:
        table = store.find(tx, name)
        known = store.known_paths(tx, place.location)
    found = [file for file in present if run_of(file.path) in dead and file.path not in known and file.modified_at <= oldest]
    wanted = [file for file in found if not _belongs_to_known(file, known)]
    gone = {file.path for file in wanted}
    kept = {run_of(file.path) for file in present if file.path not in gone}
    young = {run_of(file.path) for file in present if run_of(file.path) in dead and file.path not in known and file.modified_at > oldest}
    leftovers = [Leftover(str(table.name if table else name), file.path, file.size) for file in wanted]
    return leftovers, [f"{DATA}/{run_id}" for run_id in sorted(dead - kept)], young


def _relative(file: StoredFile, prefix: str) -> StoredFile:
    return StoredFile(file.path.removeprefix(prefix), file.size, file.modified_at)


def _belongs_to_known(file: StoredFile, known: set[str]) -> bool:
    """Whether it is the checksum file that Hadoop keeps beside a data file: `.name.crc`."""
    parent, _, name = file.path.rpartition("/")
    return name.startswith(".") and name.endswith(".crc") and f"{parent}/{name[1:-4]}" in known


def _is_dead(tx: Transaction, run_id: str, worker: Worker) -> bool:
    try:
        run = run_store.get(tx, run_id)
    except (NotFound, Invalid):
        return run_store.is_forgotten(tx, run_id)  # If not, this ledger never started it: it is another ledger's, or a person's folder.
    # `get` also takes the beginning of an id; a folder named so is nobody's. Whoever is merely silent may still commit.
    return run.id == run_id and (not run.is_open or is_gone(worker, run.worker_instance, run.instance_id))
