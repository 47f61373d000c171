"""`lakeledger apply`: bring the jobs to what the control table says, exactly as planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.control_table import CONTROL, next_command, open_deployment, scrubbed
from lakeledger.cli.options import Options, shared
from lakeledger.cli.plan import MODULE, PREFER, PRUNE, Choices, print_plan, read_plan
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from lakeledger.control.deployment import Applied
    from lakeledger.control.plan import Plan


@click.command("apply")
@click.argument("planfile", metavar="[PLANFILE]", required=False)
@PRUNE
@PREFER
@MODULE
@click.option("--yes", is_flag=True, help="Without a PLANFILE: do it; without it nothing is touched.")
@CONTROL
@shared('{"applied": …, "plan": as `plan` prints it, "results": [{"module_name", "action", "job_id", "error"}]}')
def apply(
    options: Options, planfile: str | None, prune: bool, prefer: Any, modules: Sequence[str], yes: bool, control_table: str | None
) -> int:
    """Create, update in place, pause and remove jobs so that they are what the control table says.

    With the PLANFILE of `plan --out`, exactly that is done, or nothing if anything changed since. Without it, --yes plans and applies
    at once. One module that fails does not stop the others. Exit 3 if some failed or are blocked, 1 if all did.

      lakeledger apply --yes
      lakeledger apply plan.json
    """
    if planfile and (prune or prefer or modules):
        raise click.UsageError("a PLANFILE is applied as it was planned: leave --prune, --prefer and --module out")
    kept = read_plan(planfile) if planfile else None
    with open_deployment(options, (kept[0].control_table if kept and control_table is None else control_table)) as deployment:
        made, choices = kept or (None, Choices(prefer, prune, tuple(modules) or None))
        made = made or choices.plan(deployment)
        does_it = bool(planfile) or yes
        results = deployment.apply(made, prefer=choices.prefer, prune=choices.prune, modules=choices.modules) if does_it else []
    return _tell(options, made, results, choices, control_table, does_it=does_it)


def exit_code(results: Sequence[Applied]) -> int:
    """0 if nothing failed, 3 if something else did not, else 1."""
    if not any(each.error for each in results):
        return DONE
    return FAILED if all(each.error for each in results) else PARTLY_FAILED


def print_results(results: Sequence[Applied]) -> None:
    """A line per module for which something was done, and on stderr one for each that failed."""
    for each in results:
        if each.error:
            show.print_error(f"{each.module_name}: {each.action.kind}: {each.error}")
        elif each.action.does_something:
            click.echo(show.safe(f"{each.module_name}: {each.action.kind} job {each.job_id}"))


def _tell(options: Options, made: Plan, results: Sequence[Applied], choices: Choices, control_table: str | None, *, does_it: bool) -> int:
    if options.as_json:
        done = [{**each.to_dict(), "error": each.error and scrub(each.error)} for each in results]
        show.print_json({"applied": does_it, "plan": scrubbed(made.to_dict()), "results": done})
        return exit_code(results)
    if not does_it:
        print_plan(made)
        if any(action.does_something for action in made.actions):
            click.echo("nothing was done yet")
            show.print_next(next_command(options, f"apply --yes{choices.words()}", control_table))
        return DONE
    print_results(results)
    if not any(each.action.does_something or each.error for each in results):
        click.echo("nothing to do: every job is what the control table says")
    elif exit_code(results) == DONE:
        show.print_next(options.command("jobs list"))
    return exit_code(results)
