"""Points of two measures with their names beside them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from wayword.reproduction.figures.labels import Box, along, around, between, leader, place
from wayword.reproduction.figures.scale import scale
from wayword.reproduction.figures.series import Look, Series, looks
from wayword.reproduction.figures.sheet import (
    BOTTOM,
    GREY,
    INK,
    LINE,
    TOP,
    WIDTH,
    axes,
    left_of,
    marker,
    pixel,
    sheet,
    stroke,
    svg_of,
    titles,
    width,
    wrap,
    write,
)


def points(
    name: str,
    series: Sequence[Series],
    *,
    x_title: str,
    y_title: str,
    curve: Series | None = None,
    diagonal: bool = False,
    x_log: bool = False,
    y_log: bool = False,
    description: str,
) -> str:
    """Points with their names beside them, a curve to compare with, or the diagonal on which both axes agree."""
    drawn = [(one, look, one.points(x_log=x_log, y_log=y_log)) for one, look in looks(series)]
    line = curve.points(x_log=x_log, y_log=y_log) if curve else []
    found = [point for _, _, many in drawn for point in many] + line
    xs, ys = [x for x, *_ in found], [value for _, *values in found for value in values]
    across = scale(xs + ys if diagonal else xs, log=x_log, zero=diagonal)
    up = scale(xs + ys if diagonal else ys, log=y_log, zero=diagonal)
    height, left, right = 440.0, left_of(up), WIDTH - 84.0
    with sheet(height) as figure:
        plot = axes(figure, across, up, left=left, right=right, top=TOP, bottom=height - BOTTOM)
        titles(figure, x_title, y_title, (left + right) / 2)
        ends = (max(across.low, up.low), min(across.high, up.high))
        if diagonal:
            plot.plot(ends, ends, color=INK, linewidth=1.2, dashes=(3, 3), clip_on=False)
        if line:
            plot.plot(
                *zip(*[p[:2] for p in line], strict=True), color=GREY, linewidth=2, zorder=2, clip_on=False
            )
        for one, look, many in drawn:
            _dots(plot, one, look, many)
        path = [pixel(plot, point) for point in line]
        straight = [pixel(plot, [ends[0] + share / 20 * (ends[1] - ends[0])] * 2) for share in range(21)]
        labels = [
            _Label(wrap(one.name, 180, bold=one.strong), (pixel(plot, many[-1]),), one.strong)
            for one, _, many in drawn
            if many
        ]
        labels += [_Label(wrap(curve.name, 180), path, colour=GREY)] if curve and path else []
        labels += [_Label(("equal",), straight[2:19:4])] if diagonal else []
        obstacles = [around(pixel(plot, point), 6) for _, _, many in drawn for point in many]
        for way in (path, straight if diagonal else []):
            obstacles += [box for start, end in pairwise(way) for box in along(start, end, 3)]
        _write(figure, labels, obstacles, Box(left + 4, 28, WIDTH - left - 4, height - BOTTOM - 32))
        return svg_of(figure, name, description)


def _dots(plot: Any, one: Series, look: Look, many: Sequence[tuple[float, float, float, float]]) -> None:
    for x, _, low, high in many:
        if math.isfinite(low) and math.isfinite(high):
            plot.plot([x, x], [low, high], color=look.colour, linewidth=1.6, alpha=0.7, clip_on=False)
    if many:
        xs, ys, *_ = zip(*many, strict=True)
        style = marker(look, 11 if one.strong else 8.5)
        plot.plot(xs, ys, linestyle="none", zorder=5 if one.strong else 4, clip_on=False, **style)


@dataclass(frozen=True)
class _Label:
    """Lines of text beside one of some pixels."""

    text: tuple[str, ...]
    at: Sequence[tuple[float, float]]
    strong: bool = False
    colour: str = INK

    @property
    def size(self) -> tuple[float, float]:
        """Its width and height."""
        return max(width(line, bold=self.strong) for line in self.text), float(len(self.text) * LINE)


def _write(figure: Any, labels: Sequence[_Label], obstacles: Sequence[Box], bounds: Box) -> None:
    """Each label beside its point, with a thin line to it where it had to go further off."""
    places = place([label.at for label in labels], [label.size for label in labels], obstacles, bounds)
    for label, (point, box) in zip(labels, places, strict=True):
        end = box.nearest(point)
        if leader(point, box):
            start = between(point, end, 8)
            stroke(figure, [start[0], end[0]], [start[1], end[1]], color=GREY, linewidth=0.8)
        weight = "bold" if label.strong else "normal"
        write(figure, box.x, box.y + box.height / 2, label.text, color=label.colour, fontweight=weight)
