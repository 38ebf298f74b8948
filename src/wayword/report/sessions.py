"""Report of typing sessions: what people find and type with each policy, in tables and in a picture."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from wayword.completion.policies import DEFAULT
from wayword.engines import tables
from wayword.evaluation.sensitivity import MEANINGS
from wayword.evaluation.typing_sessions import FOUND, KEYSTROKES, METRICS, MODEL, PEOPLE
from wayword.request import ANY
from wayword.store.workspace import Workspace

Row = dict[str, Any]
WIDTH, HEIGHT = 60, 15
"""Characters of the picture."""


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


def print_sessions(
    workspace: Workspace, console: Console, *, mode: str = ANY, everything: bool = False
) -> None:
    """Print the table of all policies; with `everything` also for other kinds of people, and the picture."""
    rows = sessions_of(workspace, mode=mode)
    if not rows:
        return
    _print_table(rows, MODEL, f"People who type, mode {mode} ({rows[0]['n']:,} test searches)", console)
    console.print(
        "found: relative to typing on without suggestions; keystrokes: relative to typing everything; "
        "taken: share of searches in which a suggestion is taken.",
        highlight=False,
    )
    if not everything:
        return
    for people in PEOPLE:
        if people != MODEL:
            console.print()
            _print_table(rows, people, MEANINGS[people].capitalize(), console)
    if mode == ANY:
        console.print()
        console.print(picture(curve_of(workspace), rows), highlight=False, markup=False)
    console.print()


def _print_table(rows: list[Row], people: str, title: str, console: Console) -> None:
    table = Table(title=title)
    table.add_column("policy")
    for name in METRICS:
        table.add_column(name, justify="right", no_wrap=True)
    of_people = {(row["policy"], row["metric"]): row for row in rows if row["people"] == people}
    for name in dict.fromkeys(policy for policy, _ in of_people):
        cells = [_cell(of_people.get((name, metric))) for metric in METRICS]
        table.add_row(name, *cells, style="bold" if name == DEFAULT else None)
    console.print(table)


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
