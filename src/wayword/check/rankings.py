"""Checks of the rankings: their own rows, whether they have the clicked queries, and whether the ranks agree."""

from collections.abc import Iterator
from dataclasses import replace

from wayword.check.finding import Finding, counted, graded, percent, share
from wayword.check.ranks import first_rank, from_zero
from wayword.check.table import Tables, invalid
from wayword.config import CheckConfig
from wayword.engines import Engine
from wayword.logs.checks import RANKINGS_CHECKS
from wayword.rankings import table as rankings
from wayword.rankings.table import DEEPER, EXPLAINED, MISMATCHED, UNKNOWN_DOCUMENT, UNRANKED

RANKS = RANKINGS_CHECKS[2]
ANOTHER_TIME = "Export the rankings again, from the engine and the time of the log (`wayword rankings`)."


def rows(log: Tables, source: str, first_line: int | None) -> Iterator[Finding]:
    """Invalid rows of `ranked`; leaves those that can be used, with ranks from 1."""
    zero = from_zero(log, "ranked")
    if zero:
        yield first_rank(log, "ranked", source, "rankings_first_rank")
    not_zero = replace(RANKS, bad=f"({RANKS.bad}) AND rank IS DISTINCT FROM 0")
    wrong = [
        replace(found, found=f"{source}: {found.found}")
        for check in RANKINGS_CHECKS
        if (
            found := invalid(
                log.engine, not_zero if zero and check is RANKS else check, first_line=first_line
            )
        )
    ]
    yield from wrong
    if wrong or zero:
        log.engine.step(
            "ranked",
            f"""SELECT r.raw_query, r.document_id, min(r.rank) + {int(zero)} AS rank FROM ranked AS r
            JOIN ranked_forms AS f ON f.raw = r.raw_query
            WHERE f.text <> '' AND r.document_id IS NOT NULL AND r.rank >= {1 - int(zero)} AND r.rank < 2147483647
              AND r.rank = floor(r.rank) GROUP BY r.raw_query, r.document_id""",
        )
    else:
        has = log.row("SELECT count(*) AS n, count(DISTINCT raw_query) AS queries FROM ranked")
        results = f"{counted(has['n'], 'result')} of {counted(has['queries'], 'query', 'queries')}"
        yield Finding("rankings", "PASS", f"{source} has {results}.", count=has["n"])


def placed(log: Tables) -> None:
    """Step `placed`: the clicks, with the ranks that the rankings give."""
    rankings.number(log.engine, None)
    rankings.place(log.engine)


def coverage(log: Tables) -> Iterator[Finding]:
    """Clicks that the rankings cannot explain: they lack the query, or the document."""
    clicks, unranked, unknown = (
        log.count(f"placed WHERE {which}") for which in ("true", UNRANKED, UNKNOWN_DOCUMENT)
    )
    queries = log.row(
        f"SELECT count(DISTINCT query) AS n, count(DISTINCT CASE WHEN {UNRANKED} THEN query END) AS lacking FROM placed"
    )
    found = explained(
        clicks,
        unranked + unknown,
        log.settings.rankings.max_unexplained,
        lenient=log.lenient or log.columns.judged,
        examples=_examples(log, f"({UNRANKED}) OR ({UNKNOWN_DOCUMENT})"),
    )
    if found.level == "PASS":
        yield replace(
            found, found=f"The rankings have all {counted(queries['n'], 'clicked query', 'clicked queries')}."
        )
        return
    lacking = f"{queries['lacking']:,} of {counted(queries['n'], 'clicked query', 'clicked queries')}"
    yield replace(
        found,
        found=f"{found.found} They lack {lacking}, and the documents of {counted(unknown, 'other click')}.",
    )


def explained(
    clicks: int, unexplained: int, limit: float, *, lenient: bool = False, examples: tuple[str, ...] = ()
) -> Finding:
    """The finding about the share of clicks that the rankings cannot explain."""
    if not unexplained:
        return Finding("coverage", "PASS", "The rankings have the query and the document of every click.")
    lost = share(unexplained, clicks)
    return Finding(
        "coverage",
        "FAIL" if lost > limit and not lenient else "WARN",
        f"{percent(lost)} of the clicks ({unexplained:,}) are left out: the rankings lack their query or document.",
        "What these people wanted is missing from all numbers.",
        "Export the rankings of every query in the log, as deep as people click (`wayword rankings --queries`).",
        unexplained,
        examples,
    )


