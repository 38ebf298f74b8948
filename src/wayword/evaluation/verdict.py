"""Verdicts: is one policy better for people than another, how sure is that, and under which assumptions does it hold?

Two numbers decide, of typing sessions on the same test searches: the difference in *found* and the ratio of
*keystrokes*. Each is better, worse, or neither; neither if its interval holds "no difference" or if the difference is
too small to matter (`LEAST_FOUND`; `FEWER` and `MORE`). A policy is better if it is better in one and not worse in the
other; `mixed` if one is better in found, the other in keystrokes. Who is better in keystrokes alone must not find less
by `LEAST_FOUND`, as far as the interval allows. Where neither differs, the verdict is `equal` if the whole interval of
found is within ± `LEAST_FOUND`, or excludes 0 (a difference that is sure, and too small). Else it is `unknown`: the log
is too short to tell.

How much longer it would have to be, if as many more searches are typed again: the standard error s of a difference
falls with the root of the number of searches. A difference d is found with 80 % power where d = (z₀.₉₇₅ + z₀.₈) s, so

    times the clicks = ((z₀.₉₇₅ + z₀.₈) · s / d)²,   d = max(|observed difference|, LEAST_FOUND)
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from wayword.config import EvaluationConfig
from wayword.evaluation.session_outcomes import (
    ACCEPTANCE,
    PEOPLE,
    PROPENSITY,
    Assumption,
    Ratio,
    SessionOutcomes,
)
from wayword.store.artefact import read_object, write_atomically

FILE = "verdict.json"
EQUAL, MIXED, UNKNOWN = "equal", "mixed", "unknown"
LEAST_FOUND = 0.005
"""The smallest difference in found that matters: people find what they want in one more of 200 searches."""
FEWER, MORE = 0.98, 1.05
"""Relative keystrokes between which people type as much, for all practical purposes."""
POWER = 0.8
"""Probability of telling a difference, with the clicks that are said to be needed."""
LEVEL = 0.95
SERVED = ("wayword", "next")
"""A sentence that names no policy is about what is served, or, when versions are compared, may be served next."""
NOTHING = "No test search has a click, so nothing can be told. A longer log is needed."
WORDS = {
    "popular": "most popular completion",
    "wayword": "Wayword",
    "logged": "what people typed",
    "current": "the current version",
}
"""Policies in sentences; others have their name."""
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class FoundDifference:
    """The difference in found, with its interval, and the values of both policies."""

    value: float
    low: float
    high: float
    policy_value: float
    other_value: float


@dataclass(frozen=True)
class KeystrokeRatio:
    """Characters typed, relative to the other policy, with its interval."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Check:
    """The comparison under one assumption about propensities or people, which completes "holds for …"."""

    assumption: str
    better: str
    found: FoundDifference
    keystrokes: KeystrokeRatio
    group: str = ""
    """The common name of the assumptions of a kind: "α from 0.5 to 1.5"; empty for one on its own."""


@dataclass(frozen=True)
class Flip:
    """An assumption under which the verdict is another one, and the line that says so."""

    assumption: str
    better: str
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """Whether `policy` is better for people than `other`: `better` is one of them, "equal", "mixed" or "unknown"."""

    policy: str
    other: str
    better: str
    sentence: str
    found: FoundDifference | None = None
    keystrokes: KeystrokeRatio | None = None
    holds: list[str] = field(default_factory=list)
    flips: list[Flip] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    clicks_needed: float | None = None
    """Times the clicks of this log that would tell; None where the verdict is known."""

    def as_object(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)

    @property
    def lines(self) -> list[str]:
        """The sentence, and a line for each assumption under which it would be another."""
        return [self.sentence, *(flip.sentence for flip in self.flips)]


def judge(
    policy: str,
    other: str,
    measured: tuple[FoundDifference, KeystrokeRatio] | None,
    checks: Sequence[Check] = (),
    *,
    searches: int = 0,
    available: int = 0,
    level: float = LEVEL,
) -> Verdict:
    """Put a comparison and its checks in words; those with the opposite verdict come first.

    `searches` of the `available` test searches were typed again.
    """
    if measured is None:
        return Verdict(policy, other, UNKNOWN, NOTHING)
    found, keystrokes = measured
    better = better_of(policy, other, found, keystrokes)
    needed = None
    if better == UNKNOWN:
        needed = clicks_needed(found, level)
    holds = held(better, checks)
    return Verdict(
        policy,
        other,
        better,
        _sentence(policy, other, better, found, keystrokes, holds, _advice(needed, searches, available)),
        found,
        keystrokes,
        holds,
        [
            Flip(check.assumption, check.better, _flip(policy, other, check))
            for check in sorted(checks, key=lambda check: check.better not in (policy, other))
            if check.better != better
        ],
        list(checks),
        needed,
    )


