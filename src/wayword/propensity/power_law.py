"""Power law: p[rank] = rank^-alpha, assumed for all ranks, or fitted to estimates and continued beyond them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]
LEAST_RISE = float(np.log(1.1))
"""Of log p from rank 1 to the last: less is hardly a rise, where no interval says how sure p is."""


def power_law(rank: ArrayLike, *, alpha: float) -> Floats:
    """p[rank] = rank^-alpha, so that p[1] = 1 (the paper's experiments: alpha = 1).

    >>> power_law([1, 2, 5], alpha=1.0).tolist()
    [1.0, 0.5, 0.2]
    """
    return np.asarray(rank, dtype=np.float64) ** -alpha


@dataclass(frozen=True)
class FittedLaw:
    """log p = constant − alpha · log rank, with the covariance of both; beyond `last` never above p there."""

    constant: float
    alpha: float
    covariance: Floats
    last: int
    limit: float
    """log p at the last estimated rank."""
    error: float
    """Of the limit."""
    level: float

    @property
    def rises(self) -> bool:
        """Whether the law rises, and p at the last rank is above p[1] by more than chance."""
        return self.alpha < 0 and self.limit > max(LEAST_RISE, 3 * self.error)

    @property
    def formula(self) -> str:
        """The law in words."""
        return f"p[rank] = {np.exp(self.constant):.3g} · rank^{-self.alpha:.3g}"

    def at(self, ranks: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """p of any ranks, with its interval."""
        terms = _terms(np.asarray(ranks, np.float64))
        most = np.where(np.asarray(ranks) > self.last, self.limit, np.inf)
        log_p = np.minimum(terms @ np.array([self.constant, self.alpha]), most)
        error = np.sqrt(np.einsum("ij,jk,ik->i", terms, self.covariance, terms))
        width = ndtri((1 + self.level) / 2) * error
        return np.exp(log_p), np.exp(log_p - width), np.exp(log_p + width)


def _terms(ranks: Floats) -> Floats:
    return np.column_stack([np.ones(len(ranks)), -np.log(ranks)])


def fitted_law(
    ranks: NDArray[np.int64],
    log_p: Floats,
    error: Floats,
    level: float = 0.95,
    *,
    covariance: Floats | None = None,
) -> FittedLaw:
    """Fit a power law to estimates of log p, of which the first is 0 by definition; precise ones count more.

    Without a covariance the errors are independent. Where the estimates differ from the law by more than chance, its
    interval is wider by as much.

    >>> law = fitted_law(np.array([1, 2, 4]), -0.5 * np.log([1, 2, 4]), np.array([0, 0.1, 0.1]))
    >>> round(law.alpha, 6), law.at([16])[0].round(6).tolist()
    (0.5, [0.25])
    """
    errors = np.diag(error**2) if covariance is None else covariance
    weight = 1 / np.maximum(error, max(float(error.max()) / 10, 1e-6)) ** 2
    terms = _terms(ranks.astype(np.float64))
    weighted = terms * weight[:, None]
    gain = np.linalg.inv(weighted.T @ terms) @ weighted.T
    constant, alpha = gain @ log_p
    missed = log_p - terms @ np.array([constant, alpha])
    spread = max(1.0, float(weight @ missed**2) / max(len(ranks) - 2, 1))
    return FittedLaw(
        float(constant),
        float(alpha),
        np.asarray(gain @ errors @ gain.T * spread, np.float64),
        int(ranks[-1]),
        float(log_p[-1]),
        float(error[-1]),
        level,
    )
