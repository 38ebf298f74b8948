"""Report of the estimates: rows for programs, tables for the terminal."""

import math
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from wayword.completion.policies import DEFAULT
from wayword.engines import tables
from wayword.errors import WaywordError
from wayword.evaluation.estimates import LIST_UTILITY, UTILITY
from wayword.request import ANY, MODES
from wayword.store.workspace import Workspace
from wayword.utility import CUTOFFS

SHOWN = ("policy", "metric", "k", "value", "low", "high", "n")
MEANING = {
    "logged": "the query that people typed",
    "random": "the retriever's candidates, shuffled",
    "popular": "most popular completion",
    "retriever": "the retriever's own order",
    "unbiased": "the paper's ranker: trained on unbiased utilities",
    "expected": "Wayword's: expected utility, over all queries",
    "diverse": "expected utility of the list as a whole, no near-duplicates",
    "oracle": "the best of the retriever's candidates, knowing the clicked document",
    "ceiling": "the best of all queries, not knowing the clicked document (simulated worlds only)",
}


def estimates_of(
    workspace: Workspace | Path | str, metric: str | None = UTILITY, *, mode: str = ANY
) -> list[dict[str, Any]]:
    """One row per policy and k: policy, metric, k, value, low, high, n.

    The metric is "utility", "list_utility" (the first k as a whole; see `evaluation.estimates`), or None for both.
    The mode is "any" (every query may be shown) or "prefix" (only completions of the typed text).
    """
    _check_mode(mode)
    workspace = Workspace.of(workspace)
    with workspace.reading():
        table = tables.read(workspace.folder("estimates"), "estimates")
        rows = table.filter(pc.equal(table["mode"], mode)).select(SHOWN).to_pylist()
    return [dict(row) for row in rows if metric in (None, row["metric"])]


def differences_of(workspace: Workspace | Path | str, *, mode: str = ANY) -> list[dict[str, Any]]:
    """One row per pair of policies and k: policy, other, k, value, low, high; paired over the same resamples."""
    _check_mode(mode)
    workspace = Workspace.of(workspace)
    with workspace.reading():
        table = tables.read(workspace.folder("estimates"), "differences")
        rows = table.filter(pc.equal(table["mode"], mode)).drop_columns(["mode"]).to_pylist()
    return [dict(row) for row in rows]


def _check_mode(mode: str) -> None:
    if mode not in MODES:
        raise WaywordError(f"Found mode {mode!r}; expected one of {', '.join(MODES)}.")


def dial_of(workspace: Workspace) -> list[dict[str, Any]]:
    """One row per setting of the dial and k: acceptance, k, utility, mrr, success."""
    with workspace.reading():
        return [dict(row) for row in tables.read(workspace.folder("estimates"), "dial").to_pylist()]


def print_dial(workspace: Workspace, console: Console) -> None:
    """Print utility and conventional metrics at each setting of the dial."""
    by_share = {(row["acceptance"], row["k"]): row for row in dial_of(workspace)}
    table = Table(title="From utility (0) to what people would have typed anyway (1)")
    names = ("dial", *(f"Utility\n@{k}" for k in CUTOFFS), "MRR\n@10", "Success\n@1", "Success\n@10", "")
    for name in names:
        table.add_column(name, justify="right" if name else "left")
    best = max((row["utility"] for (_, k), row in by_share.items() if k == CUTOFFS[-1]), default=0.0)
    for share in sorted({share for share, _ in by_share}):
        row = by_share[share, CUTOFFS[-1]]
        bar = "█" * round(10 * row["utility"] / best) if best > 0 else ""
        table.add_row(
            f"{share:g}",
            *(f"{by_share[share, k]['utility']:.3f}" for k in CUTOFFS),
            f"{row['mrr']:.3f}",
            f"{by_share[share, 1]['success']:.3f}",
            f"{row['success']:.3f}",
            f"[cyan]{bar}[/cyan]",
        )
    console.print(table)
    console.print(
        "Success@k: share of searches whose issued query is among the first k. Bar: Utility@10.",
        highlight=False,
    )


