"""The command line: `lakeledger`. Commands are loaded when they are called, and every error is told in one place."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click

from lakeledger.cli.log import showing
from lakeledger.config import suggest
from lakeledger.errors import Forbidden, Invalid, LakeledgerError, NotFound, NotInstalled

DONE, FAILED, BAD_INPUT, PARTLY_FAILED, INTERRUPTED = 0, 1, 2, 3, 130

# Name → where the command is, and its line in `lakeledger --help`, which so imports none of them.
COMMANDS = {
    "init": ("lakeledger.cli.init:init", "Start a project: settings, pipeline, sample data, ledger."),
    "demo": ("lakeledger.cli.demo:demo", "See it work: pipelines over sample data, end to end."),
    "run": ("lakeledger.cli.run:run", "Run the pipelines of a YAML file."),
    "control": ("lakeledger.cli.control:control", "What should run: load, look at, change the control table."),
    "plan": ("lakeledger.cli.plan:plan", "What would happen to which job, and why."),
    "apply": ("lakeledger.cli.apply:apply", "Bring the jobs to what the control table says."),
    "jobs": ("lakeledger.cli.jobs:jobs", "The modules' jobs: list, show, run, pause, delete."),
    "scheduler": ("lakeledger.cli.scheduler:scheduler", "Carry out local jobs when they are due."),
    "monitor": ("lakeledger.cli.monitor:monitor", "Keep jobs in step with the control table and a folder."),
    "runs": ("lakeledger.cli.runs:runs", "What ran: list, show, explain, logs, cancel; end lost runs."),
    "tables": ("lakeledger.cli.tables:tables", "What files exist: tables, files, versions; verify and sweep."),
    "snapshots": ("lakeledger.cli.snapshots:snapshots", "Versions of tables: list, tag, expire; how long they are kept."),
    "maintain": ("lakeledger.cli.maintain:maintain", "Keep tables tidy: versions, files, metadata, checksums."),
    "compact": ("lakeledger.cli.compact:compact", "Write small files together: what would be done, and why or why not."),
    "mirror": ("lakeledger.cli.mirror:mirror", "The lake's own tables: runs, steps and results for any engine."),
    "bands": ("lakeledger.cli.bands:bands", "What is usual: tolerance bands, and what was outside of them."),
    "freshness": ("lakeledger.cli.freshness:freshness", "How fresh tables are: which are late or silent."),
    "recon": ("lakeledger.cli.recon:recon", "Whether two copies of the same rows agree: run, explain, history."),
    "records": ("lakeledger.cli.records:records", "What is known: facts about tables; emit, find, tail, compact."),
    "insights": ("lakeledger.cli.insights:insights", "What follows from facts: plans, gates, trends, timeouts, SLAs."),
    "lineage": ("lakeledger.cli.lineage:lineage", "Where rows came from, and what was made of them: up, down."),
    "kinds": ("lakeledger.cli.kinds:kinds", "What records look like: kinds, versions, policy."),
    "changes": ("lakeledger.cli.feed:changes", "What changed, in the order of commits."),
    "astha": ("lakeledger.cli.events:astha", "Deliver changes to their subscribers."),
    "events": ("lakeledger.cli.events:events", "Who must hear of changes: tail, lag, parked, replay."),
    "positions": ("lakeledger.cli.positions:positions", "Where capture stands: how far each source was read."),
    "schema": ("lakeledger.cli.schema:schema", "What captured tables look like: versions, changes, checks."),
    "errors": ("lakeledger.cli.errors:errors", "What failed: list errors by cause, retry and settle them."),
    "dlq": ("lakeledger.cli.dlq:dlq", "Records that could not be written: look, claim, settle."),
    "sync": ("lakeledger.cli.sync:sync", "How capture does: figures, runs, recovery, cleanup."),
    "quality": ("lakeledger.cli.quality:quality", "Can it be trusted: check tables, see results, write and try suites."),
    "doctor": ("lakeledger.cli.doctor:doctor", "Check machine and ledger, and say how to fix what is wrong."),
    "jars": ("lakeledger.cli.jars:jars", "What Spark needs besides itself: fetch JARs for S3 and others."),
    "rebuild": ("lakeledger.cli.rebuild:rebuild", "Make a lost ledger anew from its warehouse."),
    "db": ("lakeledger.cli.db:db", "The ledger's database: migrate it, show its migrations."),
    "version": ("lakeledger.cli.version:version", "The versions of lakeledger, Python and Spark."),
}

HELP = """\
The operational memory of a Spark lakehouse: runs, positions, tables and their files in one transactional ledger.

