"""Estimates: Utility@k of each policy on the test searches, with bootstrap intervals over searches.

    Utility@k = Σ_s Σ_{j≤k} v_j û(s, q_j) / Σ_s û(s, q̄_s),   v_j = (1/j) / Σ_{i≤k} 1/i

The weights v are normalised, so a policy whose k queries are all as good as the logged one has 1, and the logged
query itself has 1 by construction. A list shorter than k counts zeros.

List utility measures a list as a whole: each click counts once, for the listed query with the highest utility:

    list utility@k = Σ_s Σ over the clicks (a, r̄, w) of s of  max_{j≤k} w · p[rank_{q_j}(a)] / p[r̄]  /  Σ_s û(s, q̄_s)

List utility@1 is Utility@1, and list utility never decreases with k. The ceiling ranks queries independently, so it
bounds Utility@k, but list utility only at k = 1. For graded judgments, whose measures apply to a whole result page, it
is the utility of the best listed query of each search: Σ_s max_{j≤k} û(s, q_j) / Σ_s û(s, q̄_s).
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from wayword.bootstrap import interval, resample_each
from wayword.config import EvaluationConfig
from wayword.evaluation.outcomes import Outcomes
from wayword.utility import CUTOFFS, Floats, utility_at

UTILITY, LIST_UTILITY = METRICS = ("utility", "list_utility")


def at_cutoffs(outcome: Outcomes) -> dict[tuple[str, int], Floats]:
    """Σ_{j≤k} v_j û(s, q_j) per test search for each (policy, k). Policies with one query per search (logged, oracle)
    have k = 1 only."""
    return {
        (name, k): utility_at(utility, k)
        for name, utility in outcome.lists.items()
        for k in CUTOFFS
        if k == 1 or utility.shape[1] > 1
    }


def lists_at_cutoffs(outcome: Outcomes) -> dict[tuple[str, int], Floats]:
    """List utility of the first k queries per test search for each (policy, k)."""
    return {
        (name, k): whole[:, i] for name, whole in outcome.list_utility.items() for i, k in enumerate(CUTOFFS)
    }


_NUMBERS = [(name, pa.float64()) for name in ("value", "low", "high")]
ESTIMATES = pa.schema(
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

    Both are empty if the logged queries of the test searches have no utility.
    """
    if not outcome.own.sum() > 0:
        return ESTIMATES.empty_table(), _DIFFERENCES.empty_table()
    columns = {UTILITY: at_cutoffs(outcome)}
    if LIST_UTILITY in metrics and outcome.list_utility:
        columns[LIST_UTILITY] = lists_at_cutoffs(outcome)
    values = {metric: np.column_stack(list(by_key.values())) for metric, by_key in columns.items()}
    total = float(
        np.column_stack([values[UTILITY], outcome.own]).sum(axis=0)[-1]
    )  # same summation order as the values, so that logged is exactly 1
    replicates = dict(zip(values, resample_each(list(values.values()), outcome.own, config), strict=True))
    estimates = [
        _estimates(
            metric, list(by_key), values[metric], total, outcome, interval(replicates[metric], config.level)
        )
        for metric, by_key in columns.items()
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
        schema=ESTIMATES,
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