def below(log: Tables) -> Iterator[Finding]:
    """Clicks below the last rank that the rankings have for their query."""
    if log.columns.judged:
        return
    clicks, deeper = log.count("placed"), log.count(f"placed WHERE {DEEPER}")
    if not deeper:
        yield Finding(
            "depth", "PASS", "No click is below the last rank that the rankings have for its query."
        )
        return
    deepest = log.row(f"SELECT max(rank) AS rank FROM placed WHERE {DEEPER}")["rank"]
    yield Finding(
        "depth",
        graded(deeper, clicks, some=0, wrong=log.limits.wrong),
        f"{counted(deeper, 'click')} ({percent(share(deeper, clicks))}) {'is' if deeper == 1 else 'are'} below "
        "the last rank that the rankings have for the query.",
        "What the engine returns there is unknown, so nothing can be learned from such a click.",
        f"Export the rankings deeper: people clicked down to rank {deepest:,}.",
        deeper,
        _examples(log, DEEPER),
    )


def agreement(log: Tables) -> Iterator[Finding]:
    """Clicks at another rank than in the rankings."""
    if log.columns.judged:
        return
    clicks = log.count(f"placed WHERE {EXPLAINED} AND NOT ({DEEPER})")
    if not clicks:
        return
    mismatched = log.count(f"placed WHERE {MISMATCHED}")
    pairs = f"SELECT rank, table_rank FROM placed WHERE {MISMATCHED} AND table_rank IS NOT NULL"
    yield agreed(
        clicks,
        mismatched,
        constant_shift(log.engine, pairs, mismatched),
        log.limits,
        _examples(log, MISMATCHED),
        shown=_shown_so(log),
    )


def agreed(
    clicks: int,
    mismatched: int,
    shift: int | None,
    limits: CheckConfig,
    examples: tuple[str, ...] = (),
    *,
    shown: int = 0,
) -> Finding:
    """The finding about the share of clicks at another rank than in the rankings. `shift` is the most frequent
    difference, if most have it; impressions confirm the logged rank of `shown` of them."""
    wrong = share(mismatched, clicks)
    level = graded(mismatched, clicks, some=limits.some, wrong=limits.wrong)
    matters = (
        "The rank of a click says how easily it was seen: a wrong one lets it count too much or too little."
    )
    if level == "PASS":
        return Finding(
            "rank_agreement",
            level,
            f"{percent(1 - wrong)} of the clicks have the rank that the rankings give.",
            matters,
            count=mismatched,
        )
    found = (
        f"{percent(wrong)} of the clicks ({mismatched:,}) were logged at another rank than the rankings give."
    )
    do = ANOTHER_TIME if shift is None else _about_shift(shift, every=2 * mismatched > clicks)
    if 2 * shown > mismatched:
        level, found = "WARN", f"{found} The impressions confirm the logged rank of {shown:,} of these."
        do = "Nothing, if ranks are changed at random or follow the person. Else export the rankings again."
    elif level == "FAIL" and shift is None:
        found += " The rankings are of another engine or another day."
    return Finding("rank_agreement", level, found, matters, do, mismatched, examples)


def _about_shift(shift: int, *, every: bool) -> str:
    """What to do about a difference that most mismatched clicks have; `every`: they are most of all clicks."""
    most = f"Most of them differ by exactly {shift:+d}: "
    if abs(shift) == 1 and every:
        return most + "count ranks from 1 in both files (`wayword import --first-rank 0`)."
    return (
        most
        + "look for results, such as advertisements, that only one of the files counts, and for results that "
        "the engine has added or removed since. " + ANOTHER_TIME
    )


def constant_shift(engine: Engine, pairs: str, mismatched: int) -> int | None:
    """Logged rank − rank in the rankings, if more than half of the mismatched clicks have the same difference.

    `pairs` is a query of their `rank` and `table_rank`.
    """
    rows = engine.arrow(
        f"""SELECT rank - table_rank AS shift, count(*) AS clicks FROM ({pairs}) AS t WHERE rank <> table_rank
            GROUP BY rank - table_rank ORDER BY count(*) DESC, abs(rank - table_rank) LIMIT 1"""
    ).to_pylist()
    return int(rows[0]["shift"]) if rows and 2 * rows[0]["clicks"] > mismatched else None


def _shown_so(log: Tables) -> int:
    """Mismatched clicks that the impressions, if there are any, show at the logged rank."""
    if not log.impressions:
        return 0
    return log.count(
        f"""(SELECT DISTINCT p.search, p.document_id, p.rank
             FROM (SELECT search, search_id, document_id, rank FROM placed WHERE {MISMATCHED}) AS p
             JOIN impressions AS i
             ON i.search_id = p.search_id AND i.document = p.document_id AND i.rank = p.rank) AS t"""
    )


def _examples(log: Tables, condition: str) -> tuple[str, ...]:
    return log.examples(
        f"""SELECT search_id, raw_query, document_id, rank, table_rank FROM placed WHERE {condition}
            ORDER BY search, rank"""
    )
