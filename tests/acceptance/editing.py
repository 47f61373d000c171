"""Somebody who edits the control table, as a process of its own.

python editing.py count LOCATION WHO MODULE SOURCE TIMES   adds one to execution_order so many times, once it is told to begin
python editing.py die LOCATION                             is killed between the two Delta commits of one edit
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from contract.controlling import put, source
from lakeledger.control import sql
from lakeledger.control.delta import DeltaControlTable
from lakeledger.control.model import ModuleRow


def count(location: str, who: str, module: str, name: str, times: str) -> None:
    control = DeltaControlTable(location)
    control.read()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    statement = f"UPDATE etl_control SET execution_order = execution_order + 1 WHERE module_name = '{module}' AND source_id = '{name}'"
    for _ in range(int(times)):
        assert sql.run(control, statement, by=who).updated == 1


class Killed(DeltaControlTable):
    """Dies when the modules are staged and the sources are not yet committed."""

    def _stage(self, *arguments: Any) -> Any:
        super()._stage(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)


def die(location: str) -> None:
    control = Killed(location)
    control.commit(put(source("a", execution_order=99), ModuleRow("shop", "half done")), control.read(), by="killed")


if __name__ == "__main__":
    count(*sys.argv[2:]) if sys.argv[1] == "count" else die(*sys.argv[2:])
