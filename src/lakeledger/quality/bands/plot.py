"""A series with its band, drawn: as a Vega-Lite document, which becomes SVG or PNG, and as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid, NotInstalled
from lakeledger.quality.bands.learning import Judged
from lakeledger.quality.bands.model import COUNTED, Band, number
from lakeledger.quality.bands.series import Series

USUAL, OUTSIDE, ACCEPTED, EXCLUDED, LEFT_OUT = "usual", "outside", "accepted", "excluded", "not counted"
# Colours that people who do not tell red from green tell apart, each with a sign of its own.
COLOURS = {USUAL: "#2f6db3", OUTSIDE: "#d1495b", ACCEPTED: "#00798c", EXCLUDED: "#8d8d8d", LEFT_OUT: "#b9b9b9"}
SHAPES = {USUAL: "circle", OUTSIDE: "diamond", ACCEPTED: "triangle-up", EXCLUDED: "cross", LEFT_OUT: "square"}
SIGNS = {USUAL: "●", OUTSIDE: "◆", ACCEPTED: "▲", EXCLUDED: "✕", LEFT_OUT: "□"}
STYLES = {USUAL: "blue", OUTSIDE: "bold red", ACCEPTED: "cyan", EXCLUDED: "dim", LEFT_OUT: "dim"}
BAND, EXPECTED = "#9dc3e6", "#5b8fc7"
WIDTH, HEIGHT = 860, 340


def role(judged: Judged) -> str:
    """What a point is in the picture."""
    state = judged.point.state
    if state in ("accepted", "excluded"):
        return ACCEPTED if state == "accepted" else EXCLUDED
    if state not in COUNTED:
        return LEFT_OUT
    return OUTSIDE if judged.is_outside else USUAL


def vega_lite(series: Series, judged: Sequence[Judged]) -> dict[str, Any]:
    """The picture as a Vega-Lite document: the band as an area, what is expected as a line, and a sign for each point."""
    points = [
        {"at": codec.to_text(each.point.at), "value": each.point.value, "point": role(each), "state": each.point.state, "id": each.point.id}
        for each in judged
    ]
    bands = [
        {"at": codec.to_text(each.point.at), "lower": each.band.lower, "upper": each.band.upper, "expected": each.band.expected}
        | {"state": each.band.state}
        for each in judged
        if each.band.expected is not None
    ]
    roles = [name for name in COLOURS if any(point["point"] == name for point in points)]
    x = {"field": "at", "type": "temporal", "title": None, "axis": {"format": "%b %d", "labelFlush": True, "grid": False, "tickCount": 8}}
    measure = f"{series.metric} per {series.unit}"
    top = _top(judged)
    y = {"type": "quantitative", "title": measure, "scale": {"zero": True, "nice": True, "domainMax": top, "clamp": True}}
    legend = {"title": None, "orient": "top", "symbolSize": 90}
    shown = {"domain": roles, "range": [COLOURS[name] for name in roles]}
    shapes = {"domain": roles, "range": [SHAPES[name] for name in roles]}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "width": WIDTH,
        "height": HEIGHT,
        "padding": 16,
        "title": {
            "text": f"{series.table}: {measure}",
            "subtitle": _subtitle(series, judged),
            "anchor": "start",
            "fontSize": 16,
            "subtitleColor": "#555555",
            "subtitlePadding": 6,
            "offset": 12,
        },
        "config": {
            "font": "sans-serif",
            "view": {"stroke": None},
            "axis": {
                "labelColor": "#555555",
                "titleColor": "#555555",
                "gridColor": "#eeeeee",
                "domainColor": "#cccccc",
                "tickColor": "#cccccc",
            },
        },
        "layer": [
            {
                "data": {"values": bands},
                "mark": {"type": "area", "interpolate": "step", "clip": True},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "lower"},
                    "y2": {"field": "upper"},
                    "fill": _named("usual range", BAND, legend, "square"),
                    "opacity": {
                        "field": "state",
                        "type": "nominal",
                        "scale": {"domain": ["ACTIVE", "LEARNING"], "range": [0.45, 0.18]},
                        "legend": None,
                    },
                },
            },
            {
                "data": {"values": bands},
                "mark": {"type": "line", "strokeDash": [5, 4], "interpolate": "step", "strokeWidth": 1.5, "clip": True},
                "encoding": {"x": x, "y": {**y, "field": "expected"}, "stroke": _named("expected", EXPECTED, legend, "stroke")},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.95, "clip": False},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "value"},
                    "color": {"field": "point", "type": "nominal", "scale": shown, "legend": legend},
                    "shape": {"field": "point", "type": "nominal", "scale": shapes, "legend": legend},
                    "tooltip": [{"field": name} for name in ("id", "at", "value", "state")],
                },
            },
        ],
    }


def _named(name: str, colour: str, legend: dict[str, Any], symbol: str) -> dict[str, Any]:
    """One colour, with its name in the legend."""
    return {"datum": name, "type": "nominal", "scale": {"domain": [name], "range": [colour]}, "legend": {**legend, "symbolType": symbol}}


def _top(judged: Sequence[Judged]) -> float:
    """Where the picture ends: one wild point must not press all others to the ground, and is drawn at the edge."""
    usual = [each.band.upper for each in judged if each.band.upper is not None and each.band.state == "ACTIVE"]
    usual += [each.point.value for each in judged if role(each) in (USUAL, ACCEPTED)]
    highest = max((each.point.value for each in judged), default=1.0)
    return min(highest, 2.0 * max(usual)) * 1.05 if usual else highest * 1.05 or 1.0


def _subtitle(series: Series, judged: Sequence[Judged]) -> str:
    outside = sum(role(each) == OUTSIDE for each in judged)
    days = f"{judged[0].point.at:%Y-%m-%d} to {judged[-1].point.at:%Y-%m-%d}" if judged else "no points"
    source = f" from {series.source}" if len(series.sources) > 1 else ""
    return f"{len(judged)} {'point' if len(judged) == 1 else 'points'}{source}, {days}; {outside or 'none'} outside"


def draw(series: Series, judged: Sequence[Judged], file: Path) -> None:
    """Write the picture into a file, as SVG or PNG. Raises NotInstalled without what draws it, or Invalid for another kind of file."""
    if file.suffix.lower() not in (".svg", ".png"):
        raise Invalid(f"cannot draw {file.name}: name a file that ends in .svg or .png, or - for the terminal")
    try:
        import vl_convert
    except ImportError as error:
        raise NotInstalled(
            "pictures of bands need vl-convert: pip install 'lakeledger[plots]', or draw in the terminal with --plot -"
        ) from error
    document = vega_lite(series, judged)
    try:
        if file.suffix.lower() == ".svg":
            file.write_text(vl_convert.vegalite_to_svg(document), encoding="utf-8")
        else:
            file.write_bytes(vl_convert.vegalite_to_png(document, scale=2))
    except OSError as error:
        raise Invalid(f"cannot write {file}: {error.strerror}") from error


@dataclass(frozen=True)
class Cell:
    """A character of a drawing, and how it is to be shown."""

    sign: str
    style: str = ""


def in_text(judged: Sequence[Judged], width: int = 80, height: int = 14) -> list[list[Cell]]:
    """The picture as lines of characters: the band is shaded, what is expected a line, and each point has its sign."""
    shown = judged[-(width - 12) :]
    if not shown:
        return []
    top = _top(shown)
    across = max(1, min(4, (width - 12) // len(shown)))
    grid = [[Cell(" ")] * (across * len(shown)) for _ in range(height)]

    def row(value: float) -> int:
        return max(0, min(height - 1, height - 1 - math.floor(value / top * (height - 1) + 0.5)))

    for place, each in enumerate(shown):
        columns = range(place * across, place * across + across)
        _shade(grid, columns, each.band, row)
        found = role(each)
        grid[row(each.point.value)][columns[across // 2]] = Cell(SIGNS[found], STYLES[found])
    labels = {0: number(top), height // 2: number(top / 2), height - 1: "0"}
    made = [[Cell(f"{labels.get(place, ''):>10} │", "dim"), *line] for place, line in enumerate(grid)]
    first, last = (f"{each.point.at:%Y-%m-%d}" for each in (shown[0], shown[-1]))
    gap = max(1, across * len(shown) - len(first) - len(last))
    return [*made, [Cell(f"{'':>10} └{'─' * across * len(shown)}", "dim")], [Cell(f"{'':>12}{first}{' ' * gap}{last}", "dim")]]


def _shade(grid: list[list[Cell]], columns: range, band: Band, row: Any) -> None:
    if band.lower is None or band.upper is None or band.expected is None:
        return
    shade = Cell("░", "blue") if band.state == "ACTIVE" else Cell("·", "dim")
    for line in range(row(band.upper), row(band.lower) + 1):
        for column in columns:
            grid[line][column] = shade
    for column in columns:
        grid[row(band.expected)][column] = Cell("─", "blue")


def legend(judged: Sequence[Judged]) -> list[Cell]:
    """What the signs mean, of those that are there."""
    there = [name for name in SIGNS if any(role(each) == name for each in judged)]
    parts: list[Cell] = []
    for name in there:
        parts += [Cell(SIGNS[name], STYLES[name]), Cell(f" {name}   ")]
    return [*parts, Cell("░", "blue"), Cell(" usual range   "), Cell("─", "blue"), Cell(" expected")]
