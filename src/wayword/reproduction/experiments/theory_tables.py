"""The tables of the theory's section."""

import numpy as np

from wayword.reproduction.report.exhibits import Column, Interval, Table
from wayword.reproduction.theory.bounding import Bounding
from wayword.reproduction.theory.generalization import Generalization
from wayword.reproduction.theory.padding import Padding
from wayword.reproduction.theory.unbiasedness import Unbiasedness
from wayword.reproduction.theory.variance import Unbounded, Variance

SHOWN = 12
"""So many rows of the variances."""


def unbiasedness_table(found: Unbiasedness) -> Table:
    """Truth and means of every context and candidate."""
    return Table(
        name="theory-unbiasedness",
        title="Mean utility estimated from logs, against the truth",
        columns=(
            Column("context"),
            Column("logged query"),
            Column("query"),
            Column("utility", 4),
            Column("of it visible", 4),
            Column("mean û", 4),
            Column("z", 1, sign=True),
            Column("uncorrected", 4),
            Column("clicks only", 4),
        ),
        rows=tuple(
            (
                int(found.context[i]),
                int(found.logged[i]),
                int(found.query[i]),
                float(found.utility[i]),
                float(found.truth[i]),
                Interval(float(found.mean[i]), float(found.low[i]), float(found.high[i])),
                float(found.z[i]),
                float(found.naive[i]),
                float(found.clicks_only[i]),
            )
            for i in range(len(found.context))
        ),
        note=(
            f"{found.logs:,} logs of {found.searches:,} searches per context. *Visible* is the part of utility from "
            "documents that the logged query returns: what the mean of û must meet. *z* counts standard errors from "
            "it. *Uncorrected* leaves out the division by p of the logged rank (p[1] in its place); *clicks only* "
            "leaves out the searches without a click. Intervals of 95%."
        ),
    )


def variance_table(found: Variance) -> Table:
    """The rows with the largest exact variances."""
    order = np.argsort(-found.exact, kind="stable")[:SHOWN]
    return Table(
        name="theory-variance",
        title=f"Variance of û in one search: the {len(order)} largest of {len(found.exact)}",
        columns=(
            Column("context"),
            Column("logged query"),
            Column("query"),
            Column("E û", 4),
            Column("measured"),
            Column("exact"),
            Column("B·E û − (E û)²"),
            Column("measured / bound", 2),
        ),
        rows=tuple(
            (
                int(found.context[i]),
                int(found.logged[i]),
                int(found.query[i]),
                float(found.utility[i]),
                Interval(float(found.measured[i]), float(found.low[i]), float(found.high[i])),
                float(found.exact[i]),
                float(found.bound[i]),
                float(found.measured[i] / found.bound[i]) if found.bound[i] > 0 else None,
            )
            for i in order
        ),
        note=(
            f"{found.searches:,} searches of each context and logged query; B = {found.ratio:.1f}. Exact: "
            "Σ p_q²/p_q̄ − (E û)² over the relevant documents that both return. Of all rows, "
            f"{found.covered:.0%} have the exact variance in their interval of 95%."
        ),
    )


def unbounded_table(found: Unbounded) -> Table:
    """The example of Proposition 2."""
    return Table(
        name="theory-unbounded",
        title="One shared document: q shows it first, the logged query q̄ at rank r",
        columns=(
            Column("r"),
            Column("B = p[1]/p[r]", 1),
            Column("measured variance"),
            Column("exact: p[1]²/p[r] − p[1]²"),
            Column("bound: B·u − u²"),
            Column("as printed: p[1]²/p[r]² − p[1]²"),
        ),
        rows=tuple(
            (
                int(found.rank[i]),
                float(found.ratio[i]),
                Interval(float(found.measured[i]), float(found.low[i]), float(found.high[i])),
                float(found.exact[i]),
                float(found.bound[i]),
                float(found.printed[i]),
            )
            for i in range(len(found.rank))
        ),
        note=f"{found.searches:,} searches each; u = p[1] = {found.utility:.3f}. Intervals of 95%.",
    )


