"""Findings about the data: what a log cannot tell, what in it looks wrong, and what to do about it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from wayword.evaluation.log_worth import LEAST_CLICKS, LEAST_GAIN
from wayword.report.log_facts import OFTEN, LogFacts

Level = Literal["problem", "note", "fine"]
FEW_TEST, SOME_TEST = 100, 1000
"""Test searches: below the first, nothing can be concluded; below the second, only large differences."""
WRONG, SOME = 0.2, 0.02
"""Shares of clicks that are a problem, and worth a note."""


@dataclass(frozen=True)
class Finding:
    """What was found, why it matters, and what to do, if anything."""

    level: Level
    found: str
    matters: str
    do: str = ""


def findings(facts: LogFacts) -> list[Finding]:
    """All findings, problems first."""
    made = [one for check in CHECKS if (one := check(facts)) is not None]
    order: Sequence[Level] = ("problem", "note", "fine")
    return sorted(made, key=lambda one: order.index(one.level))


def share(part: int, whole: int) -> float:
    """A share; 0 of nothing is 0."""
    return part / whole if whole else 0.0


def percent(value: float) -> str:
    """A share in per cent; a small one with a digit more, so that it does not look like none.

    >>> percent(0.5), percent(0.034), percent(0.0), percent(0.00001), percent(0.9996)
    ('50 %', '3.4 %', '0 %', 'under 0.1 %', 'over 99.9 %')
    """
    if 0 < value < 0.001:
        return "under 0.1 %"
    if 0.999 < value < 1:
        return "over 99.9 %"
    digits = 1 if 0 < value < 0.1 or 0.9 < value < 1 else 0
    return f"{100 * value:.{digits}f} %"


def _ranks(facts: LogFacts) -> Finding | None:
    if facts.judged:
        return None
    wrong = share(facts.mismatched, facts.clicks)
    matters = (
        "The rank of a click says how easily it was seen. With a wrong rank it counts too much or too little, and the "
        "rankings may be those of another day."
    )
    if wrong <= SOME:
        return Finding(
            "fine", f"{percent(1 - wrong)} of the clicks have the rank that the rankings give.", matters
        )
    do = "Export the rankings again, from the time of the log."
    if facts.shift is not None:
        do = (
            f"Most of them differ by exactly {facts.shift:+d}: count ranks from 1 in both files."
            if abs(facts.shift) == 1
            else f"Most of them differ by exactly {facts.shift:+d}: look for results, such as advertisements, that "
            "only one of the files counts."
        )
    level: Level = "problem" if wrong > WRONG else "note"
    return Finding(
        level,
        f"{percent(wrong)} of the clicks ({facts.mismatched:,}) were logged at another rank than the rankings give.",
        matters,
        do,
    )


def _unexplained(facts: LogFacts) -> Finding | None:
    lost = share(facts.unexplained, facts.clicks + facts.unexplained)
    if not facts.unexplained:
        return None
    return Finding(
        "problem" if lost > WRONG else "note",
        f"{percent(lost)} of the clicks ({facts.unexplained:,}) were left out: the rankings lack their query or "
        "document.",
        "What these people wanted is missing from all numbers below.",
        "Export the rankings of every query in the log, as deep as people click.",
    )


def _not_returned(facts: LogFacts) -> Finding | None:
    lost = share(facts.not_returned, facts.clicks)
    if lost <= SOME:
        return None
    return Finding(
        "problem" if lost > WRONG else "note",
        f"{percent(lost)} of the clicks ({facts.not_returned:,}) are on documents that the rankings do not have for "
        "the query that was searched.",
        "The rankings are of another time than the log, or end before the ranks that people click.",
        "Export them again, deeper.",
    )


def _tested(facts: LogFacts) -> Finding:
    if facts.tested < FEW_TEST:
        return Finding(
            "problem",
            f"Only {facts.tested:,} searches with a click are there to test with: too few to say anything reliable.",
            "They are a share of the log, from which nothing is learned.",
            "Use a longer log.",
        )
    found = (
        f"{facts.tested:,} searches with a click are kept apart to test with; nothing is learned from them."
    )
    if facts.tested < SOME_TEST:
        return Finding("note", found, "Only large differences show with so few.", "Use a longer log.")
    return Finding("fine", found, "Enough to see differences of some per cent.")


def _density(facts: LogFacts) -> Finding:
    each = share(facts.clicks, facts.queries)
    found = f"{facts.clicks:,} clicks from {facts.queries:,} different queries: {each:.1f} clicks per query."
    if each < LEAST_CLICKS:
        return Finding(
            "note",
            found,
            "Below about one click per query, little can be learned about where a query leads.",
            "Use a longer log, or look only at the part of the shop that people search most.",
        )
    return Finding("fine", found, "From about one click per query on, there is something to learn.")


def _elsewhere(facts: LogFacts) -> Finding | None:
    if facts.judged:
        return None
    worth = facts.worth
    found = (
        f"For {percent(worth.elsewhere)} of the clicks another query shows the document too, for "
        f"{percent(worth.better_elsewhere)} at a better rank."
    )
    if worth.bound is None or worth.bound < LEAST_GAIN:
        return Finding(
            "note",
            found,
            "Hardly any other suggestion could lead to it better: little can be won but typing.",
            "Add queries to the rankings that people could be offered.",
        )
    return Finding(
        "fine",
        found,
        "This is what better suggestions can win: the same document, found more easily. With the best query for each "
        f"click, known beforehand, people would find {worth.bound:.2f} times as much; nothing can exceed that.",
    )


def _seldom(facts: LogFacts) -> Finding:
    rare = share(facts.seldom, facts.searches)
    return Finding(
        "note" if rare > 0.5 else "fine",
        f"{percent(rare)} of the searches are for queries that were searched fewer than {OFTEN} times.",
        "About such a query the log says little; it is judged by its words and its results.",
    )


def _clicked(facts: LogFacts) -> Finding | None:
    if facts.judged:
        return None
    if facts.searches_with_click == facts.searches:
        return Finding(
            "note",
            "The log has only searches with a click.",
            "Searches that found nothing are invisible, so queries that seldom succeed look better than they are.",
            "Log every search, with or without a click.",
        )
    return Finding(
        "fine",
        f"{percent(share(facts.searches_with_click, facts.searches))} of the searches have a click; the others are in "
        "the log too.",
        "Queries that often fail are recognised.",
    )


def _first_rank(facts: LogFacts) -> Finding | None:
    if facts.judged or not facts.clicks:
        return None
    first = share(facts.at_first_rank, facts.clicks)
    found = (
        f"{percent(first)} of the clicks are on the first result; the deepest is at rank {facts.deepest:,}."
    )
    if first > 0.98:
        return Finding(
            "problem",
            found,
            "Either people click nothing else, or the log does not have the true ranks.",
            "Check that the column rank is the position at which the result was shown.",
        )
    return Finding("fine", found, "Clicks further down count more: fewer people look there.")


def _typed(facts: LogFacts) -> Finding:
    if facts.prefixes:
        return Finding(
            "fine", "The log has what people had typed when they searched.", "It is used as it is."
        )
    return Finding(
        "fine",
        "The log does not say what people had typed.",
        "Every beginning of a query stands for it, which is how people type.",
    )


CHECKS: tuple[Callable[[LogFacts], Finding | None], ...] = (
    _ranks,
    _unexplained,
    _not_returned,
    _first_rank,
    _tested,
    _density,
    _elsewhere,
    _seldom,
    _clicked,
    _typed,
)
