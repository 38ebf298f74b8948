"""Where labels go: beside what they name, never over each other. Pixels, downwards."""

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


_SIDES = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
_REACHES = (9, 18, 30, 45, 65, 90, 120, 160, 210, 280, 360, 450)


def place(
    anchors: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: Sequence[Box],
    bounds: Box,
) -> list[Box]:
    """A box for each label, near its point: to the right if that is free, else on another side, else further off.

    One after the other; a box never covers an earlier one or leaves the bounds as long as anything else is possible,
    and covers obstacles (the points, the curve) only where all else is farther than it is worth.
    """
    placed: list[Box] = []
    for anchor, size in zip(anchors, sizes, strict=True):
        options = [_beside(anchor, size, side, reach) for reach in _REACHES for side in _SIDES]
        costs = [
            (1e6 * (sum(box.overlap(other) for other in placed) + box.outside(bounds)))
            + 3 * sum(box.overlap(other) for other in obstacles)
            + 4 * _REACHES[index // len(_SIDES)]
            + 2 * (index % len(_SIDES))
            for index, box in enumerate(options)
        ]
        placed.append(options[costs.index(min(costs))])
    return placed


def _beside(anchor: tuple[float, float], size: tuple[float, float], side: tuple[int, int], reach: int) -> Box:
    """The box on one side of a point, so far from it."""
    (x, y), (width, height), (across, down) = anchor, size, side
    left = {1: x + reach, 0: x - width / 2, -1: x - reach - width}[across]
    top = {
        1: y + reach * (0.5 if across else 1),
        0: y - height / 2,
        -1: y - reach * (0.5 if across else 1) - height,
    }
    return Box(left, top[down], width, height)
