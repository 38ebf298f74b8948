"""A summary of what was read from UBI records, as a table and as JSON."""

import math
from typing import Any

from rich.console import Console
from rich.table import Table

from wayword.config import RankingsConfig
from wayword.logs.ubi import contexts, impressions, line_check, typing_sessions
from wayword.logs.ubi.clicks import REASONS
from wayword.logs.ubi.read import UbiLog

ALWAYS = ("files", "query records", "events", "searches", "clicks", "result lists")
"""Counts that are shown even if they are 0."""
PARTS = {
    "read": (
        "files",
        "query records",
        "events",
        "lists of completions shown",
        "completions picked",
        "times that cannot be read",
    ),
    "kept": (
        "searches",
        "searches known from events alone",
        "searches that began with a completion",
        "typing sessions",
        "typing sessions that begin after a pick",
        "lists of completions",
        "lists from which a completion was taken",
        "lists that no search followed",
        "lists whose typing session is known by the query_id alone",
        "clicks",
        "clicks whose rank is that of the list",
        "clicks deeper than the list of their search",
        "queries",
        "result lists",
        "result lists known from impressions",
        "impressions",
        "searches whose impressions are events",
        "searches whose impressions are hits",
        "searches without known impressions",
        impressions.UNSHOWN,
        impressions.ELSEWHERE,
    ),
    "left out": (
        "blank lines",
        "records cut off at the end of a file",
        *line_check.REASONS,
        "records that are neither queries nor events",
        "records of other applications",
        "query records without a text",
        "query records without a query_id",
        "further query records of a query_id",
        *REASONS,
        "events of completions that are there twice",
        *typing_sessions.REASONS,
        "searches of another query than the one picked",
        contexts.RARE,
        contexts.MISFITS,
    ),
}


def print_log(log: UbiLog, console: Console) -> None:
    """Print what was read, kept and left out, the first ordinals, and the comparison of arms."""
    table = Table(title="UBI records")
    table.add_column("")
    table.add_column("")
    table.add_column("number", justify="right")
    for part, names in PARTS.items():
        listed = [name for name in names if log.report[name] or name in ALWAYS]
        for name in listed:
            table.add_row(
                part if name == listed[0] else "",
                name,
                f"{log.report[name]:,}",
                end_section=name == listed[-1],
            )
    console.print(table)
    for application, first in log.first_ordinals.items():
        named = f"The application {application}" if application else "The application without a name"
        console.print(f"{named} counts positions from {first}.", highlight=False, markup=False)
    if log.context:
        console.print(f"Context columns: {', '.join(log.context)}", highlight=False, markup=False)
    if log.arms:
        console.print(_arms(log.arms))
        console.print(
            "Share picked: of the lists shown. The others: of the searches that began with a pick; reciprocal rank is "
            "that of the topmost click, 0 without one. 95% intervals, by people; that of the difference stays valid "
            "however often you look.",
            highlight=False,
        )


def _arms(rows: list[dict[str, Any]]) -> Table:
    from wayword.logs.ubi.ab_test import MEASURES  # late: SciPy is needed for nothing else

    table = Table(title="What people did with completions")
    counts = ("people", "shown", "picked", "searches")
    table.add_column("arm")
    for name in (*counts, *MEASURES):
        table.add_column(name, justify="right")
    for arm in dict.fromkeys(row["arm"] for row in rows):
        mine = {row["measure"]: row for row in rows if row["arm"] == arm}
        first = next(iter(mine.values()))
        cells = ["" if first[name] is None else f"{first[name]:,}" for name in counts]
        table.add_row(arm or "–", *cells, *(_cell(mine[measure]) for measure in MEASURES))
    return table


def _cell(row: dict[str, Any]) -> str:
    if math.isnan(row["value"]):
        return "–"
    difference = row["shown"] is None
    sign = "+" if difference else ""
    low, high = (row[f"anytime_{end}" if difference else end] for end in ("low", "high"))
    interval = "" if low is None or math.isnan(low) else f"\n[dim]{low:{sign}.3f} to {high:{sign}.3f}[/dim]"
    return f"{row['value']:{sign}.3f}{interval}"


def as_object(log: UbiLog) -> dict[str, Any]:
    """The same as one JSON object; missing estimates are null."""
    arms = [
        {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in row.items()}
        for row in log.arms
    ]
    return {
        "report": log.report,
        "first_ordinals": log.first_ordinals,
        "context": log.context,
        "arms": arms,
        "notes": log.notes,
    }


def next_command(log: UbiLog) -> str:
    """The command that trains on the log."""
    rankings = (
        str(log.rankings) if log.rankings else "RANKINGS (the records hold no result list; export them)"
    )
    unexplained = (
        log.report["clicks on documents in no result list"]
        + log.report["clicks from queries without a result list"]
    )
    too_many = unexplained > RankingsConfig().max_unexplained * log.report["clicks"]
    lenient = f" --lenient (drops {unexplained:,} clicks that no result list explains)" if too_many else ""
    shown = f" --impressions {log.impressions}" if log.impressions else ""
    return f"wayword run --log {log.clicks} --rankings {rankings}{shown} --out WORKSPACE{lenient}"
