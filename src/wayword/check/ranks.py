"""Checks of ranks: positions from 0, values that are no ranks, absurd ranks, ranks that are all the same."""

from collections.abc import Iterator
from dataclasses import replace

from wayword.check.finding import Finding, counted, graded, percent, share
from wayword.check.table import Tables
from wayword.config import CheckConfig
from wayword.logs.checks import LOG_CHECKS, Check

RANKS = LOG_CHECKS[2]
FEW_CLICKS = 20
"""Fewer clicks may all be at one rank."""


def from_zero(log: Tables, table: str = "typed") -> bool:
    """Whether the positions of a table start at 0: none is negative, and 0 is at least a fifth as frequent as 1."""
    found = log.row(
        f"""SELECT count(CASE WHEN rank = 0 THEN 1 END) AS zeros, count(CASE WHEN rank = 1 THEN 1 END) AS ones,
                   count(CASE WHEN rank < 0 THEN 1 END) AS negative FROM {table} WHERE document_id IS NOT NULL"""
    )
    return bool(found["zeros"] and not found["negative"] and 5 * found["zeros"] >= found["ones"])


def valid(log: Tables) -> Iterator[Finding]:
    """Ranks that are no whole numbers from 1 up; positions that start at 0."""
    if log.columns.judged or not log.has("document", "rank"):
        return
    check = RANKS
    zero = from_zero(log)
    if zero:
        yield first_rank(log, "typed", log.source, "first_rank")
        check = replace(RANKS, bad=f"({RANKS.bad}) AND rank IS DISTINCT FROM 0")
    do = f"Leave these clicks out: `wayword import {log.source} --out log` does, and counts them."
    found = log.invalid(check, do=do)
    if found:
        yield found
    elif not zero:
        yield Finding("ranks", "PASS", "All ranks are whole numbers from 1 up.")


def first_rank(log: Tables, table: str, source: str, name: str) -> Finding:
    """The finding that the ranks of a table start at 0."""
    check = Check("", "", table, "rank = 0 AND document_id IS NOT NULL", name)
    zeros = check.count(log.engine)
    return Finding(
        name,
        "FAIL",
        f"{source} counts positions from 0: {counted(zeros, 'row')} {'has' if zeros == 1 else 'have'} rank 0. Expected "
        "ranks from 1.",
        "All other checks read on as if 1 were added to every rank.",
        f"Add 1 to every rank: `wayword import {source} --first-rank 0 --out log`.",
        zeros,
        tuple(check.examples(log.engine, first_line=log.first_line if table == "typed" else None)),
    )


def absurd(log: Tables) -> Iterator[Finding]:
    """Clicks so deep that nobody scrolls there."""
    if log.columns.judged:
        return
    deepest = log.limits.deepest
    clicks, deep = log.count("clicks"), log.count(f"clicks WHERE rank > {deepest}")
    if not clicks:
        return
    if not deep:
        most = log.row("SELECT max(rank) AS most FROM clicks")["most"]
        yield Finding("deep_ranks", "PASS", f"The deepest click is at rank {most:,}.")
        return
    yield Finding(
        "deep_ranks",
        graded(deep, clicks, some=0, wrong=log.limits.wrong),
        f"{counted(deep, 'click')} ({percent(share(deep, clicks))}) {'is' if deep == 1 else 'are'} at a rank beyond "
        f"{deepest:,}, where nobody looks.",
        "A click at such a rank weighs as much as thousands at the top: fewer people look there.",
        "Look whether the column rank is the position of the result, not a number of the page or the document; leave "
        "the others out.",
        deep,
        log.examples(
            f"""SELECT s.search_id, s.raw_query, c.document_id, c.rank FROM clicks AS c
                JOIN searches AS s ON s.search = c.search WHERE c.rank > {deepest} ORDER BY c.search"""
        ),
    )


def same(log: Tables) -> Iterator[Finding]:
    """Ranks that are all the same."""
    if log.columns.judged:
        return
    most = log.engine.arrow(
        "SELECT rank, count(*) AS n FROM clicks GROUP BY rank ORDER BY n DESC, rank LIMIT 1"
    ).to_pylist()
    clicks = log.count("clicks")
    if most and clicks >= FEW_CLICKS:
        yield one_rank(clicks, most[0]["n"], log.limits, rank=most[0]["rank"])


def one_rank(clicks: int, same_rank: int, limits: CheckConfig, *, rank: int = 1) -> Finding:
    """The finding about the share of clicks that are at the most frequent rank."""
    at_one = share(same_rank, clicks)
    found = f"{percent(at_one)} of the clicks ({same_rank:,}) are at rank {rank:,}"
    if at_one <= limits.same_rank:
        matters = "Clicks further down count more: fewer people look there."
        return Finding("same_rank", "PASS", f"{found}, others elsewhere.", matters, count=same_rank)
    return Finding(
        "same_rank",
        "WARN",
        f"{found}.",
        "Either people click nothing else, or the log does not have the true ranks.",
        "Check that the column rank is the position at which the result was shown.",
        same_rank,
    )
