"""Checks whether there are enough searches to test with."""

from collections.abc import Iterator
from dataclasses import replace

from wayword.check.finding import Finding, counted
from wayword.check.table import Tables
from wayword.config import CheckConfig


def tested(log: Tables) -> Iterator[Finding]:
    """The searches that are kept apart to test with, and have a click."""
    number = log.count("searches WHERE split = 'test' AND search IN (SELECT search FROM clicks)")
    yield enough_tested(number, log.limits)


def enough_tested(tested: int, limits: CheckConfig) -> Finding:
    """The finding about the number of test searches with a click."""
    matters = "They are a share of the log (`[log]` in the settings), from which nothing is learned."
    found = Finding(
        "test_searches",
        "WARN",
        f"{counted(tested, 'search', 'searches')} with a click {'is' if tested == 1 else 'are'} kept apart to test "
        "with",
        matters,
        "Use a longer log.",
        tested,
    )
    if tested < limits.few_test:
        return replace(found, found=f"Only {found.found}: too few to say anything reliable.")
    if tested < limits.enough_test:
        return replace(found, found=f"{found.found}: only large differences show with so few.")
    return replace(
        found, level="PASS", found=f"{found.found}: enough to see differences of some per cent.", do=""
    )
