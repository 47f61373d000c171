"""`lakeledger version`: what is installed."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

import click

import lakeledger
from lakeledger.cli import show
from lakeledger.cli.options import Options, shared


@click.command()
@shared('{"version": {"lakeledger", "python", "pyspark"}}')
def version(options: Options) -> None:
    """The versions of lakeledger, Python and Spark.

    lakeledger version --json
    """
    found = {"lakeledger": lakeledger.__version__, "python": platform.python_version(), "pyspark": package_version("pyspark")}
    if options.as_json:
        show.print_json({"version": found})
        return
    spark = f"PySpark {found['pyspark']}" if found["pyspark"] else "no PySpark"
    click.echo(f"lakeledger {found['lakeledger']} (Python {found['python']}, {spark})")


def package_version(name: str) -> str | None:
    """The installed version of a package, found without importing it."""
    try:
        return installed_version(name)
    except PackageNotFoundError:
        return None
