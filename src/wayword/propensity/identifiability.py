"""What impressions can tell about ranks: a table that cannot tell them apart is refused in one sentence, which says
what was found, what was expected and what to do."""

import numpy as np

from wayword.errors import LogError
from wayword.propensity.rank_groups import nearest, rank_groups, spans
from wayword.propensity.strata import Flags, Impressions, Integers, Period, Strata

LEAST_CLICKS = 5
"""A rank with fewer clicks on results that were shown at other ranks too has no estimate of its own."""
APART, APART_TOGETHER = 0.05, 1 / 3
"""A group of ranks that is not joined with rank 1 may have this share of the clicks, and all such groups that share."""
ENOUGH_SEARCHES = 50
"""A table of fewer searches may have a click in each by chance."""
CLICKED_SEARCHES = 0.98
"""A larger share of searches with a click means that the others were left out."""
WHOLE = '`--period none` or [propensity] period = "none" looks at all'
PLAN = "`wayword propensity plan` says which ranks to swap"
ASSUME = (
    'or set [propensity] source = "power", and `wayword evaluate` says whether its verdict depends on alpha'
)


def check_clicks(data: Impressions) -> None:
    """Raise `LogError` for a table without clicks, or without what was not clicked."""
    strata, searches = data.strata, len(data.rows)
    impressions, clicks = int(strata.shown.sum()), int(strata.clicked.sum())
    if searches == 1:
        raise LogError(
            f"Found one search with {impressions:,} impressions; expected many searches: export those of some weeks."
        )
    if not clicks:
        raise LogError(
            f"Found no click in {impressions:,} impressions; expected some, as propensities are learned from which "
            "ranks are clicked: check the column `clicked`."
        )
    if clicks == impressions:
        raise LogError(
            f"Found {clicks:,} clicks and no impression without a click; expected everything that each search showed: "
            f"export the results that were not clicked too, {ASSUME}."
        )
    some = clicked_searches(data)
    if searches >= ENOUGH_SEARCHES and some.mean() > CLICKED_SEARCHES:
        raise LogError(
            f"Found a click in {some.sum():,} of {searches:,} searches; expected also the searches without a click, as "
            "among clicked searches alone a result counts as seen more often where it was clicked, which hides how "
            f"ranks differ: export the impressions of all searches, {ASSUME}."
        )


def check(data: Impressions, period: Period = "none") -> None:
    """Raise `LogError` for a table that says nothing about ranks."""
    check_clicks(data)
    check_first(data.strata)
    strata = data.strata
    at_rank = strata.by_rank(strata.clicked)
    if np.count_nonzero(at_rank) == 1:
        clicks = int(strata.clicked.sum())
        every = "the only click" if clicks == 1 else f"all {clicks:,} clicks"
        raise LogError(
            f"Found {every} at rank {strata.ranks[at_rank.argmax()]}; expected clicks at several ranks: check that "
            f"`rank` is the position at which the clicked result was shown, {ASSUME}."
        )
    if not strata.moved().any():
        within = "" if period == "none" or data.days is None else f" within a {period} ({WHOLE})"
        raise LogError(
            f"Found no query with a document that was shown at two ranks{within}; expected some, as position and "
            f"relevance cannot be told apart without rank changes: {PLAN}, {ASSUME}."
        )


def check_first(strata: Strata) -> None:
    """Raise `LogError` if nothing was shown at rank 1."""
    if strata.ranks[0] != 1:
        raise LogError(
            f"Found ranks from {strata.ranks[0]} on; expected rank 1 too, as p[1] = 1: check `rank`, and "
            "`--first-rank`."
        )


def clicked_searches(data: Impressions) -> Flags:
    """Whether each search has a click."""
    return np.bincount(data.rows.search, data.rows.clicked, len(data.rows)) > 0


def joined(data: Impressions, period: Period = "none") -> Impressions:
    """The informative strata at the ranks that they join with rank 1; raise `LogError` if important ranks are apart."""
    found = data.informative()
    _check_groups(data.strata, rank_groups(found.strata), _within(data, period))
    while True:
        strata = found.strata
        kept = np.intersect1d(
            rank_groups(strata)[0], strata.ranks[strata.by_rank(strata.clicked) >= LEAST_CLICKS]
        )
        if len(kept) == len(strata.ranks):
            return found
        if len(kept) < 2 or kept[0] != 1:
            raise LogError(
                f"Found {data.informative().strata.clicked.sum():,.0f} clicks on results that were shown at several "
                f"ranks; expected {LEAST_CLICKS} or more at rank 1 and at each other rank that is compared with it: "
                f"collect more searches ({PLAN}, and how long), {ASSUME}."
            )
        found = found.at(kept).informative()


def _within(data: Impressions, period: Period) -> str:
    """In words, where ranks were compared within a period."""
    return "" if period == "none" or data.days is None else f" within a {period} ({WHOLE})"


def _check_groups(strata: Strata, groups: list[Integers], within: str) -> None:
    """Refuse ranks in several groups, naming the pairs of ranks that would join them."""
    clicks = strata.by_rank(strata.clicked)[np.searchsorted(strata.ranks, np.concatenate(groups))]
    starts = np.cumsum([0, *map(len, groups[:-1])])
    shares = np.add.reduceat(clicks, starts)[1:] / clicks.sum()
    if shares.max(initial=0) <= APART and shares.sum() <= APART_TOGETHER:
        return
    apart = sorted(groups[1:11], key=lambda group: int(group[0]))
    pairs = ", ".join("{} and {}".format(*nearest(groups[0], group)) for group in apart)
    named = "; ".join(spans(group) for group in [groups[0], *apart][:6])
    more = f"; and {len(groups) - 6:,} more" if len(groups) > 6 else ""
    raise LogError(
        f"Found ranks in {len(groups):,} groups that no clicked result joins{within} ({named}{more}); expected each "
        f"rank to be joined with rank 1: collect results that were shown, and clicked, at both ranks of {pairs} "
        f"({PLAN}, and how long), {ASSUME}."
    )