def bounding_table(found: Bounding) -> Table:
    """Both kinds of bounds; the errors of both numbers of searches side by side."""
    numbers = np.unique(found.searches)
    first = np.flatnonzero(found.searches == numbers[0])
    each = {n: np.flatnonzero(found.searches == n) for n in numbers}
    columns = [Column("kind"), Column("bound", 2), Column("bias", 4), Column("variance", 4)]
    for n in numbers:
        columns += [Column(f"error at n = {n:,}", 6), Column(f"measured at n = {n:,}", 6)]
    rows = []
    for place, i in enumerate(first):
        cells: list[str | float | Interval] = [str(found.kind[i]), float(found.bound[i])]
        cells += [float(found.bias[i]), float(found.variance[i])]
        for n in numbers:
            j = each[n][place]
            cells += [float(found.error[j])]
            cells += [Interval(float(found.measured[j]), float(found.low[j]), float(found.high[j]))]
        rows.append(tuple(cells))
    best = {place for n in numbers for place, j in enumerate(each[n]) if found.best[j]}
    return Table(
        name="theory-bounding",
        title="Bounding û: bias, variance and mean squared error",
        columns=tuple(columns),
        rows=tuple(rows),
        note=(
            f"Means over all contexts, logged queries and candidates; measured over {found.logs:,} logs. `max_ratio` "
            "bounds p[rank_q]/p[logged rank], `max_weight` bounds p[1]/p[logged rank]; the last of each takes "
            "nothing away. Error = bias² + variance/n. In bold: the best of its kind at one of the n."
        ),
        strong=frozenset(best),
    )


def generalization_table(found: Generalization) -> Table:
    """Excess and bounds by the number of searches."""
    return Table(
        name="theory-generalization",
        title="How far the ranker learned from n searches falls short of the best in its class",
        columns=(
            Column("n"),
            Column("excess", 5),
            Column("excess in utility", 5),
            Column("logs that find the best", 2),
            Column("Rₙ(F)", 4),
            Column("ρₙ", 2),
            Column("bound of Theorem 1", 3),
            Column("bound / excess", 0),
            Column("bound, pair by pair", 3),
            Column("bound, symmetrisation only", 4),
        ),
        rows=tuple(
            (
                int(found.searches[i]),
                Interval(float(found.excess[i]), float(found.low[i]), float(found.high[i])),
                float(found.utility_excess[i]),
                float(found.perfect[i]),
                float(found.rademacher[i]),
                float(found.relevant[i]),
                float(found.bound[i]),
                float(found.bound[i] / found.excess[i]) if found.excess[i] > 0 else None,
                float(found.summed[i]),
                float(found.direct[i]),
            )
            for i in range(len(found.searches))
        ),
        note=(
            f"{found.logs:,} logs of each n, of which {found.click_rate:.0%} of the searches end in a click. "
            f"{found.contexts} contexts, {found.queries} queries, K = {found.candidates}, B = {found.ratio:.1f}; "
            f"{found.rankers} distinct rankers. The best of them gains {found.best_gain:.4f}, the best order of "
            f"every context {found.full_gain:.4f}. Bound: 4·B·(ρₙ/K)²·Rₙ(F), Rₙ(F) of the worst pair of queries. "
            "*Pair by pair* sums Rₙ(q, q′) over the pairs that can count; *symmetrisation only* is 2·E sup 1/n Σ εᵢ · "
            "gainᵢ, before the proof takes pairs apart. *Excess in utility* has what logs cannot tell in "
            f"it and tends to {found.floor:.5f}, not to 0."
        ),
    )


def padding_table(found: Padding) -> Table:
    """The counterexample."""
    return Table(
        name="theory-padding",
        title="One useful query among K, one search: the bound as stated can be too small",
        columns=(
            Column("K"),
            Column("excess", 4),
            Column("4·B·(ρ/K)²·R", 4),
            Column("4·B·(2/K)·R, all pairs with the useful query", 4),
        ),
        rows=tuple(
            (int(found.candidates[i]), float(found.excess[i]), float(found.bound[i]), float(found.mended[i]))
            for i in range(len(found.candidates))
        ),
        note=(
            f"Exact, with n = {found.searches}, u = {found.utility}, B = 1, ρ = 1, and a class of two rankers: the "
            "useful query first or last. In bold: the excess is above the bound as stated."
        ),
        strong=frozenset(np.flatnonzero(found.excess > found.bound).tolist()),
    )
