"""Checks of impressions: whether they can be read, and whether they show what was clicked."""

from collections.abc import Iterator

from wayword.check.finding import Finding, counted, graded, percent, share
from wayword.check.table import Tables
from wayword.errors import LogError
from wayword.logs import impressions
from wayword.store.input_file import InputFile

REPEATED = (impressions.TWICE, impressions.TWICE_CLICKED)
ALWAYS = ("rows", "impressions", *REPEATED)
"""Counts of what was read that are no trouble."""


def read(log: Tables, file: InputFile, first_rank: int) -> tuple[bool, Finding]:
    """Step `impressions`, if they can be read: whether there is one, and the finding."""
    try:
        counts = impressions.read(log.engine, file, first_rank=first_rank)
    except LogError as problem:
        return False, Finding("impressions", "FAIL", str(problem))
    left_out = {what: n for what, n in counts.items() if n and what not in ALWAYS}
    repeated = "".join(f" {counts[what]:,} {what}." for what in REPEATED if what in counts)
    found = f"{file} has {counted(counts['impressions'], 'impression')}.{repeated}"
    if not left_out:
        return True, Finding("impressions", "PASS", found, count=counts["impressions"])
    named = "; ".join(f"{n:,} for {what}" for what, n in left_out.items())
    return True, Finding(
        "impressions",
        "WARN",
        f"{found} Left out are {named}.",
        "So few do not change what is estimated.",
        "Look how they were recorded.",
        sum(left_out.values()),
    )


def clicks(log: Tables) -> Iterator[Finding]:
    """Clicks without an impression, and clicks that were shown at another rank."""
    if not log.impressions or not log.has("search_id"):
        return
    log.engine.step(
        "shown_clicks",
        """SELECT c.search, s.search_id, s.raw_query, c.document_id, c.rank, known.search_id IS NOT NULL AS known,
                  min(i.rank) AS shown_rank, count(i.rank) AS shown, bool_or(i.rank = c.rank) AS same
           FROM clicks AS c JOIN searches AS s ON s.search = c.search
           LEFT JOIN (SELECT DISTINCT search_id FROM impressions) AS known ON known.search_id = s.search_id
           LEFT JOIN impressions AS i ON i.search_id = s.search_id AND i.document = c.document_id
           GROUP BY c.search, s.search_id, s.raw_query, c.document_id, c.rank, known.search_id""",
    )
    found = log.row(
        """SELECT count(*) AS clicks, count(CASE WHEN NOT known THEN 1 END) AS unknown,
                  count(CASE WHEN known AND shown = 0 THEN 1 END) AS unseen,
                  count(CASE WHEN shown > 0 THEN 1 END) AS shown,
                  count(CASE WHEN shown > 0 AND NOT same THEN 1 END) AS moved FROM shown_clicks"""
    )
    yield _without(log, found["clicks"], found["unknown"], found["unseen"])
    if found["shown"]:
        yield _moved(log, found["shown"], found["moved"])


def _without(log: Tables, all_clicks: int, unknown: int, unseen: int) -> Finding:
    missing = unknown + unseen
    if missing <= log.limits.some * all_clicks:
        found = (
            f"{percent(1 - share(missing, all_clicks))} of {counted(all_clicks, 'click')} have an impression."
        )
        return Finding("clicks_shown", "PASS", found, count=missing)
    return Finding(
        "clicks_shown",
        "WARN",
        f"{counted(missing, 'click')} ({percent(share(missing, all_clicks))}) {'has' if missing == 1 else 'have'} no "
        f"impression: {unknown:,} in searches that the impressions lack, {unseen:,} on documents that their search did "
        "not show.",
        "Propensities are learned from the other searches alone.",
        "Nothing, if only a sample of the searches is recorded. Else look whether later pages, and results "
        "that load while scrolling, are recorded.",
        missing,
        log.examples(
            """SELECT search_id, raw_query, document_id, rank FROM shown_clicks WHERE shown = 0
               ORDER BY known DESC, search, rank"""
        ),
    )


def _moved(log: Tables, shown: int, moved: int) -> Finding:
    level = graded(moved, shown, some=log.limits.some, wrong=log.limits.wrong)
    if level == "PASS":
        found = f"{percent(1 - share(moved, shown))} of the clicks that have an impression have its rank."
        return Finding("shown_ranks", level, found, count=moved)
    return Finding(
        "shown_ranks",
        level,
        f"{percent(share(moved, shown))} of the clicks that have an impression ({moved:,}) were logged at another rank "
        "than it.",
        "One of the two is wrong: the rank of a click says how easily it was seen.",
        "Count both from 1 and in the same list, from page to page (`--first-rank 0` where impressions start at 0).",
        moved,
        log.examples(
            """SELECT search_id, raw_query, document_id, rank, shown_rank FROM shown_clicks
               WHERE shown > 0 AND NOT same ORDER BY search, rank"""
        ),
    )
