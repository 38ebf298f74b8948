"""Figures as SVG, drawn by Matplotlib: series over positions, sizes or settings, and intervals of policies.

No series differs from another by its colour alone; an axis of positive numbers that does not start at 0 says so.
"""

import io
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wayword.errors import MissingExtra
from wayword.report.exhibits import Figure, Interval, number, shown

Numbers = Sequence[float]
# Okabe and Ito's palette, with a grey in place of its yellow, which is hard to see on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#767676")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
DASHES = ("-", "--", ":", "-.", (0, (4, 1.5)), (0, (7, 2, 1.5, 2, 1.5, 2)), (0, (10, 3)), (0, (1.2, 2.4)))
STYLE = {
    "font.sans-serif": ["DejaVu Sans"],  # comes with Matplotlib, and is wider than the browsers' own
    "font.size": 12,
    "svg.fonttype": "none",
    "svg.hashsalt": "wayword",
    "text.parse_math": False,
}
REFERENCE = {"color": "black", "linewidth": 1.2, "dashes": (3, 3)}


@dataclass(frozen=True)
class Series:
    """Points in order of x, with the ends of their intervals if known; the strong one stands out.

    `style` keeps a policy's look the same in several figures; by default the place in the list gives it.
    """

    name: str
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    strong: bool = False
    style: int | None = None
    joined: bool = True

    @classmethod
    def of(cls, name: str, points: Mapping[Any, Interval], *, bands: bool = True, **look: Any) -> "Series":
        """From values with intervals by x; without `bands` these are not drawn."""
        y, low, high = ([getattr(of, end) for of in points.values()] for end in ("value", "low", "high"))
        return cls(name, list(points), y, *((low, high) if bands else ()), **look)


def require_drawing() -> Any:
    """Matplotlib; raises `MissingExtra` if a report cannot be made, before hours are spent on its numbers."""
    try:
        import jinja2  # noqa: F401
        import markdown_it  # noqa: F401
        import matplotlib.figure
        import matplotlib.style
    except ImportError as problem:
        raise MissingExtra("report", "Drawing the figures of a report") from problem
    return matplotlib


@contextmanager
def _canvas(height: float) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes; the settings of the process neither change it nor are changed by it."""
    mpl = require_drawing()
    style = mpl.style.context(["seaborn-v0_8-whitegrid", STYLE], after_reset=True)
    with style, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing|Data has no positive values")
        figure = mpl.figure.Figure(figsize=(10, height), dpi=72, layout="constrained")
        yield figure, figure.add_subplot()


def _saved(figure: Any, name: str, description: str) -> Figure:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Title": description, "Date": None})
    return Figure(name, file.getvalue(), description)


def _wrapped(label: str) -> str:
    return "\n".join(textwrap.wrap(label, 26, max_lines=3, placeholder="…"))


def chart(
    name: str,
    series: Sequence[Series],
    *,
    x_title: str,
    y_title: str,
    x_log: bool = False,
    y_log: bool = False,
    x_ticks: Numbers | None = None,
    reference: Mapping[str, float] | None = None,
    diagonal: bool = False,
    description: str | None = None,
) -> Figure:
    """Lines with bands of their intervals, or points with bars where they are not joined; `reference` are horizontal
    lines by their names, and on the diagonal both axes agree. The default description lists the values."""
    with _canvas(5.6) as (figure, axes):
        axes.set(xscale="log" if x_log else "linear", yscale="log" if y_log else "linear")
        for axis in (axes.xaxis,) * x_log + (axes.yaxis,) * y_log:
            axis.set_major_formatter(lambda value, _: f"{value:g}")
        for at, one in enumerate(series):
            _draw(axes, one, (at if one.style is None else one.style) % len(COLOURS))
        if diagonal:
            ends = [of(*axes.get_xlim(), *axes.get_ylim()) for of in (min, max)]
            axes.set(xlim=ends, ylim=ends)
            axes.plot(ends, ends, label="equal", **REFERENCE)
        for label, value in (reference or {}).items():
            axes.axhline(value, label=_wrapped(label), **REFERENCE)
        if x_ticks is not None:
            axes.set_xticks(x_ticks, [f"{tick:g}" for tick in x_ticks])
            axes.set_xticks([], minor=True)
        low, high = axes.get_ylim()
        if not y_log and 0 < low < high / 2:
            axes.set_ylim(bottom=0)
        cut = "" if y_log or axes.get_ylim()[0] <= 0 else " (the axis does not start at 0)"
        axes.set(xlabel=x_title, ylabel=y_title + cut)
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside right upper")
        values = "; ".join(f"{one.name}: {', '.join(f'{y:.3f}' for y in one.y)}" for one in series)
        return _saved(figure, name, values if description is None else description)


def _draw(axes: Any, one: Series, style: int) -> None:
    colour, dashes = COLOURS[style], "-" if one.strong else DASHES[style]
    if one.low is not None and one.high is not None:
        if one.joined:
            axes.fill_between(one.x, one.low, one.high, color=colour, alpha=0.14, linewidth=0)
        else:
            axes.vlines(one.x, one.low, one.high, color=colour, alpha=0.7)
    line = {"linestyle": dashes if one.joined else "none", "linewidth": 3 if one.strong else 1.8}
    line |= {"marker": MARKERS[style], "markersize": 9 if one.strong else 7, "markeredgecolor": "white"}
    axes.plot(one.x, one.y, color=colour, label=_wrapped(one.name), zorder=3 + one.strong, **line)


def intervals(
    name: str, rows: Sequence[tuple[str, Interval, bool]], *, x_title: str, reference: float | None = None
) -> Figure:
    """One row per label: a dot on the bar of its interval, and both in numbers at the right."""
    with _canvas(1.2 + 0.42 * max(len(rows), 1)) as (figure, axes):
        for place, (_, found, strong) in enumerate(rows):
            colour = COLOURS[0] if strong else "#59636e"
            axes.hlines(place, found.low, found.high, color=colour, linewidth=11, alpha=0.3)
            axes.plot(found.value, place, marker="D" if strong else "o", color=colour, markersize=8)
        if reference is not None:
            axes.axvline(reference, **REFERENCE)
        axes.set(xlabel=x_title, ylim=(-0.6, max(len(rows), 1) - 0.4))
        axes.set_yticks(range(len(rows)), [_wrapped(label) for label, _, _ in rows])
        axes.grid(visible=False, axis="y")
        axes.secondary_yaxis("right").set_yticks(range(len(rows)), [shown(found) for _, found, _ in rows])
        values = "; ".join(f"{label}: {number(float(found.value))}" for label, found, _ in rows)
        return _saved(figure, name, values)
