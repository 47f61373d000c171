"""`lakeledger astha` and `lakeledger events`: deliver events, see how far subscribers got, and deal with what they could not handle."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import Options, paged, shared
from lakeledger.cli.stopping import when_told
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub, scrub_value

if TYPE_CHECKING:
    from lakeledger.events import Change
    from lakeledger.events.operations import Lag
    from lakeledger.ledger import Ledger
    from lakeledger.sync import DeadLetter

LAG = (
    '{"tenant_id", "subscriber", "state", "seq", "head", "behind", "oldest_at", "moved_at", "error", '
    '"lanes": [{"registry_table", "lake_table", "name", "next_seq", "attempts", "retry_at", "error"}]}'
)
TABLE = click.option("--table", metavar="NAME", help="Only changes of this table of the registry, such as tables or table_files.")
SUBSCRIBER = click.argument("subscriber")
LOOK_SECONDS = 1.0


@click.command("astha")
@shared(f'{{"subscribers": [{LAG}]}}')
def astha(options: Options) -> None:
    """Deliver every change of the registry, of every tenant, to its subscribers, until it is told to end.

    Subscribers are lakeledger's own components, and those named under [subscribers] in the settings. Several processes may run: one
    delivers, and another one takes over when it is gone. At the end what is under way is given time to finish.

      lakeledger astha
    """
    stop = threading.Event()

    def tell(text: str) -> None:
        if not options.as_json:
            show.print_event(text)

    with show.answering(options.as_json), options.open() as ledger, when_told(stop.set):
        delivery = ledger.astha(tell=tell)
        tell("waiting for changes; Ctrl-C ends it")
        delivery.run(stop)
        found = _lags(ledger, all_tenants=True)
    if options.as_json:
        show.print_json({"subscribers": found})
    else:
        _print_lags(found)


@click.group()
def events() -> None:
    """Who must hear of changes: what is told, how far subscribers got, what they could not handle."""


@events.command()
@TABLE
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many of the newest.")
@click.option("--follow", is_flag=True, help="Go on with what comes, until it is told to end; with --json an object on each line.")
@shared('{"events": [{"seq", "tenant_id", "table_name", "operation", "key", "before", "after", "at"}]}')
def tail(options: Options, table: str | None, limit: int, follow: bool) -> None:
    """The newest changes, in the order of commits, as subscribers are told them.

    lakeledger events tail --table table_snapshots
    lakeledger events tail --follow
    """
    with options.open() as ledger:
        found: Sequence[Change] = ledger.changes.last(table, limit)
        if not follow:
            _print_tail(options, found)
            return
        stop = threading.Event()
        with when_told(stop.set):
            _follow(options, ledger, table, found, stop)


@events.command()
@click.option("--all-tenants", is_flag=True, help="Of every tenant of the database.")
@shared(f'{{"subscribers": [{LAG}]}}')
def lag(options: Options, all_tenants: bool) -> None:
    """How far each subscriber got: its cursor, the newest change, the lanes in which it is behind, and why.

    lakeledger events lag
    """
    with options.open() as ledger:
        found = _lags(ledger, all_tenants=all_tenants)
    if options.as_json:
        show.print_json({"subscribers": found})
        return
    _print_lags(found)


@events.command()
@click.argument("subscriber", required=False)
@paged()
@shared('{"letters": [row of dead_letter_queue], "next"}')
def parked(options: Options, subscriber: str | None, limit: int, after: str | None) -> None:
    """Events that a subscriber could not handle, newest first: they wait to be replayed.

    lakeledger events parked mirror
    """
    with options.open() as ledger:
        found = ledger.events.parked(subscriber, limit, after)
    if options.as_json:
        show.print_json({"letters": found, "next": found.next})
        return
    if not found:
        click.echo("no event is parked")
        return
    rows = [_parked_row(short, letter) for short, letter in zip(show.short_ids([each.id for each in found]), found, strict=True)]
    show.print_table(["letter", "subscriber", ">event", "table", "operation", "parked", "~error"], rows)
    show.print_more(found.next)
    show.print_next(options.command(f"events replay {found[0].table_name} --apply"))


@events.command()
@SUBSCRIBER
@click.option("--limit", type=click.IntRange(min=1), help="At most so many, the oldest first.")
@click.option("--apply", is_flag=True, help="Replay them; without it they are only counted.")
@shared('{"dry_run", "total", "replayed", "failed", "skipped"}')
def replay(options: Options, subscriber: str, limit: int | None, apply: bool) -> int:
    """Give a SUBSCRIBER what was parked for it, in order. Without --apply nothing is done.

    What comes behind an event of the same table that fails again stays parked. Exit code 3 if some failed, 1 if all did.

      lakeledger events replay mirror --apply
    """
    from lakeledger.events.subscribers import make

    with show.answering(options.as_json), options.open() as ledger:
        made = None
        if apply:
            factories = ledger.subscribers()
            if subscriber not in factories:
                raise Invalid(f"no subscriber {subscriber!r} is configured: name it under [subscribers] in the settings")
            made = make(subscriber, factories[subscriber], ledger)
        done = ledger.events.replay(subscriber, made, limit, dry_run=not apply)
    if options.as_json:
        show.print_json(vars(done))
    elif done.dry_run:
        click.echo(f"{show.plural(done.total, 'event')} would be replayed")
        if done.total:
            show.print_next(options.command(f"events replay {subscriber} --apply"))
    else:
        click.echo(f"{show.plural(done.replayed, 'event')} replayed, {done.failed} failed, {done.skipped} skipped")
    return 0 if not done.failed and not done.skipped else PARTLY_FAILED if done.replayed else FAILED


@events.command()
@SUBSCRIBER
@click.option("--apply", is_flag=True, help="Forget it; without it nothing is changed.")
@shared(f'{{"applied": …, "subscriber": {LAG}}}')
def forget(options: Options, subscriber: str, apply: bool) -> None:
    """Forget a SUBSCRIBER that was taken out of the settings, so that the change log is not kept for it any more.

    If it comes back, it begins anew with a refresh. What was parked for it stays.

      lakeledger events forget mirror --apply
    """
    with options.open() as ledger:
        if subscriber in ledger.settings.subscribers:
            raise Invalid(f"subscriber {subscriber} is configured: take it out of [subscribers] first, and end `lakeledger astha`")
        found = ledger.events.forget(subscriber, apply=apply)
    if options.as_json:
        show.print_json({"applied": apply, "subscriber": _document(ledger.settings.tenant, found)})
        return
    click.echo(f"{subscriber} {'is forgotten' if apply else 'would be forgotten'}: it had {show.plural(found.behind, 'change')} to read")
    if not apply:
        show.print_next(options.command(f"events forget {subscriber} --apply"))


def _lags(ledger: Ledger, *, all_tenants: bool) -> list[dict[str, Any]]:
    from lakeledger.events.feed import RegistryWatcher

    tenants = sorted(RegistryWatcher(ledger.database).tenants()) if all_tenants else [ledger.settings.tenant]
    return [_document(tenant, each) for tenant in tenants for each in ledger.for_tenant(tenant).events.lag()]


def _document(tenant: str, found: Lag) -> dict[str, Any]:
    lanes = [{**vars(lane), "error": lane.error and scrub(lane.error)} for lane in found.lanes]
    return {"tenant_id": tenant, **vars(found), "error": found.error and scrub(found.error), "lanes": lanes}


def _print_lags(found: Sequence[dict[str, Any]]) -> None:
    if not found:
        click.echo("nobody has subscribed yet")
        return
    rows = [
        (
            each["tenant_id"],
            each["subscriber"],
            each["state"],
            show.count(each["seq"]),
            show.count(each["behind"]),
            str(len(each["lanes"]) or ""),
            show.ago(each["oldest_at"]) if each["behind"] or each["lanes"] else "",
            show.safe(each["error"] or next((lane["error"] for lane in each["lanes"] if lane["error"]), "") or ""),
        )
        for each in found
    ]
    show.print_table(["tenant", "subscriber", "state", ">cursor", ">behind", ">lanes behind", "oldest", "~error"], rows)


def _parked_row(short: str, letter: DeadLetter) -> tuple[str, ...]:
    event = letter.record_data
    names = (str(event.get("table_name", "")), str(event.get("operation", "")))
    return (short, letter.table_name or "", str(event.get("seq", "")), *names, show.ago(letter.created_at), letter.error_message or "")


def _print_tail(options: Options, found: Sequence[Change]) -> None:
    if options.as_json:
        show.print_json({"events": found})
    elif not found:
        click.echo("nothing changed")
    else:
        _print_changes(found)


def _print_changes(found: Iterable[Change]) -> None:
    for each in found:
        row = scrub_value(each.after or each.before or {})
        about = row.get("file_path") or row.get("version") or row.get("table_name") or row.get("status") or ""
        click.echo(show.safe(f"{each.seq}  {each.at:%Y-%m-%d %H:%M:%S}  {each.operation:<6}  {each.table_name}  {each.key}  {about}"))


def _follow(options: Options, ledger: Ledger, table: str | None, first: Sequence[Change], stop: threading.Event) -> None:
    """Print what there is, and then what comes."""
    found, seq = first, first[-1].seq if first else 0
    while not stop.is_set():
        if options.as_json:
            for each in found:
                click.echo(json.dumps(vars(each), default=str, ensure_ascii=False))
        else:
            _print_changes(found)
        mark = ledger.database.mark()
        found = ledger.changes.after(seq, table)
        if found:
            seq = found[-1].seq
        else:
            ledger.store.rest(LOOK_SECONDS, mark, stop)
