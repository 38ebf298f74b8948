"""Power law: p[rank] = rank^-alpha, assumed for all ranks, or fitted to estimates and continued beyond them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm


def power_law(rank: ArrayLike, *, alpha: float) -> NDArray[np.float64]:
    """p[rank] = rank^-alpha, so that p[1] = 1 (the paper's experiments: alpha = 1).

    >>> power_law([1, 2, 5], alpha=1.0).tolist()
    [1.0, 0.5, 0.2]
    """
    return np.asarray(rank, dtype=np.float64) ** -alpha


@dataclass(frozen=True)
class FittedLaw:
    """log p = constant − alpha · log rank, with the covariance of both, never above p at the last estimated rank."""

    constant: float
    alpha: float
    covariance: NDArray[np.float64]
    limit: float
    level: float

    @property
    def formula(self) -> str:
        """The law in words."""
        return f"p[rank] = {np.exp(self.constant):.3g} · rank^-{self.alpha:.3g}"

    def at(self, ranks: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """p of any ranks, with its interval."""
        terms = _terms(np.asarray(ranks, np.float64))
        log_p = np.minimum(terms @ np.array([self.constant, self.alpha]), self.limit)
        error = np.sqrt(np.einsum("ij,jk,ik->i", terms, self.covariance, terms))
        width = norm.ppf((1 + self.level) / 2) * error
        return np.exp(log_p), np.exp(log_p - width), np.exp(log_p + width)


def _terms(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([np.ones(len(ranks)), -np.log(ranks)])


def fitted_law(
    ranks: NDArray[np.int64], log_p: NDArray[np.float64], error: NDArray[np.float64], level: float = 0.95
) -> FittedLaw:
    """Fit a power law to estimates of log p, of which the first is 0 by definition; precise ones count more.

    >>> law = fitted_law(np.array([1, 2, 4]), -0.5 * np.log([1, 2, 4]), np.array([0, 0.1, 0.1]))
    >>> round(law.alpha, 6), law.at([16])[0].round(6).tolist()
    (0.5, [0.25])
    """
    errors = np.maximum(error, max(float(error.max(initial=0.0)) / 10, 1e-6))
    terms, weight = _terms(ranks.astype(np.float64)), 1 / errors**2
    if len(ranks) == 1:
        return FittedLaw(float(log_p[0]), 1.0, np.zeros((2, 2)), float(log_p[-1]), level)
    inverse = np.linalg.inv((terms * weight[:, None]).T @ terms)
    constant, alpha = inverse @ (terms.T @ (weight * log_p))
    missed = log_p - terms @ np.array([constant, alpha])
    spread = max(1.0, float(weight @ missed**2) / max(len(ranks) - 2, 1))
    return FittedLaw(float(constant), float(alpha), inverse * spread, float(log_p[-1]), level)
