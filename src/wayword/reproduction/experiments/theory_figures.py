"""The figures of the theory's section; each conclusion is worked out from the numbers, and says so if a check fails."""

import numpy as np

from wayword.reproduction.figures import Series, lines, points
from wayword.reproduction.report.exhibits import Figure
from wayword.reproduction.theory.bounding import Bounding
from wayword.reproduction.theory.generalization import Generalization
from wayword.reproduction.theory.unbiasedness import Unbiasedness
from wayword.reproduction.theory.variance import Unbounded, Variance


def unbiasedness_figure(found: Unbiasedness) -> Figure:
    """Three means against the truth."""
    order = np.argsort(found.truth, kind="stable")
    x = found.truth[order].tolist()
    series = [
        Series(
            "û over all searches",
            x,
            found.mean[order].tolist(),
            found.low[order].tolist(),
            found.high[order].tolist(),
            strong=True,
        ),
        Series("clicks only", x, found.clicks_only[order].tolist()),
        Series("uncorrected", x, found.naive[order].tolist()),
    ]
    description = (
        "Estimated mean utility against the true visible utility of each query, on logarithmic scales."
    )
    return Figure(
        name="theory-unbiasedness",
        title="Unbiased per search",
        conclusion=unbiasedness_conclusion(found),
        svg=points(
            "theory-unbiasedness",
            series,
            x_title="visible utility (exact)",
            y_title="mean over the logs",
            diagonal=True,
            x_log=True,
            y_log=True,
            description=description,
        ),
        description=description,
    )


def unbiasedness_conclusion(found: Unbiasedness) -> str:
    """Whether chance explains the distance of every mean from its truth."""
    rows = f"{len(found.z)} means of û"
    z = f"the largest |z| is {found.largest_z:.2f}, where {found.threshold:.2f} is the limit for so many tests"
    if not found.holds:
        return (
            f"**The check fails:** of {rows} some are far from the truth: {z}. Try another seed: by chance alone, one "
            "in twenty fails at most."
        )
    wrong, pairs = found.misordered
    some = found.truth > 0
    times = found.clicks_only[some] / found.truth[some]
    return (
        f"All {rows} meet the truth ({z}); over clicks only they would be {times.min():.1f} to {times.max():.1f} times "
        f"too large, and uncorrected {wrong} of {pairs} pairs of queries of a context come out in the wrong order."
    )


def variance_figure(found: Variance) -> Figure:
    """Measured variances against their bound."""
    order = np.argsort(found.bound, kind="stable")
    x = found.bound[order].tolist()
    description = "Measured variance of û against the bound B·E û − (E û)², on logarithmic scales."
    return Figure(
        name="theory-variance",
        title="The variance is within its bound",
        conclusion=variance_conclusion(found),
        svg=points(
            "theory-variance",
            [Series("measured variance", x, found.measured[order].tolist(), strong=True)],
            x_title="bound B·E û − (E û)²",
            y_title="variance of û in one search",
            diagonal=True,
            x_log=True,
            y_log=True,
            description=description,
        ),
        description=description,
    )


def variance_conclusion(found: Variance) -> str:
    """Whether û and its variance are within their bounds."""
    used = found.bound > 0
    share = found.exact[used] / found.bound[used]
    if not found.holds:
        return (
            f"**The check fails:** û reaches {found.largest.max():.2f} with B = {found.ratio:.2f}, variances "
            + (f"{share.max():.2f} of their bound.")
        )
    return (
        f"No û is above B = {found.ratio:.1f} and no variance above its bound; the median exact variance is "
        f"{np.median(share):.2f} of it, the largest {share.max():.2f}."
    )


def unbounded_figure(found: Unbounded) -> Figure:
    """Variance by the logged rank."""
    x = found.rank.tolist()
    ends = (found.low.tolist(), found.high.tolist())
    description = (
        "Variance of û by the rank of the shared document in the logged query, on logarithmic scales."
    )
    return Figure(
        name="theory-unbounded",
        title="Without a B there is no bound",
        conclusion=unbounded_conclusion(found),
        svg=lines(
            "theory-unbounded",
            [
                Series("as printed in the proof", x, found.printed.tolist()),
                Series("exact, and B·u − u²", x, found.exact.tolist()),
                Series("measured", x, found.measured.tolist(), *ends, strong=True),
            ],
            x_title="rank in the logged query",
            y_title="variance of û in one search",
            x_log=True,
            y_log=True,
            x_ticks=x,
            description=description,
        ),
        description=description,
    )