def print_recall(workspace: Workspace, console: Console) -> None:
    """Print the recall of the ceiling's first ten queries by source, in a simulated world."""
    with workspace.reading():
        rows = tables.read(workspace.folder("estimates"), "recall").to_pylist()
    if rows:
        parts = ", ".join(f"{row['source']} {row['recall']:.3f}" for row in rows)
        wide = workspace.config.retriever.candidates
        console.print(
            f"\nRecall of the ceiling's first ten queries among {wide} candidates: {parts}", highlight=False
        )


def print_estimates(workspace: Workspace, console: Console, *, mode: str = ANY) -> None:
    """Print the policies in order of Utility@1 with intervals, and the paired gains of the default policy."""
    rows = estimates_of(workspace, mode=mode)
    if not rows:
        console.print(
            "No search of the test split has a click, so there is nothing to estimate. Use a longer log."
        )
        return
    by_policy = {(row["policy"], row["k"]): row for row in rows}
    names = sorted({row["policy"] for row in rows}, key=lambda name: (by_policy[name, 1]["value"], name))
    level = workspace.config.evaluation.level
    table = Table(
        title=f"Utility of each policy, mode {mode} ({rows[0]['n']:,} test searches, {level:.0%} intervals)"
    )
    table.add_column("policy")
    for k in CUTOFFS:
        table.add_column(f"Utility@{k}", justify="right", no_wrap=True)
    for name in names:
        cells = [_cell(by_policy.get((name, k))) for k in CUTOFFS]
        table.add_row(name, *cells, style="bold" if name == DEFAULT else None)
    console.print(table)
    for name in names:
        console.print(f"  [bold]{name:<9}[/bold] {MEANING.get(name, '')}", highlight=False)
    console.print("\n1 is the utility of the queries that people typed themselves.", highlight=False)
    _print_lists(workspace, console, names, mode)
    if mode == ANY:
        print_recall(workspace, console)
    console.print(f"\nPaired gain in Utility@1 of {DEFAULT} over", highlight=False)
    gains = _gains(workspace, mode)
    for other, row in gains.items():
        gain = f"{row['value']:+.3f} [dim]({row['low']:+.3f} to {row['high']:+.3f})[/dim]"
        console.print(f"  [bold]{other:<9}[/bold] {gain}", highlight=False)
    for line in _advice(rows[0]["n"], gains):
        console.print(f"\n{line}", highlight=False)


def _print_lists(workspace: Workspace, console: Console, names: list[str], mode: str) -> None:
    """Print list utility, without k = 1, where it equals Utility@1."""
    by_policy = {(row["policy"], row["k"]): row for row in estimates_of(workspace, LIST_UTILITY, mode=mode)}
    if not by_policy:  # estimates of an earlier version
        return
    deeper = [k for k in CUTOFFS if k > 1]
    table = Table(title="Utility of each list as a whole")
    table.add_column("policy")
    for k in deeper:
        table.add_column(f"List utility@{k}", justify="right", no_wrap=True)
    for name in (name for name in names if (name, 1) in by_policy):
        cells = [_cell(by_policy.get((name, k))) for k in deeper]
        table.add_row(name, *cells, style="bold" if name == DEFAULT else None)
    console.print()
    console.print(table)
    console.print(
        "Each click, or judged search, counts once, for the listed query with the highest utility.",
        highlight=False,
    )


FEW = 100
"""Below this number of test searches, bootstrap intervals are too narrow to be trusted."""


def _advice(searches: int, gains: dict[str, dict[str, Any]]) -> list[str]:
    """Recommendations that follow from the estimates."""
    advice = []
    if searches < FEW:
        advice.append(f"Only {searches:,} test searches: these estimates are unreliable. Use a longer log.")
    if "popular" in gains and gains["popular"]["high"] < 0:
        advice.append(
            "On this log most popular completion has a higher Utility@1: there are too few clicks, or no query leads to"
            " better results. Use `complete --policy popular` until there are more clicks."
        )
    return advice


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or math.isnan(row["value"]):
        return "–"
    return f"{row['value']:.3f} [dim]{row['low']:.3f}–{row['high']:.3f}[/dim]"


def _gains(workspace: Workspace, mode: str) -> dict[str, dict[str, Any]]:
    """Paired differences in Utility@1 between the default policy and each of the others."""
    others = ("random", "retriever", "popular", "unbiased")
    rows = [row for row in differences_of(workspace, mode=mode) if row["policy"] == DEFAULT and row["k"] == 1]
    return {row["other"]: row for row in rows if row["other"] in others}
