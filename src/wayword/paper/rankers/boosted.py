"""Boosted trees with XGBoost's pairwise objective: the paper's ranker (depth 8, 200 rounds, else defaults).

With `patience`, which the paper does not have, boosting stops at the best utility of held-out contexts: the later
trees of 200 fit the noise of the labels (docs/design/2026-11-17-demo-time.md).

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
from wayword.paper.rankers.early_stopping import HeldOutUtility, held_out_groups
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
        """Boost at most `config.rounds` trees; `progress` counts them.

        If no group has two different labels, all scores are equal.
        """
        import xgboost

        held_out = held_out_groups(examples, config.seed) & (config.patience > 0)
        stopped = held_out.any()
        training = examples.of_groups(~held_out) if stopped else examples
        data = xgboost.QuantileDMatrix(
            training.features,
            label=training.labels,
            weight=training.weights,
            group=training.sizes,
            nthread=threads,
        )
        parameters = {
            "objective": "rank:pairwise",
            "tree_method": "hist",
            "max_depth": config.depth,
            "seed": config.seed,
            "nthread": threads,
            "disable_default_eval_metric": 1,
        }
        options: dict[str, Any] = {"callbacks": [_reporter(config.rounds, progress)]}
        if stopped:
            options |= _stopping(examples.of_groups(held_out), config.patience, data, threads)
        booster = xgboost.train(parameters, data, num_boost_round=config.rounds, **options)
        if stopped:
            booster = booster[: booster.best_iteration + 1]
            booster.set_param({"nthread": threads})
            progress.advance(config.rounds, config.rounds)
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


def _stopping(held_out: Examples, patience: int, data: Any, threads: int) -> dict[str, Any]:
    """Return the options of `xgboost.train` that stop at the best utility of held-out examples."""
    import xgboost

    utility = HeldOutUtility(held_out)
    return {
        "evals": [(xgboost.QuantileDMatrix(held_out.features, ref=data, nthread=threads), "held_out")],
        "custom_metric": lambda scores, _: ("utility", utility(scores)),
        "maximize": True,
        "early_stopping_rounds": patience,
        "verbose_eval": False,
    }


def _reporter(rounds: int, progress: Progress) -> Any:
    from xgboost.callback import TrainingCallback

    class Progress(TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:  # noqa: ARG002
            progress.advance(epoch + 1, rounds)
            return False

    return Progress()
