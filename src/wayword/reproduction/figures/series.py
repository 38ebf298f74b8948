"""Series of a drawing, and how they look: colours that colour-blind people tell apart, and a second cue besides."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

NAN = float("nan")
Numbers = Sequence[float | None]

# Okabe and Ito's palette, with a grey in place of its yellow, which is hard to see on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#767676")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
DASHES = ("", "6 2", "2 1.6", "7 2 1.5 2", "4 1.5", "7 2 1.5 2 1.5 2", "10 3", "1.2 2.4")


@dataclass(frozen=True)
class Look:
    """The colour, marker and dashes of a series."""

    colour: str
    marker: str
    dashes: tuple[float, ...]


@dataclass(frozen=True)
class Series:
    """Points in order of x; the ends of their intervals if known. The strong one stands out.

    `style` keeps a policy's look the same in several figures; else the place in the list says it.
    """

    name: str
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    strong: bool = False
    style: int | None = None

    def __post_init__(self) -> None:
        for found in (self.y, self.low, self.high):
            if found is not None and len(found) != len(self.x):
                raise ValueError(f"{self.name!r}: found {len(found)} values for {len(self.x)} points.")

    def points(self, *, x_log: bool = False, y_log: bool = False) -> list[tuple[float, float, float, float]]:
        """x, y, low, high of the points that can be drawn; NaN for an end that is not known."""
        ends = [NAN] * len(self.x)
        rows = zip(self.x, self.y, self.low or ends, self.high or ends, strict=True)
        numbers = [tuple(NAN if value is None else float(value) for value in row) for row in rows]
        return [
            (x, y, low, high)
            for x, y, low, high in numbers
            if math.isfinite(x) and math.isfinite(y) and not (x_log and x <= 0) and not (y_log and y <= 0)
        ]


def looks(series: Sequence[Series]) -> Iterator[tuple[Series, Look]]:
    """Each series with its look."""
    for index, one in enumerate(series):
        kind = index if one.style is None else one.style
        dashes = () if one.strong else tuple(map(float, DASHES[kind % len(DASHES)].split()))
        yield one, Look(COLOURS[kind % len(COLOURS)], MARKERS[kind % len(MARKERS)], dashes)
