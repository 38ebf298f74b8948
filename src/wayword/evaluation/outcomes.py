"""Outcomes: the utility of every listed query for every test search with a click, looked up in SQL."""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates
from wayword.config import UNBOUNDED
from wayword.engines import Engine
from wayword.utility import CUTOFFS, DEEPEST, VARIANTS, Floats, Measure, of_documents, of_searches


@dataclass(frozen=True)
class Outcomes:
    """Utilities per test search with a click: `own` is û(s, q̄), `lists[policy]` the û of each listed query (searches ×
    positions), `bounded[policy]` the share of these that a bound reduced, `clipped[policy]` the share of their sum
    that it took away, and `list_utility[policy]` the numerator of list utility@k (searches × cutoffs), for policies
    with lists."""

    own: Floats
    lists: dict[str, Floats]
    bounded: dict[str, float]
    list_utility: dict[str, Floats] = field(default_factory=dict)
    clipped: dict[str, float] = field(default_factory=dict)


def outcomes(
    engine: Engine,
    lists: dict[str, Candidates],
    candidates: Candidates | None,
    contexts: NDArray[np.int32],
    measure: Measure,
    *,
    whole_lists: bool = True,
) -> Outcomes:
    """Look up the utility of every listed query for every test search with a click; list utility with `whole_lists`.

    `lists` are the policies' lists for the rows of a table of contexts, whose numbers are `contexts`; `candidates` are
    those of the oracle, if there is one. Needs the numbered log, `instances`, `rankings` and `propensity`.
    """
    listed = lists if candidates is None else {**lists, "oracle": candidates}
    engine.load("listed", _as_table(listed, contexts))
    engine.number(
        "test_searches",
        """SELECT s.search, s.query, i.context FROM numbered_searches AS s JOIN instances AS i ON i.search = s.search
           WHERE s.split = 'test' AND EXISTS (SELECT 1 FROM numbered_clicks AS c WHERE c.search = s.search)""",
        "place",
        "search",
    )
    engine.step(
        "test_pairs",
        """SELECT t.search, l.query FROM test_searches AS t JOIN listed AS l ON l.context = t.context
           UNION SELECT search, query FROM test_searches""",
    )
    of_searches(engine, "test_utility", "test_pairs", measure)
    n = int(engine.arrow("SELECT count(*) AS n FROM test_searches")["n"][0].as_py())
    looked_up = {
        "logged": _own(engine, n),
        **{name: _of_list(engine, name, n) for name in lists},
        **({} if candidates is None else {"oracle": _oracle(engine, n)}),
    }
    utilities = {name: utility for name, (utility, _) in looked_up.items()}
    return Outcomes(
        looked_up["logged"][0][:, 0],
        utilities,
        {name: share for name, (_, share) in looked_up.items()},
        _list_utility(engine, {name: utilities[name] for name in lists}, measure) if whole_lists else {},
        _clipped(engine, utilities, lists, measure, n),
    )


def _clipped(
    engine: Engine, utilities: dict[str, Floats], lists: dict[str, Candidates], measure: Measure, n: int
) -> dict[str, float]:
    """The share of Σ û of each list that the bounds took away."""
    if measure.max_ratio == UNBOUNDED and measure.max_weight == UNBOUNDED:
        return {}
    of_searches(
        engine,
        "test_utility",
        "test_pairs",
        replace(measure, max_ratio=UNBOUNDED, max_weight=UNBOUNDED),
    )
    whole = {name: float(_of_list(engine, name, n)[0].sum()) for name in lists}
    return {name: 1 - float(utilities[name].sum()) / total for name, total in whole.items() if total > 0}


def _as_table(lists: dict[str, Candidates], contexts: NDArray[np.int32]) -> pa.Table:
    parts = [
        pa.table(
            {
                "policy": pa.array([name] * len(c.query), pa.string()),
                "context": contexts[c.context],
                "position": c.position().astype(np.int32),
                "query": c.query,
            }
        )
        for name, c in lists.items()
    ]
    return pa.concat_tables(parts)


