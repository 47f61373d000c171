"""`lakeledger control`: the control table, which says what should run."""

from __future__ import annotations

import click

from lakeledger.cli import control_edit, control_files, control_history, control_show


@click.group()
def control() -> None:
    """What should run: load, look at, change and restore the control table."""


for _command in (
    control_edit.create,
    control_files.load,
    control_files.validate,
    control_files.export,
    control_show.list_modules,
    control_show.show_module,
    control_edit.sql,
    control_edit.activate,
    control_edit.deactivate,
    control_edit.set_settings,
    control_history.history,
    control_history.audit,
    control_history.diff,
    control_history.restore,
    control_files.schema,
):
    control.add_command(_command)