def held(better: str, checks: Sequence[Check]) -> list[str]:
    """Return the assumptions under which the verdict is the same; a group that all agree on is one.

    >>> same = FoundDifference(0, 0, 0, 1, 1), KeystrokeRatio(1, 1, 1)
    >>> checks = [Check(f"α = {alpha}", "a", *same, "α from 0.5 to 1.5") for alpha in (0.5, 1.5)]
    >>> held("a", checks), held("a", [checks[0], Check("α = 1.5", "equal", *same, "α from 0.5 to 1.5")])
    (['α from 0.5 to 1.5'], ['α = 0.5'])
    """
    agrees = {check.group: True for check in checks}
    for check in checks:
        agrees[check.group] &= check.better == better
    names = [
        check.group if check.group and agrees[check.group] else check.assumption
        for check in checks
        if check.better == better
    ]
    return list(dict.fromkeys(names))


def compare(
    outcomes: SessionOutcomes,
    policy: str,
    other: str,
    mode: str,
    config: EvaluationConfig,
    *,
    available: int = 0,
    places: NDArray[np.int64] | None = None,
    kinds: Sequence[str] = (PROPENSITY, PEOPLE, ACCEPTANCE),
    base: Assumption | None = None,
    slices: int = 1,
) -> Verdict:
    """Compare two policies on all searches or those at some `places`, and check assumptions of these kinds.

    `available` is the number of test searches of the log. With several `slices`, intervals are widened so that with
    the probability `level` none of them misses (Bonferroni): their ends are moved from the estimate by the ratio of the
    normal quantiles.
    """
    both = policy, other
    if not outcomes.searches.num_rows:
        return judge(*both, None)
    wider = ndtri(1 - (1 - config.level) / 2 / slices) / ndtri((1 + config.level) / 2)

    def measured(assumption: Assumption) -> tuple[FoundDifference, KeystrokeRatio] | None:
        found = outcomes.difference_in_found(mode, assumption, both, config, places)
        typed = Assumption() if assumption.kind == PROPENSITY else assumption  # p changes no keystroke
        keys = outcomes.keystroke_ratio(mode, typed, both, config, places)
        if found is None or keys is None:
            return None
        values = (outcomes.found_by(mode, name, assumption, places) for name in both)
        return FoundDifference(*_wider(found, wider), *values), KeystrokeRatio(*_wider(keys, wider))

    checked = ((one, measured(one)) for one in outcomes.assumptions(*kinds))
    checks = [Check(one.name, better_of(*both, *got), *got, one.group) for one, got in checked if got]
    searches = outcomes.searches.num_rows if places is None else len(places)
    return judge(
        *both,
        measured(base or Assumption()),
        checks,
        searches=searches,
        available=available,
        level=config.level,
    )


def _wider(found: Ratio, factor: float) -> tuple[float, float, float]:
    return (
        found.value,
        found.value - factor * (found.value - found.low),
        found.value + factor * (found.high - found.value),
    )


def better_of(policy: str, other: str, found: FoundDifference, keystrokes: KeystrokeRatio) -> str:
    """Decide; see the top of the file.

    >>> same = KeystrokeRatio(1.0, 0.99, 1.01)
    >>> better_of("a", "b", FoundDifference(0.03, 0.02, 0.04, 0.93, 0.9), same)
    'a'
    >>> better_of("a", "b", FoundDifference(0.03, -0.02, 0.08, 0.93, 0.9), same)
    'unknown'
    >>> fewer = KeystrokeRatio(0.9, 0.89, 0.91)
    >>> [better_of("a", "b", FoundDifference(0.0, -far, far, 0.9, 0.9), fewer) for far in (0.004, 0.04)]
    ['a', 'unknown']
    """
    finds, typing = _finds(found), types(keystrokes)
    if finds * typing < 0:
        return MIXED
    if finds:
        return policy if finds > 0 else other
    if typing > 0 and found.low > -LEAST_FOUND:
        return policy
    if typing < 0 and found.high < LEAST_FOUND:
        return other
    if typing:
        return UNKNOWN
    return EQUAL if max(-found.low, found.high) <= LEAST_FOUND or _clear(found) else UNKNOWN


def _clear(found: FoundDifference) -> bool:
    """Whether there is a difference in found for sure."""
    return found.low > 0 or found.high < 0


def _finds(found: FoundDifference) -> int:
    if not _clear(found) or abs(found.value) < LEAST_FOUND:
        return 0
    return 1 if found.low > 0 else -1


def types(keystrokes: KeystrokeRatio) -> int:
    """Return 1 if people surely type less with the policy, -1 if they surely type more, else 0."""
    if keystrokes.high < 1 and keystrokes.ratio < FEWER:
        return 1
    return -1 if keystrokes.low > 1 and keystrokes.ratio > MORE else 0


