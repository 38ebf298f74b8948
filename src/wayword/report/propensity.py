"""Report of estimated propensities: a table with bars, and what was counted and assumed."""

from collections.abc import Mapping

import numpy as np
from rich.console import Console
from rich.table import Table

from wayword.propensity.estimate import Estimate

WIDE = 30
FIRST_RANKS = 20
"""Deeper ranks are printed where they are a multiple of ten."""
NOT_LEFT_OUT = ("rows", "impressions")


def print_estimate(found: Estimate, counts: Mapping[str, int], console: Console) -> None:
    """Print p of every rank with its interval, the power law beyond, and the notes."""
    table = Table(title=f"Propensities ({found.method}), with 95 % intervals")
    for name in ("rank", "p", "from", "to"):
        table.add_column(name, justify="right")
    table.add_column("█ p  ░ to the end of the interval")
    for rank, p, low, high in zip(found.ranks, found.p, found.low, found.high, strict=True):
        if rank > FIRST_RANKS and rank % 10 and rank != found.ranks[-1]:
            continue
        mark = "*" if rank in found.by_law else ""
        table.add_row(f"{rank}{mark}", f"{p:.4f}", f"{low:.4f}", f"{high:.4f}", bar(p, high))
    console.print(table)
    if len(found.by_law):
        console.print("* by the power law", highlight=False)
    width = 1.96 * float(np.sqrt(found.law.covariance[1, 1]))
    console.print(
        f"Fitted power law, which continues the table beyond rank {found.ranks[-1]}: {found.law.formula} "
        f"(alpha {found.law.alpha:.2f} ± {width:.2f}).",
        highlight=False,
    )
    for note in found.notes:
        console.print(f"- {note}", highlight=False)
    for reason, count in counts.items():
        if reason not in NOT_LEFT_OUT:
            console.print(f"- Left out: {count:,} of {counts['rows']:,} rows: {reason}.", highlight=False)


def bar(p: float, high: float) -> str:
    """p as a bar, and the rest of its interval.

    >>> bar(0.5, 0.6)
    '███████████████░░░'
    """
    filled = min(round(WIDE * p), WIDE)
    return "█" * filled + "░" * (min(round(WIDE * high), WIDE) - filled)
