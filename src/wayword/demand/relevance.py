"""Relevance: how likely a query's people want a document, before the clicks on this very pair are looked at.

A wanted document is clicked at all with probability e = 1 − exp(−volume · p), one that is not wanted never. So of the
pair with prior ρ the log says "clicked" with probability ρ·e, and what was hardly ever looked at hardly speaks against:

    log-likelihood = Σ over clicked pairs of log(ρ·e) + Σ over the others of log(1 − ρ·e)

Boosted trees over `evidence` maximise this, exactly, and stop where held-out queries no longer gain. Known as learning
from positive and unlabelled examples with known propensities (Bekker, Robberechts and Davis, 2019).
"""

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from wayword.demand.evidence import NAMES, RISING
from wayword.demand.examples import examples
from wayword.demand.pairs import Floats, Pairs

HELD_OUT = 0.15
PATIENCE = 20
ROUNDS, WARM = 150, 40
TREES = {
    "eta": 0.2,
    "max_depth": 7,
    "min_child_weight": 20,
    "lambda": 30,
    "max_delta_step": 1,
    "subsample": 0.7,
    "colsample_bytree": 0.5,
    "tree_method": "hist",
    "monotone_constraints": "(" + ",".join(str(int(name in RISING)) for name in NAMES) + ")",
    "disable_default_eval_metric": 1,
}
"""`max_delta_step`: clicks are rare, so curvatures are small where they are, and steps would be far too long."""
AT_ONCE = 1 << 20
FEW = 100_000
"""Up to so many examples, one thread is quicker than several that wait for each other."""


def fit(
    evidence: NDArray[np.float32],
    pairs: Pairs,
    clicks: Floats,
    volume: Floats,
    *,
    models: int = 1,
    rounds: int = ROUNDS,
    seed: int = 0,
    threads: int = 1,
) -> Floats:
    """ρ of every pair, the mean of several models: each stops by other queries."""
    could = -np.expm1(-volume[pairs.query] * pairs.p)
    rows, weight = examples(pairs, clicks > 0, could, np.random.default_rng(seed))
    clicked, could = clicks[rows] > 0, could[rows]
    if not clicked.any():
        return np.zeros(len(pairs))
    prior = float(np.clip((clicks > 0).mean(), 1e-6, 0.5))
    nthread = threads if len(rows) > FEW else 1
    data = xgb.QuantileDMatrix(evidence[rows], nthread=nthread)
    found = np.zeros(len(pairs))
    for model in range(models):
        held = _held_out(pairs.query[rows], clicked, pairs.queries, np.random.default_rng([seed, model]))
        likelihood = _Likelihood(clicked, could, weight, held)
        trees = xgb.train(
            {
                **TREES,
                "base_score": np.log(prior / (1 - prior)),
                "seed": seed + model,
                "nthread": nthread,
            },
            data,
            rounds,
            obj=likelihood.slopes,
            custom_metric=likelihood.loss,
            evals=[(data, "held_out")],
            early_stopping_rounds=PATIENCE,
            verbose_eval=False,
        )
        for first in range(0, len(evidence), AT_ONCE):
            margin = trees.inplace_predict(
                evidence[first : first + AT_ONCE],
                iteration_range=(0, trees.best_iteration + 1),
                predict_type="margin",
            )
            found[first : first + AT_ONCE] += _share(margin.astype(np.float64)) / models
    return found


def _held_out(
    query: NDArray[np.int32], clicked: NDArray[np.bool_], queries: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """The pairs of some queries, or none where too little would be left to learn or to judge from."""
    held: NDArray[np.bool_] = (rng.random(queries) < HELD_OUT)[query]
    enough = clicked[held].any() and clicked[~held].any()
    return held if enough else np.zeros(len(held), np.bool_)


class _Likelihood:
    """The likelihood above, as XGBoost asks for it: all but the held-out pairs are learned from, those judge."""

    def __init__(
        self, clicked: NDArray[np.bool_], could: Floats, weight: Floats, held: NDArray[np.bool_]
    ) -> None:
        self._clicked, self._could = clicked, could
        self._learned = np.where(held, 0.0, weight)
        self._judged = np.where(held, weight, 0.0) if held.any() else weight

    def slopes(
        self, margin: NDArray[np.floating], _: xgb.DMatrix
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """First derivatives by the margin, and the expected second ones (Fisher's information)."""
        share = _share(margin.astype(np.float64))
        unclicked = self._could * share * (1 - share) / np.maximum(1 - self._could * share, 1e-12)
        first = np.where(self._clicked, share - 1, unclicked) * self._learned
        second = (1 - share) * unclicked * self._learned
        return first.astype(np.float32), second.astype(np.float32)

    def loss(self, margin: NDArray[np.floating], _: xgb.DMatrix) -> tuple[str, float]:
        """The mean negative log-likelihood."""
        seen = np.clip(self._could * _share(margin.astype(np.float64)), 1e-12, 1 - 1e-12)
        likelihood = np.where(self._clicked, np.log(seen), np.log1p(-seen))
        return "loss", float(-np.average(likelihood, weights=self._judged))


def _share(margin: Floats) -> Floats:
    result: Floats = 1 / (1 + np.exp(-margin))
    return result
