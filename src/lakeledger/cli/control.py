"""`lakeledger control`: the control table, which says what should run."""

from __future__ import annotations

import click

from lakeledger.cli import LazyGroup

COMMANDS = {
    "activate": "lakeledger.cli.control_edit:activate",
    "audit": "lakeledger.cli.control_history:audit",
    "create": "lakeledger.cli.control_edit:create",
    "deactivate": "lakeledger.cli.control_edit:deactivate",
    "diff": "lakeledger.cli.control_history:diff",
    "export": "lakeledger.cli.control_files:export",
    "history": "lakeledger.cli.control_history:history",
    "list": "lakeledger.cli.control_show:list_modules",
    "load": "lakeledger.cli.control_files:load",
    "restore": "lakeledger.cli.control_history:restore",
    "schema": "lakeledger.cli.control_files:schema",
    "set": "lakeledger.cli.control_edit:set_settings",
    "show": "lakeledger.cli.control_show:show_module",
    "sql": "lakeledger.cli.control_edit:sql",
    "validate": "lakeledger.cli.control_files:validate",
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
def control() -> None:
    """What should run: load, look at, change and restore the control table."""
