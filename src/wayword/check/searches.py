"""Checks of searches: the column `search_id`, contradictory rows, duplicate rows."""

from collections.abc import Iterator
from dataclasses import replace

from wayword.check.finding import Finding, counted, percent, share
from wayword.check.table import Tables
from wayword.logs.checks import JUDGMENT_CHECKS, LOG_CHECKS, SEARCH_CHECKS, Check, context_checks
from wayword.logs.times import SECOND, microseconds

DAY = 24 * 3600 * SECOND


def search_id(log: Tables) -> Iterator[Finding]:
    """Without a search_id every row is a search."""
    if log.has("search_id"):
        found = log.invalid(LOG_CHECKS[1], do="Fill the column in every row, or leave it out altogether.")
        yield found or Finding("search_id", "PASS", "Every row has a search_id.")
    elif log.has("query") and not log.columns.judged:
        yield Finding(
            "search_id",
            "WARN",
            "The log has no column `search_id`: every row counts as a search of its own.",
            "Several clicks of one search count as several searches, and clicks cannot be joined with what was shown.",
            "Log the same search_id with all clicks of a result page, and one row for a search without a click.",
        )


def contradictions(log: Tables) -> Iterator[Finding]:
    """Rows of one search that contradict each other, and values that cannot be used."""
    checks: tuple[Check, ...] = context_checks(log.engine, log.columns)
    if log.has("search_id"):
        checks = (*SEARCH_CHECKS, *checks)
    checks = tuple(map(_of_known_searches, checks))
    if log.columns.judged:
        checks = (*JUDGMENT_CHECKS[2:], *checks)
    elif log.has("weight"):
        checks = (LOG_CHECKS[3], *checks)
    do = "Give every result page a search_id of its own; leave out columns that describe the click, not the search."
    wrong = [
        found
        for check in checks
        if (found := log.invalid(check, do=do if check.name.startswith("search") else ""))
    ]
    yield from wrong
    if log.has("search_id") and not wrong:
        yield Finding("search_rows", "PASS", "The rows of each search agree with each other.")


def _of_known_searches(check: Check) -> Check:
    """A check of whole searches without the rows that have no search_id: they are no search."""
    if not check.name.startswith("search"):
        return check
    return replace(check, bad=f"({check.bad}) AND search_id IS NOT NULL")


def duplicates(log: Tables) -> Iterator[Finding]:
    """Equal rows, where rows can be told apart: by a search_id, or by times that are finer than days."""
    if log.columns.judged or not (log.has("search_id") or _precise(log)):
        return
    names = [name for name in log.engine.columns("rows") if name != "input_row"]
    columns = ", ".join(map(log.engine.quote, names))
    log.engine.step(
        "repeated_rows",
        f"SELECT min(input_row) AS input_row, count(*) AS times FROM rows GROUP BY {columns} HAVING count(*) > 1",
    )
    found = log.row("SELECT coalesce(sum(times - 1), 0) AS more, count(*) AS n FROM repeated_rows")
    more, rows = int(found["more"]), log.count("rows")
    if not more:
        yield Finding("duplicates", "PASS", "No row is there twice.")
        return
    yield Finding(
        "duplicates",
        "WARN",
        f"{counted(more, 'row')} of {rows:,} ({percent(share(more, rows))}) {'repeats' if more == 1 else 'repeat'} "
        "another row in every column.",
        "A click that is logged twice counts twice, and intervals become too short.",
        "Look for a double export, a join that multiplies rows, or pages that log again when they are loaded again.",
        more,
        log.examples(
            """SELECT d.input_row, t.search_id, t.raw_query, t.document_id, t.rank_text, t.time_text, d.times
               FROM repeated_rows AS d JOIN rows AS t ON t.input_row = d.input_row ORDER BY d.input_row"""
        ),
    )


def _precise(log: Tables) -> bool:
    """Whether the log has times, and not all are at midnight."""
    if not log.has("time"):
        return False
    clock = microseconds(log.engine, "rows")
    return bool(log.count(f"(SELECT {clock} AS moment FROM rows) AS t WHERE moment % {DAY} <> 0"))
