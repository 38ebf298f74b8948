"""Boosted trees with XGBoost's pairwise objective: the paper's ranker (depth 8, 200 rounds, else defaults).

The defaults of XGBoost 3: `lambdarank_pair_method = topk` with 32 pairs per sample, that is, the first 32
candidates of the model are compared with all others; gradients are normalised per group; there is no correction
for position bias (the labels are corrected already). The objective ignores the size of a difference in utility.
The saved model was the same, byte for byte, for 1 and 2 threads.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.config import RankerConfig
from wayword.errors import WorkspaceError
from wayword.paper.rankers.ranker import Examples
from wayword.progress import SILENT, Progress

MODEL = "model.ubj"


@dataclass(frozen=True)
class BoostedRanker:
    """An XGBoost model."""

    booster: Any

    @classmethod
    def fit(
        cls, examples: Examples, config: RankerConfig, *, threads: int = 1, progress: Progress = SILENT
    ) -> "BoostedRanker":
        """Boost `config.rounds` trees; `progress` counts them.

        If no group has two different labels, all scores are equal.
        """
        import xgboost

        data = xgboost.QuantileDMatrix(
            examples.features,
            label=examples.labels,
            weight=examples.weights,
            group=examples.sizes,
            nthread=threads,
        )
        parameters = {
            "objective": "rank:pairwise",
            "tree_method": "hist",
            "max_depth": config.depth,
            "seed": config.seed,
            "nthread": threads,
        }
        callbacks = [_reporter(config.rounds, progress)]
        booster = xgboost.train(parameters, data, num_boost_round=config.rounds, callbacks=callbacks)
        return cls(booster)

    def score(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Sum the leaves of the trees for each row, in the order of the trees."""
        if not len(features):
            return np.zeros(0, dtype=np.float32)
        scores = self.booster.inplace_predict(np.ascontiguousarray(features, dtype=np.float32))
        return np.asarray(scores, dtype=np.float32)

    def save(self, folder: Path) -> None:
        """Write the model as XGBoost's binary JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        self.booster.save_model(folder / MODEL)

    @classmethod
    def load(cls, folder: Path, *, threads: int = 1) -> "BoostedRanker":
        """Read the model; `threads` is the number of threads for scoring."""
        import xgboost

        booster = xgboost.Booster()
        try:
            booster.load_model(folder / MODEL)
        except (xgboost.core.XGBoostError, ValueError) as problem:
            reason = str(problem).strip().splitlines()[0]
            raise WorkspaceError(
                f"Cannot read {folder / MODEL}: {reason}. Train the ranker again."
            ) from problem
        booster.set_param({"nthread": threads})
        return cls(booster)


def _reporter(rounds: int, progress: Progress) -> Any:
    from xgboost.callback import TrainingCallback

    class Progress(TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:  # noqa: ARG002
            progress.advance(epoch + 1, rounds)
            return False

    return Progress()
