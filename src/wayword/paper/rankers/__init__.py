"""Rankers order candidates. Heavy packages are imported when a ranker is fitted or loaded."""

from wayword.paper.rankers.boosted import BoostedRanker
from wayword.paper.rankers.linear import LinearRanker
from wayword.paper.rankers.ranker import Examples, Ranker, reorder

RANKERS: dict[str, type[Ranker]] = {"xgboost": BoostedRanker, "linear": LinearRanker}

__all__ = ["RANKERS", "BoostedRanker", "Examples", "LinearRanker", "Ranker", "reorder"]
