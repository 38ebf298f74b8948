"""Findings about the data: what a log cannot tell, what in it looks wrong, and what to do about it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from wayword.check.finding import LEVELS, Finding, percent, share
from wayword.check.rankings import agreed, explained
from wayword.check.ranks import one_rank
from wayword.check.sample import enough_tested
from wayword.config import Config
from wayword.evaluation.log_worth import LEAST_CLICKS, LEAST_GAIN
from wayword.report.log_facts import OFTEN, LogFacts


def findings(facts: LogFacts, config: Config | None = None, checked: Sequence[Finding] = ()) -> list[Finding]:
    """All findings, the worst first: what follows from the counts, and what else the check of the files found."""
    made = [one for check in CHECKS if (one := check(facts, config or Config())) is not None]
    known = {one.name for one in made}
    made += [one for one in checked if one.level != "PASS" and one.name not in known]
    return sorted(made, key=lambda one: LEVELS.index(one.level))


def _ranks(facts: LogFacts, config: Config) -> Finding | None:
    if facts.judged:
        return None
    return agreed(facts.clicks, facts.mismatched, facts.shift, config.check, shown=facts.confirmed)


def _unexplained(facts: LogFacts, config: Config) -> Finding | None:
    if not facts.unexplained:
        return None
    return explained(facts.clicks + facts.unexplained, facts.unexplained, config.rankings.max_unexplained)


def _not_returned(facts: LogFacts, config: Config) -> Finding | None:
    lost = share(facts.not_returned, facts.clicks)
    if lost <= config.check.some:
        return None
    return Finding(
        "not_returned",
        "FAIL" if lost > config.check.wrong else "WARN",
        f"{percent(lost)} of the clicks ({facts.not_returned:,}) are on documents that the rankings do not have for "
        "the query that was searched.",
        "The rankings are of another time than the log, or end before the ranks that people click.",
        "Export them again, deeper.",
    )


def _tested(facts: LogFacts, config: Config) -> Finding:
    found = enough_tested(facts.tested, config.check)
    return replace(found, level="FAIL") if facts.tested < config.check.few_test else found


def _density(facts: LogFacts, _config: Config) -> Finding:
    each = share(facts.clicks, facts.queries)
    found = f"{facts.clicks:,} clicks from {facts.queries:,} different queries: {each:.1f} clicks per query."
    if each < LEAST_CLICKS:
        return Finding(
            "density",
            "WARN",
            found,
            "Below about one click per query, little can be learned about where a query leads.",
            "Use a longer log, or look only at the part of the shop that people search most.",
        )
    return Finding(
        "density", "PASS", found, "From about one click per query on, there is something to learn."
    )


def _elsewhere(facts: LogFacts, _config: Config) -> Finding | None:
    if facts.judged:
        return None
    worth = facts.worth
    found = (
        f"For {percent(worth.elsewhere)} of the clicks another query shows the document too, for "
        f"{percent(worth.better_elsewhere)} at a better rank."
    )
    if worth.bound is None or worth.bound < LEAST_GAIN:
        return Finding(
            "elsewhere",
            "WARN",
            found,
            "Hardly any other suggestion could lead to it better: little can be won but typing.",
            "Add queries to the rankings that people could be offered.",
        )
    return Finding(
        "elsewhere",
        "PASS",
        found,
        "This is what better suggestions can win: the same document, found more easily. With the best query for each "
        f"click, known beforehand, people would find {worth.bound:.2f} times as much; nothing can exceed that.",
    )


def _seldom(facts: LogFacts, _config: Config) -> Finding:
    rare = share(facts.seldom, facts.searches)
    return Finding(
        "seldom",
        "WARN" if rare > 0.5 else "PASS",
        f"{percent(rare)} of the searches are for queries that were searched fewer than {OFTEN} times.",
        "About such a query the log says little; it is judged by its words and its results.",
    )


def _clicked(facts: LogFacts, _config: Config) -> Finding | None:
    if facts.judged:
        return None
    if facts.searches_with_click == facts.searches:
        return Finding(
            "clicked",
            "WARN",
            "The log has only searches with a click.",
            "Searches that found nothing are invisible, so queries that seldom succeed look better than they are.",
            "Log every search, with or without a click.",
        )
    return Finding(
        "clicked",
        "PASS",
        f"{percent(share(facts.searches_with_click, facts.searches))} of the searches have a click; the others are in "
        "the log too.",
        "Queries that often fail are recognised.",
    )


def _first_rank(facts: LogFacts, config: Config) -> Finding | None:
    if facts.judged or not facts.clicks:
        return None
    found = one_rank(facts.clicks, facts.at_first_rank, config.check)
    deepest = f"{found.found} The deepest click is at rank {facts.deepest:,}."
    return replace(found, level="FAIL" if found.level == "WARN" else found.level, found=deepest)


def _typed(facts: LogFacts, _config: Config) -> Finding:
    if facts.prefixes:
        return Finding(
            "typed", "PASS", "The log has what people had typed when they searched.", "It is used as it is."
        )
    return Finding(
        "typed",
        "PASS",
        "The log does not say what people had typed.",
        "Every beginning of a query stands for it, which is how people type.",
    )


CHECKS: tuple[Callable[[LogFacts, Config], Finding | None], ...] = (
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
