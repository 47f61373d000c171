"""`lakeledger records`: what is known; found, emitted, tailed, and kept in order."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TextIO

import click

from lakeledger import codec
from lakeledger.cli import PARTLY_FAILED, show
from lakeledger.cli.feed import told
from lakeledger.cli.options import Duration, Options, moment_of, paged, shared
from lakeledger.cli.records_backfill import backfill
from lakeledger.cli.records_bus import receive, send
from lakeledger.cli.records_collect import collect
from lakeledger.cli.stopping import when_told
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.db.pages import Page
    from lakeledger.records import Condition, MetadataRecord

RECORD = (
    '{"record_id", "sequence", "kind", "target", "context", "payload", "produced_at", "producer_id", "version", "quality", "extras", '
    '"dedupe_key"}'
)
OPERATORS = ("!=", "<=", ">=", "=", "<", ">")
SINCE = click.option(
    "--since", metavar="TIME", help="Only facts of this time or later: 2026-01-31T00:00:00Z, or 7d for the last seven days."
)
UNTIL = click.option("--until", metavar="TIME", help="Only facts of before this time.")


@click.group()
def records() -> None:
    """What is known: facts about tables, written by whoever learned them."""


records.add_command(collect)
records.add_command(backfill)
records.add_command(send)
records.add_command(receive)


@records.command("list")
@click.argument("kind")
@click.option("--table", metavar="NAME", help="Only facts about this table: orders or silver.orders.")
@SINCE
@UNTIL
@paged()
@shared(f'{{"records": [{RECORD}], "next"}}')
def list_records(
    options: Options, kind: str, table: str | None, since: str | None, until: str | None, limit: int, after: str | None
) -> None:
    """Facts of one KIND, newest first.

    lakeledger records list ingestion_volume --table silver.orders
    lakeledger records list dq_result --since 7d
    lakeledger records list recon_result --since 2026-01-01T00:00:00Z --until 2026-02-01T00:00:00Z
    """
    with options.open() as ledger:
        found = ledger.records.history(table, kind, moment_of(since), moment_of(until), limit, after)
    _print_page(options, found, f"no records of the kind {kind}")


@records.command()
@click.argument("table")
@click.argument("kind")
@shared(f'{{"record": {RECORD} or null}}')
def latest(options: Options, table: str, kind: str) -> None:
    """The newest fact of a KIND about a TABLE.

    lakeledger records latest silver.orders ingestion_volume
    """
    with options.open() as ledger:
        found = ledger.records.latest(table, kind)
    if options.as_json:
        show.print_json({"record": found.to_dict() if found else None})
        return
    if found is None:
        click.echo(show.safe(f"no record of the kind {kind} about {table}"))
        return
    show.print_title(f"{found.kind} of {found.target.name}")
    run = found.context.run_id
    show.print_facts({"when": show.ago(found.produced_at), "by": found.producer_id, "run": run, "says": told(found.payload)})


@records.command()
@click.argument("table")
@click.argument("kind")
@SINCE
@UNTIL
@paged()
@shared(f'{{"records": [{RECORD}], "next"}}')
def history(options: Options, table: str, kind: str, since: str | None, until: str | None, limit: int, after: str | None) -> None:
    """Facts of a KIND about a TABLE, newest first.

    lakeledger records history silver.orders recon_result --since 30d
    """
    with options.open() as ledger:
        found = ledger.records.history(table, kind, moment_of(since), moment_of(until), limit, after)
    _print_page(options, found, f"no records of the kind {kind} about {table}")


@records.command()
@click.option("--kind", "kinds", metavar="KIND", multiple=True, help="Of this kind; may be given several times.")
@click.option("--table", metavar="NAME", help="About this table.")
@click.option("--source", metavar="ID", help="About this source, with --table about its table of that name.")
@click.option("--producer", metavar="ID", help="Of this producer.")
@click.option("--run", metavar="ID", help="Of this run.")
@click.option("--job", metavar="ID", help="Of this job.")
@click.option(
    "--where", metavar="CONDITION", multiple=True, help="payload.rows>=100, extras.slice=eu, quality.status!=pass; all must hold."
)
@click.option("--window-since", metavar="TIME", help="Whose own window, window_start to window_end, reaches behind this time.")
@click.option("--window-until", metavar="TIME", help="Whose own window begins before this time.")
@SINCE
@UNTIL
@paged()
@shared(f'{{"records": [{RECORD}], "next"}}')
def query(
    options: Options,
    kinds: tuple[str, ...],
    table: str | None,
    source: str | None,
    producer: str | None,
    run: str | None,
    job: str | None,
    where: tuple[str, ...],
    window_since: str | None,
    window_until: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    after: str | None,
) -> None:
    """Facts by anything that is known of them, newest first.

    lakeledger records query --kind recon_result --where quality.status=fail --since 7d
    lakeledger records query --kind ingestion_volume --table silver.orders --where "payload.rows>=1000"
    lakeledger records query --window-since 2026-01-01T00:00:00Z --window-until 2026-02-01T00:00:00Z
    """
    from lakeledger.records import MetadataQuery, MetadataTarget, Window

    target: Any = table
    if source:
        schema, _, name = (table or "").rpartition(".")
        target = MetadataTarget(source, schema or None, name or None)
    window = Window(moment_of(window_since), moment_of(window_until)) if window_since or window_until else None
    asked = MetadataQuery(
        target, kinds, producer, run, job, moment_of(since), moment_of(until), [_condition(each) for each in where], window, limit, after
    )
    with options.open() as ledger:
        found = ledger.records.query(asked)
    _print_page(options, found, "no records")


@records.command()
@click.option("--from", "place", metavar="N", type=click.IntRange(0), help="Behind this place in the log; by default the newest ones.")
@click.option("--kind", metavar="KIND", help="Only of this kind.")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("--follow", is_flag=True, help="Go on with what comes, until it is told to end.")
@shared(f"{RECORD} on each line")
def tail(options: Options, place: int | None, kind: str | None, limit: int | None, follow: bool) -> None:
    """Facts in the order in which they were stored, each once. The first number of a line is where to go on: --from.

    lakeledger records tail
    lakeledger records tail --follow --from 4711
    """
    with options.open() as ledger:
        stop = threading.Event()
        start = max(0, ledger.records.head() - NEWEST) if place is None else place
        with when_told(stop.set):
            for number, record in enumerate(ledger.records.tail(start, kind, follow=follow, stop=stop), 1):
                _print_line(options, record)
                if number == limit:
                    return


NEWEST = 20


@records.command()
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@shared('{"stored", "duplicates", "quarantined", "published"}')
def emit(options: Options, file: TextIO) -> int | None:
    """Keep facts: a JSON object, a list of them, or JSON Lines, from a FILE or from stdin. The same fact twice is one.

    Each needs target, kind, payload and producer_id; see `lakeledger kinds show KIND`. Exit 3 if some were set aside as dead letters.

    lakeledger records emit facts.jsonl
    """
    from lakeledger.records import MetadataRecord

    with options.open() as ledger:
        done = ledger.records.emit_many([MetadataRecord.from_dict(_new(each)) for each in _documents(file)])
    if options.as_json:
        show.print_json(vars(done))
    else:
        sent = f", {done.published} published" if done.published else ""
        click.echo(f"{show.plural(done.stored, 'record')} stored, {done.duplicates} known already, {done.quarantined} set aside{sent}")
        if done.quarantined:
            show.print_next(options.command("dlq list --schema records"))
    return PARTLY_FAILED if done.quarantined else None


@records.command()
@click.option("--kind", metavar="KIND", help="Only of this kind.")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("--apply", "apply_it", is_flag=True, help="Do it; otherwise it is a dry run.")
@shared('{"dry_run", "total", "incomplete", "groups", "replayed", "failed", "skipped"}')
def replay(options: Options, kind: str | None, limit: int | None, apply_it: bool) -> int | None:
    """Store facts that were set aside, once their kind is registered. Exit 3 if some are still refused.

    lakeledger records replay --kind visits --apply
    """
    with options.open() as ledger:
        done = ledger.records.replay(kind, limit, dry_run=not apply_it)
    if options.as_json:
        show.print_json(vars(done))
    elif not apply_it:
        click.echo(f"{show.plural(done.total, 'record')} would be stored again: add --apply")
    else:
        click.echo(f"{show.plural(done.replayed, 'record')} stored, {done.failed} refused again")
    return PARTLY_FAILED if done.failed else None


@records.command()
@click.option("--older-than", type=Duration(), help="Move what is older; by default what no band looks back to, at least 90d.")
@click.option("--apply", "apply_it", is_flag=True, help="Do it; otherwise it is a dry run.")
@shared('{"dry_run", "moved": [{"kind", "records", "files", "bytes"}]}')
def compact(options: Options, older_than: timedelta | None, apply_it: bool) -> None:
    """Move history to Parquet, except the last fact about each target; every answer stays the same. To be run each night.

    lakeledger records compact
    lakeledger records compact --older-than 180d --apply
    """
    with options.open() as ledger:
        age = older_than or timedelta(days=max(90.0, ledger.settings.bands.window_days))
        moved = ledger.records.compact(age, dry_run=not apply_it)
    if options.as_json:
        show.print_json({"dry_run": not apply_it, "moved": moved})
        return
    if not moved:
        click.echo("nothing to move")
        return
    rows = [(each.kind, show.count(each.records), show.count(each.files), show.size(each.bytes)) for each in moved]
    show.print_table(["kind", ">records", ">files", ">size"], rows)
    if not apply_it:
        show.print_next(options.command("records compact --apply"))


@records.command()
@click.option("--apply", "apply_it", is_flag=True, help="Do it; otherwise it is a dry run.")
@click.option("--reason", metavar="TEXT", help="Why, for the audit.")
@shared('{"dry_run", "kinds": [{"kind", "days", "records", "files", "archived"}]}')
def retention(options: Options, apply_it: bool, reason: str | None) -> None:
    """How long facts of each kind are kept, and how many are older; with --apply these go.

    What went is itself a fact: `lakeledger records list records_retention`. A kind that says so is archived to Parquet first.

    lakeledger records retention
    lakeledger records retention --apply --reason "quarterly"
    """
    with options.open() as ledger:
        found = ledger.records.retain(dry_run=not apply_it, reason=reason)
    if options.as_json:
        show.print_json({"dry_run": not apply_it, "kinds": found})
        return
    if not found:
        click.echo("nothing is old enough to go")
        return
    rows = [(each.kind, "for good" if each.days is None else f"{each.days:g} days", show.count(each.records)) for each in found]
    show.print_table(["kind", "kept", ">go" if apply_it else ">would go"], rows)
    if not apply_it and any(each.records for each in found):
        show.print_next(options.command("records retention --apply"))


def _print_page(options: Options, found: Page[MetadataRecord], nothing: str) -> None:
    if options.as_json:
        show.print_json({"records": [record.to_dict() for record in found], "next": found.next})
        return
    if not found:
        click.echo(show.safe(nothing))
        return
    rows = [(record.target.name, record.kind, show.ago(record.produced_at), record.producer_id, told(record.payload)) for record in found]
    show.print_table(["~about", "kind", "when", "~by", "~says"], rows)
    show.print_more(found.next)


def _print_line(options: Options, record: MetadataRecord) -> None:
    if options.as_json:
        click.echo(codec.to_json(record.to_dict()))
        return
    at = f"{record.produced_at:%Y-%m-%d %H:%M:%S}"
    click.echo(show.safe(f"{record.sequence}  {at}  {record.kind}  {record.target.name}  {told(record.payload)}"))


def _condition(text: str) -> Condition:
    """`payload.rows>=100` as a condition: what reads as JSON is that value, anything else is a text. Raises Invalid."""
    from lakeledger.records import Condition

    places = [(text.find(op), -len(op), op) for op in OPERATORS if op in text]
    if not places:
        raise Invalid(f"--where {text!r} compares nothing: write payload.rows>=100 or quality.status=fail")
    place, _, op = min(places)
    said = text[place + len(op) :].strip()
    try:
        value = json.loads(said)
    except ValueError:
        value = said
    return Condition(text[:place].strip(), op, value if not isinstance(value, dict | list) else said)


def _documents(file: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The objects of a JSON document, a list, or lines of JSON. Raises Invalid, naming the line."""
    text = "".join(file)
    try:
        whole = json.loads(text)
        found = whole if isinstance(whole, list) else [whole]
    except ValueError:
        found = [_object(line, number) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    for each in found:
        if not isinstance(each, dict):
            raise Invalid(f"{str(each)[:80]!r} is no record: write an object with target, kind, payload and producer_id")
        yield each


def _new(document: dict[str, Any]) -> dict[str, Any]:
    """A record that was printed elsewhere has a place and an id of its own here."""
    return {name: value for name, value in document.items() if name not in ("record_id", "sequence")}


def _object(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise Invalid(f"line {number} is not JSON: {error}") from error
