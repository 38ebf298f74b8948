"""The next step that follows from the verdict, with what makes the lists worse where that is known."""

from collections.abc import Mapping, Sequence
from typing import Any

from wayword.check.finding import percent, share
from wayword.evaluation.verdict import EQUAL, MIXED, UNKNOWN, times_in_words
from wayword.report.log_facts import LogFacts
from wayword.report.text_examples import Example

MUCH_WITHHELD = 0.1
"""Share of the searches whose queries a limit withholds from which on it shortens the lists."""
LOWER = {
    "min_searches": "lower it, or set 0, which withholds only where little is lost",
    "min_users": "lower it as far as privacy allows, or use a longer log, in which queries have more users",
}


def withholding(verdict: Mapping[str, Any], facts: LogFacts) -> str | None:
    """The limit of the index that withholds the queries of most searches, where this makes people type more."""
    worse = verdict["better"] in (verdict["other"], MIXED, UNKNOWN)
    if not worse or not verdict["keystrokes"] or verdict["keystrokes"]["ratio"] <= 1:
        return None
    name = max(facts.withheld, key=lambda one: facts.withheld[one], default=None)
    much = name is not None and share(facts.withheld[name], facts.searches) > MUCH_WITHHELD
    return name if much else None


def next_step(
    verdict: Mapping[str, Any],
    facts: LogFacts,
    limits: Mapping[str, Any],
    hurt: Sequence[Example],
    *,
    problems: bool,
    changes: bool,
) -> str:
    """Say what to do; `limits` are the settings of the index, `changes` whether settings are recommended."""
    if problems:
        return "first do what is said above, and run again; until then, do not rely on this comparison."
    causes = [*_withheld(verdict, facts, limits), *_pinned(hurt)]
    if verdict["better"] == verdict["other"]:
        advice = causes or _looked(hurt, changes=changes)
        return " ".join(
            ["do not serve it like this; keep most popular completion until this is mended.", *advice]
        )
    if verdict["better"] in (MIXED, UNKNOWN) and causes:
        return " ".join(["mend this first.", *causes])
    said = {
        verdict[
            "policy"
        ]: "serve it to a part of your users beside what they have now (`wayword serve --against`), and "
        "compare what they do. Look through the lists under “Where it hurts” first.",
        MIXED: "decide what counts more, finding or typing less: `[completion] keystroke_value` moves the served lists "
        "along the line of the picture.",
        EQUAL: "serve either; look through the lists below to see where they differ.",
        UNKNOWN: more_log(verdict["clicks_needed"]),
    }
    return said[verdict["better"]]


def _withheld(verdict: Mapping[str, Any], facts: LogFacts, limits: Mapping[str, Any]) -> list[str]:
    name = withholding(verdict, facts)
    if name is None:
        return []
    searches = percent(share(facts.withheld[name], facts.searches))
    return [
        f"`[index] {name} = {limits[name]}` withholds the queries of {searches} of the searches, so lists are short "
        f"and people type more: {LOWER[name]}."
    ]


def _pinned(hurt: Sequence[Example]) -> list[str]:
    """Name pinned suggestions where they are in most of the lists that hurt."""
    pinned = sum(any(one.pinned for one in example.ours) for example in hurt)
    if 2 * pinned <= len(hurt):
        return []
    return [
        f"Pinned suggestions (`overrides.json`) are in {pinned} of the {len(hurt)} lists under “Where it hurts”: take "
        "them out and write this report again; no training is needed."
    ]


def _looked(hurt: Sequence[Example], *, changes: bool) -> list[str]:
    made = ["Try the recommended settings below."] if changes else []
    if hurt:
        made.append(
            "Look through the lists under “Where it hurts”: deny what is plainly wrong, or pin what is right."
        )
    return made or ["A longer log teaches more."]


def more_log(needed: float | None) -> str:
    """The next step where the verdict is unknown; `needed` is how many times the clicks would tell.

    >>> more_log(33.9)
    'collect a longer log, about 34 times the clicks; until then, expect what most popular completion gives.'
    """
    longer = f", about {times_in_words(needed)} times the clicks" if needed else ""
    return f"collect a longer log{longer}; until then, expect what most popular completion gives."