def _own(engine: Engine, n: int) -> tuple[Floats, float]:
    rows = engine.arrow(
        """SELECT t.place, 0 AS position, u.utility, u.bounded FROM test_searches AS t
           JOIN test_utility AS u ON u.search = t.search AND u.query = t.query"""
    )
    return _placed(rows, (n, 1))


def _of_list(engine: Engine, policy: str, n: int) -> tuple[Floats, float]:
    rows = engine.arrow(
        """SELECT t.place, l.position, u.utility, u.bounded FROM test_searches AS t
           JOIN listed AS l ON l.context = t.context AND l.policy = :policy AND l.position < :deepest
           JOIN test_utility AS u ON u.search = t.search AND u.query = l.query""",
        policy=policy,
        deepest=DEEPEST,
    )
    return _placed(rows, (n, DEEPEST))


def _oracle(engine: Engine, n: int) -> tuple[Floats, float]:
    rows = engine.arrow(
        """SELECT place, 0 AS position, utility, bounded FROM (
             SELECT t.place, u.utility, u.bounded,
                    row_number() OVER (PARTITION BY t.place ORDER BY u.utility DESC, u.query) AS best
             FROM test_searches AS t
             JOIN listed AS l ON l.context = t.context AND l.policy = 'oracle'
             JOIN test_utility AS u ON u.search = t.search AND u.query = l.query
           ) AS ordered WHERE best = 1"""
    )
    return _placed(rows, (n, 1))


def _list_utility(engine: Engine, lists: dict[str, Floats], measure: Measure) -> dict[str, Floats]:
    """Numerator of list utility at each cutoff: the highest utility in the list; for several clicked documents, the sum
    over them of the highest utility for each."""
    best_of_list = {
        name: np.column_stack([utility[:, :k].max(axis=1) for k in CUTOFFS])
        for name, utility in lists.items()
    }
    if VARIANTS[measure.variant].whole:
        return best_of_list
    engine.step(
        "several_searches",
        """SELECT t.place, t.search, t.context FROM test_searches AS t JOIN (
             SELECT search FROM numbered_clicks GROUP BY search HAVING count(DISTINCT document) > 1
           ) AS several ON several.search = t.search""",
    )
    engine.step(
        "several_pairs",
        """SELECT t.search, l.query FROM several_searches AS t
           JOIN listed AS l ON l.context = t.context AND l.policy <> 'oracle' AND l.position < :deepest""",
        deepest=DEEPEST,
    )
    of_documents(engine, "several_utility", "several_pairs", measure)
    deeper = [k for k in CUTOFFS if k > 1]  # at 1 there is one query, so no maximum per document
    best = ", ".join(f"max(CASE WHEN l.position < {k} THEN u.utility ELSE 0 END) AS at_{k}" for k in deeper)
    rows = engine.arrow(
        f"""SELECT policy, place, {", ".join(f"{engine.ordered_sum(f'at_{k}', 'document')} AS at_{k}" for k in deeper)}
            FROM (
              SELECT l.policy, t.place, u.document, {best} FROM several_searches AS t
              JOIN listed AS l ON l.context = t.context AND l.policy <> 'oracle' AND l.position < :deepest
              JOIN several_utility AS u ON u.search = t.search AND u.query = l.query
              GROUP BY l.policy, t.place, u.document
            ) AS by_document GROUP BY policy, place""",
        deepest=DEEPEST,
    )
    for name, whole in best_of_list.items():
        mine = rows.filter(pc.equal(rows["policy"], name))
        for k in deeper:
            whole[mine["place"].to_numpy(), CUTOFFS.index(k)] = mine[f"at_{k}"].to_numpy()
    return best_of_list


def _placed(rows: pa.Table, shape: tuple[int, int]) -> tuple[Floats, float]:
    """Rows (place, position, utility, bounded) as searches × positions, and the share of bounded ones."""
    utility = np.zeros(shape)
    utility[rows["place"].to_numpy(), rows["position"].to_numpy()] = rows["utility"].to_numpy()
    return utility, float(np.mean(rows["bounded"].to_numpy(zero_copy_only=False))) if rows.num_rows else 0.0
