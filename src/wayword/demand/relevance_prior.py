"""Relevance prior: the probability that a document is relevant to a query, before the clicks on the pair are seen.

A relevant document is clicked at least once with probability e = 1 − exp(−query rate · p), an irrelevant one never. So
a pair of prior ρ is clicked with probability ρ·e, and a pair that was hardly examined says little by its missing click:

    log-likelihood = Σ over clicked pairs of log(ρ·e) + Σ over unclicked pairs of log(1 − ρ·e)

Gradient boosted trees over `features` maximise this likelihood, with early stopping on held-out queries. This is
learning from positive and unlabelled examples with known propensities (Bekker, Robberechts and Davis, 2019).

Several models, each trained on its own sample of pairs by one thread, are averaged: the result does not depend on the
number of threads.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wayword.demand.feature_blocks import FeatureBlocks
from wayword.demand.features import monotone_constraints
from wayword.demand.observations import Floats, Observations
from wayword.demand.sampling import sample_pairs
from wayword.numba_jit import compiled

if TYPE_CHECKING:  # importing XGBoost takes long, and who does not train needs none
    import xgboost as xgb

HELD_OUT = 0.15
"""Share of the queries that early stopping uses."""
PATIENCE = 20
MODELS, ROUNDS = 4, 120
"""Number of models that are averaged, and of trees of each."""
SAMPLE = 300_000
"""About this many clicked pairs, and as many others, are drawn for each model."""
TREES = {
    "eta": 0.25,
    "max_depth": 7,
    "min_child_weight": 20,
    "lambda": 30,
    "max_delta_step": 1,
    "max_bin": 64,
    "subsample": 0.7,
    "colsample_bytree": 0.5,
    "tree_method": "hist",
    "nthread": 1,
    "disable_default_eval_metric": 1,
}
"""`max_delta_step`: clicks are rare, so the second derivatives are small and unbounded steps would be too long."""
SKETCHED = 40_000
"""About this many pairs determine the bounds of the bins."""
NEGLIGIBLE = 0.001
"""Pairs whose first model predicts less are not scored by the others: demand drops them in any case."""

Flags = NDArray[np.bool_]
Singles = NDArray[np.float32]


def fit(
    features: FeatureBlocks,
    observations: Observations,
    clicks: Floats,
    query_rate: Floats,
    *,
    models: int = 1,
    rounds: int = ROUNDS,
    seed: int = 0,
    threads: int = 1,
) -> Floats:
    """ρ of every pair: the mean of several models, each learned from a sample of the pairs."""
    import xgboost as xgb

    clicked, examination = clicks > 0, observations.examination(query_rate)
    if not clicked[observations.current_propensity > 0].any():
        return np.zeros(len(observations))
    prior = float(np.clip(clicked.mean(), 1e-6, 0.5))
    parameters = {
        **TREES,
        "base_score": np.log(prior / (1 - prior)),
        "monotone_constraints": monotone_constraints(),
    }

    def train(model: int) -> xgb.Booster:
        rng = np.random.default_rng([seed, model])
        rows, weight = sample_pairs(observations, clicked, examination, rng, most=SAMPLE)
        data = _binned(features.take(rows))
        held_out = _held_out(observations.query[rows], clicked[rows], observations.queries, rng)
        likelihood = Likelihood(clicked[rows], examination[rows], weight, held_out)
        trees = xgb.train(
            {**parameters, "seed": seed + model},
            data,
            rounds,
            obj=likelihood.gradient,
            custom_metric=likelihood.loss,
            evals=[(data, "held_out")],
            early_stopping_rounds=PATIENCE,
            verbose_eval=False,
        )
        best = trees[: trees.best_iteration + 1]
        best.set_param({"nthread": 1})
        return best

    with ThreadPoolExecutor(threads) as pool:
        trained = list(pool.map(train, range(models)))
        relevance = np.zeros(len(observations))
        features.for_each_slice(lambda part: _predict(part, trained), relevance, pool)
        return relevance


def _binned(features: Singles) -> "xgb.QuantileDMatrix":
    """The features in quantile bins, whose bounds come from every n-th row: finding them is slower than using them."""
    import xgboost as xgb

    step = max(len(features) // SKETCHED, 1)
    options = {"nthread": 1, "max_bin": TREES["max_bin"]}
    bins = xgb.QuantileDMatrix(features[::step], **options)
    return bins if step == 1 else xgb.QuantileDMatrix(features, ref=bins, **options)


def _predict(features: Singles, models: "list[xgb.Booster]") -> Floats:
    """The mean probability of the models for each pair."""
    share = _sigmoid(models[0].inplace_predict(features, predict_type="margin"))
    rest = np.flatnonzero(share >= NEGLIGIBLE) if len(models) > 1 else np.zeros(0, np.int64)
    if len(rest):
        chosen = features[rest]
        others = [_sigmoid(model.inplace_predict(chosen, predict_type="margin")) for model in models[1:]]
        share[rest] = np.mean([share[rest], *others], axis=0)
    return share


def _held_out(query: NDArray[np.int32], clicked: Flags, queries: int, rng: np.random.Generator) -> Flags:
    """The pairs of randomly chosen queries, or none if training or validation would have no clicked pair."""
    held_out: Flags = (rng.random(queries) < HELD_OUT)[query]
    enough = clicked[held_out].any() and clicked[~held_out].any()
    return held_out if enough else np.zeros(len(held_out), np.bool_)


class Likelihood:
    """The likelihood above in the form that XGBoost takes. Held-out pairs count in the loss only, the others in the
    gradient only; without held-out pairs all count in both."""

    def __init__(self, clicked: Flags, examination: Floats, weight: Floats, held_out: Flags) -> None:
        self._clicked, self._examination = clicked, examination
        self._training = np.where(held_out, 0.0, weight)
        self._validation = np.where(held_out, weight, 0.0) if held_out.any() else weight

    def gradient(self, margin: NDArray[np.floating], _: "xgb.DMatrix") -> tuple[Singles, Singles]:
        """First derivatives by the margin, and the expected second derivatives (Fisher information)."""
        return _gradient(margin, self._clicked, self._examination, self._training)

    def loss(self, margin: NDArray[np.floating], _: "xgb.DMatrix") -> tuple[str, float]:
        """The mean negative log-likelihood."""
        return "loss", _loss(margin, self._clicked, self._examination, self._validation)


@compiled
def _gradient(
    margin: NDArray[np.floating], clicked: Flags, examination: Floats, weight: Floats
) -> tuple[Singles, Singles]:
    first, second = np.zeros(len(margin), np.float32), np.zeros(len(margin), np.float32)
    for i in range(len(margin)):
        if weight[i] > 0:
            share = 1 / (1 + np.exp(-np.float64(margin[i])))
            unclicked = examination[i] * share * (1 - share) / max(1 - examination[i] * share, 1e-12)
            first[i] = ((share - 1) if clicked[i] else unclicked) * weight[i]
            second[i] = (1 - share) * unclicked * weight[i]
    return first, second


@compiled
def _loss(margin: NDArray[np.floating], clicked: Flags, examination: Floats, weight: Floats) -> float:
    total, weights = 0.0, 0.0
    for i in range(len(margin)):
        if weight[i] > 0:
            click = examination[i] / (1 + np.exp(-np.float64(margin[i])))
            click = min(max(click, 1e-12), 1 - 1e-12)
            total -= weight[i] * (np.log(click) if clicked[i] else np.log1p(-click))
            weights += weight[i]
    return total / weights


def _sigmoid(margin: Singles) -> Floats:
    result: Floats = 1 / (1 + np.exp(-margin.astype(np.float64)))
    return result