def clicks_needed(found: FoundDifference, level: float = LEVEL) -> float:
    """Times the clicks of this log with which the difference would be told with 80 % power; see the top of the file.

    >>> round(clicks_needed(FoundDifference(0.01, -0.0096, 0.0296, 0.91, 0.9)), 2)
    7.85
    """
    z = float(ndtri((1 + level) / 2))
    error = (found.high - found.low) / 2 / z
    return float(((z + ndtri(POWER)) * error / max(abs(found.value), LEAST_FOUND)) ** 2)


def _sentence(
    policy: str,
    other: str,
    better: str,
    found: FoundDifference,
    keystrokes: KeystrokeRatio,
    holds: Sequence[str],
    advice: str,
) -> str:
    numbers = f"{_found(found)}, {_keystrokes(keystrokes)}"
    than = _in_words(other)
    start = {
        policy: f"Better than {than} for people: {numbers}",
        other: f"Worse than {than} for people: {numbers}",
        EQUAL: f"No difference that matters from {than}: {numbers}",
        MIXED: f"{_mixed(found)} than with {than}: {numbers}",
        UNKNOWN: f"Cannot tell whether it is better than {than}: {numbers}",
    }[better]
    if policy not in SERVED:
        name = _in_words(policy)
        start = f"{name[0].upper()}{name[1:]}: {start[0].lower()}{start[1:]}"
    if advice:
        return f"{start}; {advice}."
    return f"{start}; holds for {_listed(holds)}." if holds else f"{start}."


def _flip(policy: str, other: str, check: Check) -> str:
    what = _brief(policy, other, check.found)[check.better]
    than = f" than {_in_words(other)}" if check.better in (policy, other) else ""
    return f"For {check.assumption}: {what}{than} ({_found(check.found)}, {_keystrokes(check.keystrokes)})."


def _brief(policy: str, other: str, found: FoundDifference | None) -> dict[str, str]:
    return {
        policy: "better",
        other: "worse",
        EQUAL: "no difference that matters",
        MIXED: _mixed(found).lower() if found else "",
        UNKNOWN: "cannot tell",
    }


def _mixed(found: FoundDifference) -> str:
    return "People find more but type more" if found.value > 0 else "People find less but type less"


def _in_words(policy: str) -> str:
    return WORDS.get(policy, policy)


def _found(found: FoundDifference) -> str:
    value, low, high = (
        round(number, 3) + 0.0 for number in (found.value, found.low, found.high)
    )  # no -0.000
    return f"{value:+.3f} found ({low:.3f} to {high:.3f})"


def _keystrokes(keystrokes: KeystrokeRatio) -> str:
    """Say a ratio.

    >>> _keystrokes(KeystrokeRatio(0.98, 0.97, 0.99)), _keystrokes(KeystrokeRatio(1.004, 0.99, 1.01))
    ('2 % fewer keystrokes', 'as many keystrokes')
    """
    percent = round(100 * (keystrokes.ratio - 1))
    if not percent:
        return "as many keystrokes"
    return f"{abs(percent)} % {'more' if percent > 0 else 'fewer'} keystrokes"


def _advice(needed: float | None, searches: int = 0, available: int = 0) -> str:
    """Say how many clicks would tell, and whether more of the log's own test searches can be typed again.

    >>> _advice(3.7), _advice(None)
    ('about four times the clicks would be needed', '')
    """
    if needed is None:
        return ""
    more = f", or more than {searches:,} of the {available:,} test searches (`[evaluation] sessions`)"
    return f"about {times_in_words(needed)} times the clicks would be needed{more if searches < available else ''}"


def times_in_words(times: float) -> str:
    """Say how many times, with two digits at most.

    >>> [times_in_words(times) for times in (1.02, 1.44, 3.7, 33.9, 173.2, 4321)]
    ['1.1', '1.4', 'four', '34', '170', '4,300']
    """
    whole = round(times)
    if 2 <= whole <= len(NUMBERS) + 1:
        return NUMBERS[whole - 2]
    return f"{max(times, 1.1):.2g}" if whole < 2 else f"{float(f'{times:.2g}'):,.0f}"


def _listed(names: Sequence[str]) -> str:
    """Join names.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def in_brief(verdict: Verdict) -> str:
    """Say the verdict of a slice in a few words.

    >>> in_brief(judge("wayword", "popular", None))
    'cannot tell'
    """
    return _brief(verdict.policy, verdict.other, verdict.found)[verdict.better]


def read(folder: Path) -> dict[str, Any]:
    """Read the verdicts of an artefact `estimates`, by mode."""
    return read_object(folder / FILE)


def write(folder: Path, verdicts: Mapping[str, Verdict]) -> None:
    """Write the verdicts, by mode."""
    values = {mode: verdict.as_object() for mode, verdict in verdicts.items()}
    write_atomically(folder / FILE, json.dumps(values, indent=1, ensure_ascii=False) + "\n")
