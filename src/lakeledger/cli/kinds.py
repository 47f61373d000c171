"""`lakeledger kinds`: what records look like, in which versions, and what becomes of those that do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import FAILED, show
from lakeledger.cli.options import FILE, Options, shared
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.records.registry import Kind, NewKind

KIND = (
    '{"kind", "version", "schema", "compatibility", "retention_days", "follows_settings", "archive", "frequency", "description", "reason", '
    '"registered_by", "registered_at"}'
)


@click.group()
def kinds() -> None:
    """What records look like: kinds, their versions, and the policy for what does not look like its kind."""


@kinds.command("list")
@shared(f'{{"policy", "kinds": [{KIND}]}}')
def list_kinds(options: Options) -> None:
    """The kinds that are registered, each in its newest version.

    lakeledger kinds list
    """
    with options.open() as ledger:
        found, policy = ledger.records.kinds.list(), ledger.records.kinds.policy
    if options.as_json:
        show.print_json({"policy": policy.value, "kinds": found})
        return
    rows = [(each.kind, str(each.version), _kept(each), each.frequency or "", each.description or "") for each in found]
    show.print_table(["kind", ">version", "kept", "made", "~what"], rows)
    click.echo(f"policy: {policy.value}")


@kinds.command("show")
@click.argument("kind")
@click.option("--version", type=click.IntRange(1), help="This version; by default the newest.")
@shared(f'{{"kind": {KIND}, "versions": […]}}')
def show_kind(options: Options, kind: str, version: int | None) -> None:
    """What records of a KIND look like: its JSON Schema.

    lakeledger kinds show ingestion_volume
    """
    with options.open() as ledger:
        found, versions = ledger.records.kinds.get(kind, version), ledger.records.kinds.versions(kind)
    if options.as_json:
        show.print_json({"kind": found, "versions": [each.version for each in versions]})
        return
    show.print_title(f"{found.kind}, version {found.version}")
    facts = {"what": found.description, "kept": _kept(found), "made": found.frequency, "compatibility": found.compatibility}
    show.print_facts({**facts, "registered by": found.registered_by, "versions": ", ".join(str(each.version) for each in versions)})
    click.echo(show.safe(json.dumps(found.schema, indent=2, ensure_ascii=False)))


def _schema_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What `register` and `check` take."""
    compatible = click.Choice(["backward", "forward", "full", "none"])
    for option in (
        click.option("--compatibility", type=compatible, help="With the version before; by default as it was, at first backward."),
        click.argument("file", type=FILE),
        click.argument("kind"),
    ):
        command = option(command)
    return command


@kinds.command()
@_schema_options
@click.option("--retention-days", type=click.FloatRange(0), help="How long its records are kept; by default as it was.")
@click.option("--archive/--no-archive", default=None, help="Whether they go to Parquet before they go.")
@click.option("--frequency", metavar="WORD", help="How often one is made: hourly, daily, on_change.")
@click.option("--reason", metavar="TEXT", help="Why.")
@shared(f'{{"kind": {KIND}}}')
def register(
    options: Options,
    kind: str,
    file: Path,
    compatibility: str | None,
    retention_days: float | None,
    archive: bool | None,
    frequency: str | None,
    reason: str | None,
) -> None:
    """Register the JSON Schema in FILE as the next version of a KIND; the same one again is the same version.

    lakeledger kinds register visits visits.json --retention-days 30 --reason "new shop"
    """
    new = _new(kind, file, compatibility, retention_days=retention_days, archive=archive, frequency=frequency, reason=reason)
    with options.open() as ledger:
        found = ledger.records.kinds.register(new)
    if options.as_json:
        show.print_json({"kind": found})
        return
    click.echo(f"{found.kind} is registered as version {found.version}")
    show.print_next(options.command(f"records replay --kind {found.kind}"))


@kinds.command()
@_schema_options
@shared('{"kind", "version", "compatibility", "problems": […]}')
def check(options: Options, kind: str, file: Path, compatibility: str | None) -> int | None:
    """Whether the JSON Schema in FILE could be registered as the next version of a KIND. Exit 1 if it could not.

    lakeledger kinds check visits visits.json --compatibility full
    """
    new = _new(kind, file, compatibility)
    with options.open() as ledger:
        found = ledger.records.kinds.check(new)
    if options.as_json:
        show.print_json(vars(found))
    elif found.is_compatible:
        click.echo(f"version {found.version} of {found.kind} may be registered")
    else:
        click.echo(f"version {found.version} of {found.kind} is not {found.compatibility}-compatible:")
        for problem in found.problems:
            click.echo(show.safe(f"  {problem}"))
    return None if found.is_compatible else FAILED


@kinds.command()
@click.argument("policy", type=click.Choice(["strict", "quarantine", "open"]))
@click.option("--reason", metavar="TEXT", help="Why.")
@shared('{"policy"}')
def policy(options: Options, policy: str, reason: str | None) -> None:
    """What becomes of records that are not as their kind says: strict refuses them, quarantine sets them aside, open keeps them.

    lakeledger kinds policy quarantine --reason "before the audit"
    """
    with options.open() as ledger:
        set_to = ledger.records.kinds.set_policy(policy, reason)
    if options.as_json:
        show.print_json({"policy": set_to.value})
        return
    click.echo(f"policy: {set_to.value}")


def _new(kind: str, file: Path, compatibility: str | None, **more: Any) -> NewKind:
    from lakeledger.records.registry import NewKind

    try:
        schema = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Invalid(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise Invalid(f"{file} is not JSON: {error}") from error
    return NewKind(kind, schema, compatibility, **more)


def _kept(kind: Kind) -> str:
    if kind.follows_settings:
        return "as set (records_days)"
    return "for good" if kind.retention_days is None else f"{kind.retention_days:g} days"
