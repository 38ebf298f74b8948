"""A sheet to draw on with Matplotlib, and what makes its SVG fit into a page: text as text, ids of its own."""

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from typing import Any

from wayword.errors import MissingExtra
from wayword.reproduction.figures.scale import Scale
from wayword.reproduction.figures.series import Look

WIDTH = 720
FONT = 13.0
LINE = 17
"""The height of a line of text."""
TOP, BOTTOM = 38, 54
"""Room above the axes for the title of the vertical one, and below for ticks and a title."""
INK, GREY, PALE = "#1f2328", "#59636e", "#e4e7eb"
_MEASURED = "DejaVu Sans"
"""Comes with Matplotlib and is wider than what browsers take for system-ui: what fits with it fits."""
_SETTINGS = {
    "font.family": [_MEASURED],
    "font.size": FONT,
    "svg.fonttype": "none",
    "svg.hashsalt": "wayword",
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "path.simplify": False,
}


def _matplotlib() -> Any:
    try:
        import matplotlib as mpl
        import matplotlib.figure
        import matplotlib.lines
        import matplotlib.textpath
    except ImportError as problem:
        raise MissingExtra("report", "Drawing the figures of a report") from problem
    return mpl


def require_drawing() -> None:
    """Say that figures cannot be drawn before hours are spent on what they show."""
    _matplotlib()


@contextmanager
def sheet(height: float) -> Iterator[Any]:
    """A figure of 72 pixels to the inch, so that points are pixels; nobody's own settings change it, nor it theirs."""
    mpl = _matplotlib()
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # The browser has the fonts.
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield mpl.figure.Figure(figsize=(WIDTH / 72, height / 72), dpi=72)


@cache
def width(text: str, size: float = FONT, *, bold: bool = False) -> float:
    """How wide a text is at most, in pixels."""
    mpl = _matplotlib()
    font = mpl.font_manager.FontProperties(family=[_MEASURED], size=size, weight="bold" if bold else "normal")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        return float(mpl.textpath.TextToPath().get_text_width_height_descent(text, font, ismath=False)[0])


def wrap(text: str, room: float, *, bold: bool = False, most: int = 3) -> tuple[str, ...]:
    """A text in lines no wider than the room; what does not fit in the last one ends in an ellipsis."""
    lines, words = [""], text.split()
    while words:
        word = words.pop(0)
        joined = f"{lines[-1]} {word}".strip()
        if width(joined, bold=bold) <= room:
            lines[-1] = joined
        elif lines[-1]:
            lines.append("")
            words.insert(0, word)
        else:
            fits = max(n for n in range(1, len(word) + 1) if n == 1 or width(word[:n], bold=bold) <= room)
            lines[-1], rest = word[:fits], word[fits:]
            words[:0] = [rest] if rest else []
            lines += [""] if rest else []
    if len(lines) <= most:
        return tuple(lines)
    last = lines[most - 1]
    while last and width(f"{last}…", bold=bold) > room:
        last = last[:-1]
    return (*lines[: most - 1], f"{last.rstrip()}…")


def write(figure: Any, x: float, y: float, text: str | Sequence[str], **style: Any) -> None:
    """Lines of text at a pixel, downwards from the upper edge; several are centred around it from top to bottom."""
    lines = (text,) if isinstance(text, str) else text
    tall = figure.bbox.height
    for index, line in enumerate(lines):
        middle = y + (index - (len(lines) - 1) / 2) * LINE
        style = {"va": "center_baseline", "fontsize": FONT} | style
        figure.text(x / WIDTH, 1 - middle / tall, line, **style)


def stroke(figure: Any, xs: Sequence[float], ys: Sequence[float], **style: Any) -> None:
    """A line through pixels, downwards from the upper edge."""
    tall = figure.bbox.height
    line = _matplotlib().lines.Line2D([x / WIDTH for x in xs], [1 - y / tall for y in ys], **style)
    figure.add_artist(line)


