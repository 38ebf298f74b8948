"""Estimates: Utility@k of each policy on the test searches, with bootstrap intervals over searches.

    Utility@k = Σ_s Σ_{j≤k} v_j û(s, q_j) / Σ_s û(s, q̄_s),   v_j = (1/j) / Σ_{i≤k} 1/i

The weights v are normalised, so a policy whose k queries are all as good as the logged one has 1, and the logged
query itself has 1 by construction. A list shorter than k counts zeros.

List utility measures a list as a whole: each click counts once, for the listed query with the highest utility:

    list utility@k = Σ_s Σ over the clicks (a, r̄, w) of s of  max_{j≤k} w · p[rank_{q_j}(a)] / p[r̄]  /  Σ_s û(s, q̄_s)

List utility@1 is Utility@1, and list utility never decreases with k. The ceiling ranks queries independently, so it
bounds Utility@k, but list utility only at k = 1. For graded judgments, whose measures apply to a whole result page, it
is the utility of the best listed query of each search: Σ_s max_{j≤k} û(s, q_j) / Σ_s û(s, q̄_s).

Estimators, in this order; the best that the log allows is the last of them (`best`):

    ips              the sums above: û weighs each click by 1 / p[logged rank]
    control variate  the same minus a variate of mean 0 (`control_variate`), where prefixes are cut from queries
    doubly robust    û of pooled impressions and expected clicks (`doubly_robust`), where the log has impressions

Diagnostics (`diagnostics`) are of the contributions that the estimator starts from, without the variate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from wayword.bootstrap import interval, resample_each, widened
from wayword.config import EvaluationConfig
from wayword.evaluation.control_variate import adjusted
from wayword.evaluation.diagnostics import effective_n, largest_weight, pareto_k
from wayword.evaluation.outcomes import Outcomes
from wayword.utility import CUTOFFS, Floats, utility_at

UTILITY, LIST_UTILITY = METRICS = ("utility", "list_utility")
IPS, CONTROL_VARIATE, DOUBLY_ROBUST = ESTIMATORS = ("ips", "control variate", "doubly robust")
ROUNDING = 1e-12
"""Standard errors below are 0, but for rounding: those of logged queries, whose utility is 1."""


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
DIAGNOSTICS = (
    "effective_n",
    "pareto_k",
    "largest_weight",
    "share_clipped",
    "share_bounded",
    "standard_error",
)
ESTIMATES = pa.schema(
    [
        ("policy", pa.string()),
        ("metric", pa.string()),
        ("k", pa.int32()),
        *_NUMBERS,
        ("n", pa.int64()),
        *((name, pa.float64()) for name in DIAGNOSTICS),
        ("estimator", pa.string()),
    ]
)
_DIFFERENCES = pa.schema(
    [
        ("policy", pa.string()),
        ("other", pa.string()),
        ("k", pa.int32()),
        *_NUMBERS,
        ("estimator", pa.string()),
    ]
)


@dataclass(frozen=True)
class Columns:
    """The numerators of one metric, searches × (policy, k), as they are and minus the control variate."""

    metric: str
    keys: list[tuple[str, int]]
    raw: Floats
    values: Floats


def estimate(
    outcome: Outcomes,
    config: EvaluationConfig,
    metrics: Sequence[str] = (UTILITY,),
    *,
    centred: Floats | None = None,
    estimator: str = IPS,
) -> tuple[pa.Table, pa.Table]:
    """The tables `estimates` (one row per metric, policy, k and estimator) and `differences` (policy − other, paired,
    same k, of Utility@k).

    With `centred` (see `control_variate.deviations`) the rows of the control variate follow those of the `estimator`.
    Both tables are empty if the logged queries of the test searches have no utility.
    """
    if not outcome.own.sum() > 0:
        return ESTIMATES.empty_table(), _DIFFERENCES.empty_table()
    by_metric = {UTILITY: at_cutoffs(outcome)}
    if LIST_UTILITY in metrics and outcome.list_utility:
        by_metric[LIST_UTILITY] = lists_at_cutoffs(outcome)
    raw = {metric: np.column_stack(list(by_key.values())) for metric, by_key in by_metric.items()}
    tables = {estimator: raw}
    if centred is not None and centred.any():
        name = CONTROL_VARIATE if estimator == IPS else estimator
        tables[name] = {metric: adjusted(values, outcome.own, centred) for metric, values in raw.items()}
    every = [
        (name, Columns(metric, list(by_metric[metric]), raw[metric], values))
        for name, by in tables.items()
        for metric, values in by.items()
    ]
    replicates = resample_each([columns.values for _, columns in every], outcome.own, config)
    estimates = [
        _estimates(name, columns, outcome, drawn, config.level)
        for (name, columns), drawn in zip(every, replicates, strict=True)
    ]
    differences = [
        _differences(name, columns, outcome.own, drawn, config.level)
        for (name, columns), drawn in zip(every, replicates, strict=True)
        if columns.metric == UTILITY
    ]
    return pa.concat_tables(estimates), pa.concat_tables(differences)


def best(table: pa.Table) -> pa.Table:
    """Of the rows that are of the same thing, that of the last estimator in `ESTIMATORS`."""
    names = [
        name for name in ("policy", "other", "metric", "k", "mode", "people") if name in table.column_names
    ]
    keys = list(zip(*(table[name].to_pylist() for name in names), strict=True))
    order = [ESTIMATORS.index(name) for name in table["estimator"].to_pylist()]
    last: dict[tuple[object, ...], int] = {}
    for row, key in enumerate(keys):
        if key not in last or order[row] >= order[last[key]]:
            last[key] = row
    return table.take(pa.array(sorted(last.values()), pa.int64()))


def more_precise(table: pa.Table, other: pa.Table) -> bool:
    """Whether the standard errors in `table` are, by their geometric mean, not larger than the best ones in `other`.

    The estimator is chosen for all policies at once, by variance alone, which hardly favours any of them.
    """

    def errors(rows: pa.Table) -> dict[tuple[object, ...], float]:
        keys = zip(*(rows[name].to_pylist() for name in ("policy", "metric", "k")), strict=True)
        return dict(zip(keys, rows["standard_error"].to_pylist(), strict=True))

    mine, theirs = errors(table), errors(best(other))
    known = [key for key in sorted(mine) if min(mine[key], theirs.get(key, 0.0)) > ROUNDING]
    ratios = [mine[key] / theirs[key] for key in known]
    return bool(ratios) and float(np.log(ratios).mean()) <= 0


def _total(columns: Columns, own: Floats) -> float:
    """Σ own, in the same summation order as the values, so that logged is exactly 1."""
    return float(np.column_stack([columns.values, own]).sum(axis=0)[-1])


def _estimates(
    estimator: str, columns: Columns, outcome: Outcomes, replicates: Floats, level: float
) -> pa.Table:
    total, count = _total(columns, outcome.own), len(columns.keys)
    value = columns.values.sum(axis=0) / total
    residuals = columns.values - value * outcome.own[:, None]
    low, high = widened(*interval(replicates, level), value, residuals, level)
    names = [name for name, _ in columns.keys]
    return pa.table(
        {
            "policy": names,
            "metric": [columns.metric] * count,
            "k": pa.array([k for _, k in columns.keys], pa.int32()),
            "value": value,
            "low": low,
            "high": high,
            "n": pa.array([len(residuals)] * count, pa.int64()),
            "effective_n": effective_n(columns.raw),
            "pareto_k": [pareto_k(column) for column in columns.raw.T],
            "largest_weight": largest_weight(columns.raw, outcome.own),
            "share_clipped": [outcome.clipped.get(name, 0.0) for name in names],
            "share_bounded": [outcome.bounded.get(name, 0.0) for name in names],
            "standard_error": np.sqrt((residuals**2).sum(axis=0)) / total,
            "estimator": [estimator] * count,
        },
        schema=ESTIMATES,
    )


def _differences(estimator: str, columns: Columns, own: Floats, replicates: Floats, level: float) -> pa.Table:
    keys = columns.keys
    pairs = [
        (i, j)
        for i, (_, k) in enumerate(keys)
        for j, (_, other_k) in enumerate(keys)
        if i != j and k == other_k
    ]
    ones, others = np.array(pairs, np.int64).reshape(-1, 2).T
    value = columns.values.sum(axis=0) / _total(columns, own)
    difference = value[ones] - value[others]
    residuals = columns.values - value * own[:, None]
    low, high = interval(replicates[:, ones] - replicates[:, others], level)
    low, high = widened(low, high, difference, residuals[:, ones] - residuals[:, others], level)
    return pa.table(
        {
            "policy": [keys[i][0] for i in ones],
            "other": [keys[j][0] for j in others],
            "k": pa.array([keys[i][1] for i in ones], pa.int32()),
            "value": difference,
            "low": low,
            "high": high,
            "estimator": [estimator] * len(ones),
        },
        schema=_DIFFERENCES,
    )
