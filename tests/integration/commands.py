"""Commands in this process: what they print, and what they say to scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from click.testing import CliRunner, Result

from lakeledger.cli import program


def invoke(*words: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(program, list(words), input=stdin)


def answer(*words: str, code: int = 0, stdin: str | bytes | None = None) -> Any:
    """What a command prints with --json: one document, and nothing on stderr."""
    result = invoke(*words, "--json", stdin=stdin)
    assert (result.exit_code, result.stderr) == (code, ""), result.output
    return json.loads(result.stdout)


def shown(*words: str, code: int = 0, stdin: str | bytes | None = None) -> str:
    """What a command shows to people."""
    result = invoke(*words, stdin=stdin)
    assert result.exit_code == code, result.output
    return result.stdout


def refused(words: Sequence[str], code: int, kind: str, told: str, stdin: str | bytes | None = None) -> None:
    """It says what is wrong in one last line, to people and to scripts alike, without a trace."""
    said = invoke(*words, stdin=stdin)
    assert (said.exit_code, said.stdout) == (code, ""), said.output
    last = said.stderr.splitlines()[-1]
    assert last.startswith("error: "), said.stderr
    assert told in last
    error = answer(*words, code=code, stdin=stdin)["error"]
    assert (error["type"], told in error["message"]) == (kind, True), error
    assert "Traceback" not in said.output


def columns(row_type: type[Any]) -> set[str]:
    return {field.name for field in fields(row_type)}
