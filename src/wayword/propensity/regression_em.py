"""Regression EM: the position-based model of all impressions, with relevance from a regression.

    P(click) = p_k γ,   γ = logistic(b + u_query + v_document)

The E-step gives the probabilities of having looked and of being relevant; the M-step averages the first by rank and
regresses the second (Wang et al., WSDM 2018), with a ridge on u and v. With trust bias (Agarwal et al., WWW 2019) a
rank has two click rates, that of relevant and that of other documents: P(click) = z⁺_k γ + z⁻_k (1 − γ). p is then the
slope z⁺ − z⁻, relative to rank 1.

It needs no document at several ranks; instead it believes the regression. Where that is wrong, so is p.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from wayword.propensity.strata import Floats, Strata

ROUNDS = 200
CHANGE = 1e-4
"""Rounds end when no log p changes by more than this."""
RIDGE = 1.0
LEAST, MOST = 1e-6, 1 - 1e-6


@dataclass(frozen=True)
class ClickRates:
    """Click rates of relevant and of other documents at each rank; the second are 0 without trust bias."""

    relevant: Floats
    other: Floats

    @property
    def log_p(self) -> Floats:
        """Log of the slopes, 0 at the first rank."""
        slope = np.maximum(self.relevant - self.other, LEAST)
        return np.asarray(np.log(slope / slope[0]))


def fit(
    strata: Strata, *, trust_bias: bool = False, weight: Floats | None = None, rounds: int = ROUNDS
) -> ClickRates:
    """Fit the click rates to all strata, each counted `weight` times."""
    each = np.ones(len(strata.cells)) if weight is None else weight
    shown, clicked = strata.shown * each[strata.owner], strata.clicked * each[strata.owner]
    regression = _Regression(strata, each)
    at_rank = np.maximum(strata.by_rank(shown), 1e-300)
    overall = clicked.sum() / max(shown.sum(), 1e-300)
    gamma = np.full(len(strata.cells), np.clip(2 * overall, 0.05, 0.5))
    rates = ClickRates(
        np.clip(strata.by_rank(clicked) / at_rank / gamma[0], 0.05, 0.9), np.zeros(len(strata.ranks))
    )
    if trust_bias:
        rates = ClickRates(rates.relevant, rates.relevant / 10)
    for _ in range(rounds):
        before = rates.log_p
        rates, relevant = _step(strata, shown, clicked, gamma, rates, trust_bias)
        gamma = regression.step(strata.by_stratum(relevant))
        if np.abs(rates.log_p - before).max() < CHANGE:
            break
    return rates


def _step(
    strata: Strata, shown: Floats, clicked: Floats, gamma: Floats, rates: ClickRates, trust_bias: bool
) -> tuple[ClickRates, Floats]:
    """One E-step and the M-step of the click rates; also the expected number of relevant impressions of cells."""
    g, high, low = gamma[strata.owner], rates.relevant[strata.rank], rates.other[strata.rank]
    skipped = shown - clicked
    rate = np.clip(high * g + low * (1 - g), LEAST, MOST)
    relevant_clicked = clicked * high * g / rate
    relevant_skipped = skipped * (1 - high) * g / (1 - rate)
    if trust_bias:
        relevant = strata.by_rank(relevant_clicked + relevant_skipped)
        others = strata.by_rank(shown) - relevant
        return ClickRates(
            np.clip(strata.by_rank(relevant_clicked) / np.maximum(relevant, 1e-300), LEAST, MOST),
            np.clip(strata.by_rank(clicked - relevant_clicked) / np.maximum(others, 1e-300), LEAST, MOST),
        ), relevant_clicked + relevant_skipped
    looked = strata.by_rank(clicked + skipped * high * (1 - g) / (1 - rate))
    rates = ClickRates(
        np.clip(looked / np.maximum(strata.by_rank(shown), 1e-300), LEAST, MOST), np.zeros(len(strata.ranks))
    )
    return rates, relevant_clicked + relevant_skipped


class _Regression:
    """Logistic regression on the query and the document, improved by one block of Newton steps at a time."""

    def __init__(self, strata: Strata, weight: Floats) -> None:
        self._total = weight * strata.by_stratum(strata.shown)
        self._members = (np.zeros(len(self._total), np.int64), strata.query, strata.document)
        self._values = [np.zeros(int(member.max(initial=0)) + 1) for member in self._members]
        self._values[0][0] = -1.0

    def _gamma(self) -> Floats:
        parts = zip(self._values, self._members, strict=True)
        return np.asarray(expit(sum(values[member] for values, member in parts)), np.float64)

    def step(self, relevant: Floats) -> Floats:
        """Move each block of parameters by a Newton step towards the expected numbers; return γ of each stratum."""
        for place, member in enumerate(self._members):
            gamma, values, ridge = self._gamma(), self._values[place], RIDGE * (place > 0)
            gradient = np.bincount(member, relevant - self._total * gamma, len(values)) - ridge * values
            curvature = np.bincount(member, self._total * gamma * (1 - gamma), len(values)) + ridge
            self._values[place] = values + np.clip(gradient / np.maximum(curvature, LEAST), -1, 1)
        return np.clip(self._gamma(), LEAST, MOST)
