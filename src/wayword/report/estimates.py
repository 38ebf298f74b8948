"""Report of the estimates: rows for programs, tables for the terminal."""

import math
import shlex
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from wayword.completion.list_value import SHOWN as LISTED
from wayword.completion.policies import DEFAULT
from wayword.engines import tables
from wayword.errors import WaywordError
from wayword.evaluation import diagnostics
from wayword.evaluation.estimates import DIAGNOSTICS, LIST_UTILITY, UTILITY
from wayword.evaluation.typing_sessions import FOUND
from wayword.report.sessions import print_sessions
from wayword.request import ANY, MODES
from wayword.store.workspace import Workspace
from wayword.utility import CUTOFFS

UTILITY_POLICY = "expected"
"""The policy that maximises Utility@1."""
SHOWN = ("policy", "metric", "k", "value", "low", "high", "n", *DIAGNOSTICS, "estimator")
RELIABLE = ((FOUND, LISTED), (UTILITY, 1), (UTILITY, 5))
"""The estimates whose diagnostics are printed."""
MEANING = {
    "logged": "the query that people typed",
    "random": "the retriever's candidates, shuffled",
    "popular": "most popular completion",
    "retriever": "the retriever's own order",
    "unbiased": "the paper's ranker: trained on unbiased utilities",
    "expected": "expected utility, over all queries: best if people take what they are shown",
    "wayword": "what is served: the list of highest value for people who take what they recognise",
    "oracle": "the best of the retriever's candidates, knowing the clicked document",
    "ceiling": "the best of all queries, not knowing the clicked document (simulated worlds only)",
}


def estimates_of(
    workspace: Workspace | Path | str, metric: str | None = UTILITY, *, mode: str = ANY
) -> list[dict[str, Any]]:
    """One row per policy and k: policy, metric, k, value, low, high, n, the diagnostics of `evaluation.diagnostics` and
    the estimator.

    The metric is "utility", "list_utility" (the first k as a whole; see `evaluation.estimates`), "mrr", "success",
    "found", "keystrokes", "taken" (of typing sessions; see `evaluation.typing_sessions`), or None for all.
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
    """Print what people find and type with each policy, and where the rest is."""
    print_sessions(workspace, console, mode=mode)
    for line in worries_of(workspace, mode=mode):
        console.print(f"note: {line}", highlight=False)
    console.print(
        f"\n`wayword evaluate {shlex.quote(str(workspace.path))} --all` prints everything.", highlight=False
    )


def print_all(workspace: Workspace, console: Console, *, mode: str = ANY) -> None:
    """Print typing sessions for all kinds of people, the policies in order of Utility@1 with intervals, and the paired
    gains of the policy of highest expected utility."""
    rows = estimates_of(workspace, mode=mode)
    if not rows:
        console.print(
            "No search of the test split has a click, so there is nothing to estimate. Use a longer log."
        )
        return
    by_policy = {(row["policy"], row["k"]): row for row in rows}
    names = sorted({row["policy"] for row in rows}, key=lambda name: (by_policy[name, 1]["value"], name))
    print_sessions(workspace, console, mode=mode, everything=True)
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
    _print_reliability(workspace, console, mode)
    if mode == ANY:
        print_recall(workspace, console)
    console.print(f"\nPaired gain in Utility@1 of {UTILITY_POLICY} over", highlight=False)
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


def worries_of(workspace: Workspace | Path | str, *, mode: str = ANY) -> list[str]:
    """Why what is found should not be trusted, of the policy that is served and of most popular completion."""
    rows = {row["policy"]: row for row in estimates_of(workspace, FOUND, mode=mode)}
    served = Workspace.of(workspace).config.index.policy
    return [
        f"{FOUND} of {name}: {worry}"
        for name in dict.fromkeys((served, "popular"))
        if name in rows and (worry := diagnostics.worry(rows[name]))
    ]


def _print_reliability(workspace: Workspace, console: Console, mode: str) -> None:
    """Print the diagnostics of the estimates that decide."""
    rows = [row for row in estimates_of(workspace, None, mode=mode) if (row["metric"], row["k"]) in RELIABLE]
    table = Table(title="Do few searches decide?")
    table.add_column("estimate", no_wrap=True)
    for name in ("effective n", "Pareto k̂", "largest weight", "clipped"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in sorted(rows, key=lambda row: RELIABLE.index((row["metric"], row["k"]))):
        if row["policy"] == "logged":
            continue
        at = "" if row["metric"] == FOUND else f"@{row['k']}"
        shape, clipped = (row[name] for name in ("pareto_k", "share_clipped"))
        table.add_row(
            f"{row['metric']}{at}, {row['policy']}",
            f"{row['effective_n']:,.0f} of {row['n']:,}",
            "–" if shape is None else f"{shape:.2f}",
            "–" if row["largest_weight"] is None else f"{row['largest_weight']:.1f}",
            "–" if clipped is None else f"{clipped:.0%}",
        )
    console.print()
    console.print(table)
    used = {row["metric"]: row["estimator"] for row in rows}
    console.print(
        f"Estimators: {', '.join(f'{metric} by {name}' for metric, name in used.items())}. Trust needs an effective n "
        f"of {diagnostics.ENOUGH} or more and a k̂ below {diagnostics.FINITE_VARIANCE:g} ({diagnostics.FINITE_MEAN:g} "
        "at most). The largest weight is in searches that type on.",
        highlight=False,
    )
    for line in worries_of(workspace, mode=mode):
        console.print(f"note: {line}", highlight=False)


FEW = 100
"""Below this number of test searches, bootstrap intervals are too narrow to be trusted."""


def _advice(searches: int, gains: dict[str, dict[str, Any]]) -> list[str]:
    """Recommendations that follow from the estimates."""
    advice = []
    if searches < FEW:
        advice.append(f"Only {searches:,} test searches: these estimates are unreliable. Use a longer log.")
    if "popular" in gains and gains["popular"]["high"] < 0:
        advice.append(
            "On this log most popular completion has a higher Utility@1 than the best single query: there are too few "
            "clicks, or no query leads to better results."
        )
    return advice


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or math.isnan(row["value"]):
        return "–"
    return f"{row['value']:.3f} [dim]{row['low']:.3f}–{row['high']:.3f}[/dim]"


def _gains(workspace: Workspace, mode: str) -> dict[str, dict[str, Any]]:
    """Paired differences in Utility@1 between `expected` and each of the others."""
    others = ("random", "retriever", "popular", "unbiased")
    rows = [
        row
        for row in differences_of(workspace, mode=mode)
        if row["policy"] == UTILITY_POLICY and row["k"] == 1
    ]
    return {row["other"]: row for row in rows if row["other"] in others}
