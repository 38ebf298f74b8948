"""Report of a learned model of acceptance: tables and sentences for the terminal."""

from rich.console import Console
from rich.table import Table

from wayword.completion.acceptance_learning import LEAST_SESSIONS, LearnedAcceptance, lists_for_next_digit
from wayword.completion.acceptance_reliability import Bin, Reliability

MEANING = {
    "constant": "log-odds of a suggestion with nothing in common",
    "typed_words": "it has the typed words",
    "intended_words": "share of the intended query's words that it has",
    "suggested_words": "share of its words that the intended query has",
    "served": "how well its page serves those who intend the other",
    "corrected": "the typed text was corrected",
    "kept": "0: people decide anew at each keystroke; 1: once about each suggestion",
    "careless": "share of people who take whatever they read",
    "strict": "share of the others who take only what they intend",
}
USED = ("sessions", "lists", "taken")
WIDE = 30


def print_acceptance(learned: LearnedAcceptance, console: Console) -> None:
    """Print parameters with intervals beside the prior, the check on held-out lists, and what was left out."""
    counts = learned.data.counts
    console.print(
        f"{counts['lists']:,} lists in {counts['sessions']:,} typing sessions, {counts['taken']:,} of which took a "
        "suggestion.",
        highlight=False,
    )
    for reason, count in counts.items():
        if reason not in USED and count:
            console.print(f"  {count:,} {reason}", highlight=False)
    if not learned.enough:
        console.print(
            f"Fewer than {LEAST_SESSIONS} usable sessions say too little: the prior stays. "
            "docs/acceptance.md says how to collect more.",
            highlight=False,
        )
        return
    if learned.data.others > 0.01:
        console.print(
            f"Intended queries beyond the most probable ones of a text have {learned.data.others:.1%} of the "
            "probability; they are treated as sharing nothing with the suggestions.",
            highlight=False,
        )
    console.print(_parameters(learned))
    if learned.reliability:
        _print_reliability(learned.reliability, console)
    _print_next_digit(learned, console)


def _parameters(learned: LearnedAcceptance) -> Table:
    table = Table(title="Acceptance a (log-odds) and reading r, with 95 % intervals")
    for name, justify in (("parameter", "left"), ("value", "right"), ("from", "right"), ("to", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("prior", justify="right")
    table.add_column("meaning")
    for e in learned.fit.estimates():
        meaning = MEANING.get(e.name, "")
        if e.name.startswith("reading "):
            meaning = f"position {e.name.removeprefix('reading ')} is read"
        elif e.name.startswith("constant, "):
            meaning = "added to the constant there"
        table.add_row(e.name, f"{e.value:.3f}", f"{e.low:.3f}", f"{e.high:.3f}", f"{e.prior:.3f}", meaning)
    return table


def _print_reliability(found: Reliability, console: Console) -> None:
    table = Table(title=f"Held-out lists ({found.lists:,}): forecast and observed share of suggestions taken")
    for name in ("forecast", "observed", "suggestions"):
        table.add_column(name, justify="right")
    table.add_column("· forecast  █ observed")
    for one in found.bins:
        table.add_row(f"{one.forecast:.2%}", f"{one.observed:.2%}", f"{one.suggestions:,}", _bar(one))
    console.print(table)
    low, high = found.gain
    verdict = "better than" if low > 0 else "worse than" if high < 0 else "not significantly different from"
    console.print(
        f"Mean log-likelihood of a held-out list: fitted {found.fitted:.4f}, prior {found.prior:.4f}, constant rates "
        f"{found.constant:.4f}. The fitted model is {verdict} the prior (difference {found.fitted - found.prior:+.4f}, "
        f"from {low:+.4f} to {high:+.4f}).",
        highlight=False,
    )


def _bar(one: Bin) -> str:
    """The observed share as a bar with the forecast as a dot, on a root scale, so that small ones can be seen.

    >>> _bar(Bin(0, 1, 1, 0.25, 0.0625)).count("█")
    7
    """
    filled, mark = int(WIDE * one.observed**0.5), min(int(WIDE * one.forecast**0.5), WIDE - 1)
    cells = ["█" if i < filled else " " for i in range(WIDE)]
    cells[mark] = "·"
    return "".join(cells).rstrip()


def _print_next_digit(learned: LearnedAcceptance, console: Console) -> None:
    """Say in words how many lists the next decimal of each parameter needs."""
    console.print("Decimals that are known, and the lists that one more needs:", highlight=False)
    for e in learned.fit.estimates():
        known, needed = lists_for_next_digit(e, learned.fit.lists)
        if needed is None:
            console.print(
                f"  {e.name}: these lists hardly tell it; it is mostly the prior's", highlight=False
            )
        else:
            said = f"{known} decimal{'s' * (known != 1)}" if known >= 0 else "not even the whole number"
            console.print(
                f"  {e.name}: {said} (± {e.half_width:.2g}); about {_rounded(needed)} lists", highlight=False
            )


def _rounded(number: int) -> str:
    """Two digits of a number.

    >>> _rounded(1234567)
    '1,200,000'
    """
    return f"{int(float(f'{number:.2g}')):,}"
