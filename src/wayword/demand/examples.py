"""Examples: which pairs are learned from, where there are more than needed."""

import numpy as np
from numpy.typing import NDArray

from wayword.demand.pairs import Floats, Pairs

MOST = 1_000_000
"""About so many pairs without a click are learned from, those that say most; fewer stand for more."""
EVENLY = 0.2
"""This share of them is drawn evenly, so that no kind of pair stands for too many others."""


def examples(
    pairs: Pairs, clicked: NDArray[np.bool_], could: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """All clicked pairs and some others, with how many pairs each stands for.

    `could` is how likely a click was on a wanted document. The likelier, the more its absence says, and the likelier
    the pair is drawn. A document that is no longer shown is left out: it is known only because it was clicked.
    """
    total = float(could[~clicked].sum())
    chance = MOST * (could * ((1 - EVENLY) / total if total > 0 else 0.0) + EVENLY / max(len(could), 1))
    chance = np.where(clicked | (len(could) <= MOST), 1.0, np.minimum(chance, 1.0))
    rows = np.flatnonzero((rng.random(len(could)) < chance) & (pairs.shown > 0))
    return rows, 1 / chance[rows]
