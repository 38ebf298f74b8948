"""Evaluation: Utility@k of each policy on the test searches, with intervals that resample searches.

    Utility@k = Σ_s Σ_{j≤k} v_j û(s, q_j) / Σ_s û(s, q̄_s),   v_j = (1/j) / Σ_{i≤k} 1/i

The weights v are normalised, so a policy whose k queries are all as good as the logged one has 1, and the logged
query itself has 1 by construction. A list shorter than k counts zeros.

A person picks one of the shown queries, and each click may be served by another of them. What the list is worth as a
whole (see `lists`) counts each click once, for the query that does most for it:

    list utility@k = Σ_s Σ over the clicks (a, r̄, w) of s of  max_{j≤k} w · p[rank_{q_j}(a)] / p[r̄]  /  Σ_s û(s, q̄_s)

At 1 it is Utility@1, and it never falls with k. The ceiling sorts queries one by one, so it bounds Utility@k but not
this beyond 1. Of graded judgments, whose measures are of a whole result page, it is
the utility of the best shown query, search by search: Σ_s max_{j≤k} û(s, q_j) / Σ_s û(s, q̄_s).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.bootstrap import interval, resample_each
from wayword.completion.candidates import Candidates
from wayword.config import EvaluationConfig
from wayword.engines import Engine
from wayword.utility import CUTOFFS, DEEPEST, VARIANTS, Floats, Measure, of_documents, of_searches, utility_at

UTILITY, LIST_UTILITY = METRICS = ("utility", "list_utility")


@dataclass(frozen=True)
class Outcomes:
    """What happened per test search with a click: `own` is û(s, q̄), `lists[policy]` the û of its list, position by
    position (searches × positions), `bounded[policy]` the share of those terms that a bound cut, and
    `together[policy]` what the list is worth as a whole (searches × cutoffs), for the policies that show lists."""

    own: Floats
    lists: dict[str, Floats]
    bounded: dict[str, float]
    together: dict[str, Floats] = field(default_factory=dict)


def outcomes(
    engine: Engine,
    lists: dict[str, Candidates],
    candidates: Candidates | None,
    contexts: NDArray[np.int32],
    measure: Measure,
) -> Outcomes:
    """Look up the utility of every listed query for every test search with a click.

    `lists` are the policies' lists for the rows of a table of contexts, whose numbers are `contexts`; `candidates` is
    what the oracle may choose from, if there is one. Needs the log in numbers, `instances`, `rankings` and
    `propensity`.
    """
    listed = lists if candidates is None else {**lists, "oracle": candidates}
    engine.load("listed", _as_table(listed, contexts))
    engine.step(
        "test_searches",
        """SELECT row_number() OVER (ORDER BY s.search) - 1 AS place, s.search, s.query, i.context
           FROM numbered_searches AS s JOIN instances AS i ON i.search = s.search
           WHERE s.split = 'test' AND s.search IN (SELECT search FROM numbered_clicks)""",
    )
    engine.step(
        "test_pairs",
        """SELECT t.search, l.query FROM test_searches AS t JOIN listed AS l ON l.context = t.context
           UNION SELECT search, query FROM test_searches""",
    )
    of_searches(engine, "test_utility", "test_pairs", measure)
    n = int(engine.arrow("SELECT count(*) AS n FROM test_searches")["n"][0].as_py())
    found = {
        "logged": _own(engine, n),
        **{name: _of_list(engine, name, n) for name in lists},
        **({} if candidates is None else {"oracle": _oracle(engine, n)}),
    }
    utilities = {name: utility for name, (utility, _) in found.items()}
    return Outcomes(
        found["logged"][0][:, 0],
        utilities,
        {name: share for name, (_, share) in found.items()},
        _together(engine, {name: utilities[name] for name in lists}, measure),
    )


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


def _together(engine: Engine, lists: dict[str, Floats], measure: Measure) -> dict[str, Floats]:
    """What each list is worth at each cutoff: its best query, but where several documents were clicked, the sum over
    them of the best query for each."""
    found = {
        name: np.column_stack([utility[:, :k].max(axis=1) for k in CUTOFFS])
        for name, utility in lists.items()
    }
    if VARIANTS[measure.variant].whole:
        return found
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
    deeper = [k for k in CUTOFFS if k > 1]  # at 1 there is one query, and nothing to choose
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
    for name, whole in found.items():
        mine = rows.filter(pc.equal(rows["policy"], name))
        for k in deeper:
            whole[mine["place"].to_numpy(), CUTOFFS.index(k)] = mine[f"at_{k}"].to_numpy()
    return found


def _placed(rows: pa.Table, shape: tuple[int, int]) -> tuple[Floats, float]:
    """Rows (place, position, utility, bounded) as searches × positions, and the share of them that a bound cut."""
    utility = np.zeros(shape)
    utility[rows["place"].to_numpy(), rows["position"].to_numpy()] = rows["utility"].to_numpy()
    return utility, float(np.mean(rows["bounded"].to_numpy(zero_copy_only=False))) if rows.num_rows else 0.0


def at_cutoffs(outcome: Outcomes) -> dict[tuple[str, int], Floats]:
    """Σ_{j≤k} v_j û(s, q_j) per test search for each (policy, k) that means something: of a policy that is one query
    per search, such as the logged one and the oracle, only k = 1 does."""
    return {
        (name, k): utility_at(utility, k)
        for name, utility in outcome.lists.items()
        for k in CUTOFFS
        if k == 1 or utility.shape[1] > 1
    }


def lists_at_cutoffs(outcome: Outcomes) -> dict[tuple[str, int], Floats]:
    """What the first k queries are worth together per test search for each (policy, k)."""
    return {(name, k): whole[:, i] for name, whole in outcome.together.items() for i, k in enumerate(CUTOFFS)}


_NUMBERS = [(name, pa.float64()) for name in ("value", "low", "high")]
_ESTIMATES = pa.schema(
    [
        ("policy", pa.string()),
        ("metric", pa.string()),
        ("k", pa.int32()),
        *_NUMBERS,
        ("n", pa.int64()),
        ("effective_n", pa.float64()),
        ("share_bounded", pa.float64()),
    ]
)
_DIFFERENCES = pa.schema([("policy", pa.string()), ("other", pa.string()), ("k", pa.int32()), *_NUMBERS])


def estimate(
    outcome: Outcomes, config: EvaluationConfig, metrics: Sequence[str] = (UTILITY,)
) -> tuple[pa.Table, pa.Table]:
    """The tables `estimates` (one row per metric, policy and k) and `differences` (policy − other, paired, same k,
    of Utility@k).

    Both are empty where no test search has a logged utility to compare with.
    """
    if not outcome.own.sum() > 0:
        return _ESTIMATES.empty_table(), _DIFFERENCES.empty_table()
    columns = {UTILITY: at_cutoffs(outcome)}
    if LIST_UTILITY in metrics and outcome.together:
        columns[LIST_UTILITY] = lists_at_cutoffs(outcome)
    values = {metric: np.column_stack(list(found.values())) for metric, found in columns.items()}
    total = float(
        np.column_stack([values[UTILITY], outcome.own]).sum(axis=0)[-1]
    )  # added up as the values are: logged is 1
    replicates = dict(zip(values, resample_each(list(values.values()), outcome.own, config), strict=True))
    estimates = [
        _estimates(
            metric, list(found), values[metric], total, outcome, interval(replicates[metric], config.level)
        )
        for metric, found in columns.items()
    ]
    return (
        pa.concat_tables(estimates),
        _differences(list(columns[UTILITY]), values[UTILITY], total, replicates[UTILITY], config.level),
    )


def _estimates(
    metric: str,
    keys: list[tuple[str, int]],
    values: Floats,
    total: float,
    outcome: Outcomes,
    bounds: tuple[Floats, Floats],
) -> pa.Table:
    sums, squares = values.sum(axis=0), (values**2).sum(axis=0)
    return pa.table(
        {
            "policy": [name for name, _ in keys],
            "metric": [metric] * len(keys),
            "k": pa.array([k for _, k in keys], pa.int32()),
            "value": sums / total,
            "low": bounds[0],
            "high": bounds[1],
            "n": pa.array([len(values)] * len(keys), pa.int64()),
            "effective_n": np.divide(sums**2, squares, out=np.zeros_like(sums), where=squares > 0),
            "share_bounded": [outcome.bounded.get(name, 0.0) for name, _ in keys],
        },
        schema=_ESTIMATES,
    )


def _differences(
    keys: list[tuple[str, int]], values: Floats, total: float, replicates: Floats, level: float
) -> pa.Table:
    pairs = [
        (i, j)
        for i, (_, k) in enumerate(keys)
        for j, (_, other_k) in enumerate(keys)
        if i != j and k == other_k
    ]
    ones, others = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    low, high = interval(replicates[:, ones] - replicates[:, others], level)
    sums = values.sum(axis=0) / total
    return pa.table(
        {
            "policy": [keys[i][0] for i in ones],
            "other": [keys[j][0] for j in others],
            "k": pa.array([keys[i][1] for i in ones], pa.int32()),
            "value": sums[ones] - sums[others],
            "low": low,
            "high": high,
        },
        schema=_DIFFERENCES,
    )
