"""Rows of dots on the bars of their intervals, and the numbers beside them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from wayword.reproduction.figures.scale import scale
from wayword.reproduction.figures.sheet import (
    BOTTOM,
    FONT,
    GREY,
    INK,
    LINE,
    WIDTH,
    axes,
    pixel,
    sheet,
    svg_of,
    width,
    wrap,
    write,
)
from wayword.reproduction.report.exhibits import Interval
from wayword.reproduction.report.numerals import number, span


def intervals(
    name: str,
    rows: Sequence[tuple[str, Interval, bool]],
    *,
    x_title: str,
    reference: Mapping[str, float] | float | None = None,
    digits: int = 3,
    sign: bool = False,
    description: str,
) -> str:
    """One row per label: a dot, the whisker of its interval, and both in numbers at the right."""
    marks = (
        dict(reference) if isinstance(reference, Mapping) else {} if reference is None else {"": reference}
    )
    ends = [value for _, found, _ in rows for value in (found.value, found.low, found.high)]
    across = scale([*ends, *marks.values()], zero=False)
    names = [wrap(label, 210, bold=strong) for label, _, strong in rows]
    values = [number(float(found.value), digits, sign=sign) for _, found, _ in rows]
    spans = [span(found.low, found.high, digits, sign=sign) for _, found, _ in rows]
    left = 24 + max(
        (width(line, bold=row[2]) for text, row in zip(names, rows, strict=True) for line in text), default=0
    )
    spans_at = WIDTH - max((width(text, FONT - 1) for text in spans), default=0) - 2
    values_at = spans_at - 10
    right = values_at - max((width(text, bold=True) for text in values), default=0) - 24
    tops = [0.0]
    for text in names:
        tops.append(tops[-1] + max(32.0, len(text) * LINE + 12))
    top = 30 if any(marks) else 10
    height = top + tops[-1] + BOTTOM
    with sheet(height) as figure:
        plot = axes(figure, across, None, left=left, right=right, top=top, bottom=height - BOTTOM)
        for label, value in marks.items():
            plot.axvline(value, color=INK, linewidth=1.2, dashes=(3, 3), clip_on=False)
            x = pixel(plot, (value, 0))[0]
            half = width(label, FONT - 0.5) / 2
            write(
                figure,
                min(max(x, left + half), right - half),
                12,
                label,
                ha="center",
                fontsize=FONT - 0.5,
                color=INK,
            )
        for index, (_, found, strong) in enumerate(rows):
            middle = (tops[index] + tops[index + 1]) / 2
            _whisker(plot, found, middle, strong=strong)
            weight = "bold" if strong else "normal"
            write(figure, 2, top + middle, names[index], color=INK, fontweight=weight)
            write(figure, values_at, top + middle, values[index], color=INK, fontweight=weight, ha="right")
            write(figure, spans_at, top + middle, spans[index], color=GREY, fontsize=FONT - 1)
        write(figure, (left + right) / 2, height - 12, x_title, color=INK, ha="center")
        return svg_of(figure, name, description)


def _whisker(plot: Any, found: Interval, middle: float, *, strong: bool) -> None:
    if not math.isfinite(found.value):
        return
    colour = "#0072B2" if strong else GREY
    if math.isfinite(found.low) and math.isfinite(found.high):
        ends, style = [found.low, found.high], {"linewidth": 12, "alpha": 0.3, "solid_capstyle": "butt"}
        plot.plot(ends, [middle] * 2, color=colour, clip_on=False, **style)
    plot.plot(
        *([found.value], [middle]),
        marker="D" if strong else "o",
        markersize=8 if strong else 7,
        color=colour,
        markeredgecolor="white",
        markeredgewidth=1,
        clip_on=False,
    )
