"""`lakeledger init`: a project that runs at once."""

from __future__ import annotations

import json
import shlex
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from lakeledger import config
from lakeledger import open as open_ledger
from lakeledger.cli import show, starter
from lakeledger.cli.options import Options, shared
from lakeledger.errors import Invalid, LakeledgerError
from lakeledger.redaction import scrub

# Where each template goes.
PIPELINE = "pipeline.yaml"
FILES = {config.FILE_NAME: "lakeledger.toml", PIPELINE: PIPELINE, "data/orders_1.csv": "orders_1.csv"}


@click.command()
@click.argument("folder", default=".")
@click.option("--from", "origin", metavar="WHERE", help="Write pipeline.yaml for the files of this folder, or the tables of this database.")
@shared('{"folder": …, "files": […], "url": …, "warehouse": …}, with --from "left_out": [reason]')
def init(options: Options, folder: str, origin: str | None) -> None:
    """Start a project in FOLDER: lakeledger.toml, pipeline.yaml, a sample CSV, and the ledger.

    No file is ever overwritten. A url with a password is not written down: set LAKELEDGER_URL.

    lakeledger init shop && cd shop && lakeledger run
    lakeledger init shop --from landing
    lakeledger init shop --from jdbc:postgresql://db/shop
    """
    root = Path(folder).resolve()
    found = starter.document(origin, root) if origin else starter.Starter()
    texts = {PIPELINE: found.text}
    paths = {root / name: template for name, template in FILES.items() if not origin or not name.startswith("data/")}
    if taken := [str(path) for path in paths if path.exists()]:
        raise Invalid(f"not overwritten: {', '.join(taken)}; choose another folder, or go on with `lakeledger run`")
    secret = options.url is not None and scrub(options.url) != options.url
    here = options.settings()  # relative paths are meant from here, and would be read from there
    given = {name: str(getattr(here, name)) for name in options.given()}
    made = [_write(path, texts.get(template) or _render(template, given, hide_url=secret)) for path, template in paths.items()]
    try:
        settings = options.settings(root / config.FILE_NAME)
        warehouse = settings.warehouse_uri
        with open_ledger(settings) as ledger:
            url = ledger.database.url
    except LakeledgerError:
        # A project without its ledger would only be in the way of the next try.
        for path in made:
            path.unlink(missing_ok=True)
        raise
    if options.as_json:
        more = {"left_out": found.left_out} if origin else {}
        show.print_json({"folder": root, "files": made, "url": url, "warehouse": warehouse, **more})
        return
    for path in made:
        click.echo(f"wrote {path}")
    click.echo(f"made  {url}")
    for reason in found.left_out:
        show.print_warning(f"left out: {reason}")
    if origin:
        click.echo(f"Types, keys and what could not be known are in the comments of {PIPELINE}: check them first.")
    if secret:
        click.echo("the url holds a password, so it was not written down: set LAKELEDGER_URL")
    show.print_next("lakeledger run" if root == Path.cwd() else f"cd {shlex.quote(folder)} && lakeledger run")


def _render(template: str, given: dict[str, str], *, hide_url: bool) -> str:
    text = files("lakeledger.cli").joinpath("templates", template).read_text(encoding="utf-8")
    settings = {"url": config.DEFAULT_URL, "warehouse": config.DEFAULT_WAREHOUSE, "tenant": "default"}
    if "url" in given:
        settings.pop("warehouse")
    settings |= given
    # JSON's strings are TOML's too.
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in settings.items()]
    if hide_url:
        lines[0] = "# url is in LAKELEDGER_URL, because it holds a password"
    return Template(text).safe_substitute(settings="\n".join(lines) + "\n")


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise Invalid(f"cannot write {path}: {error.strerror}; choose a folder that can be written") from error
    return path
