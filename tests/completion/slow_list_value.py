"""The value of a list in plain Python, straight from the formula, and the best list by trying all."""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

Matrix = Sequence[Sequence[float]]
Floats = NDArray[np.float64]


def takes(accepted: Sequence[float], reading: Sequence[float], listed: Sequence[int], j: int) -> float:
    """T_j = r_j · a_j · Π_{i<j} (1 − r_i · a_i), of the people of one member."""
    before = prod(1 - reading[i] * accepted[listed[i]] for i in range(j))
    return reading[j] * accepted[listed[j]] * before


def shares(
    probability: Sequence[float],
    accepted: Matrix,
    gain: Matrix,
    reading: Sequence[float],
    listed: Sequence[int],
) -> list[float]:
    """Σ_q̄ P(q̄ | x) · T_j · gain of each suggestion."""
    return [
        sum(
            probability[m] * takes(accepted[m], reading, listed, j) * gain[m][listed[j]]
            for m in range(len(probability))
        )
        for j in range(len(listed))
    ]


def value(
    probability: Sequence[float],
    accepted: Matrix,
    gain: Matrix,
    reading: Sequence[float],
    listed: Sequence[int],
) -> float:
    """V(L | x)."""
    return sum(shares(probability, accepted, gain, reading, listed))


def best_value(probability: Floats, accepted: Floats, gain: Floats, reading: Floats, k: int) -> float:
    """The highest V of all ordered lists of at most k suggestions, each of which has a positive share."""
    return max(_values(probability, accepted, gain, reading, k, ()), default=0.0)


def _values(
    reach: Floats,
    accepted: Floats,
    gain: Floats,
    reading: Floats,
    k: int,
    listed: tuple[int, ...],
    total: float = 0.0,
) -> Iterator[float]:
    yield total
    if len(listed) == k:
        return
    for c in range(accepted.shape[1]):
        taken = reading[len(listed)] * accepted[:, c]
        share = float((reach * taken * gain[:, c]).sum())
        if c not in listed and share > 0:
            yield from _values(reach * (1 - taken), accepted, gain, reading, k, (*listed, c), total + share)
