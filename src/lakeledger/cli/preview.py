"""`lakeledger run --dry-run`: what each source would read and write now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.cli import DONE, FAILED, show
from lakeledger.cli.options import Options, require_database

if TYPE_CHECKING:
    from lakeledger.control.documents import Module
    from lakeledger.pipelines.preview import Preview


def show_preview(options: Options, modules: Sequence[Module], base: Path, parameters: Mapping[str, str], wanted: Mapping[str, Any]) -> int:
    """Show what the modules would do; 1 if a source would fail."""
    from lakeledger import Ledger

    settings = options.settings()
    require_database(settings)
    with show.answering(options.as_json), Ledger(settings) as ledger:
        found = {each.module_name: ledger.preview_module(each, base, dict(parameters), **wanted) for each in modules if each.is_active}
    if options.as_json:
        show.print_json({"modules": [{"module_name": name, "sources": sources} for name, sources in found.items()]})
    else:
        for name, sources in found.items():
            show.print_title(f"{name}: a dry run, nothing was written")
            show.print_table(["~source", "~target", "would", "mode", "+what"], [_row(each) for each in sources])
        show.print_next(options.command("run"))
    return FAILED if any(each.would == "fail" for sources in found.values() for each in sources) else DONE


def _row(each: Preview) -> tuple[str, str, str, str, str]:
    return each.source_id, each.target, each.would, each.write_mode or "", each.message or _what(each)


def _what(each: Preview) -> str:
    """What would be read, in a few words."""
    files, position, inputs = each.detail.get("files"), each.detail.get("position"), each.detail.get("inputs")
    words = [show.plural(files, "file")] if isinstance(files, int) else []
    words += [f"{changed} of them changed"] if (changed := each.detail.get("changed_files")) else []
    words += [f"{table} at version {version}" for table, version in inputs.items()] if isinstance(inputs, dict) else []
    if isinstance(position, dict) and "files" not in (position.get("after") or {}):
        words.append(" → ".join(codec.to_json(position[side]) if position.get(side) else "the beginning" for side in ("before", "after")))
    return ", ".join(words)
