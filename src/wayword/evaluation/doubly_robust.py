"""Doubly robust: what test searches clicked and were expected to click, from what each search showed.

Where the same result was shown at several ranks, 1 / p[rank of this search] is not the best weight. People click it
with probability p · γ(q̄, a), and γ, how many of those who issue q̄ want a, does not depend on the rank. With the mean
propensity of a pair

    p̄(q̄, a) = Σ p[rank] over the test impressions of the pair / test searches of q̄ with impressions    (0 if not shown)

and a guess γ₀ of γ, each test search s of q̄ counts, for each result a that was shown to one of them, with

    b_s(a) = γ₀ + (clicks − p_s(a) γ₀) / p̄        and        û(s, q) = Σ_a b_s(a) · p[rank_q(a)]

* The direct part γ₀ is Σ clicks / Σ p over the impressions of the *other* splits, shrunk by `SHRINKAGE` to the mean of
  all pairs. No click of a test search is in it. It may be too high for the queries that a policy learned to like.
* The correction makes up for that: over the test searches of q̄, Σ b_s(a) = Σ clicks / p̄ for any γ₀, and given the
  ranks its mean is their number times γ. p̄ is of test searches alone: where the split is by time, an engine that has
  learned since shows them other ranks; with p̄ of all searches a wrong γ₀ would be corrected too much or too little.
* If p̄ is the propensity of this search, the terms of γ₀ cancel, and b_s(a) = clicks / p_s(a): IPS, identically. So it
  is for every result that never changes its rank.
* Per pair, the variance of clicks / p̄ is γ/p̄ − γ², that of IPS γ E[1/p] − γ², which is never smaller. A good γ₀ takes
  γ² (E p² / p̄² − 1) off.

It assumes that the rank at which a result is shown has nothing to do with what this search wants, given the query.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from wayword.engines import Engine, totals
from wayword.propensity.identifiability import CLICKED_SEARCHES, ENOUGH_SEARCHES
from wayword.utility import Measure, first_propensity

SHRINKAGE = 2.0
"""γ₀ counts the mean relevance of all pairs as so many impressions at rank 1."""
MISSING = 0.01
"""Share of searches with impressions that the log may lack, and still have its searches without a click."""


def applies(engine: Engine, measure: Measure) -> bool:
    """Whether û is the unbounded one, and some result was shown to test searches at two ranks; every rank needs a p.

    Impressions of clicked searches alone, or a log of them alone, do not do: p̄ is too high where a result was clicked,
    and γ₀ counts clicks per clicked search. IPS does not need the other searches, where û is 0.
    """
    if measure != Measure():
        return False
    row = engine.arrow(
        """SELECT (SELECT count(*) FROM (
                     SELECT i.query, i.document FROM numbered_impressions AS i
                     JOIN numbered_searches AS s ON s.search = i.search AND s.split = 'test'
                     WHERE i.document IS NOT NULL GROUP BY i.query, i.document HAVING min(i.rank) < max(i.rank)
                   ) AS pairs) AS moved,
                  (SELECT count(*) FROM numbered_impressions
                   WHERE rank NOT IN (SELECT rank FROM propensity WHERE p > 0)) AS unknown,
                  (SELECT count(DISTINCT search_id) FROM numbered_impressions) AS searches,
                  (SELECT count(DISTINCT search_id) FROM numbered_impressions WHERE clicked) AS clicked,
                  (SELECT count(DISTINCT search_id) FROM numbered_impressions
                   WHERE query IS NOT NULL AND search IS NULL) AS missing"""
    ).to_pylist()[0]
    alone = row["searches"] >= ENOUGH_SEARCHES and row["clicked"] > CLICKED_SEARCHES * row["searches"]
    complete = row["missing"] <= MISSING * row["searches"]
    return bool(row["moved"] and complete and not row["unknown"] and not alone)


@contextmanager
def pooled_clicks(engine: Engine) -> Iterator[None]:
    """Replace `numbered_clicks` of test searches by b_s(a) while the block runs, as clicks at rank 1.

    Searches without a click have rows, too. Needs `numbered_impressions`, the numbered log and `propensity`. Test
    searches without impressions keep their clicks.
    """
    clicks = engine.arrow("SELECT search, document, rank, weight FROM numbered_clicks")
    _expected(engine)
    first = first_propensity(engine)
    pooled = engine.arrow(
        f"""SELECT search, document, CAST(1 AS INTEGER) AS rank, b * {first} AS weight FROM counted WHERE b <> 0
            UNION ALL
            SELECT c.search, c.document, c.rank, c.weight FROM numbered_clicks AS c
            WHERE NOT EXISTS (SELECT 1 FROM counted AS b WHERE b.search = c.search AND b.document = c.document)
            ORDER BY search, document, rank"""
    )
    engine.load("numbered_clicks", pooled)
    try:
        yield
    finally:
        engine.load("numbered_clicks", clicks)


def _expected(engine: Engine) -> None:
    """Step `counted` (search, document, b): b_s(a) of each test search with impressions and each pair of its query."""
    engine.step(
        "shown_ranks",
        """
        SELECT s.search, s.query, s.split, i.document, p.p, coalesce(c.weight, 0) AS clicks
        FROM (SELECT search, document, min(rank) AS rank FROM numbered_impressions
              WHERE search IS NOT NULL AND document IS NOT NULL GROUP BY search, document) AS i
        JOIN numbered_searches AS s ON s.search = i.search JOIN propensity AS p ON p.rank = i.rank
        LEFT JOIN (SELECT search, document, sum(weight) AS weight FROM numbered_clicks GROUP BY search, document) AS c
          ON c.search = i.search AND c.document = i.document
        """,
    )
    engine.step(
        "pairs_shown",
        f"""
        SELECT r.query, r.document, {engine.ordered_sum("r.p", "r.search")} / max(n.searches) AS p
        FROM shown_ranks AS r
        JOIN (SELECT query, count(DISTINCT search) AS searches FROM shown_ranks WHERE split = 'test'
              GROUP BY query) AS n ON n.query = r.query
        WHERE r.split = 'test' GROUP BY r.query, r.document
        """,
    )
    engine.step(
        "shown_elsewhere",
        f"""
        SELECT query, document, {engine.ordered_sum("clicks", "search")} AS clicks,
               {engine.ordered_sum("p", "search")} AS p
        FROM shown_ranks WHERE split <> 'test' GROUP BY query, document
        """,
    )
    shown = totals(engine, "shown_elsewhere", "query, document", by="query", clicks="clicks", p="p")
    mean = shown["clicks"] / shown["p"] if shown["clicks"] and shown["p"] else 0.0
    engine.step(
        "guessed_relevance",
        """SELECT r.query, r.document, r.p,
                  (coalesce(e.clicks, 0) + :shrinkage * :mean) / (coalesce(e.p, 0) + :shrinkage) AS guess
           FROM pairs_shown AS r
           LEFT JOIN shown_elsewhere AS e ON e.query = r.query AND e.document = r.document""",
        shrinkage=float(SHRINKAGE),
        mean=mean,
    )
    engine.step(
        "counted",
        """
        SELECT t.search, g.document,
               g.guess * (1 - coalesce(s.p, 0) / g.p) + coalesce(s.clicks, 0) / g.p AS b
        FROM (SELECT DISTINCT search, query FROM shown_ranks WHERE split = 'test') AS t
        JOIN guessed_relevance AS g ON g.query = t.query
        LEFT JOIN shown_ranks AS s ON s.search = t.search AND s.document = g.document
        """,
    )
