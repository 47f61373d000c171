"""`lakeledger jars`: what Spark needs besides itself, fetched once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from lakeledger.cli import show
from lakeledger.cli.options import Options, shared
from lakeledger.pipelines import jars as cache
from lakeledger.pipelines.jars import JarSet, Progress

SHAPE = '"folder": …, "jars": [{"name", "state", "purpose", "files", "bytes"'


@click.group()
def jars() -> None:
    """What Spark needs besides itself: JARs for S3, databases and table formats, fetched once and then used offline."""


@jars.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@shared(f'{{{SHAPE}, "fetched"}}]}}')
def fetch(options: Options, names: tuple[str, ...]) -> None:
    """Fetch JARs from Maven Central, through Spark's own resolver.

    Each file is checked against the hash that lakeledger has recorded for it. What is there already is not fetched again.

      lakeledger jars fetch s3
      lakeledger jars fetch s3 postgresql delta iceberg kafka
    """
    wanted = {name: cache.find(name) for name in names}
    conf, done = options.settings().spark.conf, []
    for name, each in wanted.items():
        with _telling(each, silent=options.as_json) as progress:
            fetched = cache.fetch(name, conf, progress)
        done.append(_document(each) | {"fetched": fetched})
        if not options.as_json:
            click.echo(f"{name}: {_told(each)} {'fetched' if fetched else 'here already'}")
    if options.as_json:
        show.print_json({"folder": str(cache.folder()), "jars": done})
        return
    show.print_next(options.command("jars list"))


@jars.command(name="list")
@shared(f"{{{SHAPE}}}]}}")
def list_(options: Options) -> None:
    """Every set of JARs, and whether it is here and whole.

    lakeledger jars list
    """
    found = [_document(each) for each in cache.known().values()]
    if options.as_json:
        show.print_json({"folder": str(cache.folder()), "jars": found})
        return
    rows = [(each["name"], each["state"], show.count(each["files"]), show.size(each["bytes"]), each["purpose"]) for each in found]
    show.print_table(["name", "state", ">files", ">size", "~for"], rows)
    show.print_facts({"folder": str(cache.folder())})
    missing = [each["name"] for each in found if each["state"] != "ready"]
    show.print_next(options.command(f"jars fetch {' '.join(missing)}" if missing else "doctor --spark"))


def _document(each: JarSet) -> dict[str, Any]:
    return {"name": each.name, "state": each.state(), "purpose": each.purpose, "files": len(each.jars), "bytes": each.size}


def _told(each: JarSet) -> str:
    return f"{show.plural(len(each.jars), 'file')}, {show.size(each.size)},"


@contextmanager
def _telling(wanted: JarSet, *, silent: bool) -> Iterator[Progress]:
    """Say on stderr what comes: on a terminal as it goes, elsewhere once."""
    console = show.console(stderr=True)
    if silent:
        yield lambda _: None
    elif not console.is_terminal:
        click.echo(f"fetching {wanted.name}: {_told(wanted).rstrip(',')} …", err=True)
        yield lambda _: None
    else:
        with console.status(f"fetching {wanted.name} …") as status:
            yield lambda name: status.update(f"fetching {wanted.name}: {show.safe(name)}")
