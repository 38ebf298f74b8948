"""Where labels go: beside what they name, never over each other. Pixels, downwards."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


def spread(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Middles as near as possible to the wanted ones (least squares) such that no two boxes overlap.

    With the sizes taken out of the positions, "no overlap" is "in order", so this is isotonic regression: neighbours
    that are out of order share their mean. Between the limits if they leave room for all.

    >>> spread([10, 10, 50], [6, 6, 6], 0, 100)
    [7.0, 13.0, 50.0]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    before, total = [], 0.0
    for index in order:
        before.append(total + sizes[index] / 2)
        total += sizes[index]
    blocks: list[tuple[float, int]] = []
    for index, taken in zip(order, before, strict=True):
        blocks.append((wanted[index] - taken, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (last, many), (first, few) = blocks.pop(), blocks.pop()
            blocks.append(((first * few + last * many) / (few + many), few + many))
    level = [value for value, many in blocks for _ in range(many)]
    found = [0.0] * len(wanted)
    for index, taken, value in zip(order, before, level, strict=True):
        found[index] = max(low, min(value, high - total)) + taken
    return found


@dataclass(frozen=True)
class Box:
    """A rectangle, by its left upper corner."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: "Box") -> float:
        """The area that both cover."""
        wide = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        high = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(wide, 0.0) * max(high, 0.0)

    def outside(self, other: "Box") -> float:
        """How much of this one lies outside another, in pixels of its edges."""
        return (
            max(other.x - self.x, 0.0)
            + max(other.y - self.y, 0.0)
            + max(self.x + self.width - other.x - other.width, 0.0)
            + max(self.y + self.height - other.y - other.height, 0.0)
        )

    def wider(self, by: float) -> "Box":
        """This one with a margin around it."""
        return Box(self.x - by, self.y - by, self.width + 2 * by, self.height + 2 * by)

    def nearest(self, point: tuple[float, float]) -> tuple[float, float]:
        """The point of this rectangle that is next to another point."""
        x, y = point
        return min(max(x, self.x), self.x + self.width), min(max(y, self.y), self.y + self.height)


Point = tuple[float, float]
_SIDES = (
    (1, 0),
    (-1, 0),
    (0, -1),
    (0, 1),
    (1, -0.5),
    (1, 0.5),
    (-1, -0.5),
    (-1, 0.5),
    (0.5, -1),
    (0.5, 1),
    (-0.5, -1),
)
_REACHES = (9, 18, 30, 45, 65, 90, 120, 160, 210, 280, 360, 450)
NEAR = 12
"""A label this near to its point needs no line to it."""


def place(
    anchors: Sequence[Sequence[Point]], sizes: Sequence[Point], obstacles: Sequence[Box], bounds: Box
) -> list[tuple[Point, Box]]:
    """A box for each label, near the best of its points: to the right if that is free, else elsewhere, else further.

    One after the other; a box never covers an earlier one or leaves the bounds as long as anything else is possible,
    and covers obstacles (the points, the curve), or is reached across them, only where all else is worse.
    """
    placed: list[tuple[Point, Box]] = []
    for points, size in zip(anchors, sizes, strict=True):
        options = [
            (3 * reach + rank, point, _beside(point, size, side, reach))
            for point in points
            for reach in _REACHES
            for rank, side in enumerate(_SIDES)
        ]
        placed.append(_best(sorted(options, key=lambda option: option[0]), placed, obstacles, bounds))
    return placed


def _best(
    options: Sequence[tuple[float, Point, Box]],
    placed: Sequence[tuple[Point, Box]],
    obstacles: Sequence[Box],
    bounds: Box,
) -> tuple[Point, Box]:
    """The cheapest option, of which the nearest come first: once the distance alone costs more, none can be cheaper."""
    taken = [box for _, box in placed]
    blocked = [*obstacles, *(bit for point, box in placed for bit in leader(point, box))]
    least, best = math.inf, options[0][1:]
    for far, point, box in options:
        if far >= least:
            break
        cost = far + _cost(point, box, taken, blocked, bounds)
        least, best = min((least, best), (cost, (point, box)), key=lambda found: found[0])
    return best


def _cost(point: Point, box: Box, taken: Sequence[Box], obstacles: Sequence[Box], bounds: Box) -> float:
    forbidden = sum(box.overlap(other) for other in taken) + box.outside(bounds)
    if forbidden:
        return 1e6 + 1e3 * forbidden
    line = leader(point, box)
    crossed = sum(bit.overlap(other.wider(4)) for bit in line for other in taken)
    crossed += sum(bit.overlap(other) for bit in line for other in obstacles)
    return 15 * sum(box.wider(2).overlap(other) for other in obstacles) + 10 * crossed


def leader(point: Point, box: Box) -> list[Box]:
    """What a line from a point to its label passes, from a little off the point on; nothing if it needs none."""
    end = box.nearest(point)
    if math.dist(point, end) <= NEAR:
        return []
    return along(between(point, end, 8), end, 2)


def between(point: Point, end: Point, off: float) -> Point:
    """The point so far off another on the way to an end."""
    share = off / math.dist(point, end)
    return point[0] + share * (end[0] - point[0]), point[1] + share * (end[1] - point[1])


def along(start: Point, end: Point, half: float) -> list[Box]:
    """Small squares on a straight line."""
    steps = max(1, math.ceil(math.dist(start, end) / 6))
    shares = [step / steps for step in range(steps + 1)]
    (x, y), (to_x, to_y) = start, end
    return [around((x + share * (to_x - x), y + share * (to_y - y)), half) for share in shares]


def around(point: Point, half: float) -> Box:
    """A square with a point in its middle."""
    return Box(point[0] - half, point[1] - half, 2 * half, 2 * half)


def _beside(point: Point, size: Point, side: Point, reach: float) -> Box:
    """The box on one side of a point, so far from it."""
    (x, y), (width, height), (across, down) = point, size, side
    return Box(_start(x, width, across, reach), _start(y, height, down, reach), width, height)


def _start(at: float, length: float, side: float, reach: float) -> float:
    """Where a box starts on one axis: centred on the point, after it, or ending before it."""
    if side == 0:
        return at - length / 2
    return at + side * reach if side > 0 else at + side * reach - length