def axes(
    figure: Any, x: Scale, y: Scale | None, *, left: float, right: float, top: float, bottom: float
) -> Any:
    """Axes between four edges in pixels: a pale grid behind, ticks without marks, no frame but the line below."""
    tall = figure.bbox.height
    found = figure.add_axes((left / WIDTH, 1 - bottom / tall, (right - left) / WIDTH, (bottom - top) / tall))
    found.patch.set_visible(False)
    figure.patch.set_visible(False)
    found.spines[["top", "right", "left"]].set_visible(False)
    found.set_axisbelow(True)
    found.set(xscale="log" if x.log else "linear", yscale="log" if y and y.log else "linear")
    found.set(xlim=(x.low, x.high), ylim=(y.low, y.high) if y else (max(bottom - top, 1), 0))
    found.set_xticks([], minor=True)
    found.set_yticks([], minor=True)
    found.set_xticks(x.ticks, _apart(x, right - left))
    found.set_yticks(y.ticks if y else (), y.labels if y else ())
    found.set(xlim=(x.low, x.high), ylim=(y.low, y.high) if y else (max(bottom - top, 1), 0))
    found.grid(visible=True, which="major", color=PALE, linewidth=1)
    found.tick_params(which="both", length=0, pad=7, labelsize=FONT - 0.5)
    found.tick_params(axis="x", pad=10)
    for line in (*found.get_xgridlines(), *found.get_ygridlines()):
        line.set_clip_on(False)
    return found


def _apart(chosen: Scale, room: float) -> list[str]:
    """The labels of a horizontal axis, without those that would touch the one before."""
    at = math.log10 if chosen.log else float
    low, high = at(chosen.low), at(chosen.high)
    written, end = [], -1e9
    for tick, label in zip(chosen.ticks, chosen.labels, strict=True):
        middle, half = (at(tick) - low) / (high - low) * room, width(label, FONT - 0.5) / 2
        fits = middle - half >= end + 8
        written.append(label if fits else "")
        end = middle + half if fits else end
    return written


def marker(look: Look, size: float) -> dict[str, Any]:
    """A marker with a white edge, so that markers over each other stay apart."""
    return {
        "marker": look.marker,
        "markersize": size,
        "markerfacecolor": look.colour,
        "markeredgecolor": "white",
        "markeredgewidth": 0.8,
    }


def left_of(up: Scale) -> float:
    """Where axes start, so that the ticks of the vertical one fit before them."""
    return max((width(label, FONT - 0.5) for label in up.labels), default=0.0) + 12


def titles(figure: Any, x_title: str, y_title: str, middle: float) -> None:
    """The vertical axis' title lies above it, where it can be read without turning the head."""
    write(figure, 2, 12, y_title, color=INK)
    write(figure, middle, figure.bbox.height - 11, x_title, color=INK, ha="center")


def pixel(plot: Any, point: Sequence[float]) -> tuple[float, float]:
    """Where a point is drawn, downwards from the upper edge."""
    x, y = plot.transData.transform((point[0], point[1]))
    return float(x), float(plot.figure.bbox.height - y)


def svg_of(figure: Any, name: str, description: str) -> str:
    """The drawing, ready to stand in a page beside others.

    Matplotlib's style sheet would rule the whole page, its ids are the same in every drawing, and its metadata hold
    addresses: all three go.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(
        r"<metadata>.*?</metadata>\s*|<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg, flags=re.DOTALL
    )
    svg = re.sub(r"<[^>]+>", lambda tag: _own(tag.group(), name), svg)
    svg = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", svg)
    svg = re.sub(rf"(<text style=\"[^\"]*)'{_MEASURED}'", r"\1system-ui, sans-serif", svg)
    told = escape(" ".join(description.split()))
    # White where it stands alone, on a dark page of Markdown too; a page that puts it on a card takes the white away.
    head = f'style="background: #fff" width="{WIDTH}" height="{figure.bbox.height:g}" role="img" aria-label="{told}"'
    svg = re.sub(r'width="[^"]*" height="[^"]*"', lambda _: head, svg, count=1)
    opened = svg.index(">") + 1
    style = ' stroke-linejoin="round" stroke-linecap="butt">'
    return f"{svg[: opened - 1]}{style}\n <title>{told}</title>{svg[opened:].rstrip()}\n"


def _own(tag: str, name: str) -> str:
    """A tag whose ids, and references to them, are those of one figure."""
    return re.sub(r'(\sid="|\sxlink:href="#|url\(#)', rf"\g<1>figure-{name}.", tag)
