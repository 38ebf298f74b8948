"""Findings as text for people."""

from collections.abc import Sequence

from wayword.check.finding import LEVELS, Finding


def lines(found: Finding) -> list[str]:
    """A finding as it is printed: the level and what was found; unless it passed, why it matters, rows, what to do.

    >>> found = Finding("ranks", "FAIL", "1 rank is no number.", do="Correct it.", examples=("line 3: rank='x'",))
    >>> [line.strip() for line in lines(found)]
    ['FAIL  1 rank is no number.', "line 3: rank='x'", 'Do: Correct it.']
    """
    first, *more = found.found.splitlines()
    made = [f"{found.level}  {first}", *(f"      {line}" for line in more)]
    if found.level == "PASS":
        return made
    if found.matters:
        made.append(f"      {found.matters}")
    made += [f"        {example}" for example in found.examples]
    return [*made, f"      Do: {found.do}"] if found.do else made


def summary(found: Sequence[Finding]) -> str:
    """How many findings there are of each level.

    >>> summary([Finding("ranks", "PASS", "."), Finding("times", "WARN", "."), Finding("file", "PASS", ".")])
    '0 FAIL, 1 WARN, 2 PASS'
    """
    return ", ".join(f"{sum(one.level == level for one in found)} {level}" for level in LEVELS)


def refusal(found: Sequence[Finding], *, source: str) -> str:
    """Why a run does not begin."""
    failed = [line for one in found if one.level == "FAIL" for line in lines(one)]
    return (
        f"{source} cannot be used:\n"
        + "\n".join(failed)
        + "\nCorrect this, or go on with --force where results may be wrong. `wayword check` shows all that was found."
    )
