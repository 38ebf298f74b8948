"""Which queries may be shown. What is not shown still tells what people want: it stays in the model.

Not shown are queries that are searched too seldom or return too few documents, whose spellings are all markup or code,
and those of the block list. (Personal data and queries of few users are not even kept: see `privacy_filter` and
`anonymous_demand`.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.index.block_list import BlockList
from wayword.rankings.display_form import has_markup

AUTOMATIC_LEAST, AUTOMATIC_SHARE = 2, 0.9
"""With `min_searches` = 0, queries searched once are not shown if the others have at least this share of searches."""
FEW_SEARCHES, FEW_RESULTS, MARKUP, BLOCKED = "few searches", "few results", "markup or code", "blocked"


@dataclass(frozen=True)
class Showable:
    """The `mask` of the queries that may be shown, and how many others there are by reason, each counted once."""

    mask: NDArray[np.bool_]
    withheld: dict[str, int]

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        spellings: Sequence[str | None],
        searches: NDArray[np.int64],
        results: NDArray[np.int64],
        *,
        min_searches: int = 1,
        min_results: int = 1,
        block: BlockList | None = None,
    ) -> "Showable":
        """Decide for normalised texts, with a spelling as typed, the number of searches and of returned documents.

        A query that nobody searched (the rankings have it) is exempt from `min_searches`: the team put it there.

        >>> texts, raw = ["tv", "b tv", "lamp"], ["TV", "<b>tv", "lamp"]
        >>> found = Showable.of(texts, raw, np.array([9, 9, 1]), np.array([5, 5, 5]), min_searches=2)
        >>> found.mask.tolist(), found.withheld
        ([True, False, False], {'few searches': 1, 'markup or code': 1})
        """
        blocked = np.zeros(len(texts), bool)
        blocked[(block or BlockList()).places(texts)] = True
        markup = np.fromiter((has_markup(raw or "") for raw in spellings), bool, len(texts))
        reasons = {
            BLOCKED: blocked,
            MARKUP: markup,
            FEW_RESULTS: (results > 0) & (results < min_results),
            FEW_SEARCHES: (searches > 0) & (searches < min_searches),
        }
        mask, counts = np.ones(len(texts), bool), {}
        for reason, bad in reasons.items():
            counts[reason] = int((bad & mask).sum())
            mask &= ~bad
        return cls(mask, {reason: n for reason, n in sorted(counts.items()) if n})


def least_searches(searches: NDArray[np.int64], asked: int) -> int:
    """The number of searches that a shown query has at least: as asked for, or chosen for the log if that is 0.

    >>> least_searches(np.array([50, 40, 5, 5]), 0), least_searches(np.array([3, 1, 1, 1]), 0)
    (2, 1)
    """
    if asked:
        return asked
    often = searches[searches >= AUTOMATIC_LEAST].sum()
    return AUTOMATIC_LEAST if often >= AUTOMATIC_SHARE * max(int(searches.sum()), 1) else 1
