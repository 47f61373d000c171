"""`lakeledger dlq replay`: quarantined rows sent through their load again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lakeledger.cli import BAD_INPUT, DONE, FAILED, PARTLY_FAILED, failures, show
from lakeledger.cli.failures import find_group, split_table
from lakeledger.cli.options import Options, shared

if TYPE_CHECKING:
    from lakeledger.control.documents import Module
    from lakeledger.pipelines.replaying import Replayed

MOST = 10_000


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--file", type=click.Path(path_type=Path), metavar="FILE", help="What declares the sources; by default pipeline.yaml.")
@click.option("--control", "control_table", metavar="TABLE", help="The control table that declares them, instead of a file.")
@failures.SCHEMA
@failures.TABLE
@failures.GROUP
@click.option("--limit", type=click.IntRange(1, MOST), default=MOST, show_default=True, help="How many letters, the oldest first.")
@click.option("--param", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter of the loads; may be repeated.")
@click.option("--apply", is_flag=True, help="Replay them; without it they are only counted.")
@shared(
    '{"applied": …, "replays": [{"source", "table", "letters": [id], "rows", "inserted", "updated", "deleted", "still_bad", "skipped", '
    '"run_id", "error": text or null}]}'
)
def replay(
    options: Options,
    ids: Sequence[str],
    file: Path | None,
    control_table: str | None,
    schema: str | None,
    table: str | None,
    fingerprint: str | None,
    limit: int,
    parameters: Sequence[str],
    apply: bool,
) -> int:
    """Count, or with --apply replay, the quarantined rows that dead letters stand for.

    They go through the load that their source declares now. In one commit the good ones leave <table>__quarantine for the table and
    those that are still bad stay there with their reasons of now; the letters are settled, and the position stays. An old row never
    replaces a newer one. Without --apply nothing is touched and Spark is not started.

      lakeledger dlq replay
      lakeledger dlq replay --table silver.orders --apply
      lakeledger dlq replay 0199b2c4-7e1a --file pipelines/shop.yaml --apply
    """
    if file is not None and control_table is not None:
        raise click.UsageError("give either --file or --control")
    from lakeledger.cli.control_table import pairs

    values = pairs(parameters, "parameter")
    modules, base = _declared(options, file, control_table)
    schema, table = split_table(schema, table)
    with show.answering(options.as_json), options.open() as ledger:
        cause = find_group(ledger.dead_letters.groups(), fingerprint).fingerprint if fingerprint is not None else None
        chosen = {"letters": ids or None, "schema": schema, "table": table, "fingerprint": cause, "limit": limit}
        done = ledger.replay(modules, base, parameters=values, dry_run=not apply, **chosen)  # type: ignore[arg-type]
    if options.as_json:
        documents = [{name: value for name, value in vars(each).items() if name != "dry_run"} for each in done]
        show.print_json({"applied": apply, "replays": documents})
        return _code(done, applied=apply)
    if not done:
        click.echo("no dead letter stands for quarantined rows that wait")
        return DONE
    _print(done, applied=apply)
    if not apply and any(each.error is None for each in done):
        words = [*ids, *(["--file", str(file)] if file else []), *(["--control", control_table] if control_table else [])]
        words += [word for name, value in (("--schema", schema), ("--table", table), ("--group", cause)) if value for word in (name, value)]
        show.print_next(options.command(shlex.join(["dlq", "replay", *words, "--apply"])))
    else:
        show.print_next(options.command("dlq list --status pending"))
    return _code(done, applied=apply)


def _declared(options: Options, file: Path | None, control_table: str | None) -> tuple[Sequence[Module], Path]:
    """The modules that declare sources, and where their paths begin; none without a file. Raises Invalid or NotFound."""
    from lakeledger.cli.control_table import given, read_table
    from lakeledger.cli.run import default_file, load_modules

    if control_table is None:
        path = (file or default_file(options)).absolute()
        return load_modules(path, None) if file or path.exists() else [], path.parent
    from lakeledger.control import rows

    settings = options.settings()
    return list(rows.modules_of(read_table(settings, given(control_table))).good.values()), settings.base


def _print(done: Sequence[Replayed], *, applied: bool) -> None:
    rows = [
        (
            each.source or "",
            each.table,
            show.count(len(each.letters)),
            show.count(each.rows),
            *([show.count(n) for n in (each.inserted, each.updated, each.deleted, each.still_bad)] if applied else []),
            (each.run_id or "")[: show.SHORT_ID],
        )
        for each in done
    ]
    counted = [">inserted", ">updated", ">deleted", ">still bad"] if applied else []
    show.print_table(["~source", "~table", ">letters", ">rows", *counted, "run"], rows)
    for each in done:
        if each.error:
            show.print_error(show.scrubbed(each.error))
        if each.skipped:
            show.print_warning(f"{show.plural(each.skipped, 'letter')} of {each.table} left out: somebody else holds them")


def _code(done: Sequence[Replayed], *, applied: bool) -> int:
    wrong = [each for each in done if each.error]
    if not wrong:
        return DONE
    return PARTLY_FAILED if len(wrong) < len(done) else FAILED if applied else BAD_INPUT
