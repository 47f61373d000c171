"""`lakeledger dlq`: records that could not be written."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from lakeledger import Ledger
from lakeledger.cli import failures, show
from lakeledger.cli.acting import ACTED, Acted, act_on, operator, print_acted
from lakeledger.cli.dlq_replay import replay
from lakeledger.cli.failures import find_group, print_document, split_table, tables_words
from lakeledger.cli.options import Options, paged, shared
from lakeledger.errors import Invalid
from lakeledger.sync import DeadLetter, LetterStatus
from lakeledger.sync.dead_letters.store import open_letter

LONGEST_HOLD = 7 * 86_400

STATUS = click.option(
    "--status", type=click.Choice([each.value for each in LetterStatus], case_sensitive=False), help="Only those in this state."
)
WORKER = click.option("--worker", metavar="NAME", help="For whom; by default you: user@host.")


@click.group()
def dlq() -> None:
    """Records that could not be written: look, claim, replay, settle."""


dlq.add_command(replay)


@dlq.command("list")
@STATUS
@failures.SCHEMA
@failures.TABLE
@failures.GROUP
@paged()
@shared('{"letters": [row of dead_letter_queue], "next"}')
def list_letters(
    options: Options,
    status: str | None,
    schema: str | None,
    table: str | None,
    fingerprint: str | None,
    limit: int,
    after: str | None,
) -> None:
    """Dead letters, newest first.

    lakeledger dlq list --status pending --table shop.orders
    """
    schema, table = split_table(schema, table)
    with options.open() as ledger:
        cause = find_group(ledger.dead_letters.groups(), fingerprint).fingerprint if fingerprint is not None else None
        found = ledger.dead_letters.list(status, schema, table, cause, limit, after)
    if options.as_json:
        show.print_json({"letters": found, "next": found.next})
        return
    if not found:
        click.echo("no dead letters")
        return
    _print_letters(found)
    show.print_more(found.next)
    show.print_next(options.command(f"dlq show {show.short_ids([letter.id for letter in found])[0]}"))


@dlq.command()
@STATUS
@paged(100)
@shared(
    '{"groups": [{"fingerprint", "error_type", "error_message", "count", "by_status": {status: n}, "oldest", "newest", "tables"}], "next"}'
)
def groups(options: Options, status: str | None, limit: int, after: str | None) -> None:
    """Dead letters by what caused them, the biggest group first.

    lakeledger dlq groups --status pending
    """
    with options.open() as ledger:
        found = ledger.dead_letters.groups(status, limit, after)
    if options.as_json:
        show.print_json({"groups": found, "next": found.next})
        return
    if not found:
        click.echo("no dead letters")
        return
    rows = [
        (
            group.fingerprint,
            show.count(group.count),
            show.count(sum(group.by_status.get(state, 0) for state in (LetterStatus.PENDING, LetterStatus.PROCESSING))),
            group.error_type,
            tables_words(group.tables),
            show.ago(group.oldest),
            group.error_message or "",
        )
        for group in found
    ]
    show.print_table(["cause", ">letters", ">waiting", "type", "~tables", "oldest", "~message, for example"], rows)
    show.print_more(found.next)
    show.print_next(options.command(f"dlq list --group {found[0].fingerprint}"))


@dlq.command("show")
@click.argument("letter_id", metavar="ID")
@shared('{"letter": row of dead_letter_queue}')
def show_letter(options: Options, letter_id: str) -> None:
    """A dead letter and its record. The beginning of the ID is enough.

    lakeledger dlq show 0199b2c4-7e1a
    """
    with options.open() as ledger:
        letter = ledger.dead_letters.get(letter_id)
    if options.as_json:
        show.print_json({"letter": letter})
        return
    show.print_facts(_facts(letter))
    print_document("record" if letter.record_complete else "record, masked or cut: fetch it again at its source", letter.record_data)
    todo = f"dlq replay {letter.id}" if letter.stands_for_rows else f"dlq resolve {letter.id}{_worker_option(letter)}"
    show.print_next(options.command("dlq groups" if letter.is_settled else todo))


@dlq.command()
@click.option("--limit", type=click.IntRange(1, 1_000), default=1, show_default=True, help="How many.")
@WORKER
@click.option("--seconds", type=click.IntRange(1, LONGEST_HOLD), default=300, show_default=True, help="For how long.")
@failures.SCHEMA
@failures.TABLE
@failures.GROUP
@shared('{"letters": [row of dead_letter_queue]}')
def claim(
    options: Options, limit: int, worker: str | None, seconds: int, schema: str | None, table: str | None, fingerprint: str | None
) -> None:
    """Hold the oldest letters that nobody holds, for a while: nobody else gets them.

    lakeledger dlq claim --limit 10 --table shop.orders --seconds 600
    """
    schema, table = split_table(schema, table)
    with options.open() as ledger:
        cause = find_group(ledger.dead_letters.groups(), fingerprint).fingerprint if fingerprint is not None else None
        found = ledger.dead_letters.claim(limit, _whose(worker), seconds, schema, table, cause)
    if options.as_json:
        show.print_json({"letters": found})
        return
    if not found:
        click.echo("nothing waits")
        return
    _print_letters(found)
    click.echo(f"{show.plural(len(found), 'letter')} held by {show.safe(_whose(worker))} for {show.duration(seconds * 1000)}")
    show.print_next(options.command(f"dlq show {show.short_ids([letter.id for letter in found])[0]}"))


@dlq.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--method", metavar="WORD", default="manual", show_default=True, help="How the record was dealt with.")
@failures.NOTE
@WORKER
@shared(ACTED)
def resolve(options: Options, ids: Sequence[str], method: str, note: str | None, worker: str | None) -> int:
    """Say that the records of these letters are dealt with; so are their errors.

    lakeledger dlq resolve 0199b2c4-7e1a --method corrected --note "date typed in by hand"
    """
    by = _whose(worker)
    with options.open() as ledger:
        acted = act_on(ids, lambda each: ledger.dead_letters.resolve(each, method, by, note, _holder(ledger, each, by)).id)
    return _tell(options, acted, "resolved")


@dlq.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--note", required=True, metavar="TEXT", help="Why the record is not wanted: it is kept.")
@WORKER
@click.option("--apply", is_flag=True, help="Discard them; without it nothing is touched.")
@shared(ACTED)
def discard(options: Options, ids: Sequence[str], note: str, worker: str | None, apply: bool) -> int:
    """List, or with --apply discard, letters whose records are not wanted.

    Without --apply nothing is touched. What is discarded is never written; its error is ignored.

      lakeledger dlq discard 0199b2c4-7e1a --note "test data"
      lakeledger dlq discard 0199b2c4-7e1a --note "test data" --apply
    """
    if not note.strip():
        raise Invalid("--note is empty: say why the record is not wanted")
    by = _whose(worker)
    with options.open() as ledger:
        if apply:
            acted = act_on(ids, lambda each: ledger.dead_letters.discard(each, by, note, _holder(ledger, each, by)).id)
            return _tell(options, acted, "discarded")
        with ledger.store.read() as tx:
            acted = act_on(ids, lambda each: open_letter(tx, each, [by]).id)
        letters = [ledger.dead_letters.get(each) for each in acted.ids]
    if options.as_json:
        show.print_json(acted.document(applied=False))
        return acted.code
    _print_letters(letters)
    print_acted(acted, "letter", "would be discarded")
    again = shlex.join([*acted.ids, "--note", note, *(["--worker", worker] if worker else [])])
    show.print_next(options.command(f"dlq discard {again} --apply"))
    return acted.code


@dlq.command()
@click.argument("letter_id", metavar="ID")
@WORKER
@shared('{"letter": row of dead_letter_queue}')
def release(options: Options, letter_id: str, worker: str | None) -> None:
    """Give back a letter that was claimed, untried.

    lakeledger dlq release 0199b2c4-7e1a
    """
    with options.open() as ledger:
        letter = ledger.dead_letters.release(letter_id, _whose(worker))
    if options.as_json:
        show.print_json({"letter": letter})
        return
    click.echo(f"dead letter {letter.id} is {letter.status} again")
    show.print_next(options.command("dlq list --status pending"))


def _holder(ledger: Ledger, letter_id: str, by: str) -> str | None:
    """Who acts as the holder of the letter: whoever claimed it under that name, else nobody."""
    return by if ledger.dead_letters.get(letter_id).claimed_by == by else None


def _whose(worker: str | None) -> str:
    """Who holds or settles letters. Raises Invalid for an empty name, which is a variable that somebody forgot to set."""
    if worker is not None and not worker.strip():
        raise Invalid("--worker is empty: give a name or leave the option out")
    return worker or operator()


def _worker_option(letter: DeadLetter) -> str:
    """What to add so that a letter that somebody holds can be settled."""
    holder = letter.holder(datetime.now(UTC))
    return f" --worker {shlex.quote(holder)}" if holder and holder != operator() else ""


def _tell(options: Options, acted: Acted, done: str) -> int:
    if options.as_json:
        show.print_json(acted.document())
    else:
        print_acted(acted, "letter", done)
        show.print_next(options.command("dlq groups"))
    return acted.code


def _print_letters(letters: Sequence[DeadLetter]) -> None:
    """A line per letter."""
    rows = [
        (
            short,
            _table(letter),
            letter.source_record_id or "",
            show.status(letter.status),
            letter.holder(datetime.now(UTC)) or "",
            show.count(letter.error_count),
            show.ago(letter.last_failed_at),
            letter.error_message or "",
        )
        for short, letter in zip(show.short_ids([letter.id for letter in letters]), letters, strict=True)
    ]
    show.print_table(["letter", "~table", "~record", "status", "~held by", ">failed", "last", "~message"], rows)


def _table(letter: DeadLetter) -> str:
    return f"{letter.schema_name}.{letter.table_name}" if letter.table_name else letter.schema_name


def _facts(letter: DeadLetter) -> dict[str, show.Cell | None]:
    holder = letter.holder(datetime.now(UTC))
    settled = f"{letter.resolution_method} {show.moment(letter.resolved_at)} by {letter.resolved_by}" if letter.resolved_at else None
    return {
        "letter": letter.id,
        "table": _table(letter),
        "operation": f"{letter.operation_type} of a {letter.item_kind}",
        "record": letter.source_record_id,
        "status": show.status(letter.status),
        "held": f"by {holder} until {show.moment(letter.claimed_until)}" if holder else None,
        "message": letter.error_message,
        "type": letter.error_type,
        "failed": f"{show.plural(letter.error_count, 'time')}, last {show.moment(letter.last_failed_at)}",
        "since": show.moment(letter.created_at),
        "settled": f"{settled}: {letter.resolution_note}" if settled and letter.resolution_note else settled,
        "cause": letter.fingerprint,
        "error": letter.error_log_id,
        "by run": letter.sync_run_id,
    }
