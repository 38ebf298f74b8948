"""Intervals of means, of variances and of fitted slopes, each as (value, low, high)."""

import numpy as np
from scipy import stats

from wayword.paper.theory.model import Floats, Integers, Rng

LEVEL = 0.95
Range = tuple[Floats, Floats, Floats]


def mean_interval(samples: Floats) -> Range:
    """The mean over the last axis with its Student interval."""
    mean = samples.mean(axis=-1)
    half = student(samples.shape[-1]) * stats.sem(samples, axis=-1)
    return mean, mean - half, mean + half


def student(count: int, *, tests: int = 1) -> float:
    """How many standard errors the mean of `count` samples may be off in one of `tests` (Bonferroni)."""
    return float(stats.t.ppf(1 - (1 - LEVEL) / (2 * tests), count - 1))


def variance_interval(counts: Integers, values: Floats) -> Range:
    """The variance of values[..., k, j] seen counts[..., k] times, ± 1.96 √((m₄ − s⁴) / n)."""
    weight = (counts / counts.sum(axis=-1, keepdims=True))[..., None]
    mean = np.sum(weight * values, axis=-2, keepdims=True)
    variance, fourth = (np.sum(weight * (values - mean) ** power, axis=-2) for power in (2, 4))
    spread = np.maximum(fourth - variance**2, 0) / counts.sum(axis=-1)[..., None]
    half = stats.norm.ppf((1 + LEVEL) / 2) * np.sqrt(spread)
    return variance, variance - half, variance + half


def slope(x: Floats | Integers, y: Floats) -> Floats:
    """The slope of log y against log x by least squares, for each row of y; a y of 0 is left out."""
    use = (y > 0).astype(np.float64)
    logs = np.log(np.where(y > 0, y, 1.0))
    total = use.sum(axis=-1, keepdims=True)
    centred = np.log(x) - np.sum(use * np.log(x), axis=-1, keepdims=True) / total
    return np.asarray(np.sum(use * centred * logs, axis=-1) / np.sum(use * centred**2, axis=-1))


def slope_interval(rng: Rng, x: Integers, samples: Floats, *, times: int = 400) -> tuple[float, float, float]:
    """The slope of the log of the mean of samples[i] against log x[i], with its bootstrap interval."""
    width = samples.shape[1]
    again = np.stack([row[rng.integers(width, size=(times, width))].mean(axis=1) for row in samples], axis=1)
    low, high = np.quantile(slope(x, again), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    value = slope(x, samples.mean(axis=1)[None, :])[0]
    return float(value), float(low), float(high)
