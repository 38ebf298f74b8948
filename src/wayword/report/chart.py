"""A chart as SVG inside a page: a line with its interval, and marked points. Its colours are those of the page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean

WIDTH, HEIGHT = 440, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 14, 48
"""Margins around the plot."""
RADIUS = 9
"""Of a mark."""
STEPS = 6
"""Ticks of an axis, at most about so many."""
Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """A point with a letter in it; a strong one is filled."""

    x: float
    y: float
    letter: str
    strong: bool = False


@dataclass(frozen=True)
class PlacedMark:
    """A mark in pixels: its point, and where the letter stands so that it covers no other."""

    mark: Mark
    point: Point
    place: Point

    @property
    def moved(self) -> bool:
        """The letter stands beside the point."""
        return math.dist(self.point, self.place) > 1


@dataclass(frozen=True)
class Chart:
    """Points in the units of the axes; `digits` are those of the labels, `unit` follows them."""

    name: str
    description: str
    x_title: str
    y_title: str
    line: Sequence[Point] = ()
    labels: Sequence[tuple[Point, str]] = ()
    """Texts at points of the line."""
    band: Sequence[tuple[float, float, float]] = ()
    """x, low, high."""
    marks: Sequence[Mark] = ()
    from_zero: bool = False
    """The y axis begins at 0."""
    x_unit: str = ""
    y_unit: str = ""
    x: "Axis" = field(init=False)
    y: "Axis" = field(init=False)

    def __post_init__(self) -> None:
        """Fit the axes to all points."""
        points = [*self.line, *((mark.x, mark.y) for mark in self.marks)]
        xs = [x for x, _ in points] or [0.0, 1.0]
        ys = [y for _, y in points] + [end for _, *ends in self.band for end in ends] or [0.0, 1.0]
        ys = [*ys, 0.0] if self.from_zero else ys
        object.__setattr__(self, "x", Axis.of(xs, LEFT, WIDTH - RIGHT))
        object.__setattr__(self, "y", Axis.of(ys, HEIGHT - BOTTOM, TOP))

    def path(self, points: Sequence[Point]) -> str:
        """The attribute `points` of a line."""
        return " ".join(f"{self.x.at(x):.1f},{self.y.at(y):.1f}" for x, y in points)

    @property
    def placed(self) -> list[PlacedMark]:
        """The marks, none over another."""
        points = [(self.x.at(mark.x), self.y.at(mark.y)) for mark in self.marks]
        return [PlacedMark(*each) for each in zip(self.marks, points, apart(points), strict=True)]

    @property
    def area(self) -> str:
        """The attribute `points` of the band."""
        above = [(x, high) for x, _, high in self.band]
        return self.path(above + [(x, low) for x, low, _ in reversed(self.band)])


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` between two places in pixels."""

    low: float
    high: float
    first: float
    last: float

    @classmethod
    def of(cls, values: Sequence[float], first: float, last: float) -> "Axis":
        """An axis with some room on both sides; it does not pass 0 unless the values do."""
        low, high = min(values), max(values)
        room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
        return cls(
            low if low == 0 else max(low - room, 0.0) if low > 0 else low - room, high + room, first, last
        )

    def at(self, value: float) -> float:
        """The place of a value.

        >>> Axis(0.0, 10.0, 100.0, 200.0).at(2.5)
        125.0
        """
        return self.first + (value - self.low) / (self.high - self.low) * (self.last - self.first)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of round values.

        >>> [label for _, label in Axis(0.0, 10.0, 0.0, 1.0).ticks], [t for _, t in Axis(0.9, 1.0, 0.0, 1.0).ticks]
        (['0', '2', '4', '6', '8', '10'], ['0.90', '0.92', '0.94', '0.96', '0.98', '1.00'])
        """
        least = (self.high - self.low) / STEPS
        power = 10 ** math.floor(math.log10(least))
        by = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least * (1 - 1e-9))
        digits = max(0, -math.floor(math.log10(by) + 1e-9))
        places = range(math.ceil(self.low / by - 1e-9), math.floor(self.high / by + 1e-9) + 1)
        return [(self.at(n * by), f"{n * by:.{digits}f}") for n in places]


def apart(points: Sequence[Point], least: float = 2 * RADIUS + 2, rounds: int = 200) -> list[Point]:
    """Places for marks: at their points, or where two are less than `least` apart, beside them.

    >>> apart([(100.0, 100.0), (100.0, 102.0), (300.0, 100.0)])
    [(100.0, 86.0), (100.0, 116.0), (300.0, 100.0)]
    """
    places = [_beside(at, points, least) for at in range(len(points))]
    for _ in range(rounds):
        close = [
            (i, j)
            for i, j in combinations(range(len(places)), 2)
            if math.dist(places[i], places[j]) < least - 1e-6
        ]
        if not close:
            break
        for i, j in close:
            step = (least - math.dist(places[i], places[j])) / 2
            right, down = _direction(places[i], places[j])
            places[i] = _inside(places[i][0] - step * right, places[i][1] - step * down)
            places[j] = _inside(places[j][0] + step * right, places[j][1] + step * down)
    return places


def _beside(at: int, points: Sequence[Point], least: float) -> Point:
    """The point, or if others are near, a place on its far side from them, where a mark leaves it visible."""
    here = points[at]
    near = [n for n, point in enumerate(points) if n != at and math.dist(here, point) < least]
    if not near:
        return here
    middle = (fmean(points[n][0] for n in near), fmean(points[n][1] for n in near))
    right, down = _direction(middle, here) if middle != here else (1.0 if at > near[0] else -1.0, 0.0)
    return _inside(here[0] + (RADIUS + 5) * right, here[1] + (RADIUS + 5) * down)


def _direction(first: Point, second: Point) -> Point:
    """The unit vector from a point to another; to the right if they are the same."""
    far = math.dist(first, second)
    return ((second[0] - first[0]) / far, (second[1] - first[1]) / far) if far else (1.0, 0.0)


def _inside(x: float, y: float) -> Point:
    """The nearest place at which a mark is inside the plot."""
    return (
        min(max(x, LEFT + RADIUS), WIDTH - RIGHT - RADIUS),
        min(max(y, TOP + RADIUS), HEIGHT - BOTTOM - RADIUS),
    )
