"""Results for others to read: JSON, JSON Lines, CSV, and one page of HTML that needs nothing else. Whatever a cell holds is text there."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from html import escape
from typing import Any

from lakeledger.recon.explain import sample, side, words
from lakeledger.recon.model import Report, Result

FORMATS = ("json", "jsonl", "csv", "html")
_COLUMNS = (
    "reconciliation", "check", "check_type", "status", "table", "source_metric", "target_metric", "difference", "difference_percent",
    "message", "run_id", "recon_result_id", "started_at", "ended_at",
)  # fmt: skip
# What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .2rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.status { font-weight: 600; white-space: nowrap; }
.pass { color: #18794e; } .warn { color: #a15c00; } .fail, .error { color: #c62a2f; } .timeout { color: #a15c00; }
.skipped, .scheduled_skip, .quiet { color: #808080; }
@media (prefers-color-scheme: dark) { .pass { color: #4cc38a; } .warn, .timeout { color: #f1a10d; } .fail, .error { color: #ff6369; } }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 1rem; font-size: .85rem; }
"""


def render(reports: Sequence[Report], format: str) -> str:
    """Reports in one of the formats."""
    results = [each for report in reports for each in report.results]
    match format:
        case "jsonl":
            return "".join(f"{json.dumps(each.document(), ensure_ascii=False)}\n" for each in results)
        case "csv":
            return _csv(results)
        case "html":
            return _html(reports)
        case _:
            return json.dumps({"reconciliations": [document(each) for each in reports]}, ensure_ascii=False, indent=2) + "\n"


def document(report: Report) -> dict[str, Any]:
    """A report as scripts read it."""
    return {
        "name": report.name,
        "run_id": report.run_id,
        "status": str(report.status),
        "results": [each.document() for each in report.results],
    }


def _csv(results: Sequence[Result]) -> str:
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for each in results:
        found = each.document()
        writer.writerow([_cell(found[name]) for name in _COLUMNS])
    return made.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _html(reports: Sequence[Report]) -> str:
    parts = "".join(_section(each) for each in reports)
    told = ", ".join(f"{escape(each.name)} {_status(str(each.status))}" for each in reports) or "nothing was reconciled"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
        f"<title>Reconciliation</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Reconciliation</h1>\n<p>{told}</p>\n{parts}</body>\n</html>\n"
    )


def _section(report: Report) -> str:
    heads = "".join(f"<th>{name}</th>" for name in ("check", "status", "source", "target", "difference", "what was found"))
    rows = "".join(_row(each) for each in report.results)
    first = report.results[0] if report.results else None
    about = f"{escape(side(first.source))} against {escape(side(first.target))}, run {escape(first.run_id)}" if first else ""
    return (
        f'<h2>{escape(report.name)}</h2>\n<p class="quiet">{about}</p>\n'
        f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{''.join(_samples(each) for each in report.results)}"
    )


def _row(each: Result) -> str:
    numbers = (each.source_metric, each.target_metric, None if each.difference is None else f"{each.difference:,.10g}")
    cells = "".join(f'<td class="number">{escape(text or "")}</td>' for text in numbers)
    return f"<tr><td>{escape(each.check_name)}</td><td>{_status(str(each.status))}</td>{cells}<td>{escape(each.message)}</td></tr>\n"


def _samples(each: Result) -> str:
    """The rows that differ, cell by cell, side by side."""
    found = each.detail.get("samples") or []
    if not found:
        lines = list(words(each))[2:]
        return f"<pre>{escape(chr(10).join(lines))}</pre>\n" if lines else ""
    rows = []
    for one in found:
        key = escape(", ".join(f"{name} = {value}" for name, value in one["key"].items()))
        if "kind" not in one:
            rows.append(f'<tr><td>{key}</td><td>{escape(str(one["side"]))}</td><td colspan="3">{escape(sample(one))}</td></tr>\n')
            continue
        names = one.get("columns") or list(one.get("source") or one.get("target") or {})
        for name in names:
            cells = "".join(f"<td>{escape(_shown(one, side_, name))}</td>" for side_ in ("source", "target"))
            rows.append(f"<tr><td>{key}</td><td>{escape(one['kind'])}</td><td>{escape(name)}</td>{cells}</tr>\n")
    heads = "".join(f"<th>{name}</th>" for name in ("key", "is", "column", "source", "target"))
    return f"<h3>{escape(each.check_name)}</h3>\n<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>\n</table>\n"


def _shown(one: dict[str, Any], side_: str, name: str) -> str:
    if side_ not in one:
        return ""
    value = one[side_].get(name)
    return "NULL" if value is None else str(value)


def _status(word: str) -> str:
    return f'<span class="status {word}">{word}</span>'