def unbounded_conclusion(found: Unbounded) -> str:
    """How the variance grows, and which formula the measurement meets."""
    grows = (
        f"from {found.exact[0]:.2f} at rank {found.rank[0]} to {found.exact[-1]:.1f} at rank {found.rank[-1]}"
    )
    met = (found.low <= found.exact) & (found.exact <= found.high)
    if not found.holds:
        return f"**The check fails:** the variance goes {grows} and should grow as B·u − u² does."
    return (
        f"The variance grows with the rank without end, {grows}, and B·u − u² is met exactly; the measurement has "
        f"p_q²/p_q̄ − p_q² in {int(met.sum())} of {len(met)} intervals, not the p_q²/p_q̄² of the printed proof."
    )


def bounding_figure(found: Bounding) -> Figure:
    """The error of bounded û relative to that of û, by the bound on the ratio."""
    series: list[Series] = []
    for n in np.unique(found.searches):
        rows = (found.searches == n) & (found.kind == "max_ratio")
        free = found.error[rows][-1]
        series.append(
            Series(
                f"{n:,} searches",
                found.bound[rows].tolist(),
                (found.error[rows] / free).tolist(),
                (found.low[rows] / free).tolist(),
                (found.high[rows] / free).tolist(),
                strong=not series,
            )
        )
    description = (
        "Mean squared error of bounded û relative to unbounded û, by max_ratio, for two sizes of log."
    )
    return Figure(
        name="theory-bounding",
        title="What a bound costs and saves",
        conclusion=bounding_conclusion(found),
        svg=lines(
            "theory-bounding",
            series,
            x_title="max_ratio",
            y_title="mean squared error, unbounded = 1",
            x_log=True,
            y_log=True,
            x_ticks=(0.25, 0.5, 1, 2, 4, 8, 16),
            reference={"unbounded": 1.0},
            description=description,
        ),
        description=description,
    )


def bounding_conclusion(found: Bounding) -> str:
    """The best bound at each number of searches, and what it saves."""
    told = []
    for n in np.unique(found.searches):
        rows = (found.searches == n) & (found.kind == "max_ratio")
        best = found.best_bound(n, "max_ratio")
        saved = 1 - found.error[rows].min() / found.error[rows][-1]
        kept = f"the best max_ratio is {best:.3g} and saves {saved:.1%} of the error"
        told.append(f"with {n:,} searches {kept if saved > 0 else 'no bound is best'}")
    sentence = "; ".join(told)
    if not found.holds:
        return f"**Not as expected:** {sentence}; a longer log should need less of a bound."
    return f"{sentence[0].upper()}{sentence[1:]}: the longer the log, the less of a bound it needs."


def generalization_figure(found: Generalization) -> Figure:
    """Excess and bounds by n."""
    x = found.searches.tolist()
    ends = (found.low.tolist(), found.high.tolist())
    description = (
        "Excess of the learned ranker and its bounds by the number of searches, on logarithmic scales."
    )
    return Figure(
        name="theory-generalization",
        title="Learning from more searches",
        conclusion=generalization_conclusion(found),
        svg=lines(
            "theory-generalization",
            [
                Series("bound of Theorem 1", x, found.bound.tolist()),
                Series("symmetrisation only", x, found.direct.tolist()),
                Series("measured excess", x, found.excess.tolist(), *ends, strong=True),
            ],
            x_title="searches in the log, n",
            y_title="gain lost against the best in class",
            x_log=True,
            y_log=True,
            description=description,
        ),
        description=description,
    )


def generalization_conclusion(found: Generalization) -> str:
    """Whether the bound holds, both slopes, and how much room there is between."""
    slopes = (
        f"the excess falls as n^{found.slope:.2f} ({found.slope_low:.2f} to {found.slope_high:.2f}), "
        f"the bound as n^{found.bound_slope:.2f}"
    ).replace("-", "−")
    if not found.holds:
        above = found.searches[found.high > found.bound]
        return f"**The check fails:** the excess is above the bound at n = {', '.join(map(str, above))}; {slopes}."
    some = found.excess > 0
    room = found.bound[some] / found.excess[some]
    pace = "no slower than" if found.slope_high <= found.bound_slope else "**not shown to be as fast as**"
    vacuous = (
        " It says nothing about the size here: no excess can be above twice the best gain, and the bound always is; "
        "what is tested is its rate."
        if (found.bound > 2 * found.best_gain).all()
        else ""
    )
    return (
        f"The bound holds at every n ({room.min():,.0f} to {room.max():,.0f} times the excess): {slopes}, "
        "so learning is "
        f"{pace} promised.{vacuous}"
    )
