"""A finding: what a check found in a log, and what to do about it."""

from dataclasses import dataclass
from typing import Literal, get_args

Level = Literal["FAIL", "WARN", "PASS"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""FAIL: results would be wrong, or the file cannot be used. WARN: a person should know."""


@dataclass(frozen=True)
class Finding:
    """What was found, in words with counts; why it matters, and what to do, if anything."""

    name: str
    level: Level
    found: str
    matters: str = ""
    do: str = ""
    count: int = 0
    """Rows, clicks or searches that it is about."""
    examples: tuple[str, ...] = ()


def graded(part: int, whole: int, *, some: float, wrong: float) -> Level:
    """The level of a part of the clicks or rows. One click alone is never a FAIL.

    >>> [graded(part, 1000, some=0.02, wrong=0.2) for part in (0, 20, 21, 200, 201)], graded(1, 2, some=0, wrong=0.2)
    (['PASS', 'PASS', 'WARN', 'WARN', 'FAIL'], 'WARN')
    """
    if part > wrong * whole and part > 1:
        return "FAIL"
    return "WARN" if part > some * whole else "PASS"


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


def counted(number: int, one: str, more: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "click"), counted(2000, "click"), counted(2, "query", "queries")
    ('1 click', '2,000 clicks', '2 queries')
    """
    return f"{number:,} {one if number == 1 else more or one + 's'}"
