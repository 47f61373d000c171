"""`lakeledger errors`: what failed while data was captured."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click

from lakeledger import Ledger
from lakeledger.cli import failures, show
from lakeledger.cli.acting import ACTED, Acted, act_on, operator, print_acted
from lakeledger.cli.failures import find_group, print_document, split_table, tables_words
from lakeledger.cli.options import Options, paged, shared
from lakeledger.cli.ticker import ticking
from lakeledger.sync import ErrorLog, ErrorStatus, ErrorType
from lakeledger.sync.errors import ErrorGroup

PAGE = 1_000

APPLY = click.option("--apply", is_flag=True, help="With --group: do it; without it nothing is touched.")
CAUSE = click.option("--group", "cause", metavar="CAUSE", help="All open errors with this cause, as `errors groups` shows it.")


@click.group()
def errors() -> None:
    """What failed: list errors by cause, retry and settle them."""


@errors.command("list")
@click.option("--status", type=click.Choice([each.value for each in ErrorStatus], case_sensitive=False), help="Only those in this state.")
@click.option(
    "--type", "error_type", type=click.Choice([each.value for each in ErrorType], case_sensitive=False), help="Only of this type."
)
@failures.SCHEMA
@failures.TABLE
@failures.GROUP
@paged()
@shared('{"errors": [row of error_log], "next"}')
def list_errors(
    options: Options,
    status: str | None,
    error_type: str | None,
    schema: str | None,
    table: str | None,
    fingerprint: str | None,
    limit: int,
    after: str | None,
) -> None:
    """Errors, newest first.

    lakeledger errors list --status open --type connection
    """
    schema, table = split_table(schema, table)
    with options.open() as ledger:
        cause = find_group(ledger.errors.groups(None), fingerprint).fingerprint if fingerprint is not None else None
        found = ledger.errors.list(status, error_type, schema, table, cause, limit, after)
    if options.as_json:
        show.print_json({"errors": found, "next": found.next})
        return
    if not found:
        click.echo("no errors")
        return
    ids = show.short_ids([error.id for error in found])
    rows = [
        (
            short,
            _table(error),
            error.error_type,
            show.status(error.status),
            _retry(error),
            show.ago(error.occurred_at),
            error.error_message,
        )
        for short, error in zip(ids, found, strict=True)
    ]
    show.print_table(["error", "~table", "type", "status", "retry", "seen", "~message"], rows)
    show.print_more(found.next)
    show.print_next(options.command(f"errors show {ids[0]}"))


@errors.command()
@click.option("--all", "every", is_flag=True, help="Settled errors too.")
@paged(100)
@shared(
    '{"groups": [{"fingerprint", "error_type", "error_code", "error_message", "count", "open_count", "first_seen", "last_seen", '
    '"tables"}], "next"}'
)
def groups(options: Options, every: bool, limit: int, after: str | None) -> None:
    """Open errors by what caused them, the biggest group first.

    lakeledger errors groups
    """
    with options.open() as ledger:
        found = ledger.errors.groups(None if every else ErrorStatus.OPEN, limit, after)
    if options.as_json:
        show.print_json({"groups": found, "next": found.next})
        return
    if not found:
        click.echo("no errors" if every else "no open errors")
        return
    rows = [
        (
            group.fingerprint,
            show.count(group.count),
            show.count(group.open_count) if every else "",
            group.error_type,
            tables_words(group.tables),
            show.ago(group.first_seen),
            show.ago(group.last_seen),
            group.error_message,
        )
        for group in found
    ]
    show.print_table(["cause", ">errors", ">open", "type", "~tables", "first", "last", "~message, for example"], rows)
    show.print_more(found.next)
    show.print_next(options.command(f"errors list --group {found[0].fingerprint}"))


@errors.command("show")
@click.argument("error_id", metavar="ID")
@shared('{"error_log": row of error_log}')
def show_error(options: Options, error_id: str) -> None:
    """An error with its context. The beginning of the ID is enough.

    lakeledger errors show 0199b2c4-7e1a
    """
    with options.open() as ledger:
        error = ledger.errors.get(error_id)
    if options.as_json:
        show.print_json({"error_log": error})
        return
    show.print_facts(_facts(error))
    if error.error_details:
        print_document("details", error.error_details)
    if error.record_data is not None:
        print_document("record" if error.record_complete else "record, masked or cut", error.record_data)
    if error.stack_trace:
        show.print_title("trace")
        show.print_text(error.stack_trace.rstrip() + "\n")
    if error.dead_letter_id:
        show.print_next(options.command(f"dlq show {error.dead_letter_id}"))
    else:
        show.print_next(options.command(f"errors retry {error.id}" if error.is_open else "errors groups"))


@errors.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@shared(ACTED)
def retry(options: Options, ids: Sequence[str]) -> int:
    """Let errors be due at once, with one attempt more if none was left.

    lakeledger errors retry 0199b2c4-7e1a 0199b2c4-8f02
    """
    with options.open() as ledger:
        acted = act_on(ids, lambda each: ledger.errors.retry_now(each).id)
    return _tell(options, acted, "due at once", "errors list --status open")


@errors.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@CAUSE
@failures.NOTE
@APPLY
@shared(ACTED)
def resolve(options: Options, ids: Sequence[str], cause: str | None, note: str | None, apply: bool) -> int:
    """Say that errors are dealt with: each ID, or with --group all of one cause.

    lakeledger errors resolve 0199b2c4-7e1a --note "fixed at the source"
    lakeledger errors resolve --group 3f2a9c0b1d4e5f60 --apply
    """
    return _settle(options, ids, cause, note, ErrorStatus.RESOLVED, apply=apply)


@errors.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@CAUSE
@failures.NOTE
@APPLY
@shared(ACTED)
def ignore(options: Options, ids: Sequence[str], cause: str | None, note: str | None, apply: bool) -> int:
    """Say that errors do not matter: each ID, or with --group all of one cause.

    lakeledger errors ignore 0199b2c4-7e1a --note "test data"
    lakeledger errors ignore --group 3f2a9c0b1d4e5f60 --apply
    """
    return _settle(options, ids, cause, note, ErrorStatus.IGNORED, apply=apply)


def _settle(options: Options, ids: Sequence[str], cause: str | None, note: str | None, to: ErrorStatus, *, apply: bool) -> int:
    if bool(ids) == (cause is not None):
        raise click.UsageError("give either IDs or --group")
    with options.open() as ledger:
        settle = ledger.errors.resolve if to is ErrorStatus.RESOLVED else ledger.errors.ignore
        if cause is not None:
            group = find_group(ledger.errors.groups(), cause)
            ids = list(_open_ids(ledger, group))
            if not apply:
                return _tell_plan(options, group, ids, to, note)
        with ticking("settling", silent=options.as_json or cause is None) as tick:
            count = show.plural(len(ids), "error")
            acted = act_on(ids, lambda each: settle(each, note, operator()).id, lambda done: tick(count, done))
    return _tell(options, acted, to.value, "errors groups")


def _open_ids(ledger: Ledger, group: ErrorGroup) -> Iterator[str]:
    after: str | None = None
    while True:
        page = ledger.errors.list(ErrorStatus.OPEN, fingerprint=group.fingerprint, limit=PAGE, after=after)
        yield from (error.id for error in page)
        if (after := page.next) is None:
            return


def _tell_plan(options: Options, group: ErrorGroup, ids: list[str], to: ErrorStatus, note: str | None) -> int:
    if options.as_json:
        show.print_json(Acted(ids, []).document(applied=False))
        return 0
    show.print_text(f"{group.error_type} in {tables_words(group.tables)}, for example: {group.error_message}")
    click.echo(f"{show.plural(len(ids), 'error')} would be {to.value}")
    verb = "resolve" if to is ErrorStatus.RESOLVED else "ignore"
    said = "" if note is None else f" --note {shlex.quote(note)}"
    show.print_next(options.command(f"errors {verb} --group {group.fingerprint}{said} --apply"))
    return 0


def _tell(options: Options, acted: Acted, done: str, then: str) -> int:
    if options.as_json:
        show.print_json(acted.document())
    else:
        print_acted(acted, "error", done)
        show.print_next(options.command(then))
    return acted.code


def _table(error: ErrorLog) -> str:
    return f"{error.schema_name}.{error.table_name}" if error.table_name else error.schema_name


def _retry(error: ErrorLog) -> str:
    """When an open error is tried again, if it is."""
    if not error.is_open or not error.retry_after:
        return "dead letter" if error.is_open and error.dead_letter_id else ""
    return "due" if error.retry_after <= datetime.now(UTC) else show.ago(error.retry_after)


def _facts(error: ErrorLog) -> dict[str, show.Cell | None]:
    settled = f"{error.status} {show.moment(error.resolved_at)} by {error.resolved_by}" if error.resolved_at else None
    return {
        "error": error.id,
        "table": _table(error),
        "type": f"{error.error_type} ({error.error_code})" if error.error_code else error.error_type,
        "status": show.status(error.status),
        "message": error.error_message,
        "seen": show.moment(error.occurred_at),
        "retried": f"{error.retry_count} of {show.plural(error.max_retries, 'time')}" if error.max_retries else None,
        "next retry": (show.moment(error.retry_after) or "never by itself") if error.is_open else None,
        "settled": f"{settled}: {error.resolution_note}" if settled and error.resolution_note else settled,
        "operation": error.operation_type,
        "dead letter": error.dead_letter_id,
        "cause": error.fingerprint,
        "by run": error.sync_run_id,
    }
