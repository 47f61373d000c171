"""A result in words: what was compared, by which measure, why it stands as it does, and which keys differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lakeledger.recon.model import Result, Status

_MEANS = {
    Status.PASS: "The sides agree.",
    Status.WARN: "The sides differ by more than is usual.",
    Status.FAIL: "The sides differ.",
    Status.ERROR: "It could not be carried out, so nothing is known.",
    Status.TIMEOUT: "It took too long and was cancelled, so nothing is known.",
    Status.SKIPPED: "It was not asked.",
    Status.SCHEDULED_SKIP: "It was not due.",
}


def explain(results: Sequence[Result]) -> str:
    """Some results of one run."""
    first = results[0]
    lines = [
        f"{first.recon_name}: {side(first.source)} (source) against {side(first.target)} (target)",
        f"run {first.run_id}, {first.ended_at:%Y-%m-%d %H:%M:%S} UTC",
    ]
    if first.ingestion_run_ids:
        lines.append(
            f"the ledger's rows come from {', '.join(first.ingestion_run_ids[:5])}{' …' if len(first.ingestion_run_ids) > 5 else ''}"
        )
    for result in results:
        lines += ["", *words(result)]
    return "\n".join(lines)


def words(result: Result) -> Iterator[str]:
    """One result, line by line."""
    yield (
        f"{str(result.status).upper()} {result.check_name}: {result.message}"
        if result.message
        else f"{str(result.status).upper()} {result.check_name}"
    )
    yield f"  {_MEANS[result.status]}{_limits(result)}"
    if result.band:
        yield f"  its history allows {result.band.get('lower')} to {result.band.get('upper')} ({result.band.get('state')})"
    if result.scope:
        yield f"  narrowed down to {'; '.join(_scope(each) for each in result.scope[:5])}{' …' if len(result.scope) > 5 else ''}"
    for each in result.detail.get("samples", []):
        yield f"  {sample(each)}"
    for each in result.detail.get("groups", [])[:10]:
        yield f"  {_values(each['group'])}: {each['source']} in the source, {each['target']} in the target"
    for each in result.detail.get("columns", [])[:10]:
        yield f"  {each['column']}: {each['source'] or 'not there'} in the source, {each['target'] or 'not there'} in the target"


def side(document: Mapping[str, Any] | None) -> str:
    """What a side is."""
    if not document:
        return "nothing"
    if "jdbc" in document and isinstance(document["jdbc"], str):
        return f"{document.get('table') or 'a query'} of {document['jdbc']}"
    if "table" in document:
        version = document.get("version")
        return f"{document['table']}{'' if version is None else f' at version {version}'}"
    return ", ".join(f"{name} {value}" for name, value in document.items())


def sample(each: Mapping[str, Any]) -> str:
    """A row that differs, side by side."""
    key = _values(each["key"])
    match each.get("kind"):
        case "changed":
            cells = (f"{name}: {each['source'].get(name)!r} → {each['target'].get(name)!r}" for name in each["columns"])
            return f"{key} differs in {', '.join(cells)}"
        case "missing":
            return f"{key} is missing in the target: {_values(each.get('source', {}))}"
        case "extra":
            return f"{key} is only in the target: {_values(each.get('target', {}))}"
        case _:
            return f"{key} is there {each.get('rows')} times in the {each.get('side')}"


def _limits(result: Result) -> str:
    if result.status not in (Status.PASS, Status.WARN, Status.FAIL):
        return ""
    told = []
    names = {
        "absolute": "a difference of",
        "percent": "% of the source:",
        "warn": "without a warning",
        "warn_percent": "% without a warning:",
    }
    for name, text in names.items():
        if (value := result.thresholds.get(name)) is not None:
            told.append(f"{text} {value:g}")
    return f" Allowed: {' or '.join(told)}." if told else ""


def _scope(each: Mapping[str, Any]) -> str:
    """A part of the rows."""
    if "column" in each:
        period, value = next((name, value) for name, value in each.items() if name != "column")
        return f"{period} {'NULL' if value is None else value} of {each['column']}"
    if "bucket" in each:
        return f"bucket {each['bucket']} of {each['buckets']} of {', '.join(each['keys'])}"
    if each.get("null"):
        return f"{each['keys']} NULL"
    ends = [
        *([f"from {each['from']}"] if each.get("from") is not None else []),
        *([f"below {each['below']}"] if each.get("below") is not None else []),
    ]
    return f"{each['keys']} {' '.join(ends) or 'of all values'}"


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in values.items())
