"""Result pages whose clicks follow a known law, to try what is learned from impressions.

A query has documents of different relevance γ, which drifts a little from period to period. The production engine
orders them by a score that resembles γ; noise is added to it, anew in each period and, where asked, in each search, so
that ranks change for reasons that have nothing to do with relevance. A page shows the first documents.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit

from wayword.propensity.strata import DAYS, MICROSECONDS, Impressions, counted

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Clicks = Literal["positions", "one look", "cascade", "trust"]
ZIPF = 0.7
"""The k-th query is searched in proportion to k^-ZIPF."""


@dataclass(frozen=True)
class World:
    """Queries with documents, and how their ranks change."""

    queries: int = 1000
    documents: int = 15
    shown: int = 10
    periods: int = 10
    """Weeks."""
    period_noise: float = 0.7
    """Standard deviation of the noise on the log-odds of γ that a period's ranking has."""
    search_noise: float = 0.7
    """The same of each search."""
    drift: float = 0.2
    """Standard deviation of the change of γ, in log-odds, from period to period."""
    follows_drift: bool = False
    """Whether the engine's score follows that change, so that ranks change with relevance between periods."""
    base: float = -2.0
    """Mean log-odds of γ."""


@dataclass(frozen=True)
class Pages:
    """Result pages as shown: a row per search, a column per rank."""

    query: Integers
    period: Integers
    document: Integers
    """Numbers within the query."""
    relevance: Floats
    clicked: Flags

    def impressions(self) -> Impressions:
        """As what is estimated from: strata of query, document and period."""
        searches, shown = self.document.shape
        documents = int(self.document.max()) + 1
        periods = int(self.period.max()) + 1
        pair = self.query[:, None] * documents + self.document
        names, stratum = np.unique((pair * periods + self.period[:, None]).ravel(), return_inverse=True)
        strata, rows = counted(
            np.repeat(np.arange(searches), shown),
            stratum.ravel(),
            np.tile(np.arange(1, shown + 1), searches),
            self.clicked.ravel(),
            query=names // (periods * documents),
            document=names // periods,
        )
        return Impressions(strata, rows, float(DAYS["week"] * periods))

    def table(self) -> pa.Table:
        """As a file that `wayword propensity` reads."""
        searches, shown = self.document.shape
        moment = self.period * (DAYS["week"] * MICROSECONDS) + 1_767_571_200_000_000
        return pa.table(
            {
                "search_id": np.char.add("s", np.repeat(np.arange(searches), shown).astype(str)),
                "query": np.char.add("query ", np.repeat(self.query, shown).astype(str)),
                "document": np.char.add(
                    "d", (self.query[:, None] * 1000 + self.document).ravel().astype(str)
                ),
                "rank": np.tile(np.arange(1, shown + 1), searches),
                "clicked": self.clicked.ravel(),
                "time": np.repeat(moment, shown),
            }
        )


def draw(
    rng: np.random.Generator,
    p: Floats,
    *,
    searches: int,
    world: World | None = None,
    clicks: Clicks = "positions",
) -> Pages:
    """Draw searches, their pages and clicks; p[k] is the probability that rank k + 1 is looked at."""
    of = world or World()
    log_odds = rng.normal(of.base, 1.0, (1, of.queries, of.documents))
    drift = np.cumsum(rng.normal(0, of.drift, (of.periods, of.queries, of.documents)), axis=0)
    gamma = expit(log_odds + drift)
    score = log_odds + of.follows_drift * drift + rng.normal(0, of.period_noise, gamma.shape)
    share = np.arange(1, of.queries + 1) ** -ZIPF
    query = rng.choice(of.queries, searches, p=share / share.sum())
    period = np.sort(rng.integers(of.periods, size=searches))
    each = score[period, query] + (
        rng.normal(0, of.search_noise, (searches, of.documents)) if of.search_noise else 0
    )
    document = np.argsort(-each, axis=1)[:, : of.shown]
    relevance = np.take_along_axis(gamma[period, query], document, axis=1)
    return Pages(query, period, document, relevance, CLICKS[clicks](rng, p[: of.shown], relevance))


def _positions(rng: np.random.Generator, p: Floats, relevance: Floats) -> Flags:
    """P(click at k) = p_k γ, whatever else is clicked."""
    return np.asarray(rng.random(relevance.shape) < p * relevance)


def _one_look(rng: np.random.Generator, p: Floats, relevance: Floats) -> Flags:
    """One rank is looked at in each search, rank k with probability p_k / Σ p: at most one click."""
    looked = rng.choice(len(p), len(relevance), p=p / p.sum())
    return np.asarray((looked[:, None] == np.arange(len(p))) & (rng.random(relevance.shape) < relevance))


def _cascade(rng: np.random.Generator, p: Floats, relevance: Floats) -> Flags:
    """People go down the page to the first click; without one they go on to rank k with probability p_k / p_{k−1}."""
    goes_on = rng.random(relevance.shape) < p / np.r_[p[0], p[:-1]]
    relevant = rng.random(relevance.shape) < relevance
    first = relevant & (np.cumsum(relevant, axis=1) == 1)
    return np.asarray(first & np.logical_and.accumulate(goes_on, axis=1))


def _trust(rng: np.random.Generator, p: Floats, relevance: Floats) -> Flags:
    """Who looks clicks a relevant result with probability 0.95, another with 0.3 / k: trust in the engine's order."""
    other = 0.3 / np.arange(1, len(p) + 1)
    return np.asarray(rng.random(relevance.shape) < p * (0.95 * relevance + other * (1 - relevance)))


CLICKS: dict[Clicks, Callable[[np.random.Generator, Floats, Floats], Flags]] = {
    "positions": _positions,
    "one look": _one_look,
    "cascade": _cascade,
    "trust": _trust,
}
