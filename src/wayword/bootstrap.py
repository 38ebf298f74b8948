"""Bootstrap intervals of ratios of sums: searches are resampled, numerators and denominators together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
    rng = np.random.default_rng(config.seed)
    at_once = max(1, min(config.bootstrap, RESAMPLED_AT_ONCE // max(len(own), 1)))
    stacked = [np.column_stack([values, own]) for values in tables]
    parts: list[list[Floats]] = [[] for _ in tables]
    for start in range(0, config.bootstrap, at_once):
        draws = rng.poisson(1.0, size=(min(at_once, config.bootstrap - start), len(own))).astype(np.float64)
        for part, table in zip(parts, stacked, strict=True):
            part.append(draws @ table)
    return [_ratios(np.concatenate(part)) for part in parts]


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
