"""Lines over positions, sizes or settings, labelled at their ends."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wayword.reproduction.figures.labels import spread
from wayword.reproduction.figures.scale import Scale, scale
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

_MANY = 16
"""Above so many points, markers would hide the line."""


def lines(
    name: str,
    series: Sequence[Series],
    *,
    x_title: str,
    y_title: str,
    x_log: bool = False,
    y_log: bool = False,
    x_ticks: Sequence[float] | None = None,
    reference: Mapping[str, float] | None = None,
    description: str,
) -> str:
    """Lines with bands of their intervals, labelled at their ends; `reference` are horizontal lines by their names."""
    marks = dict(reference or {})
    drawn = [(one, look, one.points(x_log=x_log, y_log=y_log)) for one, look in looks(series)]
    found = [point for _, _, points in drawn for point in points]
    across = scale([x for x, *_ in found], log=x_log, zero=False, ticks=x_ticks, pad=0.03)
    up = scale([value for _, *values in found for value in values] + list(marks.values()), log=y_log)
    said = [one.name if points else f"{one.name} (no values)" for one, _, points in drawn]
    names = [wrap(text, 190, bold=one.strong) for one, text in zip(series, said, strict=True)] + [
        wrap(mark, 190) for mark in marks
    ]
    bold = [one.strong for one in series] + [False] * len(marks)
    column = max(
        (width(line, bold=b) for text, b in zip(names, bold, strict=True) for line in text), default=0
    )
    sizes = [len(text) * LINE + 4.0 for text in names]
    height = max(400.0, sum(sizes) + TOP + BOTTOM)
    left, right = left_of(up), WIDTH - column - 58
    with sheet(height) as figure:
        plot = axes(figure, across, up, left=left, right=right, top=TOP, bottom=height - BOTTOM)
        cut = " (the axis does not start at 0)" if up.cut else ""
        titles(figure, x_title, y_title + cut, (left + right) / 2)
        for label, value in marks.items():
            plot.axhline(value, color=INK, linewidth=1.2, dashes=(3, 3), label=label, clip_on=False)
        for one, look, points in drawn:
            _line(plot, one, look, points, up)
        ends = [pixel(plot, points[-1][:2]) if points else None for _, _, points in drawn]
        ends += [(right, pixel(plot, (across.high, value))[1]) for value in marks.values()]
        wanted = [height - BOTTOM if end is None else end[1] for end in ends]
        middles = spread(wanted, sizes, 8.0, height - 24.0)
        styles: list[Look | None] = [look for _, look, _ in drawn]
        styles += [None] * len(marks)
        for text, strong, end, middle, style in zip(names, bold, ends, middles, styles, strict=True):
            _end_label(figure, _Label(text, strong, style), end, (right, middle))
        return svg_of(figure, name, description)


@dataclass(frozen=True)
class _Label:
    """Lines of text, and the look of what they name (None: a reference)."""

    text: tuple[str, ...]
    strong: bool
    look: Look | None


def _line(
    plot: Any, one: Series, look: Look, points: Sequence[tuple[float, float, float, float]], up: Scale
) -> None:
    if not points:
        return
    x, y, low, high = zip(*points, strict=True)
    if one.low is not None and one.high is not None:
        bottom = [max(value, up.low) for value in low] if up.log else low
        plot.fill_between(x, bottom, high, color=look.colour, alpha=0.14, linewidth=0, clip_on=False)
    (line,) = plot.plot(
        *(x, y),
        color=look.colour,
        linewidth=3 if one.strong else 1.8,
        zorder=4 if one.strong else 3,
        clip_on=False,
        **marker(look, 8 if one.strong else 6.5),
    )
    line.set_markevery(max(1, math.ceil(len(x) / _MANY)))
    if look.dashes:
        line.set_dashes(look.dashes)


def _end_label(figure: Any, label: _Label, end: tuple[float, float] | None, at: tuple[float, float]) -> None:
    """The name of a line beside its end, with its marker before it and a thin line to where it ends."""
    right, middle = at
    if end is not None and (abs(end[1] - middle) > 1.5 or end[0] < right - 25):
        bend = max(end[0] + 7, right + 6)
        xs, ys = [end[0] + 7, bend, right + 27], [end[1], end[1], middle]
        stroke(figure, xs, ys, color=label.look.colour if label.look else GREY, linewidth=0.8)
    if label.look:
        stroke(figure, [right + 36], [middle], linestyle="none", **marker(label.look, 8))
    else:
        stroke(figure, [right + 29, right + 42], [middle] * 2, color=INK, linewidth=1.2, dashes=(3, 3))
    weight = "bold" if label.strong else "normal"
    write(figure, right + 46, middle, label.text, color=INK, fontweight=weight)
