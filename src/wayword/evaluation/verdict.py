"""Verdicts: is one policy better for people than another, how sure is that, and under which assumptions does it hold?

Two numbers decide, of typing sessions on the same test searches: the difference in *found* and the ratio of
*keystrokes*. Each is better, worse, or neither; neither if its interval holds "no difference" or if the difference is
too small to matter (`LEAST_FOUND`; `FEWER` and `MORE`). A policy is better if it is better in one and not worse in the
other; `mixed` if one is better in found, the other in keystrokes. Where neither differs, the verdict is `equal` if the
whole interval of found is within ± `LEAST_FOUND`, else `unknown`: the log is too short to tell.

How much longer it would have to be: the standard error s of a difference falls with the root of the number of searches.
A difference d is found with 80 % power where d = (z₀.₉₇₅ + z₀.₈) s, so

    times the clicks = ((z₀.₉₇₅ + z₀.₈) · s / d)²,   d = max(|observed difference|, LEAST_FOUND)
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scipy.stats import norm

from wayword.evaluation.typing_sessions import FOUND, KEYSTROKES, MODEL, Row
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
NOTHING = "No test search has a click, so nothing can be told. A longer log is needed."
WORDS = {"popular": "most popular completion", "wayword": "Wayword", "logged": "what people typed"}
"""Policies in sentences; others have their name."""
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class FoundDifference:
    """What people find more with the policy, with its interval, and the values of both policies."""

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
    """What the assumptions of a kind are called together: "α from 0.5 to 1.5"; empty for one on its own."""


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
    worth: dict[str, Any] = field(default_factory=dict)
    """What the log can teach; see `log_worth`."""

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
    worth: Mapping[str, Any] | None = None,
) -> Verdict:
    """Put a comparison and its checks in words. `searches` of the `available` test searches were typed again."""
    known = dict(worth or {})
    if measured is None:
        return Verdict(policy, other, UNKNOWN, NOTHING, worth=known)
    found, keystrokes = measured
    better = better_of(policy, other, found, keystrokes)
    needed = None
    if better == UNKNOWN:
        needed = clicks_needed(found, level) * searches / max(available, searches, 1)
    holds = held(better, checks)
    return Verdict(
        policy,
        other,
        better,
        _sentence(policy, other, better, found, keystrokes, holds, _advice(needed, available)),
        found,
        keystrokes,
        holds,
        [
            Flip(check.assumption, check.better, _flip(policy, other, check))
            for check in checks
            if check.better != better
        ],
        list(checks),
        needed,
        known,
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
    rows: Sequence[Row], differences: Sequence[Row], policy: str, other: str, people: str = MODEL
) -> tuple[FoundDifference, KeystrokeRatio] | None:
    """Read the two numbers from the tables `sessions` and `session_differences` of one mode; None if one is unknown."""
    value = {(row["policy"], row["metric"]): row["value"] for row in rows if row["people"] == people}
    gain = {
        row["metric"]: row
        for row in differences
        if (row["policy"], row["other"], row["people"]) == (policy, other, people)
    }
    known = [row[name] for row in gain.values() for name in ("value", "low", "high")]
    if not {FOUND, KEYSTROKES} <= gain.keys() or not all(map(math.isfinite, known)):
        return None
    found, keys = gain[FOUND], gain[KEYSTROKES]
    base = max(value[other, KEYSTROKES], 1e-12)
    return (
        FoundDifference(
            found["value"], found["low"], found["high"], value[policy, FOUND], value[other, FOUND]
        ),
        KeystrokeRatio(value[policy, KEYSTROKES] / base, 1 + keys["low"] / base, 1 + keys["high"] / base),
    )


def better_of(policy: str, other: str, found: FoundDifference, keystrokes: KeystrokeRatio) -> str:
    """Decide; see the top of the file.

    >>> same = KeystrokeRatio(1.0, 0.99, 1.01)
    >>> better_of("a", "b", FoundDifference(0.03, 0.02, 0.04, 0.93, 0.9), same)
    'a'
    >>> better_of("a", "b", FoundDifference(0.03, -0.02, 0.08, 0.93, 0.9), same)
    'unknown'
    """
    finds, types = _finds(found), _types(keystrokes)
    if finds * types < 0:
        return MIXED
    if finds + types:
        return policy if finds + types > 0 else other
    return EQUAL if max(abs(found.low), abs(found.high)) <= LEAST_FOUND or _clear(found) else UNKNOWN


def _clear(found: FoundDifference) -> bool:
    """Whether there is a difference in found for sure."""
    return found.low > 0 or found.high < 0


def _finds(found: FoundDifference) -> int:
    if not _clear(found) or abs(found.value) < LEAST_FOUND:
        return 0
    return 1 if found.low > 0 else -1


def _types(keystrokes: KeystrokeRatio) -> int:
    if keystrokes.high < 1 and keystrokes.ratio < FEWER:
        return 1
    return -1 if keystrokes.low > 1 and keystrokes.ratio > MORE else 0


def clicks_needed(found: FoundDifference, level: float = LEVEL) -> float:
    """Times the clicks of this log with which the difference would be told with 80 % power; see the top of the file.

    >>> round(clicks_needed(FoundDifference(0.01, -0.0096, 0.0296, 0.91, 0.9)), 2)
    7.85
    """
    z = float(norm.ppf((1 + level) / 2))
    error = (found.high - found.low) / 2 / z
    return float(((z + norm.ppf(POWER)) * error / max(abs(found.value), LEAST_FOUND)) ** 2)


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
        MIXED: f"Neither better nor worse than {than}: {numbers}",
        UNKNOWN: f"Cannot tell whether it is better than {than}: {numbers}",
    }[better]
    if advice:
        return f"{start}; {advice}."
    return f"{start}; holds for {_listed(holds)}." if holds else f"{start}."


def _flip(policy: str, other: str, check: Check) -> str:
    than = _in_words(other)
    what = {
        policy: f"better than {than}",
        other: f"worse than {than}",
        EQUAL: "no difference that matters",
        MIXED: "neither better nor worse",
        UNKNOWN: "cannot tell",
    }[check.better]
    return f"Not for {check.assumption}: {what} ({_found(check.found)}, {_keystrokes(check.keystrokes)})."


def _in_words(policy: str) -> str:
    return WORDS.get(policy, policy)


def _found(found: FoundDifference) -> str:
    return f"{found.value:+.3f} found ({found.low:.3f} to {found.high:.3f})"


def _keystrokes(keystrokes: KeystrokeRatio) -> str:
    """Say a ratio.

    >>> _keystrokes(KeystrokeRatio(0.98, 0.97, 0.99)), _keystrokes(KeystrokeRatio(1.004, 0.99, 1.01))
    ('2 % fewer keystrokes', 'as many keystrokes')
    """
    percent = round(100 * (keystrokes.ratio - 1))
    if not percent:
        return "as many keystrokes"
    return f"{abs(percent)} % {'more' if percent > 0 else 'fewer'} keystrokes"


def _advice(needed: float | None, available: int) -> str:
    """Say how many clicks would tell, or how many of the log's own test searches.

    >>> _advice(3.7, 5000), _advice(0.25, 6000)[:40], _advice(None, 0)
    ('about four times the clicks would be needed', 'set `[evaluation] sessions` to 1,500: th', '')
    """
    if needed is None:
        return ""
    if needed <= 1:
        return (
            f"set `[evaluation] sessions` to {math.ceil(needed * available / 100) * 100:,}: the log has {available:,} "
            "test searches"
        )
    times = round(needed)
    said = NUMBERS[times - 2] if 2 <= times <= len(NUMBERS) + 1 else f"{max(needed, 1.1):.2g}"
    return f"about {said} times the clicks would be needed"


def _listed(names: Sequence[str]) -> str:
    """Join names.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def read(folder: Path) -> dict[str, Any]:
    """Read the verdicts of an artefact `estimates`, by mode; empty where there were no searches to judge by."""
    return read_object(folder / FILE)


def write(folder: Path, verdicts: Mapping[str, Verdict]) -> None:
    """Write the verdicts, by mode."""
    values = {mode: verdict.as_object() for mode, verdict in verdicts.items()}
    write_atomically(folder / FILE, json.dumps(values, indent=1, ensure_ascii=False) + "\n")
