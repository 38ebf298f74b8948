"""Bootstrap intervals of ratios of sums: searches are resampled, numerators and denominators together.

Percentile intervals of few searches with heavy tails are too short, because their variance is itself uncertain.
`widened` makes up for it as Student's t does, with Satterthwaite's degrees of freedom of that variance.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from wayword.config import EvaluationConfig

RESAMPLED_AT_ONCE = 1 << 22
Floats = NDArray[np.float64]


def resample(values: Floats, own: Floats, config: EvaluationConfig) -> Floats:
    """Bootstrap replicates (replicates × columns) of Σ_s values / Σ_s own, searches drawn Poisson(1) times each.

    All columns share the draws, so differences of columns are paired. Replicates with Σ_s own = 0 are left out.
    """
    return resample_each([values], own, config)[0]


def resample_each(tables: Sequence[Floats], own: Floats, config: EvaluationConfig) -> list[Floats]:
    """`resample` each table with the same draws, whose generation dominates the run time.

    The tables are not concatenated: the last bits of a matrix product depend on its width.
    """
    stacked = [np.column_stack([values, own]) for values in tables]
    parts: list[list[Floats]] = [[] for _ in tables]
    few = config.bootstrap * len(own) <= RESAMPLED_AT_ONCE
    for draws in (_few_draws if few else _draws)(config.bootstrap, len(own), config.seed):
        for part, table in zip(parts, stacked, strict=True):
            part.append(draws @ table)
    return [_ratios(np.concatenate(part)) for part in parts]


def _draws(replicates: int, searches: int, seed: int) -> Iterator[Floats]:
    """How often each replicate has each search (replicates × searches), in parts."""
    rng = np.random.default_rng(seed)
    at_once = max(1, min(replicates, RESAMPLED_AT_ONCE // max(searches, 1)))
    for start in range(0, replicates, at_once):
        yield rng.poisson(1.0, size=(min(at_once, replicates - start), searches)).astype(np.float64)


@lru_cache(maxsize=1)
def _few_draws(replicates: int, searches: int, seed: int) -> tuple[Floats, ...]:
    """The same, kept: the same searches are compared again and again under other assumptions."""
    return tuple(_draws(replicates, searches, seed))


def _ratios(sums: Floats) -> Floats:
    known = sums[sums[:, -1] > 0]
    return np.asarray(known[:, :-1] / known[:, -1:])


def interval(replicates: Floats, level: float) -> tuple[Floats, Floats]:
    """The percentile interval of each column; unknown (NaN) where no replicate is left."""
    if not len(replicates):
        unknown = np.full(replicates.shape[1], np.nan)
        return unknown, unknown
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def widened(
    low: Floats, high: Floats, value: Floats, residuals: Floats, level: float
) -> tuple[Floats, Floats]:
    """The interval of each column, wider around the value by t_ν / z, the quantiles of Student's t and the normal law.

    ν = 2 / (Σ e⁴ / (Σ e²)² − 1/n) are the degrees of freedom of the variance of the residuals e (searches × columns):
    n for normal ones, few where few searches make up most of it, at least 2.

    >>> e = np.array([[1.0], [-1.0]] * 500 + [[30.0]])
    >>> low, high = widened(np.array([-1.0]), np.array([1.0]), np.zeros(1), e, 0.95)
    >>> round(float(high[0]), 2)
    1.16
    """
    squares = residuals**2
    variance, fourth = squares.sum(axis=0), (squares**2).sum(axis=0)
    relative = np.divide(fourth, variance**2, out=np.zeros_like(variance), where=variance > 0)
    freedom = 2 / np.maximum(relative - 1 / max(len(residuals), 1), 1e-9)
    upper = (1 + level) / 2
    factor = stdtrit(freedom, upper) / ndtri(upper)
    return value - factor * (value - low), value + factor * (high - value)
