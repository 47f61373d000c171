"""Rebuild: a ledger made anew from what was published, when its database is lost.

look at the warehouse → read each table → bring the tables to one moment → positions → write one tenant at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lakeledger import config, db
from lakeledger.config import Settings
from lakeledger.db import Store, migrate
from lakeledger.errors import Invalid
from lakeledger.lake import Storage
from lakeledger.lake.parquet import read_footer
from lakeledger.rebuilding import applying, settling
from lakeledger.rebuilding.model import Found, Lost, Orphans, Problem, Rebuilt, Report, Tenant, plural
from lakeledger.rebuilding.reading import read_table
from lakeledger.rebuilding.warehouse import Contents, data_files, look
from lakeledger.runs import describe, this_worker, user_name
from lakeledger.tables.verify import run_of
from lakeledger.tables.warehouse import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Lost", "Problem", "Report", "Tenant", "rebuild"]

SQLITE = "sqlite:///"
# Of so many orphans the rows are counted; of more, only how many files there are.
FOOTERS_READ = 1_000
# What was never in the warehouse, whatever was published.
NEVER = (
    Lost(
        "runs",
        "runs, steps, errors, dead letters, records and checksums of files are in no metadata",
        "`lakeledger maintain --apply` fills in the checksums",
    ),
    Lost(
        "jobs",
        "jobs, and what was imported from YAML, are in no metadata",
        "`lakeledger control load`, `lakeledger plan` and `lakeledger apply` bring them back from YAML and the control table",
    ),
    Lost(
        "settings",
        "policies, accepted schema changes, comments of tags, and positions that were moved by hand since the last load",
        "set them again",
    ),
)


def rebuild(
    target: str | Settings | None = None, *, warehouse: str | None = None, tenant: str | None = None, apply: bool = False
) -> Report:
    """Make a ledger anew from the published metadata of a warehouse, of one tenant or of all. A dry run unless `apply`.

    `target` is where the new ledger is to be: a URL, settings, or the nearest `lakeledger.toml`. Raises Invalid if nothing is published in
    the warehouse, or if the ledger is not empty.
    """
    settings = target if isinstance(target, Settings) else config.load(url=target)
    settings = replace(settings, warehouse=warehouse) if warehouse else settings
    place = settings.warehouse_uri
    contents = look(place, settings.s3, tenant)
    tenants, problems = plan(contents, settings)
    if not tenants and not problems:
        raise Invalid(
            f"no table in {place} is published: what a ledger is rebuilt from is beside the data, in <tenant>/<schema>/<table>/metadata/; "
            "check --from"
        )
    with _opened(settings, must_be_made=apply) as handle:
        if handle is not None:
            there = {each.tenant: _was_there(replace(handle, tenant_id=each.tenant), place) for each in tenants}
            tenants = [replace(each, was_there=there[each.tenant]) for each in tenants]
        if apply and handle is not None:
            for each in (each for each in tenants if each.tables and not each.was_there):
                _write(replace(handle, tenant_id=each.tenant), each, replace(settings, tenant=each.tenant))
    return Report(place, apply, tenants, problems)


def plan(contents: Contents, settings: Settings) -> tuple[list[Tenant], list[Problem]]:
    """What the ledger will have, by tenant, and what could not be read. Reads footers of orphans, and nothing else."""
    problems = list(contents.problems)
    read: dict[str, list[tuple[Found, Rebuilt]]] = {}
    for found in contents.found:
        try:
            newer = tuple(each for each in found.newer if _is_readable(each))
            read.setdefault(found.tenant, []).append((replace(found, newer=newer), read_table(found)))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            problems.append(Problem(f"{found.place}/{found.path}", f"it lacks {error}" if isinstance(error, KeyError) else describe(error)))
    tenants = []
    for name in sorted({*read, *contents.unpublished} if read else ()):
        tables, unproven = settling.prove(read.get(name, []))
        tables, alone = settling.hosted(tables)
        tables, behind, refused = settling.cut(tables)
        positions, unread = settling.positions(tables, refused)
        orphans = {place: _orphans(place, tables, settings) for place in sorted({table.place for table in tables})}
        lost = [*unproven, *alone, *behind, *unread, *_never_published(name, contents), *_left_over(orphans), *_moved(tables), *NEVER]
        made = sorted(tables, key=lambda table: table.name.key)
        tenants.append(Tenant(name, made, positions, settling.schemas(tables), lost, orphans))
    return tenants, problems


def _is_readable(found: Found) -> bool:
    try:
        read_table(found)
    except (ValueError, KeyError, TypeError, IndexError):
        return False
    return True


def _orphans(place: str, tables: Sequence[Rebuilt], settings: Settings) -> Orphans:
    known = {file.path for table in tables if table.place == place for file in table.files}
    left = [file for file in data_files(place, settings.s3) if file.path not in known]
    storage = Storage(place, settings.s3)
    rows = 0
    for file in left[:FOOTERS_READ]:
        try:
            rows += read_footer(storage, file.path).num_rows
        except (ValueError, OSError):  # no Parquet: its rows are not counted
            continue
    return Orphans(len(left), rows, sum(file.size for file in left), sorted({run_of(file.path) for file in left} - {""}))


def _left_over(orphans: dict[str, Orphans]) -> list[Lost]:
    return [
        Lost(
            place,
            f"{plural(found.files, 'data file')} with {plural(found.rows, 'row')} that no version which came back has: of versions after "
            "the last that was published, of versions that have expired, or of runs that failed",
            "sources load again what they brought; `lakeledger tables sweep` lists the files, --delete removes them",
        )
        for place, found in orphans.items()
        if found.files
    ]


def _never_published(tenant: str, contents: Contents) -> list[Lost]:
    fix = "their files are there: load them again, or take them in with `lakeledger tables register`"
    return [Lost(name, "the table was never published", fix) for name in contents.unpublished.get(tenant, ())]


def _moved(tables: Sequence[Rebuilt]) -> list[Lost]:
    names = [str(table.name) for table in tables if table.is_moved]
    detail = "what other engines see: paths in it are of the place where the warehouse was before"
    return [Lost(name, detail, f"`lakeledger tables publish {name}` publishes it anew") for name in names]


@contextmanager
def _opened(settings: Settings, *, must_be_made: bool) -> Iterator[Store | None]:
    """The ledger, made if it must be; None for a dry run where there is none."""
    url = settings.database_url
    if not must_be_made and url.startswith(SQLITE) and not Path(url.removeprefix(SQLITE)).exists():
        yield None
        return
    # Who only looks does not bring the ledger to this release.
    handle = migrate.open_store(settings) if must_be_made else Store(db.open(url), settings.tenant)
    try:
        is_there = must_be_made or any(step.applied_at for step in migrate.status(handle.database))
        yield handle if is_there else None
    finally:
        handle.database.close()


def _was_there(handle: Store, place: str) -> bool:
    with handle.read() as tx:
        return applying.was_rebuilt(tx, place)


def _write(handle: Store, tenant: Tenant, settings: Settings) -> None:
    place = Warehouse(handle, settings)
    with handle.write() as tx:
        if not applying.was_rebuilt(tx, settings.warehouse_uri):
            applying.apply(tx, tenant, settings.warehouse_uri, this_worker(), user_name())
            place.remember(tx)
