"""Learning the demand: fit on the retriever's split, choose settings on the ranker's split, fit again on both.

The clicks of the ranker's split choose how strongly clicks are shrunk (`Shrinkage`). The first fit is kept for what
else is chosen by held-out clicks: how much context columns say. Both fits share the features, which are computed from
all training clicks: the features of a pair never depend on its own clicks, so the held-out clicks on a pair are not
known to the model that is validated on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wayword.demand import relevance_prior, word_interactions
from wayword.demand.click_data import ClickData
from wayword.demand.feature_blocks import FeatureBlocks
from wayword.demand.observations import Floats, Observations
from wayword.demand.posterior import (
    POOLED,
    Posterior,
    Shrinkage,
    initial_query_rate,
    update_query_rate,
)
from wayword.demand.relevance_prior import MODELS, ROUNDS
from wayword.demand.similarity import Similarity
from wayword.demand.training_data import TrainingData
from wayword.progress import Progress

STEPS = 8
"""Steps of progress that are reported; the last is the caller's."""
UNVALIDATED = Shrinkage(3.0)
"""The shrinkage where there are no held-out clicks to choose it."""
EARLY_MODELS, EARLY_ROUNDS = 2, 80
"""The fit that chooses settings averages fewer models of fewer trees: it compares settings with each other only."""


@dataclass(frozen=True)
class Learned:
    """The demand of each pair, the rate of each query, the report, and the first fit, if there was one."""

    demand: Floats
    query_rate: Floats
    report: Mapping[str, object]
    relevance: Floats
    """The relevance prior of each pair."""
    early: "Learned | None" = None


@dataclass(frozen=True)
class Evidence:
    """The features of every pair, and a first estimate of its relevance by `word_interactions`."""

    features: FeatureBlocks
    relevance: Floats

    @classmethod
    def of(
        cls,
        observations: Observations,
        clicks: Floats,
        searches: Floats,
        similarity: Similarity,
        *,
        folder: Path,
        seed: int = 0,
        threads: int = 1,
    ) -> "Evidence":
        """Compute the features from the clicks of each pair and the number of searches of each query.

        Those of many pairs are stored in `folder`.
        """
        rate = initial_query_rate(observations, clicks, searches)
        interactions = word_interactions.log_odds(
            similarity.text_match, observations, clicks, rate, seed=seed, threads=threads
        )
        data = ClickData.of(observations, clicks, rate, similarity, interactions, threads=threads)
        relevance = 1 / (1 + np.exp(-interactions)) if clicks.any() else np.zeros(len(observations))
        return cls(FeatureBlocks.of(data, folder, threads=threads), relevance)


def from_judgments(data: TrainingData, observations: Observations) -> Learned:
    """Graded judgments are the demand; nothing is learned."""
    gains = observations.clicks(data.clicks_of("retriever", "ranker"))
    return Learned(gains, np.zeros(observations.queries), {}, np.zeros(len(observations)))


def from_clicks(
    data: TrainingData,
    observations: Observations,
    *,
    folder: Path,
    seed: int,
    threads: int,
    progress: Progress,
) -> Learned:
    """Fit on the retriever's split, choose settings on the ranker's split, and fit again on both.

    `folder` is for features that are larger than memory.
    """
    similarity = Similarity.of(data.texts, data.names, data.titles, observations, threads=threads)
    progress.advance(1, STEPS)
    clicks, recency = _clicks(observations, data, "retriever", "ranker")
    searches = data.searches_of("retriever", "ranker")
    evidence = Evidence.of(
        observations, clicks, searches, similarity, folder=folder, seed=seed, threads=threads
    )
    progress.advance(3, STEPS)
    relevance, shrinkage = evidence.relevance, UNVALIDATED
    first, report = None, dict[str, object]()
    early_clicks, early_recency = _clicks(observations, data, "retriever")
    if data.held_out.num_rows and early_clicks.any():
        early = fit_posterior(
            evidence.features,
            observations,
            early_clicks,
            data.searches_of("retriever"),
            prior=relevance,
            recency=early_recency,
            models=EARLY_MODELS,
            rounds=EARLY_ROUNDS,
            seed=seed,
            threads=threads,
        )
        progress.advance(5, STEPS)
        validation = early.log_likelihoods(observations, observations.clicks(data.clicks_of("ranker")))
        relevance, shrinkage = early.relevance, max(validation, key=lambda choice: validation[choice])
        first = Learned(early.demand(observations, shrinkage), early.query_rate, {}, early.relevance)
        report = {
            "shrinkage": as_json(shrinkage),
            "validation": [{**as_json(choice), "likelihood": v} for choice, v in validation.items()],
        }
    final = fit_posterior(
        evidence.features,
        observations,
        clicks,
        searches,
        prior=relevance,
        recency=recency,
        seed=seed,
        threads=threads,
    )
    demand = final.demand(observations, shrinkage)
    return Learned(demand, final.query_rate, report, final.relevance, first)


def from_relevance(
    data: TrainingData, observations: Observations, relevance: Floats, shrinkage: Shrinkage
) -> Learned:
    """The posterior of other clicks with a relevance prior and a shrinkage that were learned before."""
    clicks = observations.clicks(data.clicks_of("retriever", "ranker"))
    searches = data.searches_of("retriever", "ranker")
    rate = initial_query_rate(observations, clicks, searches)
    for _ in range(2):
        rate = update_query_rate(observations, clicks, searches, relevance, rate)
    demand = Posterior(clicks, relevance, rate).demand(observations, shrinkage)
    return Learned(demand, rate, {"shrinkage": as_json(shrinkage)}, relevance)


def fit_posterior(
    features: FeatureBlocks,
    observations: Observations,
    clicks: Floats,
    searches: Floats,
    *,
    prior: Floats,
    recency: Floats | float = 1.0,
    models: int = MODELS,
    rounds: int = ROUNDS,
    seed: int = 0,
    threads: int = 1,
) -> Posterior:
    """Estimate query rates and relevance in turn, because each needs the other; `prior` is an earlier relevance,
    `recency` that of the newest click of each pair."""
    start = initial_query_rate(observations, clicks, searches)
    rate = update_query_rate(observations, clicks, searches, prior, start)
    relevance = relevance_prior.fit(
        features, observations, clicks, rate, models=models, rounds=rounds, seed=seed, threads=threads
    )
    rate = update_query_rate(observations, clicks, searches, relevance, rate)
    return Posterior(clicks, relevance, rate, recency)


def _clicks(observations: Observations, data: TrainingData, *splits: str) -> tuple[Floats, Floats]:
    """The weight of the clicks on each pair, and the recency of the newest."""
    clicked = data.clicks_of(*splits)
    return observations.clicks(clicked), observations.clicks(clicked, of="recency")


def as_json(shrinkage: Shrinkage) -> dict[str, float | str]:
    """Plain values, for a report."""
    return {"shape": "pooled" if shrinkage.shape == POOLED else shrinkage.shape, "unseen": shrinkage.unseen}


def shrinkage_of(report: Mapping[str, Any]) -> Shrinkage:
    """The shrinkage that a report names; a log without held-out clicks has the one that `from_clicks` takes then.

    >>> shrinkage_of({"shrinkage": {"shape": "pooled", "unseen": 1.5}}), shrinkage_of({})
    (Shrinkage(shape=inf, unseen=1.5), Shrinkage(shape=3.0, unseen=1.0))
    """
    known = report.get("shrinkage")
    if known is None:
        return UNVALIDATED
    return Shrinkage(POOLED if known["shape"] == "pooled" else float(known["shape"]), float(known["unseen"]))
