"""How often intervals cover: prints the tables of docs/estimates.md.

python benchmarks/coverage.py arms               1,000 A/A tests that are looked at daily
"""

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.logs.ubi import anytime

LEVEL = 0.95
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Visits:
    """What people of an A/A test did, by day and user: lists shown, picks, searches and clicks."""

    shown: Floats
    picked: Floats
    """Each pick begins a search."""
    clicks: Floats
    arm: NDArray[np.bool_]

    @classmethod
    def draw(cls, users: int, days: int, rng: np.random.Generator) -> "Visits":
        """Users arrive over the days and come back; some come often, and their habits differ."""
        first = rng.integers(0, days, users)
        often = rng.lognormal(-2.0, 1.2, users)
        here = np.arange(days)[:, None] >= first
        visits = rng.poisson(np.where(here, often, 0.0)) + (np.arange(days)[:, None] == first)
        picking, clicking = rng.beta(1, 6, users), rng.gamma(1.0, 0.6, users)
        searches = rng.binomial(6 * visits, picking)
        counts = (6 * visits, searches, rng.poisson(clicking * searches))
        shown, picked, clicks = (np.cumsum(each, axis=0, dtype=np.float64) for each in counts)
        return cls(shown, picked, clicks, rng.random(users) < 0.5)


def false_alarms(tests: int, users: int, days: int, seed: int) -> dict[str, dict[str, float]]:
    """Share of A/A tests that some day's interval calls a difference, by measure, and with daily 95 % intervals."""
    rng = np.random.default_rng(seed)
    found = {
        measure: {"anytime": 0, "fixed": 0, "fixed, last day only": 0}
        for measure in ("share picked", "clicks per search")
    }
    for _ in range(tests):
        visits = Visits.draw(users, days, rng)
        parts = {
            "share picked": (visits.picked, visits.shown),
            "clicks per search": (visits.clicks, visits.picked),
        }
        for measure, (top, bottom) in parts.items():
            looks = np.array([look(top[day], bottom[day], visits.arm) for day in range(days)])
            found[measure]["anytime"] += bool(looks[:, 0].any())
            found[measure]["fixed"] += bool(looks[:, 1].any())
            found[measure]["fixed, last day only"] += bool(looks[-1, 1])
    return {measure: {name: n / tests for name, n in counts.items()} for measure, counts in found.items()}


def look(top: Floats, bottom: Floats, arm: NDArray[np.bool_]) -> tuple[bool, bool]:
    """Whether the anytime-valid and the usual interval exclude 0 today."""
    first, second = (top * ~arm, bottom * ~arm), (top * arm, bottom * arm)
    if not (first[1].any() and second[1].any()):
        return False, False
    always = anytime.difference(first, second, LEVEL)
    value = second[0].sum() / second[1].sum() - first[0].sum() / first[1].sum()
    error = np.sqrt(((anytime.linearised(*second) - anytime.linearised(*first)) ** 2).sum())
    return always is not None and not always[0] <= 0 <= always[1], bool(abs(value) > 1.96 * error)


def print_arms() -> None:
    """Print the share of A/A tests with a false alarm, for tests of several sizes."""
    print(
        "| users | days | measure | anytime-valid | 95 % interval, looked at daily | the same, on the last day |"
    )
    print("|---|---|---|---|---|---|")
    for users, days in ((300, 60), (3000, 60), (20_000, 30)):
        rates = false_alarms(1000, users, days, seed=users)
        for measure, rate in rates.items():
            cells = " | ".join(f"{100 * share:.1f} %" for share in rate.values())
            print(f"| {users:,} | {days} | {measure} | {cells} |", flush=True)


if __name__ == "__main__":
    {"arms": print_arms}[sys.argv[1]]()
