"""`lakeledger plan`: what would happen to which job, and why."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import show
from lakeledger.cli.control_table import CONTROL, next_command, open_deployment, scrubbed
from lakeledger.cli.options import Options, shared
from lakeledger.cli.reading import read_object
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.control.deployment import Deployment
    from lakeledger.control.plan import Plan
    from lakeledger.control.summary import Change

SIDES = ("ours", "theirs")
PRUNE = click.option("--prune", is_flag=True, help="Remove the jobs of modules that are gone; without it they are paused.")
PREFER = click.option("--prefer", type=click.Choice(SIDES), help="Whose side holds where a setting was changed here and by hand.")
MODULE = click.option("--module", "modules", metavar="NAME", multiple=True, help="Only this module; may be repeated.")
ACTION = '{"action", "module_name", "job_id", "reason", "changes", "settings"}'
PLAN = f'{{"control_table", "backend", "version", "modules_version", "digest", "warnings", "actions": [{ACTION}]}}'


@dataclass(frozen=True)
class Choices:
    """What a plan was made with, and is applied with."""

    prefer: Any = None
    prune: bool = False
    modules: tuple[str, ...] | None = None

    def plan(self, deployment: Deployment) -> Plan:
        """What would happen. Raises Invalid for a module that is neither in the control table nor has a job."""
        made = deployment.plan(prefer=self.prefer, prune=self.prune, modules=self.modules)
        known = [action.module_name for action in made.actions]
        if unknown := [name for name in self.modules or () if name not in known]:
            raise Invalid(f"no module {unknown[0]!r}: `lakeledger control list` shows them")
        return made

    def words(self) -> str:
        """The options to give again in a suggested command."""
        said = [*(["--prune"] if self.prune else []), *(["--prefer", self.prefer] if self.prefer else [])]
        named = (f"--module {shlex.quote(name)}" for name in self.modules or ())
        return "".join(f" {each}" for each in [*(said and [" ".join(said)]), *named])


@click.command("plan")
@PRUNE
@PREFER
@MODULE
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Keep the plan in this file, for `lakeledger apply FILE`.")
@CONTROL
@shared(PLAN)
def plan(options: Options, prune: bool, prefer: Any, modules: Sequence[str], out: Path | None, control_table: str | None) -> None:
    """What would happen to the job of each module, field by field. Changes nothing.

    lakeledger plan
    lakeledger plan --prune --out plan.json && lakeledger apply plan.json
    """
    choices = Choices(prefer, prune, tuple(modules) or None)
    with open_deployment(options, control_table) as deployment:
        made = choices.plan(deployment)
    if out:
        write_plan(out, made, choices)
    if options.as_json:
        show.print_json(scrubbed(made.to_dict()))
        return
    print_plan(made)
    if made.conflicts:
        show.print_next(next_command(options, "plan --prefer ours", control_table))
    elif any(action.does_something for action in made.actions):
        words = f"apply {shlex.quote(str(out))}" if out else f"apply --yes{choices.words()}"
        show.print_next(next_command(options, words, control_table))


def print_plan(made: Plan) -> None:
    """A paragraph per module: what, why, and field by field."""
    if not made.actions:
        click.echo("no modules: nothing to do")
        return
    for action in made.actions:
        first, *more = action.words()
        click.echo(show.scrubbed(f"{action.module_name}: {first}"))
        for line in more:
            click.echo(show.scrubbed(f"  {line}"))
    for warning in made.warnings:
        show.print_warning(warning)
    kinds = dict.fromkeys(action.kind for action in made.actions)
    counts = ", ".join(f"{made.count(kind)} {kind}" for kind in kinds)
    click.echo(f"\n{counts}: control table version {made.version}, jobs on {made.backend}")
    if made.conflicts:
        click.echo("some settings were changed here and by hand: say with --prefer whose side holds")


def write_plan(out: Path, made: Plan, choices: Choices) -> None:
    """Keep a plan with what it was made with; only its owner reads it, for settings may hold secrets. Raises Invalid."""
    text = json.dumps({**made.to_dict(), "choices": asdict(choices)}, indent=2, ensure_ascii=False)
    try:
        with tempfile.NamedTemporaryFile("w", dir=out.parent, prefix=f".{out.name}.", delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(out)
    except OSError as error:
        raise Invalid(f"cannot write {out}: {error.strerror}") from error


def read_plan(file: str) -> tuple[Plan, Choices]:
    """A plan that `plan --out` kept. Raises Invalid if it is none, or was edited."""
    document = read_object(file)
    try:
        made, choices = _plan_of(document), _choices_of(document["choices"])
    except (KeyError, TypeError, AttributeError) as error:
        raise Invalid(f"{file} is no plan: write one with `lakeledger plan --out {file}`") from error
    if made.digest != document.get("digest"):
        raise Invalid(f"{file} was edited after it was planned: write a new one with `lakeledger plan --out {file}`")
    return made, choices


def _plan_of(document: Mapping[str, Any]) -> Plan:
    from lakeledger.control.plan import Action, Plan
    from lakeledger.jobs.waits import unpacked

    actions = [
        Action(
            each["action"],
            each["module_name"],
            each["job_id"],
            each["reason"],
            tuple(_change_of(change) for change in each["changes"]),
            None if each["settings"] is None else unpacked(each["settings"]),
            control_table=each.get("control_table", ""),
            seen=each.get("seen", ""),
        )
        for each in document["actions"]
    ]
    head = (document["control_table"], document["backend"], document["version"], document["modules_version"])
    return Plan(*head, tuple(actions))


def _change_of(document: Mapping[str, Any]) -> Change:
    from lakeledger.control.fields import FieldChange
    from lakeledger.control.summary import WaitsChange

    if "tasks" in document:
        parts = (tuple(document.get(part, ())) for part in ("added", "removed", "added_by_hand", "removed_by_hand"))
        return WaitsChange(tuple(document["tasks"]), document["side"], *parts)
    path = tuple(document["field"].split("."))
    return FieldChange(path, document["side"], document["before"], document["ours"], document["theirs"])


def _choices_of(document: Mapping[str, Any]) -> Choices:
    prefer, modules = document["prefer"], document["modules"]
    if prefer not in (None, *SIDES):
        raise TypeError(prefer)
    return Choices(prefer, bool(document["prune"]), None if modules is None else tuple(modules))
