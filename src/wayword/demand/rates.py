"""Rates: the demand for each document of each query, given everything that the log says.

What people want is 0 for a document that they do not want (probability 1 − ρ), else a rate around the query's volume v:
Gamma with mean v and shape s. With c clicks where p·v were expected, the mean of what is left after looking at them is

    clicked:      (s + c) / (s/v + p)
    not clicked:  P(wanted | no click) · s / (s/v + p),   P(no click | wanted) = (1 + p·v/s)^−s

s → 0 is the paper's inverse propensity weight c/p, as unbiased and as noisy; s → ∞ gives all wanted documents of a
query one rate ("pooling"). Between them a click at a rank that is hardly ever looked at counts about 1/(s/v + p)
instead of 1/p: a bound on the weight that fits itself to each query. `Shrinkage` is chosen on held-out clicks (see
`stages.demand`).
"""

from dataclasses import dataclass

import numpy as np

from wayword.demand import lexicon, relevance, volume
from wayword.demand.evidence import evidence
from wayword.demand.pairs import Floats, Pairs
from wayword.demand.surroundings import Surroundings

POOLED = float("inf")
EM_STEPS, FIRST_STEPS = 5, 50
PSEUDO_CLICKS = 10.0
MODELS = 4
"""So many models of relevance are averaged."""


@dataclass(frozen=True)
class Shrinkage:
    """How much clicks are trusted: `shape` is s above; `unseen` multiplies what nobody has clicked yet."""

    shape: float = POOLED
    unseen: float = 1.0


CHOICES = tuple(
    Shrinkage(shape, unseen)
    for shape in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, POOLED)
    for unseen in (0.5, 1.0, 1.5)
)
"""Trust in the unseen ends at 1.5: where volumes differ much, likelihood rises with more of it, but utility falls."""


@dataclass(frozen=True)
class Beliefs:
    """What the log makes us believe of the pairs before their own clicks are looked at, and those clicks."""

    clicks: Floats
    relevance: Floats
    volume: Floats
    """Of each query."""

    def rates(self, pairs: Pairs, shrinkage: Shrinkage) -> Floats:
        """The demand for each pair's document."""
        expected = self.volume[pairs.query]
        share = wanted(self.relevance, expected * pairs.p, shrinkage.shape)
        if shrinkage.shape == POOLED:
            clicked, unclicked = expected, share * expected
        else:
            strength = np.maximum(shrinkage.shape / np.maximum(expected, 1e-12) + pairs.p, 1e-12)
            clicked = (shrinkage.shape + self.clicks) / strength
            unclicked = share * shrinkage.shape / strength
        return np.where(self.clicks > 0, clicked, shrinkage.unseen * unclicked)


def likelihood(rates: Floats, pairs: Pairs, clicks: Floats) -> float:
    """How well rates foretell other clicks: their Poisson log-likelihood per click, at the best common scale.

    It looks at all pairs, so it tells settings apart that the utility of some held-out searches, most of which has few
    clicks behind it, cannot.
    """
    expected = np.maximum(rates * pairs.p, 1e-12)
    total = float(clicks.sum())
    scaled = expected * (total / float(expected.sum()))
    return float(np.sum(clicks * np.log(scaled))) / max(total, 1e-12) - 1.0


def wanted(prior: Floats, expected: Floats, shape: float = POOLED) -> Floats:
    """The probability that a document is wanted that got no click where so many were expected if it were.

    >>> wanted(np.array([0.5, 0.5]), np.array([0.0, 3.0])).round(3).tolist()
    [0.5, 0.047]
    """
    none = np.exp(-expected) if shape == POOLED else (1 + expected / shape) ** -shape
    return prior * none / np.maximum(1 - prior + prior * none, 1e-300)


def believe(
    pairs: Pairs,
    clicks: Floats,
    searches: Floats,
    around: Surroundings,
    *,
    prior: Floats | None = None,
    models: int = MODELS,
    seed: int = 0,
    threads: int = 1,
) -> Beliefs:
    """Learn relevance and volume in turn: each needs the other. `prior` is what relevance was believed to be before."""
    start = _first_volume(pairs, clicks, searches)
    words = lexicon.margins(around.wording, pairs, clicks, start, seed=seed, threads=threads)
    matrix = evidence(pairs, clicks, start, around, words)
    if prior is None:
        prior = relevance.fit(matrix, pairs, clicks, start, rounds=relevance.WARM, seed=seed, threads=threads)
    between = _volume(pairs, clicks, searches, prior, start)
    found = relevance.fit(matrix, pairs, clicks, between, models=models, seed=seed, threads=threads)
    return Beliefs(clicks, found, _volume(pairs, clicks, searches, found, between))


def _first_volume(pairs: Pairs, clicks: Floats, searches: Floats) -> Floats:
    """What the documents with a click say alone: how many *more* clicks they got tells how many to expect.

    With at least one click where v·p are expected, Poisson's mean is v·p / (1 − exp(−v·p)). A query without any click
    is as the others.
    """
    total, shown = float(clicks.sum()), np.where(clicks > 0, searches[pairs.query] * pairs.p, 0.0)
    most = mean = max(total, 1e-12) / max(float(shown.sum()), 1e-12)
    for _ in range(FIRST_STEPS):
        told = np.divide(shown, -np.expm1(-mean * shown), out=np.zeros(len(pairs)), where=shown > 0)
        mean = (total + PSEUDO_CLICKS) / (float(told.sum()) + PSEUDO_CLICKS / most)
    result: Floats = (
        searches * (pairs.of_query(clicks) + PSEUDO_CLICKS) / (pairs.of_query(told) + PSEUDO_CLICKS / mean)
    )
    return result


def _volume(pairs: Pairs, clicks: Floats, searches: Floats, prior: Floats, start: Floats) -> Floats:
    """The volumes that fit the clicks, with the unclicked documents counted by how likely they are wanted."""
    found, of_query = start, pairs.of_query(clicks)
    for _ in range(EM_STEPS):
        share = np.where(clicks > 0, 1.0, wanted(prior, found[pairs.query] * pairs.p))
        found = volume.fit(of_query, pairs.of_query(share * pairs.p), searches).of_query
    return found
