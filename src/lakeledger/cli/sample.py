"""`lakeledger run --sample N`: a few rows of each source, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lakeledger.cli import show
from lakeledger.cli.options import Options
from lakeledger.runs import Status

if TYPE_CHECKING:
    from lakeledger.pipelines.attempt import StepResult
    from lakeledger.pipelines.runner import ModuleResult

LONGEST_VALUE = 40


def show_samples(options: Options, samples: Sequence[ModuleResult]) -> None:
    """Show what was read, and the first rows of it."""
    if options.as_json:
        show.print_json({"modules": [_document(each) for each in samples]})
        return
    for sample in samples:
        show.print_title(f"{sample.module}: a sample, no position was moved")
        rows = [
            (step.source_id, step.target, show.status(step.status), show.count(step.loaded.rows) if step.loaded else "", _problem(step))
            for step in sample.steps
        ]
        show.print_table(["~source", "~scratch table", "status", ">rows", "+message"], rows)
        for step in sample.steps:
            _print_rows(step)
    looked_at = [step.target for sample in samples for step in sample.steps if step.loaded and step.loaded.rows]
    show.print_next(options.command(f"tables show {looked_at[0]}" if looked_at else "runs list"))


def _print_rows(step: StepResult) -> None:
    shown = _shown(step)
    if shown:
        columns = list(shown[0])
        show.print_table([f"~{name}" for name in columns], [[_text(row[name]) for name in columns] for row in shown], step.target)


def _document(sample: ModuleResult) -> dict[str, Any]:
    return {
        "module_name": sample.module,
        "run_id": sample.run_id,
        "sources": [
            {
                "source_id": step.source_id,
                "table": step.target,
                "status": step.status,
                "rows": step.loaded.rows if step.loaded else None,
                "first_rows": _shown(step),
                "message": _problem(step) or None,
            }
            for step in sample.steps
        ],
    }


def _shown(step: StepResult) -> Sequence[dict[str, Any]]:
    return getattr(step.loaded, "shown", ())


def _problem(step: StepResult) -> str:
    if step.status == Status.COMPLETED:
        return (step.loaded.message or "") if step.loaded else ""
    return show.scrubbed(step.error or "")


def _text(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
