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
from wayword.demand.pairs import Floats, Pairs

UNCLICKED = 1_200_000
"""So many pairs without a click are learned from; fewer stand for more."""
HELD_OUT = 0.15
PATIENCE = 20
ROUNDS, WARM = 200, 40
TREES = {
    "eta": 0.15,
    "max_depth": 6,
    "min_child_weight": 20,
    "lambda": 10,
    "subsample": 0.7,
    "colsample_bytree": 0.5,
    "tree_method": "hist",
    "monotone_constraints": "(" + ",".join(str(int(name in RISING)) for name in NAMES) + ")",
    "disable_default_eval_metric": 1,
}
AT_ONCE = 1 << 20
FEW = 100_000
"""Up to so many examples, one thread is quicker than several that wait for each other."""


def fit(
    evidence: NDArray[np.float32],
    pairs: Pairs,
    clicks: Floats,
    volume: Floats,
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
    threads: int = 1,
) -> Floats:
    """ρ of every pair."""
    clicked = clicks > 0
    if not clicked.any():
        return np.zeros(len(pairs))
    rng = np.random.default_rng(seed)
    share = min(1.0, UNCLICKED / max(len(pairs) - int(clicked.sum()), 1))
    chosen = clicked | (rng.random(len(pairs)) < share)
    held = chosen & (rng.random(pairs.queries) < HELD_OUT)[pairs.query]
    could = -np.expm1(-volume[pairs.query] * pairs.p)
    weight = np.where(clicked, 1.0, 1.0 / share)
    prior = float(np.clip(clicked.mean(), 1e-6, 0.5))
    parts = [np.flatnonzero(chosen & ~held), np.flatnonzero(held)]
    if not len(parts[1]) or not clicked[parts[1]].any() or not clicked[parts[0]].any():
        parts = [np.flatnonzero(chosen)] * 2
    learned, judged = (_Likelihood(clicked[rows], could[rows], weight[rows]) for rows in parts)
    data = [xgb.DMatrix(evidence[rows], label=clicked[rows]) for rows in parts]
    found = xgb.train(
        {
            **TREES,
            "base_score": np.log(prior / (1 - prior)),
            "seed": seed,
            "nthread": threads if len(parts[0]) > FEW else 1,
        },
        data[0],
        rounds,
        obj=learned.slopes,
        custom_metric=judged.loss,
        evals=[(data[1], "held_out")],
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    trees = (0, found.best_iteration + 1)
    margins = [
        found.inplace_predict(evidence[first : first + AT_ONCE], iteration_range=trees, predict_type="margin")
        for first in range(0, len(evidence), AT_ONCE)
    ]
    return _share(np.concatenate(margins).astype(np.float64))


class _Likelihood:
    """The likelihood above over some rows, as XGBoost asks for it."""

    def __init__(self, clicked: NDArray[np.bool_], could: Floats, weight: Floats) -> None:
        self._clicked, self._could, self._weight = clicked, could, weight

    def slopes(
        self, margin: NDArray[np.floating], _: xgb.DMatrix
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """First derivatives by the margin, and a bound of the second that keeps steps short."""
        share = _share(margin.astype(np.float64))
        unclicked = self._could * share * (1 - share) / np.maximum(1 - self._could * share, 1e-12)
        first = np.where(self._clicked, share - 1, unclicked) * self._weight
        second = np.maximum(share * (1 - share) * self._weight, 1e-6)
        return first.astype(np.float32), second.astype(np.float32)

    def loss(self, margin: NDArray[np.floating], _: xgb.DMatrix) -> tuple[str, float]:
        """The mean negative log-likelihood."""
        seen = np.clip(self._could * _share(margin.astype(np.float64)), 1e-12, 1 - 1e-12)
        likelihood = np.where(self._clicked, np.log(seen), np.log1p(-seen))
        return "loss", float(-np.average(likelihood, weights=self._weight))


def _share(margin: Floats) -> Floats:
    result: Floats = 1 / (1 + np.exp(-margin))
    return result
