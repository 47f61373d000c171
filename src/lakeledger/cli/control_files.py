"""`lakeledger control load`, `validate` and `export`: from YAML files into the control table, and back."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import BAD_INPUT, DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.acting import operator
from lakeledger.cli.control_table import CONTROL, VARIABLES, next_command, open_table, pairs, print_problems, sources_of
from lakeledger.cli.options import Options, shared
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub, scrub_value

if TYPE_CHECKING:
    from lakeledger.control.imports import Import
    from lakeledger.control.merge import AnyKey

IMPORTED = (
    '{"applied": …, "version", "changed": [[module, source]], "deleted": those of them that are gone, "kept", "conflicts": [[line]], '
    '"problems": [line], "warnings": [line]}'
)


@click.command()
@click.argument("path", metavar="FILE|FOLDER|GLOB")
@VARIABLES
@click.option("--prune", is_flag=True, help="Delete rows that the files no longer have.")
@click.option("--choose", type=click.Choice(["file", "table"]), help="Whom to follow where both changed a row.")
@click.option("--dry-run", is_flag=True, help="Show what would change; no row is touched.")
@CONTROL
@shared(IMPORTED)
def load(
    options: Options,
    path: str,
    variables: Sequence[str],
    prune: bool,
    choose: Any,
    dry_run: bool,
    control_table: str | None,
) -> int:
    """Bring what YAML files say into the control table, which is made if it is not there.

    What was changed in the table since the last load stays; a row that both changed is shown field by field and left alone, unless
    --choose says whom to follow. A bad file does not stop the others. Exit 2 if no file can be read, 3 if something was left out.

      lakeledger control load pipelines/ --var env=prod --dry-run
      lakeledger control load pipelines/shop.yaml --choose file
    """
    from lakeledger.control.imports import Importer
    from lakeledger.control.opening import base_of

    values = pairs(variables, "variable")
    with open_table(options, control_table, must_exist=False) as control:
        importer = Importer(control.ledger.store, operator(), control.table, base_of(control.table.location, control.ledger.settings))
        done = importer.load(path, values, prune=prune, choose=choose, dry_run=dry_run)
    code = _code(done, path, values)
    if options.as_json:
        show.print_json({"applied": not dry_run, **_document(done)})
        return code
    _print_import(done, dry_run=dry_run)
    if done.conflicts:
        show.print_next(next_command(options, _again(path, variables, prune=prune, choose="file"), control_table))
    elif code == DONE:
        words = _again(path, variables, prune=prune, choose=choose) if dry_run else "plan"
        show.print_next(next_command(options, words, control_table))
    return code


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE…]")
@VARIABLES
@CONTROL
@shared('{"ok": …, "modules": [name], "problems": [{"module_name", "source_id", "field", "message"}] or, of files, [line]}')
def validate(options: Options, files: Sequence[str], variables: Sequence[str], control_table: str | None) -> int:
    """Check YAML files, or the control table if none is given: every problem with its place. Changes nothing; exit 2 if there is one.

    lakeledger control validate pipelines/*.yaml
    lakeledger control validate
    """
    values = pairs(variables, "variable")
    names, problems, told = _check_files(files, values) if files else _check_table(options, control_table)
    if options.as_json:
        show.print_json({"ok": not problems, "modules": names, "problems": problems})
        return BAD_INPUT if problems else DONE
    print_problems(told)
    click.echo(f"{show.plural(len(names), 'module')} can run" + (f", {show.plural(len(problems), 'problem')}" if problems else ""))
    return BAD_INPUT if problems else DONE


@click.command()
@click.argument("modules", nargs=-1, metavar="[MODULE…]")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file.")
@CONTROL
@shared('{"modules": [name], "yaml": text, "output": file or null, "problems": [line]}')
def export(options: Options, modules: Sequence[str], output: Path | None, control_table: str | None) -> int:
    """The control table's modules as YAML that `control load` reads back; with names, only those.

    A module that cannot be read is left out and named; then the exit code is 3, or 1 if nothing is left.

      lakeledger control export shop --output shop.yaml
    """
    from lakeledger.control import rows
    from lakeledger.control.export import export as as_yaml

    with open_table(options, control_table) as control:
        snapshot = control.table.read()
    wanted = [*dict.fromkeys(modules)] or None
    for name in wanted or ():
        sources_of(snapshot, name)
    found = rows.modules_of(snapshot)
    good = [module for name, module in found.good.items() if wanted is None or name in wanted]
    problems = [str(problem) for name, bad in found.bad.items() if wanted is None or name in wanted for problem in bad]
    text = as_yaml(good) if good else ""
    if output and good:
        _write(output, text)
    names = [module.module_name for module in good]
    if options.as_json:
        show.print_json({"modules": names, "yaml": text, "output": output and str(output), "problems": list(map(scrub, problems))})
    else:
        print_problems(problems)
        if output and good:
            click.echo(f"{show.plural(len(names), 'module')} in {output}")
        elif good:
            click.echo(text, nl=False)
        elif not problems:
            click.echo("no modules yet", err=True)
    return DONE if not problems else PARTLY_FAILED if good else FAILED


@click.command()
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file.")
@shared("the schema itself")
def schema(options: Options, output: Path | None) -> None:
    """The JSON Schema of the YAML files, for editors: they then complete and check while one types.

    lakeledger control schema --output lakeledger.schema.json
    """
    from lakeledger.control.schema_json import json_schema

    found = json_schema()
    if output:
        _write(output, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    if options.as_json or not output:
        show.print_json(found)
    else:
        click.echo(f"the schema is in {output}; begin a file with `# yaml-language-server: $schema={output}`")


def _code(done: Import, path: str, values: dict[str, str]) -> int:
    """0 if everything was taken over; 2 if no file can be read; 1 if all that there was is in conflict; else 3."""
    from lakeledger.control.documents import load_all

    if not done.problems and not done.conflicts:
        return DONE
    if done.changed or done.kept:
        return PARTLY_FAILED
    if done.conflicts:
        return PARTLY_FAILED if done.problems else FAILED
    return PARTLY_FAILED if load_all(path, values).modules else BAD_INPUT


def _document(done: Import) -> dict[str, Any]:
    found = done.to_dict()
    return {**found, "problems": [scrub(problem) for problem in found["problems"]]}


def _again(path: str, variables: Sequence[str], *, prune: bool, choose: str | None) -> str:
    """The same load once more, and this time for good. A secret among the variables is left to be filled in."""
    words = ["control", "load", path, *(word for each in variables for word in ("--var", _without_secret(each)))]
    words += ["--prune"] if prune else []
    words += ["--choose", choose] if choose else []
    return shlex.join(words)


def _without_secret(variable: str) -> str:
    name, _, value = variable.partition("=")
    return f"{name}={scrub_value(value, name.strip())}"


def _print_import(done: Import, *, dry_run: bool) -> None:
    print_problems(done.problems)
    print_problems([line for conflict in done.conflicts for line in conflict.words()])
    for warning in done.warnings:
        show.print_warning(warning)
    for key in done.left:
        click.echo(show.safe(f"kept: {_name(key)} is no longer in the file; --prune removes it"))
    put = [key for key in done.changed if key not in set(done.deleted)]
    for key in put:
        click.echo(show.safe(f"  {_name(key)}"))
    for key in done.deleted:
        click.echo(show.safe(f"  {'would delete' if dry_run else 'deleted'} {_name(key)}"))
    counts = [f"{show.plural(len(put), 'row')} {'would change' if dry_run else 'changed'}"] if put else []
    counts += [f"{show.plural(len(done.deleted), 'row')} {'would be deleted' if dry_run else 'deleted'}"] if done.deleted else []
    told = ", ".join(counts) or ("nothing would change" if dry_run else "nothing changed")
    click.echo(told if dry_run else f"{told}: the control table is at version {done.snapshot.version}")


def _name(key: AnyKey) -> str:
    return ".".join(part for part in key if part is not None)


def _check_files(files: Sequence[str], values: dict[str, str]) -> tuple[list[str], list[Any], list[str]]:
    from lakeledger.control.documents import load_all

    names: list[str] = []
    problems: list[str] = []
    for file in dict.fromkeys(files):
        try:
            loading = load_all(file, values)
            loading.refuse_unused()
        except Invalid as error:
            problems.append(str(error))
        else:
            names += loading.modules
            problems += loading.problems
    told = [scrub(problem) for problem in dict.fromkeys(problems)]
    return sorted(set(names)), told, told


def _check_table(options: Options, control_table: str | None) -> tuple[list[str], list[Any], list[str]]:
    from lakeledger.control import rows

    with open_table(options, control_table) as control:
        found = rows.modules_of(control.table.read())
    problems = [problem for bad in found.bad.values() for problem in bad]
    return list(found.good), [{**vars(problem), "message": scrub(problem.message)} for problem in problems], list(map(str, problems))


def _write(output: Path, text: str) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Invalid(f"cannot write {output}: {error.strerror}") from error
