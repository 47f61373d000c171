"""`lakeledger records send` and `receive`: records to a topic of Kafka, and from one."""

from __future__ import annotations

import threading

import click

from lakeledger.cli import show
from lakeledger.cli.options import Options, shared
from lakeledger.cli.stopping import when_told

ONCE = click.option("--once", is_flag=True, help="Up to what is there now, and end.")


@click.command()
@click.argument("topic")
@ONCE
@click.option("--from", "start", metavar="N", type=click.IntRange(0), default=0, help="The first time: behind this place in the log.")
@shared('{"records": how many were sent}')
def send(options: Options, topic: str, once: bool, start: int) -> None:
    """Send every record of the log to a TOPIC of Kafka, until it is told to end; it goes on where it was.

    lakeledger records send kafka://broker:9092/metadata.events
    """
    stop = threading.Event()
    with show.answering(options.as_json), options.open() as ledger, when_told(stop.set):
        number = ledger.bus.send(topic, stop, once=once, start=start)
    _print(options, number, "sent")


@click.command()
@click.argument("topic")
@ONCE
@shared('{"records": how many came}')
def receive(options: Options, topic: str, once: bool) -> None:
    """Store every record that others publish to a TOPIC of Kafka, each once, until it is told to end.

    What is no record, and what the policy refuses, is a dead letter: `lakeledger dlq list --schema records`.

    lakeledger records receive kafka://broker:9092/metadata.events?group=lakeledger
    """
    stop = threading.Event()
    with show.answering(options.as_json), options.open() as ledger, when_told(stop.set):
        number = ledger.bus.receive(topic, stop, once=once)
    _print(options, number, "received")


def _print(options: Options, number: int, done: str) -> None:
    if options.as_json:
        show.print_json({"records": number})
    else:
        click.echo(f"{show.plural(number, 'record')} {done}")
