"""The theory page: the paper's propositions and its theorem, each beside exact numbers of a tiny world."""

from dataclasses import dataclass

import numpy as np

from wayword.errors import WaywordError
from wayword.reproduction.theory.bounding import Bounding, bounding
from wayword.reproduction.theory.generalization import Generalization, generalization, make_features
from wayword.reproduction.theory.model import make_world
from wayword.reproduction.theory.padding import Padding, padding
from wayword.reproduction.theory.unbiasedness import Unbiasedness, unbiasedness
from wayword.reproduction.theory.variance import Unbounded, Variance, unbounded, variance


@dataclass(frozen=True)
class Theory:
    """What `theory` found."""

    seed: int
    effort: float
    unbiasedness: Unbiasedness
    variance: Variance
    unbounded: Unbounded
    bounding: Bounding
    generalization: Generalization
    padding: Padding


def theory(seed: int, *, effort: float = 1.0) -> Theory:
    """Everything, from a seed; `effort` scales how often is simulated (1: some ten seconds on one core)."""
    if not 0 < effort < np.inf:
        raise WaywordError(f"Found an effort of {effort}; expected a number above 0, such as 1.")
    worlds, *parts = np.random.default_rng(seed).spawn(6)
    world = make_world(worlds)
    large = make_world(worlds, contexts=24, queries=10)
    features = make_features(worlds, large)
    return Theory(
        seed=seed,
        effort=effort,
        unbiasedness=unbiasedness(parts[0], world, logs=_times(2000, effort), searches=2000),
        variance=variance(parts[1], world, searches=_times(2_000_000, effort)),
        unbounded=unbounded(parts[2], searches=_times(2_000_000, effort)),
        bounding=bounding(parts[3], world, logs=_times(1000, effort)),
        generalization=generalization(
            parts[4], large, features, logs=_times(2000, effort), draws=_times(4000, effort)
        ),
        padding=padding(),
    )


def _times(number: int, effort: float) -> int:
    """How often to simulate, 30 times at the least."""
    return max(30, round(number * effort))
