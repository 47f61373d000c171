"""`lakeledger quality validate`, `suggest` and `import`: suites of expectations as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lakeledger import clock
from lakeledger.cli import BAD_INPUT, DONE, PARTLY_FAILED, show
from lakeledger.cli.options import Options, shared
from lakeledger.cli.reading import called, parse_object, read_text
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger import Ledger
    from lakeledger.quality.model import Suite
    from lakeledger.quality.suggesting import Load
    from lakeledger.tables import DataFile

# What history is looked at, and how many files at a time.
LOADS, PAGE = 100, 1_000

OUT = click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the suite to this file.")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@shared('{"ok": …, "suites": [{"file", "dq_config_id", "expectations": count}], "problems": [line]}')
def validate(options: Options, files: Sequence[str]) -> int:
    """Check suite files, without a table: every problem with its place. Exit 2 if there is one.

    lakeledger quality validate quality/*.yaml
    """
    from lakeledger.control.expectations import load_suite

    suites, problems = [], []
    for file in files:
        try:
            found = load_suite(Path(file))
            suites.append({"file": file, "dq_config_id": found.dq_config_id, "expectations": len(found.expectations)})
        except Invalid as error:
            problems += str(error).splitlines()
    if options.as_json:
        show.print_json({"ok": not problems, "suites": suites, "problems": problems})
        return BAD_INPUT if problems else DONE
    for problem in problems:
        show.print_error(problem)
    click.echo(f"{show.plural(len(suites), 'suite')} can be used" + (f", {show.plural(len(problems), 'problem')}" if problems else ""))
    return BAD_INPUT if problems else DONE


@click.command("import")
@click.argument("file", metavar="FILE")
@click.option("--name", metavar="ID", help="The suite's dq_config_id; by default the name that it has in the file.")
@OUT
@shared('{"suite": {"dq_config_id", "expectations"}, "yaml": text, "out": file or null, "refused": [{"number", "type", "reason"}]}')
def import_file(options: Options, file: str, name: str | None, out: Path | None) -> int:
    """Turn a suite of Great Expectations, the JSON of 1.x or 0.18, into a suite file; - reads it from stdin.

    What cannot be imported is listed with its reason, and the rest is. Exit 3 if something was left out, 2 if all was.

      lakeledger quality import gx/expectations/orders.json --out suites/orders.yaml
    """
    from lakeledger.control.yaml_writing import export_suite
    from lakeledger.quality.great_expectations import import_suite

    text = read_text(file)
    found = import_suite(parse_object(text, called(file)), name)
    yaml = export_suite(found.suite)
    has_some = bool(found.suite.expectations)
    if out and has_some:
        _write(out, yaml)
    code = DONE if not found.refused else PARTLY_FAILED if has_some else BAD_INPUT
    if options.as_json:
        written = str(out) if out and has_some else None
        show.print_json({"suite": found.suite.document, "yaml": yaml, "out": written, "refused": found.refused})
        return code
    for each in found.refused:
        show.print_warning(f"{called(file)}: expectation {each.number}, {each.type}, was left out: {each.reason}")
    left_out = f", {len(found.refused):,} left out" if found.refused else ""
    _tell(options, yaml if has_some else "", out, f"{show.plural(len(found.suite.expectations), 'expectation')} imported{left_out}")
    return code


@click.command()
@click.argument("table", metavar="TABLE")
@click.option("--deep", is_flag=True, help="Read the rows, too, on Spark: which values texts have, and what they look like.")
@OUT
@shared('{"suite": {"dq_config_id", "expectations"}, "yaml": text, "out": file or null}')
def suggest(options: Options, table: str, deep: bool, out: Path | None) -> None:
    """Write a starter suite for a table, from the statistics of its files and the volumes of its last loads.

    What has held so far is suggested, with some room: columns, keys, NULLs, bounds, rows of a load, how fresh it is. The table as it is
    passes it. Without --deep no row is read, and no Spark is started.

      lakeledger quality suggest silver.orders --out suites/orders.yaml
    """
    from lakeledger.control.yaml_writing import export_suite

    with show.answering(options.as_json), options.open() as ledger:
        suite = _suggested(ledger, table, deep=deep)
    yaml = export_suite(suite)
    if out:
        _write(out, yaml)
    if options.as_json:
        show.print_json({"suite": suite.document, "yaml": yaml, "out": str(out) if out else None})
        return
    _tell(options, yaml, out, f"{show.plural(len(suite.expectations), 'expectation')} suggested for {table}", table)


def _suggested(ledger: Ledger, name: str, *, deep: bool) -> Suite:
    from lakeledger.quality import suggesting

    table, metadata = ledger.tables.get(name), ledger.tables.metadata(name)
    if metadata is None:
        raise Invalid(f"{table.name} has no columns yet: load it first")
    facts = suggesting.facts_of(str(table.name), metadata, _files(ledger, name, table.current_version), _loads(ledger, name))
    if deep:
        from lakeledger.pipelines.profiling import profile

        facts = suggesting.with_values(facts, profile(ledger.read(name, version=table.current_version)))
    return suggesting.suggest(facts, clock.now())


def _files(ledger: Ledger, name: str, version: int) -> Iterator[DataFile]:
    """The files of a version, a page at a time: there may be 100,000."""
    after: str | None = None
    while True:
        page = ledger.tables.files(name, version, PAGE, after)
        yield from page
        if (after := page.next) is None:
            return


def _loads(ledger: Ledger, name: str) -> Sequence[Load]:
    from lakeledger.quality.suggesting import Load

    found = ledger.records.history(name, "ingestion_volume", limit=LOADS)
    return [Load(int(each.payload["rows"]), str(each.payload["operation"]), each.produced_at) for each in found]


def _write(out: Path, text: str) -> None:
    """A file that is there is left alone. Raises Invalid."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise Invalid(f"{out} is there already: give another --out, or delete it first") from error
    except OSError as error:
        raise Invalid(f"cannot write {out}: {error.strerror or error}") from error


def _tell(options: Options, yaml: str, out: Path | None, done: str, table: str = "TABLE") -> None:
    if out is None:
        click.echo(yaml, nl=False)
        return
    click.echo(show.safe(f"{done}: {out}"))
    show.print_next(options.command(f"quality try {out} --table {table}"))
