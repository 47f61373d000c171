"""`lakeledger doctor`: is everything there that a load needs? Each check says what it found and how to fix it."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import click

import lakeledger
from lakeledger import Settings, SparkSettings, config
from lakeledger.cli import FAILED, show
from lakeledger.cli.options import Options, migrations, require_database, shared
from lakeledger.cli.version import package_version
from lakeledger.db import open as open_database
from lakeledger.errors import Invalid, LakeledgerError, NotInstalled
from lakeledger.locations import is_url
from lakeledger.redaction import scrub
from lakeledger.runs import describe

VARIABLES = (
    *("LAKELEDGER_URL", "LAKELEDGER_WAREHOUSE", "LAKELEDGER_TENANT", "LAKELEDGER_SPARK"),
    *("LAKELEDGER_S3_ENDPOINT", "LAKELEDGER_S3_REGION", "LAKELEDGER_S3_PATH_STYLE"),
)


@dataclass(frozen=True)
class Check:
    """What one look found. `fix` is a command, if there is one."""

    check: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str | None = None

    def without_secrets(self) -> Check:
        """The check as it may be shown: what it quotes may be a URL with a password or a token."""
        return replace(self, detail=scrub(self.detail), fix=self.fix and scrub(self.fix))


@click.command()
@click.option("--spark", is_flag=True, help="Also start Spark and run a query, which takes seconds.")
@shared('{"ok": …, "checks": [{"check", "status", "detail", "fix"}]}')
def doctor(options: Options, spark: bool) -> int:
    """Check this machine and the ledger, and say how to fix what is wrong.

    Nothing is created or changed. Exit 1 if anything fails.

      lakeledger doctor --spark
    """
    if spark and not options.as_json:
        click.echo("starting Spark…", err=True)
    checks = [check.without_secrets() for check in _look(options, spark=spark)]
    failed = any(check.status == "fail" for check in checks)
    if options.as_json:
        show.print_json({"ok": not failed, "checks": checks})
        return FAILED if failed else 0
    show.print_grid((show.status(check.status), check.check, _told(check)) for check in checks)
    if not failed:
        show.print_next(options.command("doctor --spark" if not spark else "run"))
    return FAILED if failed else 0


def _look(options: Options, *, spark: bool) -> Iterator[Check]:
    yield _python()
    yield Check("lakeledger", "ok", f"{lakeledger.__version__} in {Path(lakeledger.__file__).parent}")
    try:
        settings = options.settings()
    except LakeledgerError as error:
        yield Check("settings", "fail", str(error))
        return
    yield _settings_file(options)
    if settings.url.startswith("postgres"):
        yield _package("psycopg", "lakeledger[postgres]")
    store = _attempt("store", lambda: _store(settings, options))
    yield store
    if store.status == "ok":
        yield _attempt("published", lambda: _published(settings, options))
    yield _attempt("warehouse", lambda: _warehouse(settings))
    yield _java(settings)
    yield _package("pyspark", "lakeledger[spark]")
    yield from _jars(settings)
    if not (settings.spark.remote or settings.spark.master).startswith("local"):
        yield _attempt("cluster", lambda: _cluster(settings.spark))
    if spark:
        yield _attempt("spark", lambda: _spark(settings))


def _attempt(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except LakeledgerError as error:
        return Check(name, "fail", str(error))
    except Exception as error:  # noqa: BLE001 - whatever a check meets is its finding; the other checks go on
        return Check(name, "fail", describe(error))


def _python() -> Check:
    detail = f"{platform.python_version()} at {sys.executable}"
    return Check("python", "ok" if sys.version_info >= (3, 11) else "fail", detail)


def _settings_file(options: Options) -> Check:
    found = options.file or config.find_file(Path.cwd())
    names = [name for name in VARIABLES if os.environ.get(name)]
    also = f", and {', '.join(names)}" if names else ""
    if found or names:
        return Check("settings", "ok", f"{found or 'defaults'}{also}")
    return Check("settings", "warn", f"no {config.FILE_NAME} here or above: defaults are used", "lakeledger init")


def _package(name: str, extra: str) -> Check:
    found = package_version(name)
    return Check(name, "ok", found) if found else Check(name, "fail", "not installed", f"pip install '{extra}'")


def _store(settings: Settings, options: Options) -> Check:
    try:
        require_database(settings)
    except Invalid as error:
        return Check("store", "fail", str(error), options.command("init"))
    database = open_database(settings.database_url)
    try:
        pending = sum(step.applied_at is None for step in migrations(database))
    finally:
        database.close()
    if pending:
        return Check("store", "warn", f"{database.url}: {pending} migrations are pending", options.command("db migrate"))
    return Check("store", "ok", f"{database.url}, up to date")


def _published(settings: Settings, options: Options) -> Check:
    """How far what other engines see is behind, by format."""
    from lakeledger.tables.store import sql

    database = open_database(settings.database_url)
    try:
        with database.transaction(settings.tenant, write=False) as tx:
            found, problem = [row for row in tx.all(sql.publishing_lag) if row["tables"]], tx.one(sql.publishing_problems)
    finally:
        database.close()
    told = [_lag(row["format"], int(row["tables"]), int(row["behind"]), int(row["versions"])) for row in found]
    if problem is None:
        return Check("published", "ok", "; ".join(told) or "nothing yet")
    count = sum(int(row["problems"]) for row in found)
    first = f"{problem['schema_name']}.{problem['table_name']} as {problem['format']}: {problem['problem']}"
    more = f" (and {count - 1} more)" if count > 1 else ""
    return Check("published", "warn", "; ".join([*told, f"{first}{more}"]), options.command("tables publish --all"))


def _lag(format_: str, tables: int, behind: int, versions: int) -> str:
    late = f", {behind} behind, by up to {show.plural(versions, 'version')}" if behind else ""
    return f"{format_.capitalize()}: {show.plural(tables, 'table')}{late}"


def _warehouse(settings: Settings) -> Check:
    """Writable? Tried in the nearest folder that is there, with a file that has no name."""
    place = settings.warehouse_uri
    if is_url(place):
        from lakeledger.lake import Storage

        Storage(place, settings.s3).folders()
        return Check("warehouse", "ok", f"{place} can be read")
    folder = next(path for path in (Path(place), *Path(place).parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        detail = f"{place} cannot be written: {folder}: {error.strerror}"
        return Check("warehouse", "fail", detail, f"set `warehouse` in {config.FILE_NAME}, or give --warehouse")
    return Check("warehouse", "ok", place if folder == Path(place) else f"{place}, made by the first load")


def _java(settings: Settings) -> Check:
    from lakeledger.pipelines import java

    try:
        found = java.find()
    except NotInstalled as error:
        if settings.spark.remote:
            return Check("java", "ok", "none, and none is needed for Spark Connect")
        return Check("java", "fail", str(error), "pip install 'lakeledger[java]'")
    passed_over = f"; passed over: {', '.join(found.passed_over)}" if found.passed_over else ""
    return Check("java", "ok", f"{found.version} at {found.home}, from {found.origin}{passed_over}")


def _jars(settings: Settings) -> Iterator[Check]:
    """Only where some are needed: without them Spark does not reach the warehouse."""
    from lakeledger.pipelines import jars
    from lakeledger.pipelines.reach import spark_settings

    spark = spark_settings(settings)
    if spark.jars:
        try:
            jars.conf(spark)
            yield Check("jars", "ok", f"{', '.join(spark.jars)}: in {jars.folder()}, or Spark's own")
        except LakeledgerError as error:
            yield Check("jars", "fail", str(error), f"lakeledger jars fetch {' '.join(spark.jars)}")


def _cluster(spark: SparkSettings) -> Check:
    """Whether anybody answers where Spark is to run; whether it has executors, only a query can tell."""
    from lakeledger.pipelines import cluster, remote

    if spark.remote:
        return Check("cluster", "ok", f"a Spark Connect server answers at {remote.check_address(spark.remote)}")
    cluster.check_master(spark.master)
    return Check("cluster", "ok", f"a master answers at {spark.master}")


def _spark(settings: Settings) -> Check:
    from lakeledger.pipelines.reach import spark_settings
    from lakeledger.pipelines.session import open_session
    from lakeledger.pipelines.translating import translating

    started = time.monotonic()
    with translating():
        session = open_session(spark_settings(settings))
        counted = session.range(1_000).count()
    took = show.duration((time.monotonic() - started) * 1000)
    return Check(
        "spark",
        "ok",
        f"{session.version} on {settings.spark.remote or settings.spark.master}: started and counted to {counted:,} in {took}",
    )


def _told(check: Check) -> show.Cell:
    from rich.text import Text

    detail = Text(show.safe(check.detail))
    return detail.append(f"\nfix: {check.fix}", style="bold") if check.fix else detail
