"""Report of typing sessions: what people find and type with each policy, in a table, in words and in a picture."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from wayword.completion.policies import DEFAULT
from wayword.engines import tables
from wayword.evaluation.stage import POPULAR
from wayword.evaluation.typing_sessions import FOUND, KEYSTROKES, METRICS, MODEL, PEOPLE
from wayword.request import ANY
from wayword.store.workspace import Workspace

Row = dict[str, Any]
MEANINGS = {
    MODEL: "accept as the acceptance model says",
    "own query only": "accept only the query they intend",
    "twice as readily": "accept other suggestions twice as readily as the model says",
    "everything": "accept whatever they read",
}
WIDTH, HEIGHT = 60, 15
"""Characters of the picture."""
FEWER, MORE = 0.98, 1.05
"""Relative keystrokes between which people type as much, for all practical purposes."""


def sessions_of(workspace: Workspace | Path | str, *, mode: str = ANY) -> list[Row]:
    """One row per policy, metric and kind of people: policy, metric, k, value, low, high, n, people."""
    return _read(workspace, "sessions", mode)


def session_differences_of(workspace: Workspace | Path | str, *, mode: str = ANY) -> list[Row]:
    """One row per pair of policies, metric and kind of people; paired over the same resamples."""
    return _read(workspace, "session_differences", mode)


def curve_of(workspace: Workspace | Path | str) -> list[Row]:
    """Found and keystrokes of the policy `wayword` for a range of keystroke values."""
    workspace = Workspace.of(workspace)
    with workspace.reading():
        return [dict(row) for row in tables.read(workspace.folder("estimates"), "curve").to_pylist()]


def _read(workspace: Workspace | Path | str, name: str, mode: str) -> list[Row]:
    workspace = Workspace.of(workspace)
    with workspace.reading():
        rows = tables.read(workspace.folder("estimates"), name).to_pylist()
    return [{key: row[key] for key in row if key != "mode"} for row in rows if row["mode"] == mode]


def print_sessions(workspace: Workspace, console: Console, *, mode: str = ANY) -> None:
    """Print the table of all policies, the verdict in words, whether it holds for other people, and the picture."""
    rows = sessions_of(workspace, mode=mode)
    if not rows:
        return
    table = Table(title=f"People who type, mode {mode} ({rows[0]['n']:,} test searches, letter by letter)")
    table.add_column("policy")
    for name in METRICS:
        table.add_column(name, justify="right", no_wrap=True)
    of_model = {(row["policy"], row["metric"]): row for row in rows if row["people"] == MODEL}
    for name in dict.fromkeys(policy for policy, _ in of_model):
        cells = [_cell(of_model.get((name, metric))) for metric in METRICS]
        table.add_row(name, *cells, style="bold" if name == DEFAULT else None)
    console.print(table)
    console.print(
        "found: relative to typing on without suggestions; keystrokes: relative to typing everything; "
        "taken: share of searches in which a suggestion is taken.\n",
        highlight=False,
    )
    for line in verdicts(rows, session_differences_of(workspace, mode=mode)):
        console.print(line, highlight=False)
    if mode == ANY:
        console.print()
        console.print(picture(curve_of(workspace), rows), highlight=False, markup=False)
    console.print()


def verdicts(rows: list[Row], differences: list[Row]) -> list[str]:
    """Say which of the served policy and most popular completion is better for people, for each kind of people."""
    verdict_of = {people: _verdict(people, rows, differences) for people in PEOPLE}
    known = {people: verdict for people, verdict in verdict_of.items() if verdict}
    lines = [f"{people_name(people)} {verdict[1]}" for people, verdict in known.items()]
    main = known.get(MODEL)
    others = [people for people, verdict in known.items() if main and verdict[0] not in (main[0], "equal")]
    if others and main and main[0] in (DEFAULT, POPULAR):
        names = "; ".join(MEANINGS[people] for people in others)
        lines.append(f"This conclusion does not hold for people who {names}.")
    return lines


def people_name(people: str) -> str:
    """The beginning of a sentence about a kind of people."""
    return f"People who {MEANINGS[people]}"


def _verdict(people: str, rows: list[Row], differences: list[Row]) -> tuple[str, str] | None:
    """(better, sentence): `better` is the name of a policy, "equal" or "mixed"."""
    value = {(r["policy"], r["metric"]): r["value"] for r in rows if r["people"] == people}
    gain = {
        r["metric"]: r
        for r in differences
        if (r["policy"], r["other"], r["people"]) == (DEFAULT, POPULAR, people)
    }
    if FOUND not in gain or KEYSTROKES not in gain:
        return None
    found, keys = gain[FOUND], gain[KEYSTROKES]
    ratio = value[DEFAULT, KEYSTROKES] / max(value[POPULAR, KEYSTROKES], 1e-12)
    numbers = (
        f"find {value[DEFAULT, FOUND]:.3f} with {DEFAULT} and {value[POPULAR, FOUND]:.3f} with {POPULAR} "
        f"({found['value']:+.3f}, {found['low']:+.3f} to {found['high']:+.3f}), "
        f"with {ratio:.2f} times the keystrokes"
    )
    finds = 1 if found["low"] > 0 else -1 if found["high"] < 0 else 0
    types = 1 if keys["high"] < 0 and ratio < FEWER else -1 if keys["low"] > 0 and ratio > MORE else 0
    if finds >= 0 and types >= 0 and finds + types > 0:
        return DEFAULT, f"{numbers}: {DEFAULT} is better."
    if finds <= 0 and types <= 0 and finds + types < 0:
        return POPULAR, f"{numbers}: {POPULAR} is better."
    if finds or types:
        return "mixed", f"{numbers}: one finds more, the other takes fewer keystrokes."
    if keys["low"] > 0 or keys["high"] < 0:
        return "equal", f"{numbers}: the difference in keystrokes is significant, but small."
    return "equal", f"{numbers}: no significant difference."


def picture(curve: list[Row], rows: list[Row]) -> str:
    """Draw found against keystrokes: `wayword` over its keystroke values (·), and each policy as a letter."""
    of_model = {(row["policy"], row["metric"]): row["value"] for row in rows if row["people"] == MODEL}
    names = list(dict.fromkeys(policy for policy, _ in of_model))
    marks = letters(names)
    points: list[tuple[float, float, str]] = [(point[KEYSTROKES], point[FOUND], "·") for point in curve]
    points += [
        (of_model[name, KEYSTROKES], of_model[name, FOUND], marks[name])
        for name in names
        if (name, KEYSTROKES) in of_model and (name, FOUND) in of_model  # without a click nothing is found
    ]
    points = [point for point in points if math.isfinite(point[0]) and math.isfinite(point[1])]
    if not points:
        return ""
    (left, right), (low, high) = (
        _range([point[0] for point in points]),
        _range([point[1] for point in points]),
    )
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for x, y, mark in points:
        column = round((x - left) / (right - left) * (WIDTH - 1))
        row = round((high - y) / (high - low) * (HEIGHT - 1))
        grid[row][column] = mark
    lines = [f"{high - (high - low) * n / (HEIGHT - 1):6.3f} │{''.join(row)}" for n, row in enumerate(grid)]
    axis = f"       └{'─' * WIDTH}"
    labels = f"        {left:<{WIDTH - 6}.3f}{right:.3f}"
    legend = ", ".join(f"{marks[name]} {name}" for name in names)
    title = "found (up) against keystrokes (right); · the policy wayword with keystroke values from "
    values = f"{curve[-1]['keystroke_value']:g} (left) to {curve[0]['keystroke_value']:g}" if curve else ""
    return "\n".join([f"{title}{values}; {legend}", *lines, axis, labels])


def letters(names: Iterable[str]) -> dict[str, str]:
    """Give each name a letter of its own: the first of its letters that no earlier name has, else a digit.

    >>> letters(["popular", "random", "retriever"])
    {'popular': 'p', 'random': 'r', 'retriever': 'e'}
    """
    given: dict[str, str] = {}
    for name in names:
        free = (letter for letter in f"{name}0123456789" if letter not in given.values())
        given[name] = next(free)
    return given


def _range(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = 0.02 * (high - low) or 0.01
    return low - margin, high + margin


def _cell(row: Row | None) -> str:
    if row is None or math.isnan(row["value"]):
        return "–"
    return f"{row['value']:.3f} [dim]{row['low']:.3f}–{row['high']:.3f}[/dim]"
