"""`lakeledger schema`: what the captured tables look like, what changed, and whether it may."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from lakeledger import Ledger, codec
from lakeledger.cli import DONE, FAILED, show
from lakeledger.cli.acting import operator
from lakeledger.cli.options import Options, paged, shared
from lakeledger.cli.reading import called, read_object
from lakeledger.config import suggest
from lakeledger.errors import Invalid, NotFound
from lakeledger.sync import Policy, SchemaDefinition, Schemas, SchemaVersion, Source, Verdict, parse_source
from lakeledger.sync.schemas import BlockedChange, Column, from_spark

if TYPE_CHECKING:
    from lakeledger.records import MetadataRecord

MAX_VERSION = 2**63 - 1
VERSION = click.IntRange(1, MAX_VERSION)
# Of so many changes that block loads a listing tells.
MOST_BLOCKED = 100
SUMMARY = ("version", "evolution_type", "compatibility_status", "policy", "registered_at", "registered_by", "archived")

POLICY = click.option(
    "--policy",
    type=click.Choice([each.value for each in Policy]),
    metavar="POLICY",
    help="Which changes may pass: none (all do), backward, forward, full, each also as …_transitive, strict, conservative, permissive or "
    "aggressive; by default that of the latest version.",
)


@click.group()
def schema() -> None:
    """What captured tables look like: versions, changes, checks."""


@schema.command("list")
@paged(1_000)
@shared('{"schemas": [row of schema_registry], "blocked": [row of schema_changes], "next"}')
def list_schemas(options: Options, limit: int, after: str | None) -> None:
    """The latest version of each table's schema, and the changes that block loads.

    lakeledger schema list
    """
    with options.open() as ledger:
        found, blocked = ledger.schemas.list(limit, after), ledger.schemas.blocked(MOST_BLOCKED)
    if options.as_json:
        show.print_json({"schemas": found, "blocked": blocked, "next": found.next})
        return
    _print_blocked(options, blocked)
    if not found:
        click.echo("no schema is registered yet")
        show.print_next(options.command("schema register shop.orders orders.json"))
        return
    rows = [
        (
            version.name,
            show.count(version.version),
            show.count(len(version.definition.columns)),
            version.evolution_type,
            _status(version.compatibility_status),
            version.policy,
            show.ago(version.registered_at),
        )
        for version in found
    ]
    show.print_table(["~table", ">version", ">columns", "evolution", "status", "policy", "registered"], rows)
    show.print_more(found.next)
    show.print_next(options.command(f"schema show {shlex.quote(found[0].name)}"))


@schema.command("show")
@click.argument("table")
@click.option("--version", type=VERSION, metavar="N", help="This version; by default the latest.")
@paged(1_000)
@shared(
    f'{{"schema": row of schema_registry, "versions": [{{{", ".join(f"{json.dumps(name)}" for name in SUMMARY)}}}], '
    f'"blocked": [row of schema_changes], "accepted": [row of schema_changes], "next"}}'
)
def show_schema(options: Options, table: str, version: int | None, limit: int, after: str | None) -> None:
    """A version of a table's schema: columns, keys, indexes, and what changed.

    lakeledger schema show shop.orders --version 2
    """
    with options.open() as ledger:
        which = _known(ledger, table)
        found = ledger.schemas.get(which, version)
        history = ledger.schemas.history(which, limit, after)
        held = ledger.schemas.held(which)
    blocked, accepted = ([each for each in held if (each.status == "blocked") is wanted] for wanted in (True, False))
    if options.as_json:
        versions = [{name: getattr(each, name) for name in SUMMARY} for each in history]
        show.print_json({"schema": found, "versions": versions, "blocked": blocked, "accepted": accepted, "next": history.next})
        return
    show.print_facts(_facts(found))
    _print_definition(found.definition)
    if found.changes:
        rows = [(change["words"], _status(change["status"]), change["reason"]) for change in found.changes]
        show.print_table(["+change", "status", "+why"], rows, f"changes since version {found.previous_version}")
    if len(history) > 1:
        show.print_table([">version", "evolution", "status", "registered", "~by"], [_version_row(each) for each in reversed(history)])
        earlier = found.previous_version or found.version
        show.print_next(options.command(f"schema diff {shlex.quote(table)} {earlier}"))
    show.print_more(history.next)
    if accepted:
        facts = [
            (each.change["words"], each.effect, show.ago(each.accepted_at), each.accepted_by or "", each.accepted_reason or "")
            for each in accepted
        ]
        show.print_table(["+change", "+effect", "accepted", "~by", "+reason"], facts, "changes that were accepted")
    _print_blocked(options, blocked)


@schema.command()
@click.argument("table")
@click.argument("from_version", type=VERSION, metavar="FROM")
@click.argument("to_version", type=VERSION, metavar="[TO]", required=False)
@shared(
    '{"table": …, "from_version": n, "to_version": n, "changes": [{"kind", "subject", "before", "after", "relation", "words"}], '
    '"blocked": [row of schema_changes]}'
)
def diff(options: Options, table: str, from_version: int, to_version: int | None) -> None:
    """What changed from version FROM to TO, by default the latest, and what blocks the next.

    lakeledger schema diff shop.orders 1 3
    """
    with options.open() as ledger:
        which = _known(ledger, table)
        found = ledger.schemas.diff(which, from_version, to_version)
        blocked = [each for each in ledger.schemas.held(which) if each.status == "blocked"]
    if options.as_json:
        show.print_json({"table": which.name, **found.to_dict(), "blocked": blocked})
        return
    show.print_title(f"{which.name}, version {found.from_version} to {found.to_version}")
    for words in found.words() or ["nothing changed"]:
        show.print_text(words)
    _print_blocked(options, blocked)


@schema.command()
@click.argument("source")
@click.option("--reason", metavar="TEXT", help="Why; kept with who accepted it and when.")
@click.option(
    "--until", metavar="TIME", help="For what collectors found: let loads go on until this time only, as in 2026-02-01T00:00:00Z."
)
@shared('{"accepted": [row of schema_changes], "gate": {"target", "payload"} or null}')
def accept(options: Options, source: str, reason: str | None, until: str | None) -> None:
    """Let the next load of SOURCE go on with the changes that block it: those that a load met, and those that collectors found.

    Says what becomes of the table: a dropped column is NULL from then on, one of another type keeps what it has under another name.

      lakeledger schema accept shop.orders --reason "the shop dropped it"
      lakeledger schema accept shop.orders --reason "until the migration" --until 2026-02-01T00:00:00Z
    """
    with options.open() as ledger:
        opened = _open_gate(ledger, source, reason, until)
        accepted = _accept_blocked(ledger, source, reason, must_be=opened is None)
    if options.as_json:
        show.print_json({"accepted": accepted, "gate": {"target": opened.target.name, "payload": opened.payload} if opened else None})
        return
    if opened:
        for each in opened.payload["changes"]:
            show.print_text(f"  {each.get('words') or each['change']}")
        show.print_text(f"loads of {opened.target.name} may start{f' until {until}' if until else ''}", "green")
    if accepted:
        show.print_text(f"accepted for {accepted[0].name}: {show.plural(len(accepted), 'change')}", "green")
    for change in accepted:
        show.print_text(f"  {change.change['words']}: it {change.effect}")
    show.print_next(options.command(f"schema show {shlex.quote(source)}") if accepted else options.command("run"))


def _open_gate(ledger: Ledger, source: str, reason: str | None, until: str | None) -> MetadataRecord | None:
    """The decision that lets loads of the source start, if collectors found what keeps them from it."""
    if "." not in source or ledger.insights.gate(source).is_open:
        if until is not None:
            raise NotFound(f"no gate of {source} is closed: --until is for what collectors found (`lakeledger insights gate {source}`)")
        return None
    return ledger.insights.accept(source, reason, until=until, by=operator())


def _accept_blocked(ledger: Ledger, source: str, reason: str | None, *, must_be: bool) -> Sequence[BlockedChange]:
    """What the load itself met. Raises NotFound if something must be there and is not."""
    try:
        return Schemas(ledger.store, operator()).accept(_blocked(ledger, source), reason)
    except NotFound:
        if must_be:
            raise
        return []


@schema.command()
@click.argument("table")
@click.argument("file")
@POLICY
@shared(
    '{"table": …, "allowed": …, "status": …, "policy": …, "reasons": [{"kind", "subject", "before", "after", "relation", "words", '
    '"backward", "forward", "status", "reason", "fix", "against", "refused"}]}'
)
def check(options: Options, table: str, file: str, policy: str | None) -> int:
    """Whether the definition in FILE, or stdin as -, may be the table's next version. Writes nothing.

    FILE is JSON: {"columns": [{"name", "type"}], …}, or a Spark schema. Exit 1 if it may not.

      lakeledger schema check shop.orders orders.json --policy backward
    """
    definition = _read(file)
    with options.open() as ledger:
        which = _table(ledger, table)
        latest = ledger.schemas.find(which)
        verdict = ledger.schemas.check(which, definition, policy)
    code = DONE if verdict.allowed else FAILED
    if options.as_json:
        show.print_json({"table": which.name, **verdict.to_dict()})
        return code
    _print_verdict(which, verdict, latest)
    if verdict.allowed and file != "-" and (verdict.reasons or latest is None):
        given = f" --policy {policy}" if policy else ""
        show.print_next(options.command(f"schema register {shlex.quote(table)} {shlex.quote(file)}{given}"))
    return code


@schema.command()
@click.argument("table")
@click.argument("file")
@POLICY
@shared('{"schema": row of schema_registry, with "created": whether it is new}')
def register(options: Options, table: str, file: str, policy: str | None) -> None:
    """Make the definition in FILE, or stdin as -, the table's next version, if its policy allows it.

    FILE is JSON: {"columns": [{"name", "type"}], …}, or a Spark schema. The same definition again is no new version.

      lakeledger schema register shop.orders orders.json --policy backward
    """
    definition = _read(file)
    with options.open() as ledger:
        made = Schemas(ledger.store, operator()).register(_table(ledger, table), definition, policy=policy)
    if options.as_json:
        show.print_json({"schema": made})
        return
    if made.created:
        show.print_text(f"{made.name} has version {made.version}, policy {made.policy}")
        for change in made.changes:
            show.print_text(f"  {change['words']}: {change['reason']}")
    else:
        show.print_text(f"nothing changed: {made.name} stays at version {made.version}, policy {made.policy}")
    show.print_next(options.command(f"schema show {shlex.quote(table)}"))


def _read(file: str) -> SchemaDefinition:
    document = read_object(file)
    try:
        return from_spark(document) if document.get("type") == "struct" else SchemaDefinition.from_dict(document)
    except Invalid as error:
        raise Invalid(f"{called(file)}: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise Invalid(f"{called(file)} is no schema of Spark: give what `frame.schema.json()` writes") from error


def _table(ledger: Ledger, name: str) -> Source:
    """The table of that name, also where its schema has a dot."""
    meant, wanted = parse_source(name), codec.fold(name)
    sources = (Source(each.schema_name, each.table_name) for each in ledger.schemas.list() if codec.fold(each.name) == wanted)
    named = {source.key: source for source in sources}
    return named.get(meant.key) or next(iter(named.values()), meant)


def _known(ledger: Ledger, name: str) -> Source:
    """The table of that name. Raises NotFound if it has no schema."""
    which = _table(ledger, name)
    if ledger.schemas.find(which) is None:
        known = [each.name for each in ledger.schemas.list()]
        raise NotFound(f"no schema is registered for {name!r}: `lakeledger schema list` shows them{suggest(name, known)}")
    return which


def _blocked(ledger: Ledger, name: str) -> Source:
    """The source of that name that something blocks, also where its schema has a dot; else the table of that name."""
    wanted = codec.fold(name)
    found = (each for each in ledger.schemas.blocked() if codec.fold(each.name) == wanted)
    return next((Source(each.schema_name, each.table_name) for each in found), None) or _table(ledger, name)


def _print_blocked(options: Options, blocked: Sequence[BlockedChange]) -> None:
    """What blocks loads, and the command that lets it pass."""
    if not blocked:
        return
    rows = [
        (each.name, each.change["words"], each.change["reason"], show.ago(each.blocked_at), f"it {each.effect}", (each.run_id or "")[:13])
        for each in blocked
    ]
    show.print_table(["~source", "+change", "+why", "blocked", "+if accepted", "~run"], rows, "changes that block loads")
    show.print_next(options.command(f"schema accept {shlex.quote(blocked[0].name)} --reason TEXT"))


def _facts(version: SchemaVersion) -> dict[str, show.Cell | None]:
    return {
        "table": version.name,
        "version": f"{version.version}{' (archived)' if version.archived else ''}",
        "evolution": version.evolution_type,
        "status": _status(version.compatibility_status),
        "policy": version.policy,
        "hash": version.schema_hash,
        "registered": f"{show.moment(version.registered_at)} by {version.registered_by}",
        "by run": version.sync_run_id,
    }


def _print_definition(definition: SchemaDefinition) -> None:
    rows = [
        (
            column.name,
            column.type,
            _role(column, definition.keys),
            "" if column.default is None else json.dumps(column.default, ensure_ascii=False),
            column.comment or "",
        )
        for column in definition.fields
    ]
    show.print_table(["~column", "~type", "", "~default", "~comment"], rows)
    indexes = [(each.get("name") or "", ", ".join(each["columns"]), "unique" if each.get("unique") else "") for each in definition.indexes]
    if indexes:
        show.print_table(["~index", "~columns", ""], indexes)
    if definition.constraints:
        show.print_table(["+constraint"], [(json.dumps(each, ensure_ascii=False),) for each in definition.constraints])


def _role(column: Column, keys: Sequence[str]) -> str:
    if column.name in keys:
        return "key" if len(keys) == 1 else f"key, part {keys.index(column.name) + 1}"
    return "" if column.nullable else "required"


def _print_verdict(table: Source, verdict: Verdict, latest: SchemaVersion | None) -> None:
    if latest is None:
        show.print_text(f"allowed: it would be the first version of {table.name}", "green")
        return
    if not verdict.reasons:
        show.print_text(f"allowed: nothing changed since version {latest.version} of {table.name}", "green")
        return
    word, style = ("allowed", "green") if verdict.allowed else ("not allowed", "red")
    show.print_text(f"{word} under the policy {verdict.policy.value}: {verdict.status} since version {latest.version}\n", style)
    rows: Sequence[tuple[show.Cell, ...]] = [
        (
            show.status("refused" if reason.refused else "passes"),
            reason.change.words() + ("" if reason.against == latest.version else f" since version {reason.against}"),
            reason.impact.why,
            (reason.impact.fix or "") if reason.refused else "",
        )
        for reason in verdict.reasons
    ]
    show.print_table(["", "+change", "+why", "+instead"], rows)


def _version_row(version: SchemaVersion) -> tuple[show.Cell, ...]:
    return (
        show.count(version.version),
        version.evolution_type,
        _status(version.compatibility_status),
        show.ago(version.registered_at),
        version.registered_by,
    )


def _status(word: str) -> show.Cell:
    from rich.text import Text

    return Text(word, style={"compatible": "green", "breaking": "red"}.get(word, "yellow"))
