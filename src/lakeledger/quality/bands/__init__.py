"""Tolerance bands: what is usual for a metric at a moment, learned from what was measured before."""

from __future__ import annotations

from lakeledger.quality.bands.learning import Judged, tolerance_band, walk
from lakeledger.quality.bands.model import Band, Point, State, Status

__all__ = ["Band", "Judged", "Point", "State", "Status", "tolerance_band", "walk"]
