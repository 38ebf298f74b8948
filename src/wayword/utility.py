"""Utility: the definition of û, used by every stage (the paper's section 4).

    û(s, q) = Σ over the clicks (a, r̄, w) of search s of  w · p[rank_q(a)] / p[r̄]

r̄ is the rank at which the click was logged and rank_q(a) the rank in the rankings; a query that does not return the
document contributes 0. Two bounds: `max_ratio` on p[rank_q]/p[r̄] (the paper's B) and `max_weight` on p[1]/p[r̄].
The second depends on the search alone, so the mean over searches remains an inner product (demand · exposure); the
first depends on the pair, so it does not.

It is computed by a join and a group-by. The paper's ablations and the full-information measures differ in one
expression, so each is an entry of `VARIANTS`.

A list of queries is measured by Utility@k (`utility_at`), which weights positions by v_j = (1/j) / Σ_{i≤k} 1/i.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.config import UNBOUNDED
from wayword.engines import Engine
from wayword.errors import WaywordError


@dataclass(frozen=True)
class Variant:
    """SQL expressions of û. `value` is the contribution of one click (c, with the propensity `logged` of its rank) to a
    query that returns the document (r, with the propensity `looked` of its rank); `total` aggregates the clicks of a
    search; `bounded` is true where a bound reduces the value; `whole` marks measures of a whole result page, for which
    list utility is that of the best listed query. Without bounds, `value` = `gain` · `discount`: the gain depends on
    the click only, the discount on the rank of the document (set for the variants that demand is estimated with)."""

    value: str
    total: str = "sum"
    bounded: str = "false"
    whole: bool = False
    gain: str = "c.weight / logged.p"
    discount: str = "looked.p"


Floats = NDArray[np.float64]
CUTOFFS = (1, 5, 10)
DEEPEST = max(CUTOFFS)
_DCG_GAIN = "power(2, c.weight) - 1"
_MRR_GAIN = "CAST(CASE WHEN c.weight > 0 THEN 1 ELSE 0 END AS DOUBLE)"

VARIANTS = {
    "unbiased": Variant(
        "c.weight * least(looked.p / greatest(logged.p, :least_p), :max_ratio)",
        bounded="c.weight > 0 AND (logged.p < :least_p OR looked.p / logged.p > :max_ratio)",
    ),
    "biased": Variant("c.weight * looked.p / :first_p"),
    "prescient": Variant("c.weight"),
    "prescient@5": Variant("CASE WHEN r.rank <= 5 THEN c.weight ELSE 0 END"),
    "prescient@1": Variant("CASE WHEN r.rank <= 1 THEN c.weight ELSE 0 END"),
    "misspecified@0.5": Variant("c.weight * power(r.rank / CAST(c.rank AS DOUBLE), -0.5)"),
    "misspecified@2": Variant("c.weight * power(r.rank / CAST(c.rank AS DOUBLE), -2)"),
    "dcg": Variant(
        f"({_DCG_GAIN}) / log2(1 + looked.rank)",
        whole=True,
        gain=_DCG_GAIN,
        discount="1 / log2(1 + looked.rank)",
    ),
    "mrr": Variant(
        f"{_MRR_GAIN} / looked.rank",
        total="max",
        whole=True,
        gain=_MRR_GAIN,
        discount="1 / CAST(looked.rank AS DOUBLE)",
    ),
}


@dataclass(frozen=True)
class Measure:
    """A variant of û with its bounds."""

    variant: str = "unbiased"
    max_ratio: float = UNBOUNDED
    max_weight: float = UNBOUNDED


def position_weights(k: int) -> Floats:
    """v_1 … v_k: the propensities 1/j of the list positions, normalised to sum to 1.

    >>> position_weights(2).tolist()
    [0.6666666666666666, 0.3333333333333333]
    """
    weights = 1 / np.arange(1, k + 1)
    return weights / weights.sum()


def utility_at(utility: Floats, k: int) -> Floats:
    """Σ_{j≤k} v_j û(s, q_j) for each search: the numerator of Utility@k. `utility` is searches × positions.

    >>> utility_at(np.array([[1.0, 4.0, 9.0]]), 2).tolist()
    [2.0]
    """
    return utility[:, :k] @ position_weights(k)[: utility.shape[1]]


def of_searches(engine: Engine, table: str, pairs: str, measure: Measure) -> None:
    """Step `table` (search, query, utility, bounded): û of each distinct (search, query) of `pairs` where it is not 0.

    `bounded` says whether a bound reduced it. Needs `numbered_clicks`, `rankings` and `propensity`.
    """
    _grouped(engine, table, pairs, measure, "search, query")


def of_documents(engine: Engine, table: str, pairs: str, measure: Measure) -> None:
    """As `of_searches`, step `table` (search, query, document, utility, bounded): û by the document clicked.

    Clicks on the same document are one row, because the same query is best for all of them.
    """
    _grouped(engine, table, pairs, measure, "search, query, document")


def _grouped(engine: Engine, table: str, pairs: str, measure: Measure, by: str) -> None:
    variant = VARIANTS[measure.variant]
    total = engine.ordered_sum("value", "document, value") if variant.total == "sum" else "max(value)"
    first_p = first_propensity(engine)
    bound = {"first_p": first_p, "least_p": first_p / measure.max_weight, "max_ratio": measure.max_ratio}
    used = f"{variant.value} {variant.bounded}"
    engine.step(
        table,
        f"""
        SELECT {by}, {total} AS utility, max(bounded) > 0 AS bounded
        FROM (
          SELECT pairs.search, pairs.query, c.document, {variant.value} AS value,
                 CASE WHEN {variant.bounded} THEN 1 ELSE 0 END AS bounded
          FROM (SELECT DISTINCT search, query FROM {pairs}) AS pairs
          JOIN numbered_clicks AS c ON c.search = pairs.search
          JOIN rankings AS r ON r.query = pairs.query AND r.document = c.document
          JOIN propensity AS looked ON looked.rank = r.rank
          LEFT JOIN propensity AS logged ON logged.rank = c.rank
        ) AS parts
        GROUP BY {by}
        """,
        **{name: value for name, value in bound.items() if f":{name}" in used},
    )


def first_propensity(engine: Engine) -> float:
    """p[1], the reference of `max_weight` and of the biased variant. Raises if a rank in the data has no propensity.

    Without this check, a join would drop the rows of a missing rank, or a division would give null.
    """
    missing = engine.arrow(
        """SELECT DISTINCT ranks.rank FROM
             (SELECT rank FROM rankings UNION SELECT rank FROM numbered_clicks UNION SELECT 1 AS rank) AS ranks
           LEFT JOIN propensity AS p ON p.rank = ranks.rank
           WHERE ranks.rank IS NOT NULL AND (p.p IS NULL OR NOT p.p > 0) ORDER BY ranks.rank LIMIT 5"""
    )["rank"].to_pylist()
    if missing:
        raise WaywordError(
            f"Found no propensity above 0 for the ranks {', '.join(map(str, missing))}; expected one for every rank "
            "of the rankings and the clicks, and for rank 1."
        )
    return float(engine.arrow("SELECT p FROM propensity WHERE rank = 1")["p"][0].as_py())


def of_contexts(engine: Engine, table: str, pairs: str, split: str, measure: Measure) -> None:
    """Step `table` (context, query, utility): the mean û over the split's searches of each context, where not 0.

    With one group per distinct context this is the ranker's label: a pairwise ranker sees only the order within a
    group, and with one group per click all unbiased and misspecified labels would be in the same order.
    """
    engine.step(
        "searches_of_pairs",
        f"""SELECT i.search, pairs.query, pairs.context FROM {pairs} AS pairs
            JOIN instances AS i ON i.context = pairs.context AND i.split = :split""",
        split=split,
    )
    of_searches(engine, "utility_of_pairs", "searches_of_pairs", measure)
    engine.step(
        table,
        f"""
        SELECT i.context, u.query, {engine.ordered_sum("u.utility", "u.search")} / max(n.searches) AS utility
        FROM utility_of_pairs AS u JOIN instances AS i ON i.search = u.search AND i.split = :split
        JOIN (SELECT context, count(*) AS searches FROM instances WHERE split = :split GROUP BY context) AS n
          ON n.context = i.context
        JOIN (SELECT DISTINCT context, query FROM {pairs}) AS pairs
          ON pairs.context = i.context AND pairs.query = u.query
        GROUP BY i.context, u.query
        """,
        split=split,
    )


_MAY_BE_ALTERNATIVE = "looked.p >= coalesce(looked_own.p, 0)"
"""A query with at least the unbounded, unbiased û of the own one shows at least one clicked document where it is looked
at as much as on the own page: most neighbours do not, and need no û."""


def alternatives(engine: Engine, table: str, searches: str, measure: Measure) -> None:
    """Step `table` (search, query): the alternatives of each clicked search of `searches` (the paper's Fig. 1).

    They are the neighbours of the clicked documents in the bipartite graph of queries and documents, kept where
    û(s, q) ≥ û(s, q̄): the paper's "estimated utility at least 1", also for several clicks and weights.
    """
    engine.step(
        "neighbours",
        f"""SELECT DISTINCT c.search, r.query FROM numbered_clicks AS c JOIN rankings AS r ON r.document = c.document
            JOIN {searches} AS asked ON asked.search = c.search JOIN numbered_searches AS s ON s.search = c.search
            JOIN propensity AS looked ON looked.rank = r.rank
            LEFT JOIN rankings AS own ON own.query = s.query AND own.document = c.document
            LEFT JOIN propensity AS looked_own ON looked_own.rank = own.rank
            WHERE {_MAY_BE_ALTERNATIVE if measure == Measure() else "true"}""",
    )
    of_searches(engine, "utility_of_neighbours", "neighbours", measure)
    engine.step(
        table,
        """
        SELECT u.search, u.query FROM utility_of_neighbours AS u
        JOIN numbered_searches AS s ON s.search = u.search
        LEFT JOIN utility_of_neighbours AS own ON own.search = s.search AND own.query = s.query
        WHERE u.utility > 0 AND u.utility >= coalesce(own.utility, 0)
        """,
    )
