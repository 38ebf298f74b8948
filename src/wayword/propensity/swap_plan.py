"""Which ranks to swap, in which share of the traffic and for how long, so that a log tells how ranks differ.

In a swap experiment of ranks a and b, the two results change places in half of the searches, drawn at random. Both
ranks then show results of the same mean relevance (γ_a + γ_b) / 2: p_b / p_a is the ratio of their clicks. N searches
give N p_a (γ_a + γ_b) / 2 clicks at a, and likewise at b, with

    Var log(p_b / p_a) ≤ 1 / clicks at a + 1 / clicks at b,

with equality where clicks are rare. γ_k is the click rate at rank k over p_k, where p_k is unknown: a power law is
assumed. For an interval of p_b / p_a within ± w, N is such that 1.96 times the standard error is log(1 + w).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from wayword.errors import LogError
from wayword.propensity.identifiability import LEAST_CLICKS, check_clicks, check_first
from wayword.propensity.power_law import power_law
from wayword.propensity.rank_groups import rank_groups
from wayword.propensity.strata import Floats, Impressions, Integers

DEPTH = 10
"""Deeper ranks are not planned for: they have the power law that is fitted to the others."""


@dataclass(frozen=True)
class Wanted:
    """The interval of p that is wanted, the share of the traffic for the experiment, and the assumed power law."""

    precision: float = 0.1
    share: float = 0.05
    alpha: float = 1.0
    level: float = 0.95

    @property
    def variance(self) -> float:
        """That of log p."""
        return float((np.log1p(self.precision) / ndtri((1 + self.level) / 2)) ** 2)


@dataclass(frozen=True)
class Swap:
    """A pair of ranks to swap: the searches needed in its experiment, and its share of all traffic."""

    upper: int
    lower: int
    searches: float
    share: float


@dataclass(frozen=True)
class SwapPlan:
    """The pairs to swap, and how much traffic passes until they have enough searches."""

    groups: list[Integers]
    """Ranks that are joined; the first group has rank 1."""
    swaps: list[Swap]
    wanted: Wanted
    traffic: float
    """Searches of the whole site in the meantime."""
    per_day: float | None
    """Searches per day in the log, which counts as one day at least; None where it has no times."""

    @property
    def days(self) -> float | None:
        """How long it takes."""
        return None if self.per_day is None else self.traffic / self.per_day

    def as_object(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "groups": [group.tolist() for group in self.groups],
            "swaps": [vars(swap) for swap in self.swaps],
            "precision": self.wanted.precision,
            "share": self.wanted.share,
            "alpha_assumed": self.wanted.alpha,
            "traffic": self.traffic,
            "per_day": self.per_day,
            "days": self.days,
        }


def plan(data: Impressions, wanted: Wanted) -> SwapPlan:
    """Choose, for each group of ranks not joined with rank 1, the pair that needs the fewest searches."""
    check_clicks(data)
    check_first(data.strata)
    strata, searches = data.strata, len(data.rows)
    if len(strata.ranks) == 1:
        raise LogError(
            "Found results at rank 1 only; expected what searches showed further down too. Check that `rank` is the "
            "position at which a result was shown."
        )
    clicks = int(strata.clicked.sum())
    if clicks < LEAST_CLICKS:
        raise LogError(
            f"Found {clicks} click{'s' * (clicks > 1)}; expected {LEAST_CLICKS} or more. How long an experiment takes "
            "is calculated from click rates: collect more searches first."
        )
    groups = rank_groups(data.informative().strata)
    candidate = np.isin(strata.ranks, groups[0]) | (strata.ranks <= DEPTH)
    ranks = strata.ranks[candidate]
    p = power_law(ranks, alpha=wanted.alpha)
    shown = strata.by_rank(strata.shown)[candidate]
    relevance = strata.by_rank(strata.clicked)[candidate] / np.maximum(shown, 1) / p
    needed = searches_needed(p, relevance, wanted) / (np.minimum.outer(shown, shown) / searches)
    chosen = []
    for group in groups[1:]:
        if (near := group[group <= DEPTH]).size:
            of_pair = needed[np.ix_(np.isin(ranks, groups[0]), np.isin(ranks, near))]
            i, j = np.unravel_index(int(of_pair.argmin()), of_pair.shape)
            chosen.append((int(groups[0][i]), int(near[j]), float(of_pair[i, j])))
    total = sum(traffic for *_, traffic in chosen)
    reach = dict(zip(ranks.tolist(), (shown / searches).tolist(), strict=True))
    swaps = [
        Swap(min(a, b), max(a, b), traffic * min(reach[a], reach[b]), wanted.share * traffic / total)
        for a, b, traffic in sorted(chosen, key=lambda swap: swap[1])
    ]
    per_day = None if data.days is None else searches / max(data.days, 1.0)
    return SwapPlan(groups, swaps, wanted, total / wanted.share, per_day)


def searches_needed(p: Floats, relevance: Floats, wanted: Wanted) -> Floats:
    """Searches in the experiment of each pair of ranks.

    At p = 1 and 1/2 with relevance 0.1 and 0.3, a search gives 0.2 clicks at the first rank and 0.1 at the second:

    >>> wanted = Wanted(precision=0.1)
    >>> needed = searches_needed(np.array([1, 1 / 2]), np.array([0.1, 0.3]), wanted)[0, 1]
    >>> round(float(needed * wanted.variance), 9), 1 / 0.2 + 1 / 0.1
    (15.0, 15.0)
    """
    mean = np.maximum(np.add.outer(relevance, relevance) / 2, 1e-12)
    return np.asarray(np.add.outer(1 / p, 1 / p) / mean / wanted.variance)
