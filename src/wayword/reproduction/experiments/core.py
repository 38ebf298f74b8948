"""The paper's core table (its section 7.3.1): every policy on the same test searches, from Random to the ceiling."""

from pathlib import Path

from wayword.config import Config
from wayword.reproduction import measures
from wayword.reproduction.material import load_lists
from wayword.reproduction.report.exhibits import Section, Text
from wayword.reproduction.report.numerals import number
from wayword.reproduction.shared import of_labels
from wayword.reproduction.telling import (
    Results,
    amount,
    by_position,
    compared,
    named,
    pairs,
    ranged,
    utilities,
)
from wayword.store.stage import Folders, Report

NAME = "core"
AFTER = ("rankings", "contexts", "propensity", "tests", "baselines", of_labels("unbiased"))
POLICIES = ("random", "popular", "logged", "retriever", "unbiased", "ceiling", "oracle")
PAIRS = (
    ("unbiased", "retriever"),
    ("unbiased", "popular"),
    ("unbiased", "random"),
    ("retriever", "random"),
    ("retriever", "popular"),
    ("oracle", "unbiased"),
    ("ceiling", "unbiased"),
)


def write(out: Path, at: Folders, config: Config) -> Report:
    """Fill `out` with the tables of `measures.save`."""
    lists = {**load_lists(at["baselines"]), **load_lists(at[of_labels("unbiased")])}
    return measures.compare(out, at, config.evaluation, lists)


def section(folder: Path) -> Section:
    """What the tables show."""
    found = Results.load(folder)
    shown = found.best_last(POLICIES)
    lines = [name for name in shown if name not in ("logged", "oracle")]
    gain = found.differences["unbiased", "retriever", 1]
    return Section(
        NAME,
        "Who leads people furthest",
        (
            ranged(
                "core_utility",
                "Utility@1 of every policy",
                f"{_gain(found)} {_way(found)}",
                found,
                shown,
            ),
            utilities(
                "core",
                f"Utility of every policy on {found.searches:,} test searches (95% intervals)",
                found,
                shown,
                note="1 is the utility of the queries that people typed themselves. Logged and Oracle are one query "
                "per search, so only @1 means something. Oracle is the best of the retriever's candidates "
                "for who knows the "
                "clicked document, which no policy can; the ceiling is the best of all queries for someone "
                "who knows the "
                "world but not the document. Most popular completion "
                "and the ceiling are not in the paper. Way to ceiling: (policy − Random) / (ceiling − Random).",
            ),
            by_position(
                "core_positions",
                "Mean utility at each position",
                _positions(found, lines),
                found,
                lines,
            ),
            pairs("core_differences", "Paired differences on the same searches", found, PAIRS),
            Text(
                f"Re-ranking adds {amount(gain, sign=True)} at 1 to what the retriever alone gives; the intervals "
                "resample searches, and each difference is taken search by search."
            ),
        ),
    )


def _gain(found: Results) -> str:
    best = found.estimates["unbiased", 1]
    others = {
        "retriever": "the retriever alone",
        "popular": "most popular completion",
        "logged": "the logged query",
    }
    told = [
        f"{compared(found.differences['unbiased', other, 1])} {name} "
        f"({number(found.differences['unbiased', other, 1].value, sign=True)})"
        for other, name in others.items()
    ]
    return f"The utility-aware ranker reaches {best.value:.3f}: {', '.join(told)}."


def _way(found: Results) -> str:
    way = {name: found.ways[name, 1].value for name in ("unbiased", "retriever", "popular")}
    return (
        f"It gets {way['unbiased']:.0%} of the way from Random to the best that can be known from the typed text, the "
        f"retriever alone {way['retriever']:.0%}, most popular completion {way['popular']:.0%}."
    )


def _positions(found: Results, policies: list[str]) -> str:
    last = {name: found.positions[name, 5].value for name in policies if name != "ceiling"}
    best = max(last, key=lambda name: last[name])
    popular = found.positions["popular", 1].value, found.positions["popular", 5].value
    return (
        f"At position 5 {named(best)} still has {last[best]:.3f}; most popular completion falls from "
        f"{popular[0]:.3f} to {popular[1]:.3f}."
    )
