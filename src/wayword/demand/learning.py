"""Learning the demand: fit on the retriever's split, choose settings on the ranker's split, fit again on both.

The clicks of the ranker's split choose how strongly clicks are shrunk (`Shrinkage`). The final fit uses the clicks of
both splits. The early fit is kept for what else is chosen by held-out clicks: how much context columns say.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from wayword.demand.known import Known
from wayword.demand.pairs import Floats, Pairs
from wayword.demand.rates import CHOICES, POOLED, Shrinkage, believe, likelihood
from wayword.demand.surroundings import Surroundings
from wayword.progress import Progress

STEPS = 8
"""Steps of progress that are reported; the last is the caller's."""

Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class Learned:
    """The demand of each pair, the volume of each query, the report, and the same of the retriever's split alone."""

    rates: Floats
    volume: Floats
    report: Mapping[str, object]
    early: "Learned | None" = None


def from_judgments(known: Known, pairs: Pairs) -> Learned:
    """Graded judgments are the demand; nothing is learned."""
    gains = pairs.clicks(known.clicks_of("retriever", "ranker"))
    return Learned(gains, np.zeros(pairs.queries), {})


def from_clicks(known: Known, pairs: Pairs, *, seed: int, threads: int, progress: Progress) -> Learned:
    """Fit on the retriever's split, choose settings on the ranker's split, and fit again on both."""
    around = Surroundings.of(known.texts, known.names, known.titles, pairs)
    progress.advance(1, STEPS)
    early, first, chosen, report = None, None, Shrinkage(3.0), dict[str, object]()
    if known.held.num_rows and known.clicks_of("retriever").num_rows:
        clicks, searches = pairs.clicks(known.clicks_of("retriever")), known.issued("retriever")
        early = believe(pairs, clicks, searches, around, models=1, seed=seed, threads=threads)
        progress.advance(3, STEPS)
        later = pairs.clicks(known.clicks_of("ranker"))
        told = {choice: likelihood(early.rates(pairs, choice), pairs, later) for choice in CHOICES}
        chosen = max(told, key=lambda choice: told[choice])
        first = Learned(early.rates(pairs, chosen), early.volume, {})
        report = {
            "shrinkage": _as_json(chosen),
            "validation": [{**_as_json(choice), "likelihood": value} for choice, value in told.items()],
        }
    found = believe(
        pairs,
        pairs.clicks(known.clicks_of("retriever", "ranker")),
        known.issued("retriever", "ranker"),
        around,
        prior=early.relevance if early else None,
        seed=seed,
        threads=threads,
    )
    return Learned(found.rates(pairs, chosen), found.volume, report, first)


def _as_json(shrinkage: Shrinkage) -> dict[str, float | str]:
    return {"shape": "pooled" if shrinkage.shape == POOLED else shrinkage.shape, "unseen": shrinkage.unseen}
