"""Rankers: candidates → order. Nothing heavy is imported before one is fitted or loaded."""

from wayword.ranking.boosted import BoostedRanker
from wayword.ranking.linear import LinearRanker
from wayword.ranking.ranker import Examples, Progress, Ranker, reorder

RANKERS: dict[str, type[Ranker]] = {"xgboost": BoostedRanker, "linear": LinearRanker}

__all__ = ["RANKERS", "BoostedRanker", "Examples", "LinearRanker", "Progress", "Ranker", "reorder"]
