"""`lakeledger recon`: whether two copies of the same rows agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lakeledger import config
from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.control_table import pairs
from lakeledger.cli.options import Options, moment_of, paged, shared
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.recon.model import Report

RECON_FILE = "recon.yaml"
RESULT = (
    '{"recon_result_id", "run_id", "reconciliation", "check", "check_type", "status", "table", "source", "target", "source_metric", '
    '"target_metric", "difference", "difference_percent", "thresholds", "band", "scope", "detail", "message", "ingestion_run_ids", '
    '"frequency", "started_at", "ended_at"}'
)


@click.group()
def recon() -> None:
    """Whether two copies of the same rows agree: run, explain, history."""


@recon.command("run")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--file", type=click.Path(path_type=Path), help=f"What declares them; by default {RECON_FILE} beside lakeledger.toml.")
@click.option("--now", is_flag=True, help="Also those that are not due.")
@click.option("--fail-on-warn", is_flag=True, help="Exit with 1 for a warning, too.")
@click.option("--output", type=click.Choice(["json", "jsonl", "csv", "html"]), help="Print or write the results so.")
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the results into this file; by its ending without --output."
)
@click.option("--var", "variables", metavar="NAME=VALUE", multiple=True, help="A variable of the file; may be repeated.")
@shared(f'{{"reconciliations": [{{"name", "run_id", "status", "results": [{RESULT}]}}]}}')
def run_recon(
    options: Options,
    names: tuple[str, ...],
    file: Path | None,
    now: bool,
    fail_on_warn: bool,
    output: str | None,
    out: Path | None,
    variables: Sequence[str],
) -> int:
    """Carry out the reconciliations of a file, or those of these names, each as a run.

    A reconciliation that cannot be carried out does not stop the others. Exits with 0 if all passed or warned, 1 if one failed, 3 if
    some could not be carried out or took too long.

      lakeledger recon run
      lakeledger recon run orders --now --out orders.html
    """
    from lakeledger.recon import documents, reports

    path = (file or _default_file(options)).absolute()
    chosen = documents.chosen(documents.load(path, pairs(variables, "variable")), names)
    format_ = _format(output, out)
    quiet = options.as_json or (output is not None and out is None)
    with show.answering(quiet), options.open() as ledger:
        made = []
        for each in chosen:
            made.append(ledger.recon.run(each, base=path.parent, now=now))
            if not quiet:
                _show(made[-1])
    if out:
        _write(out, reports.render(made, format_ or "json"))
    elif output and not options.as_json:
        click.echo(reports.render(made, output), nl=False)
    if options.as_json:
        show.print_json({"reconciliations": [reports.document(each) for each in made]})
    elif not quiet:
        if worst := [each for each in made if each.status not in ("pass", "scheduled_skip")]:
            show.print_next(options.command(f"recon explain {worst[0].name}"))
        if out:
            click.echo(f"written to {out}")
    return code_of(made, fail_on_warn=fail_on_warn)


@recon.command("explain")
@click.argument("name", metavar="NAME|RESULT_ID")
@shared(f'{{"results": [{RESULT}]}}')
def explain_recon(options: Options, name: str) -> None:
    """In words: what was compared, what is allowed, why it stands so, and which keys differ.

    NAME is a reconciliation, of which the last run is explained, or the id of one result, which may be abbreviated.

      lakeledger recon explain orders
    """
    from lakeledger.errors import NotFound
    from lakeledger.recon.explain import explain

    with options.open() as ledger:
        try:
            results = ledger.recon.last(name)
        except NotFound:
            results = [ledger.recon.get(name)]
    if options.as_json:
        show.print_json({"results": [each.document() for each in results]})
        return
    show.print_text(explain(results))


@recon.command("history")
@click.argument("name", required=False)
@click.option("--table", metavar="NAME", help="Only results about this ledger table: orders or silver.orders.")
@click.option(
    "--status", metavar="STATUS", help="Only results with this status: pass, warn, fail, error, skipped, timeout, scheduled_skip."
)
@click.option("--since", metavar="TIME", help="Only results of this time or later: 2026-01-31T00:00:00Z, or 7d for the last seven days.")
@click.option("--until", metavar="TIME", help="Only results of before this time.")
@paged()
@shared(f'{{"results": [{RESULT}], "next"}}')
def recon_history(
    options: Options,
    name: str | None,
    table: str | None,
    status: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    after: str | None,
) -> None:
    """Results of reconciliations, newest first.

    lakeledger recon history orders --since 7d
    lakeledger recon history --table silver.orders --status fail
    """
    with options.open() as ledger:
        times = {"since": moment_of(since), "until": moment_of(until)}
        found = ledger.recon.history(name, table, **times, status=status, limit=limit, after=after)
    if options.as_json:
        show.print_json({"results": [each.document() for each in found], "next": found.next})
        return
    if not found:
        click.echo("nothing was reconciled")
        return
    ids = show.short_ids([each.id for each in found])
    rows = [
        (short, show.ago(each.ended_at), each.recon_name, each.check_name, show.status(str(each.status)), each.table or "", each.message)
        for short, each in zip(ids, found, strict=True)
    ]
    show.print_table(["result", "when", "reconciliation", "check", "status", "table", "~found"], rows)
    show.print_more(found.next)


def code_of(made: Sequence[Report], *, fail_on_warn: bool = False) -> int:
    """1 if a check failed, 3 if one could not be carried out, else 0."""
    statuses = {str(each.status) for report in made for each in report.results}
    if "fail" in statuses or (fail_on_warn and "warn" in statuses):
        return FAILED
    return PARTLY_FAILED if statuses & {"error", "timeout"} else DONE


def _default_file(options: Options) -> Path:
    settings = options.file or config.find_file(Path.cwd())
    return (settings.parent if settings else Path.cwd()) / RECON_FILE


def _format(output: str | None, out: Path | None) -> str | None:
    """How results are written. Raises Invalid for a file whose ending says nothing."""
    if output or out is None:
        return output
    found = out.suffix.lower().removeprefix(".")
    if found not in ("json", "jsonl", "csv", "html"):
        raise Invalid(f"{out} does not say how to write it: give --output json, jsonl, csv or html")
    return found


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Invalid(f"cannot write {path}: {error.strerror}") from error


def _show(report: Report) -> None:
    rows = [
        (each.check_name, show.status(str(each.status)), each.source_metric or "", each.target_metric or "", each.message)
        for each in report.results
    ]
    show.print_table(["check", "status", ">source", ">target", "~found"], rows, title=report.name)
