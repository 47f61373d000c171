"""What the history of a check allows: its difference may be as large as it usually is."""

from __future__ import annotations

from dataclasses import replace

from lakeledger import clock
from lakeledger.pipelines import Context
from lakeledger.quality.bands.series import read_series
from lakeledger.recon import judging
from lakeledger.recon.model import Check, Outcome, Status
from lakeledger.recon.store import KIND


def with_band(context: Context, check: Check, name: str, table: str | None, outcome: Outcome) -> Outcome:
    """The outcome by what is usual. While too little is known, by the thresholds alone."""
    if outcome.difference is None or table is None:
        return outcome
    now = clock.now()
    with context.store.read() as tx:
        band = read_series(tx, context.ledger.settings.bands, KIND, table, "difference", check=name).band(now)
    verdict = band.judge(outcome.difference)
    if verdict == "learning" and not check.thresholds.are_declared:  # what failed would never be learned from
        return replace(outcome, status=Status.PASS, band=band.to_json(), message=f"{outcome.message}; {band.verdict(outcome.difference)}")
    learned = None if verdict == "learning" else verdict
    status = judging.judge(outcome.difference, outcome.percent, check.thresholds, learned)
    told = f"{outcome.message}; {band.verdict(outcome.difference)}" if status != Status.PASS or outcome.difference else outcome.message
    return replace(outcome, status=status, band=band.to_json(), message=told)
