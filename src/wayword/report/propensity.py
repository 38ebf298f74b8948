"""Report of estimated propensities: a table with bars, and what was counted and assumed."""

from collections.abc import Mapping

import numpy as np
from rich.console import Console
from rich.table import Table

from wayword.logs.impressions import TWICE, TWICE_CLICKED, UNREAD_TIMES
from wayword.propensity.comparison import LIKELIHOOD, Comparison
from wayword.propensity.estimate import Estimate
from wayword.propensity.rank_groups import spans
from wayword.propensity.swap_plan import DEPTH, SwapPlan

WIDE = 30
FIRST_RANKS = 20
"""Deeper ranks are printed where they have one digit that is not 0: 30, 400."""
SOME_GROUPS = 10
SOME_RANKS = (2, 3, 5, 10)
YEAR = 365
REPEATED = (TWICE, TWICE_CLICKED)
NOT_LEFT_OUT = ("rows", "impressions", UNREAD_TIMES, *REPEATED)


def print_estimate(found: Estimate, counts: Mapping[str, int], console: Console) -> None:
    """Print p of every rank with its interval, the power law beyond, and the notes."""
    table = Table(title=f"Propensities ({found.method}), with 95 % intervals")
    for name in ("rank", "p", "from", "to"):
        table.add_column(name, justify="right")
    table.add_column("█ p  ░ to the end of the interval")
    for rank, p, low, high in zip(found.ranks, found.p, found.low, found.high, strict=True):
        if rank > FIRST_RANKS and len(str(rank).rstrip("0")) > 1 and rank != found.ranks[-1]:
            continue
        mark = "*" if rank in found.by_law else ""
        table.add_row(f"{rank}{mark}", f"{p:.4f}", f"{low:.4f}", f"{high:.4f}", bar(p, high))
    console.print(table)
    if len(found.by_law):
        _say("* by the power law", console)
    width = 1.96 * float(np.sqrt(found.law.covariance[1, 1]))
    _say(
        f"Fitted power law, which continues the table beyond rank {found.ranks[-1]}: {found.law.formula} "
        f"(alpha {found.law.alpha:.2f} ± {width:.2f}).",
        console,
    )
    for note in found.notes:
        _say(f"- {note}", console)
    if counts.get(UNREAD_TIMES):
        _say(f"- {counts[UNREAD_TIMES]:,} {UNREAD_TIMES}: these rows count as one period.", console)
    for reason in REPEATED:
        if reason in counts:
            _say(f"- {counts[reason]:,} of {counts['rows']:,} {reason}.", console)
    for reason, count in counts.items():
        if reason not in NOT_LEFT_OUT:
            _say(f"- Left out: {count:,} of {counts['rows']:,} rows: {reason}.", console)


def print_comparison(found: Comparison, console: Console) -> None:
    """Print the curves of all methods, their scores on held-out searches, and the recommendation."""
    ranks = np.intersect1d(found.estimates[LIKELIHOOD].ranks, SOME_RANKS)
    table = Table(title="p by method, and how well it predicts at which rank held-out clicks fall")
    table.add_column("method")
    for name in (*(f"p[{rank}]" for rank in ranks), "gain per click", "behind the best"):
        table.add_column(name, justify="right")
    for name in dict.fromkeys((*found.estimates, *found.scores)):
        p, score = [""] * len(ranks), found.scores.get(name)
        if name in found.estimates:
            p = [f"{value:.3f}" for value in found.estimates[name].at(ranks)["p"].to_pylist()]
        told = (f"{score.gain:.4f}", f"{score.behind:.4f} ± {score.error:.4f}") if score else ("", "")
        table.add_row(f"{name} ←" if name == found.recommended else name, *p, *told)
    console.print(table)
    _say(f"Recommended: {found.recommended}.", console)
    for reason in found.reasons:
        _say(f"- {reason}", console)


def print_plan(found: SwapPlan, console: Console) -> None:
    """Print which ranks to swap, for which share of the traffic and how long."""
    wanted = found.wanted
    _say(_joined(found), console)
    if not found.swaps:
        _say(
            f"Nothing to swap: all ranks down to {DEPTH} that were shown are joined with rank 1. `wayword propensity` "
            "gives their p with intervals; four times the log makes them half as wide.",
            console,
        )
        return
    table = Table(
        title=f"Swap, for an interval of ± {wanted.precision:.0%} of the lower rank's p relative to the upper's"
    )
    for name in ("ranks", "share of traffic", "searches needed"):
        table.add_column(name, justify="right")
    for swap in found.swaps:
        table.add_row(f"{swap.upper} and {swap.lower}", f"{swap.share:.2%}", f"{swap.searches:,.0f}")
    console.print(table)
    long = (
        ""
        if found.days is None
        else f", about {np.ceil(found.days):,.0f} days at the {found.per_day:,.0f} a day of this log"
    )
    _say(
        f"It takes {found.traffic:,.0f} searches of the whole site{long}. In half of a pair's searches, drawn at "
        "random, its two results change places; in the impressions, the rows of both results have the pair (such as "
        "1-4) in the column `swap` in all of its searches, swapped or not; other rows have none. p is assumed to be "
        f"about rank^-{wanted.alpha:g} for the calculation: where it falls faster, more searches are needed."
        f"{_too_long(found)}",
        console,
    )


def _joined(found: SwapPlan) -> str:
    """Which ranks the log joins."""
    groups = sorted((group for group in found.groups if len(group) > 1), key=lambda group: int(group[0]))
    if not groups:
        return "This log joins no two ranks."
    more = f"; and {len(groups) - SOME_GROUPS:,} more groups" if len(groups) > SOME_GROUPS else ""
    return f"Ranks that this log joins: {'; '.join(map(spans, groups[:SOME_GROUPS]))}{more}."


def _too_long(found: SwapPlan) -> str:
    """What to do if the experiment takes longer than a year."""
    if found.days is None or found.days <= YEAR:
        return ""
    return (
        " This takes longer than a year: be content with a wider interval (`--precision 0.5`), give it more of the "
        'traffic (`--share 1`), or keep [propensity] source = "power": `wayword evaluate` says whether its verdict '
        "depends on alpha."
    )


def _say(text: str, console: Console) -> None:
    """Print text as it is: brackets are no markup."""
    console.print(text, markup=False, highlight=False)


def bar(p: float, high: float) -> str:
    """p as a bar, and the rest of its interval.

    >>> bar(0.5, 0.6)
    '███████████████░░░'
    """
    filled = min(round(WIDE * p), WIDE)
    return "█" * filled + "░" * (min(round(WIDE * high), WIDE) - filled)