\b
  lakeledger init shop && cd shop     a project that runs at once
  lakeledger run                      load what is new
  lakeledger tables list              see what is there

Settings come from lakeledger.toml, LAKELEDGER_* variables and the options, each overriding the one before.

With --json a command prints one object, and an error is {"error": {"type", "message", "retryable"}}.
Exit codes: 0 done, 1 failed, 2 bad input, 3 partly failed.
"""


class LazyGroup(click.Group):
    """A group whose commands, `module:attribute` by name, are imported when they are called. `--help` shows the lines it was given."""

    def __init__(self, *args: Any, lazy: Mapping[str, str], lines: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy
        self._lines = lines

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self._lazy and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"no command {args[0]!r}{suggest(args[0], list(self._lazy))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self._lines is None:
            super().format_commands(ctx, formatter)
            return
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lines.items()))


class Program(LazyGroup):
    """The whole program: it runs a command, tells what went wrong, and exits with the code that says so."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]  # the exit code is ours in every mode
        words = list(sys.argv[1:] if args is None else args)
        extra.pop("standalone_mode", None)
        _write_any_text()
        try:
            _check_text(words)
            with showing("--json" in words):
                code = super().main(words, prog_name or "lakeledger", standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            code = _tell(error, "Invalid", "a command is missing", BAD_INPUT, as_json="--json" in words)
        except click.ClickException as error:
            code = _tell(error, "Invalid", error.format_message(), BAD_INPUT, as_json="--json" in words)
        except LakeledgerError as error:
            code = _tell(error, type(error).__name__, str(error), exit_code(error), as_json="--json" in words)
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except Exception as error:  # noqa: BLE001 - the outermost place: nobody else can tell it
            code = _tell_unexpected(error, as_json="--json" in words)
        sys.exit(_flushed(code if isinstance(code, int) else DONE))


def exit_code(error: LakeledgerError) -> int:
    """2 if the input must change, 1 if the work failed."""
    return BAD_INPUT if isinstance(error, Invalid | NotFound | NotInstalled | Forbidden) else FAILED


@click.group(
    cls=Program,
    lazy={name: place for name, (place, _) in COMMANDS.items()},
    lines={name: line for name, (_, line) in COMMANDS.items()},
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="lakeledger", message="%(prog)s %(version)s")
def program() -> None:
    """The command line: everything is in its commands."""


def main() -> None:
    """Run the command line and exit."""
    program.main()


def _tell(error: Exception, kind: str, message: str, code: int, *, as_json: bool) -> int:
    """Say what went wrong: to scripts on stdout, to people on stderr."""
    from lakeledger.cli import show

    if as_json:
        show.print_json({"error": show.error_object(kind, message, retryable=bool(getattr(error, "retryable", False)))})
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    else:
        if isinstance(error, click.UsageError) and error.ctx:
            click.echo(f"{error.ctx.get_usage()}\nhelp: {error.ctx.command_path} --help", err=True)
        show.print_error(message)
    return code


def _tell_unexpected(error: Exception, *, as_json: bool) -> int:
    from lakeledger.cli import show
    from lakeledger.runs import describe

    if os.environ.get("LAKELEDGER_DEBUG"):
        import traceback

        click.echo(show.scrubbed("".join(traceback.format_exception(error))), err=True)
    told = f"unexpected {describe(error)}: please report it; LAKELEDGER_DEBUG=1 shows the trace"
    return _tell(error, "Unexpected", told, FAILED, as_json=as_json)


def _check_text(words: list[str]) -> None:
    """Raise Invalid for an argument that is no text: neither the store nor JSON could hold it."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise Invalid(f"the argument {word!r} is not valid UTF-8") from error


def _write_any_text() -> None:
    """A name that the terminal's encoding lacks is shown escaped instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def _flushed(code: int) -> int:
    """The code, after everything was written. A reader who left early is no error to report at exit."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code or FAILED
    return code
