"""Posterior: the demand for each document of each query, given the relevance prior, the query rate and the clicks.

The demand of a document is 0 if it is irrelevant (probability 1 − ρ), else a rate around the query rate v: Gamma with
mean v and shape s. After c clicks where p·v were expected, the posterior mean is

    clicked:      (s + c) / (s/v + p)
    not clicked:  P(relevant | no click) · s / (s/v + p),   P(no click | relevant) = (1 + p·v/s)^−s

s → 0 is the paper's inverse propensity weight c/p, unbiased and noisy; s → ∞ gives all relevant documents of a query
the same rate ("pooled"). In between, a click at a rank that is rarely examined counts about 1/(s/v + p) instead of 1/p:
a bound on the weight that adapts to each query. `Shrinkage` is chosen on held-out clicks (see `learning`).

What was clicked is relevant, but that may be long ago. With a half-life, the demand of a clicked document is the first
formula times the recency of its newest click, and the second times the rest.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from wayword.demand import query_rate as query_rates
from wayword.demand.observations import Floats, Observations
from wayword.store.stage import threads

POOLED = float("inf")
AT_ONCE = 1 << 19
"""Number of pairs that a thread computes at once."""
EM_STEPS, INITIAL_STEPS = 5, 50
PSEUDO_CLICKS = 10.0
SHAPES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, POOLED)
UNSEEN = (0.5, 1.0, 1.5)
"""Not above 1.5: where query rates differ much, the likelihood increases with larger factors, but utility falls."""


@dataclass(frozen=True)
class Shrinkage:
    """`shape` is s above; `unseen` multiplies the demand for documents without a click."""

    shape: float = POOLED
    unseen: float = 1.0


@dataclass(frozen=True)
class Posterior:
    """The clicks of each pair, its relevance prior ρ, the rate of each query, and the recency of each pair's newest
    click."""

    clicks: Floats
    relevance: Floats
    query_rate: Floats
    recency: Floats | float = 1.0

    def demand(self, observations: Observations, shrinkage: Shrinkage) -> Floats:
        """The posterior mean demand of each pair."""
        clicked, unclicked = self._parts(observations, shrinkage.shape)
        return clicked + shrinkage.unseen * unclicked

    def _parts(self, observations: Observations, shape: float) -> tuple[Floats, Floats]:
        """The demand of each pair by its clicks, and as if it had none, in shares."""
        rate = self.query_rate[observations.query]
        relevant = relevance_without_click(self.relevance, rate * observations.propensity, shape)
        if shape == POOLED:
            clicked, unclicked = rate, relevant * rate
        else:
            strength = np.maximum(shape / np.maximum(rate, 1e-12) + observations.propensity, 1e-12)
            clicked = (shape + self.clicks) / strength
            unclicked = relevant * shape / strength
        recent = np.where(self.clicks > 0, self.recency, 0.0)
        return recent * clicked, (1.0 - recent) * unclicked

    def log_likelihoods(self, observations: Observations, held_out: Floats) -> dict[Shrinkage, float]:
        """The log-likelihood of held-out clicks for each shrinkage that may be chosen."""
        scores = {}
        for shape in SHAPES:
            clicked, unclicked = self._parts(observations, shape)
            for unseen in UNSEEN:
                demand = clicked + unseen * unclicked
                scores[Shrinkage(shape, unseen)] = log_likelihood(demand, observations, held_out)
        return scores


def log_likelihood(demand: Floats, observations: Observations, clicks: Floats) -> float:
    """The Poisson log-likelihood per click of other clicks given the demand, at the best common scale.

    It uses all pairs, so it distinguishes settings that the utility of a few held-out searches cannot.
    """
    expected = np.maximum(demand * observations.propensity, 1e-12)
    total, clicked = float(clicks.sum()), clicks > 0
    scaled = expected[clicked] * (total / float(expected.sum()))
    return float(np.sum(clicks[clicked] * np.log(scaled))) / max(total, 1e-12) - 1.0


def relevance_without_click(prior: Floats, expected_clicks: Floats, shape: float = POOLED) -> Floats:
    """P(relevant | no click), where `expected_clicks` were expected from a relevant document.

    >>> relevance_without_click(np.array([0.5, 0.5]), np.array([0.0, 3.0])).round(3).tolist()
    [0.5, 0.047]
    """
    result = np.empty(len(prior))

    def fill(first: int) -> None:
        part = slice(first, first + AT_ONCE)
        relevant, expected = prior[part], expected_clicks[part]
        no_click = np.exp(-expected) if shape == POOLED else (1 + expected / shape) ** -shape
        result[part] = relevant * no_click / np.maximum(1 - relevant + relevant * no_click, 1e-300)

    with ThreadPoolExecutor(threads()) as pool:
        list(pool.map(fill, range(0, len(prior), AT_ONCE)))
    return result


def initial_query_rate(observations: Observations, clicks: Floats, searches: Floats) -> Floats:
    """Estimate query rates from the clicked documents alone, by how many clicks they got beyond the first.

    The mean of a zero-truncated Poisson count is v·p / (1 − exp(−v·p)). A query without clicks gets the mean rate.
    """
    clicked = np.flatnonzero(clicks)
    query = observations.query[clicked]
    total = float(clicks.sum())
    exposed = searches[query] * observations.propensity[clicked]
    largest = mean = max(total, 1e-12) / max(float(exposed.sum()), 1e-12)
    for _ in range(INITIAL_STEPS):
        corrected = np.divide(
            exposed, -np.expm1(-mean * exposed), out=np.zeros(len(exposed)), where=exposed > 0
        )
        mean = (total + PSEUDO_CLICKS) / (float(corrected.sum()) + PSEUDO_CLICKS / largest)
    by_query = np.bincount(query, weights=corrected, minlength=observations.queries)
    result: Floats = (
        searches * (observations.sum_by_query(clicks) + PSEUDO_CLICKS) / (by_query + PSEUDO_CLICKS / mean)
    )
    return result


def update_query_rate(
    observations: Observations, clicks: Floats, searches: Floats, prior: Floats, start: Floats
) -> Floats:
    """Estimate query rates by EM, where unclicked documents count by their probability of being relevant."""
    rate, by_query = start, observations.sum_by_query(clicks)
    for _ in range(EM_STEPS):
        unclicked = relevance_without_click(prior, observations.expected_clicks(rate))
        relevant = np.where(clicks > 0, 1.0, unclicked)
        rate = query_rates.fit(
            by_query, observations.sum_by_query(relevant * observations.propensity), searches
        ).of_query
    return rate
